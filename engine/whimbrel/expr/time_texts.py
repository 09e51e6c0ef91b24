"""Texts of times, by a loop or by day and second.

A loop writes fields of fixed widths. Other fields are written by Arrow, once for each day and each second of a day: a
log has far fewer days than rows, and a day has 86,400 seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import frozen
from whimbrel.batch.fixed_width import packed_bits, present
from whimbrel.expr.function_entry import numbers_of
from whimbrel.expr.text_parsers import format_steps
from whimbrel.expr.zone_clocks import local_times, written
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.strings.text_parsers import OFFSET
from whimbrel.kernels.primitives.strings.time_texts import WIDTHS, write_times

_write = Compiled(write_times)
_SECONDS_PER_DAY: Final = 86_400
_FIRST, _LAST = -30_610_224_000, 253_402_300_800
"""Seconds from 1970 to the years 1000 and 10000."""
_OF_DAYS: Final = frozenset("aAbBCdDeFGhjmuUVwWyY")
_OF_SECONDS: Final = frozenset("HIMpRST")


def fixed_texts(times: Any, per_second: int, form: str) -> Any:
    """Texts of an array of times on their own clock, by a format of fixed widths; None where the loop is not ready."""
    steps = format_steps(form)
    if steps is None or OFFSET in steps or not len(times):
        return None
    ticks = frozen(numbers_of(times, pa.int64()))
    if not _FIRST <= int(ticks.min()) // per_second <= int(ticks.max()) // per_second < _LAST:
        return None
    width = sum(WIDTHS.get(step, 1) for step in steps.tolist())
    if not 0 < width * len(ticks) < 2**31:
        return None
    texts = np.empty(width * len(ticks), np.uint8)
    if not _write.ready(ticks, per_second, steps, texts):
        return None
    _write(ticks, per_second, steps, texts)
    offsets = np.arange(0, len(texts) + 1, width).astype(np.int32)
    there = packed_bits(present(times)) if times.null_count else None
    return pa.Array.from_buffers(pa.string(), len(ticks), [there, pa.py_buffer(offsets), pa.py_buffer(texts)])


def time_texts(seconds: Any, form: str) -> Any:
    """Texts of an array of times in seconds, with or without a zone, by a format without ``%f``."""
    parts = list(_parts(form))
    if any(not kind for kind, _ in parts):
        return written(seconds, form, pc.strftime(seconds, format=form))
    local = local_times(seconds)
    values = numbers_of(local, pa.int64())
    days = values // _SECONDS_PER_DAY
    texts = [_once(days * _SECONDS_PER_DAY if kind == "day" else values - days * _SECONDS_PER_DAY, piece)
             for kind, piece in parts]
    joined = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, "")
    return pc.if_else(local.is_valid(), joined, pa.scalar(None, pa.string())) if local.null_count else joined


def _once(seconds: np.ndarray[Any, Any], form: str) -> Any:
    coded = pa.array(seconds).dictionary_encode()
    return pc.strftime(coded.dictionary.view(pa.timestamp("s")), format=form).take(coded.indices)


def _parts(form: str) -> Iterator[tuple[str, str]]:
    """Pieces of a format that need only the day, or only the second of the day; no kind for another directive."""
    kind, piece = "day", ""
    for part in re.split("(%.)", form, flags=re.DOTALL):
        letter = part[1:] if part.startswith("%") and len(part) == 2 else "%"
        needed = kind if letter == "%" else "day" if letter in _OF_DAYS else "second" if letter in _OF_SECONDS else ""
        if needed != kind and re.search("%[^%]", piece.replace("%%", "")):
            yield kind, piece
            piece = ""
        kind, piece = needed, piece + part
    yield kind, piece

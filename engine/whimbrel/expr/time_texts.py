"""Texts of times, by day and by second of the day.

Arrow writes a text for each row. Here each day and each second of a day is written once: a log has far fewer days than
rows, and a day has 86,400 seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.expr.function_entry import numbers_of
from whimbrel.expr.zone_clocks import local_times, written

_SECONDS_PER_DAY: Final = 86_400
_OF_DAYS: Final = frozenset("aAbBCdDeFGhjmuUVwWyY")
_OF_SECONDS: Final = frozenset("HIMpRST")


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

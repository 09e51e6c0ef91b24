"""Read integers and times of texts by compiled loops.

They leave what they are not sure of to Arrow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import Column, frozen, text_buffers
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.strings import text_parsers as loops

Array = np.ndarray[Any, Any]

_integers, _times = Compiled(loops.read_integers), Compiled(loops.read_times)
_FIELDS: Final = {"Y": loops.YEAR, "m": loops.MONTH, "d": loops.DAY, "H": loops.HOUR, "M": loops.MINUTE,
                  "S": loops.SECOND, "f": loops.FRACTION, "z": loops.OFFSET}
_WHOLE: Final = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M"}
_YEARS: Final = {10**9: (1678, 2261)}
"""Years whose times are int64, where those of four digits are too many."""


def read_integers(texts: Any, slower: Callable[[Any], Any]) -> Any:
    """Integers of an array of texts, null for other texts; `slower` reads those of many digits."""
    memory = _memory(texts)
    values, state = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint8)
    if memory is None or not _integers.ready(*memory, values, state):
        return slower(texts)
    left = _integers(*memory, values, state)
    return _with_open(texts, pa.int64(), values, state, slower if left else None)


def read_times(texts: Any, form: str, type_: pa.DataType, per_second: int, slower: Callable[[Any], Any]) -> Any:
    """Times of an array of texts, null for other texts; `slower` reads those with short fields, and other formats."""
    memory, steps = _memory(texts), _steps(form)
    ticks, state = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint8)
    if memory is None or steps is None:
        return slower(texts)
    years = frozen(np.array(_YEARS.get(per_second, (1, 9999))))
    if not _times.ready(*memory, steps, per_second, years, ticks, state):
        return slower(texts)
    left = _times(*memory, steps, per_second, years, ticks, state)
    return _with_open(texts, type_, ticks, state, slower if left else None)


def _with_open(texts: Any, type_: pa.DataType, values: Array, state: Array, slower: Callable[[Any], Any] | None) -> Any:
    """An array of what was read, and of what the slower function reads of the open texts."""
    there = Column(pa.string(), texts).validity() if texts.null_count else np.bool_(True)
    valid = (state == loops.YES) & there
    left = (state == loops.OPEN) & there
    if slower is not None and left.any():
        more = Column.from_arrow(slower(texts.filter(Column(pa.bool_(), left).to_arrow())))
        values[left], valid[left] = more.values, more.validity()
    return Column(type_, values, None if valid.all() else valid).to_arrow()


def _memory(texts: Any) -> tuple[Array, Array] | None:
    return text_buffers(texts) if t.is_string(texts.type) or t.is_large_string(texts.type) else None


@lru_cache(maxsize=256)
def _steps(form: str) -> Array | None:
    """The steps of a format that reads a date with four digits of the year; None for another format."""
    letters = Counter(re.findall("%(.)", _in_fields(form), re.DOTALL))
    if any(letters[letter] != 1 for letter in "Ymd") or any(
            count > 1 for letter, count in letters.items() if letter != "%"):
        return None
    return format_steps(form)


def _in_fields(form: str) -> str:
    """The format with each field by itself."""
    parts = re.split("(%.)", form, flags=re.DOTALL)
    return "".join(_WHOLE.get(part, part) for part in parts)


@lru_cache(maxsize=256)
def format_steps(form: str) -> Array | None:
    """The bytes and fields of a format; None where a field has no fixed width."""
    steps: list[int] = []
    for part in re.split("(%.)", _in_fields(form), flags=re.DOTALL):
        if part.startswith("%") and part != "%%":
            if part[1:] not in _FIELDS:
                return None
            steps.append(_FIELDS[part[1:]])
        else:
            steps += b"%" if part == "%%" else part.encode()
    return frozen(np.array(steps, np.int64))

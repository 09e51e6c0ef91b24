"""Moments of segments, each computed once for all functions that use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whimbrel.batch import Segments, frozen
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.signals import window_moments as loops

Array = np.ndarray[Any, Any]

_integer_sums, _float_sums = Compiled(loops.integer_sums), Compiled(loops.float_sums)
_central_sums, _fourth_sums = Compiled(loops.central_sums), Compiled(loops.fourth_sums)
_extremes, _first_offsets, _crossings = (Compiled(loops.extremes), Compiled(loops.first_offsets),
                                        Compiled(loops.crossings))
_SHORT_BITS = 62
"""Bits that the sum of squares of a window may have."""


def moment(segments: Segments, name: str) -> Array:
    """One number for each row; of rows without samples, or with missing ones, it says nothing."""
    if name not in segments.memo:
        _COMPUTE[name](segments)
    return segments.memo[name]


def complete(segments: Segments) -> Array:
    """Rows with samples, none of which is missing."""
    if "complete" not in segments.memo:
        there = segments.size > 0
        if len(segments.blocks.missing):
            there &= segments.missing() == 0
        segments.memo["complete"] = there if segments.valid is None else there & segments.valid
    return segments.memo["complete"]


def crossings(segments: Segments, level: float) -> Array:
    """How often each row crosses a level."""
    return _looped(segments, _crossings, ((np.int64, 0),), level)[0]


def _looped(segments: Segments, loop: Callable[..., Any], outputs: tuple[tuple[Any, Any], ...],
            *given: Any) -> list[Array]:
    """What a loop over windows writes; arrays that are given to it have one number for each row."""
    if len(segments.blocks.arrays) == 1 and complete(segments).all():
        out = [np.empty(len(segments), dtype) for dtype, _ in outputs]
        loop(frozen(segments.blocks.arrays[0]), frozen(segments.position), frozen(segments.size),
             *(frozen(each) if isinstance(each, np.ndarray) else each for each in given), *out)
        return out
    out = [np.full(len(segments), value, dtype) for dtype, value in outputs]
    for rows, array, start in segments.in_arrays(np.flatnonzero(complete(segments))):
        parts = [np.empty(len(rows), each.dtype) for each in out]
        mine = [frozen(each[rows]) if isinstance(each, np.ndarray) else each for each in given]
        loop(frozen(array), frozen(start), frozen(segments.size[rows]), *mine, *parts)
        for whole, part in zip(out, parts, strict=True):
            whole[rows] = part
    return out


def _sums(segments: Segments) -> None:
    dtype, memo = segments.dtype, segments.memo
    longest = int(segments.size.max()) if len(segments) else 0
    if dtype.kind in "iu" and 2 * 8 * dtype.itemsize + longest.bit_length() <= _SHORT_BITS:
        memo["exact_total"], memo["energy"], memo["second"] = _looped(
            segments, _integer_sums, ((np.int64, 0), (np.float64, 0), (np.float64, 0)))
        memo["total"] = memo["exact_total"].astype(np.float64)
    else:
        memo["total"], memo["energy"] = _looped(segments, _float_sums, ((np.float64, 0), (np.float64, 0)))


def _mean(segments: Segments) -> None:
    with np.errstate(all="ignore"):
        segments.memo["mean"] = moment(segments, "total") / segments.size


def _second(segments: Segments) -> None:
    mean = moment(segments, "mean")
    if "second" not in segments.memo:  # sums of integers have it already
        segments.memo["second"], = _looped(segments, _central_sums, ((np.float64, 0),), mean)


def _fourth(segments: Segments) -> None:
    segments.memo["fourth"], = _looped(segments, _fourth_sums, ((np.float64, 0),), moment(segments, "mean"))


def _ends(segments: Segments) -> None:
    dtype = segments.dtype
    segments.memo["min"], segments.memo["max"] = _looped(segments, _extremes, ((dtype, 0), (dtype, 0)))


def _offset(name: str) -> Callable[[Segments], None]:
    def compute(segments: Segments) -> None:
        segments.memo[f"arg{name}"], = _looped(segments, _first_offsets, ((np.int64, 0),), moment(segments, name))

    return compute


_COMPUTE: dict[str, Callable[[Segments], None]] = {
    "total": _sums, "mean": _mean, "energy": _sums, "second": _second, "fourth": _fourth, "min": _ends, "max": _ends,
    "argmin": _offset("min"), "argmax": _offset("max"),
}

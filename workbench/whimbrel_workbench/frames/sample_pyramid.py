"""Minimum and maximum of samples in blocks of several sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whimbrel.batch import frozen
from whimbrel.kernels import Compiled, wait_for_compiler
from whimbrel.kernels.primitives.rows.merge_ranges import merge_ranges

Numbers = NDArray[Any]

BLOCK: Final = 256
"""Samples in a cell of the lowest level."""

STEP: Final = 16
"""Cells in a cell of the next level."""

_SPARE: Final = 8
"""One in so many cells is there for later samples: the whole stays below 1% of the samples."""

_MAX_LEVELS: Final = 7
"""Cells of the highest level have four billion samples. Cells before and after sample 0 never become one."""

_merge = Compiled(merge_ranges)


def merged(lows: Numbers, highs: Numbers, first: int, size: int) -> tuple[Numbers, Numbers]:
    """Minimum and maximum of each `size` places from a multiple of it on; of an empty cell the minimum is larger.

    >>> merged(np.array([5, 3, 9]), np.array([5, 3, 9]), 3, 2)
    (array([5, 3]), array([5, 9]))
    """
    cells = 0 if not len(lows) else (first + len(lows) - 1) // size - first // size + 1
    low, high = empty_ranges(cells, lows.dtype)
    _merge_into(lows, highs, first, size, low, high)
    return low, high


def _merge_into(lows: Numbers, highs: Numbers, first: int, size: int, low: Numbers, high: Numbers) -> None:
    lows, highs = (frozen(np.ascontiguousarray(each)) for each in (lows, highs))
    with wait_for_compiler():
        _merge(lows, highs, first, size, low, high)


def empty_ranges(cells: int, dtype: np.dtype[Any]) -> tuple[Numbers, Numbers]:
    """So many ranges without a value."""
    ends = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return np.full(cells, ends.max, dtype), np.full(cells, ends.min, dtype)


@dataclass(slots=True)
class SamplePyramid:
    """Takes samples in any order and in blocks of any size; the cells are the same.

    Parameters
    ----------
    dtype : numpy.dtype
        Of the samples.

    Examples
    --------
    >>> pyramid = SamplePyramid(np.dtype(np.int16))
    >>> pyramid.add(250, np.array([4, 7, -2, 1, 0, 3, 9, 8], np.int16))
    >>> [each.tolist() for each in pyramid.cells(0, 0, 2)]
    [[-2, 8], [7, 9]]
    """

    dtype: np.dtype[Any]
    _levels: list[_Level] = field(default_factory=list)

    def add(self, first: int, values: Numbers) -> None:
        """Take over consecutive samples, at least one."""
        cells = merged(values, values, first, BLOCK)
        place, number = first // BLOCK, 0
        while True:
            if number == len(self._levels):
                self._levels.append(_Level(self.dtype))
            level = self._levels[number]
            level.add(place, *cells)
            if len(level) == 1 or number + 1 == _MAX_LEVELS:
                return
            # The level above may begin with this one's first cells.
            if number + 1 == len(self._levels):
                place, cells = level.first, level.cells(level.first, level.stop)
            cells = merged(*cells, place, STEP)
            place, number = place // STEP, number + 1

    def level_for(self, size: int) -> int | None:
        """The highest level whose cells are at most a sixteenth of so many samples; None if none is so fine."""
        fine = [level for level in range(len(self._levels)) if BLOCK * STEP ** (level + 1) <= size]
        return fine[-1] if fine else None

    def cells(self, level: int, first: int, stop: int) -> tuple[Numbers, Numbers]:
        """Minimum and maximum of some cells of a level; of an empty cell the minimum is larger."""
        known = level < len(self._levels)
        return self._levels[level].cells(first, stop) if known else empty_ranges(stop - first, self.dtype)

    @property
    def nbytes(self) -> int:
        return sum(level.nbytes for level in self._levels)

    @property
    def ends(self) -> tuple[float, float] | None:
        """Minimum and maximum of all samples."""
        if not self._levels:
            return None
        low, high = self._levels[-1].cells(self._levels[-1].first, self._levels[-1].stop)
        low, high = low.min(), high.max()
        return (float(low), float(high)) if low <= high else None


class _Level:
    """Cells of one size, in arrays with some space at their end."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.first = self.stop = 0
        self._low, self._high = empty_ranges(0, dtype)

    def __len__(self) -> int:
        return self.stop - self.first

    @property
    def nbytes(self) -> int:
        return self._low.nbytes + self._high.nbytes

    def add(self, first: int, low: Numbers, high: Numbers) -> None:
        self._make_room(first, first + len(low))
        there = slice(first - self.first, first - self.first + len(low))
        np.minimum(self._low[there], low, out=self._low[there])
        np.maximum(self._high[there], high, out=self._high[there])

    def cells(self, first: int, stop: int) -> tuple[Numbers, Numbers]:
        low, high = empty_ranges(max(0, stop - first), self._low.dtype)
        begin, end = max(first, self.first), min(stop, self.stop)
        if begin < end:
            low[begin - first:end - first] = self._low[begin - self.first:end - self.first]
            high[begin - first:end - first] = self._high[begin - self.first:end - self.first]
        return low, high

    def _make_room(self, first: int, stop: int) -> None:
        if not len(self):
            self.first = self.stop = first
        before, after = min(first, self.first), max(stop, self.stop)
        if before < self.first or after - before > len(self._low):
            low, high = empty_ranges(after - before + (after - before) // _SPARE, self._low.dtype)
            there = slice(self.first - before, self.stop - before)
            low[there], high[there] = self._low[:len(self)], self._high[:len(self)]
            self._low, self._high = low, high
        self.first, self.stop = before, after

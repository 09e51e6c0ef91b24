"""Samples of one channel: values, gaps and extremes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames.sample_pyramid import BLOCK, STEP, Numbers, SamplePyramid, empty_ranges, merged

_CHUNK: Final = 1 << 16

Piece = tuple[int, Numbers]
"""Number of the first sample, and values of consecutive samples."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleColumns:
    """Minimum and maximum of each `size` samples, the first of which is a multiple of `size`.

    Parameters
    ----------
    first : int
        Number of the first column's first sample.
    low, high : array
        Where a column has no samples the minimum is larger.
    coarse : bool
        Whether some are wider than asked, since their samples are no longer in memory.
    """

    first: int
    size: int
    low: Numbers
    high: Numbers
    coarse: bool = False

    @property
    def there(self) -> NDArray[np.bool_]:
        """Which columns have samples."""
        return self.low <= self.high


class SampleTrace:
    """Takes samples in any order; a sample that comes twice has its last value.

    Values stand in chunks that begin at multiples of 65,536, and take the memory of the samples. Missing samples are
    not among the `runs`; a value that is not a number is drawn as a missing sample.

    Parameters
    ----------
    dtype : numpy.dtype

    Attributes
    ----------
    runs : list of [int, int]
        From which sample up to which they are in memory, in their order.
    seen : list of [int, int]
        The same of all samples that came, those that were dropped included.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.pyramid = SamplePyramid(dtype)
        self.runs: list[list[int]] = []
        self.seen: list[list[int]] = []
        self._chunks: dict[int, Numbers] = {}
        self._spared: tuple[int, int] = (0, 0)

    @property
    def samples(self) -> int:
        """How many samples came."""
        return sum(stop - first for first, stop in self.seen)

    @property
    def nbytes(self) -> int:
        """Memory of the values that are there, and of all extremes."""
        return sum(chunk.nbytes for chunk in self._chunks.values()) + self.pyramid.nbytes

    def add(self, first: int, values: Numbers) -> None:
        """Take over consecutive samples."""
        if not len(values):
            return
        self.pyramid.add(first, values)
        place, stop = first, first + len(values)
        while place < stop:
            number, inside = divmod(place, _CHUNK)
            until = min(stop, (number + 1) * _CHUNK)
            if number not in self._chunks:
                self._chunks[number] = np.empty(_CHUNK, self.dtype)
            self._chunks[number][inside:inside + until - place] = values[place - first:until - first]
            place = until
        for runs in (self.runs, self.seen):
            _insert(runs, first, stop)

    def spare(self, first: int, stop: int) -> None:
        """Keep the values of a range, and no longer those of another one, whatever is dropped."""
        self._spared = first, stop

    def drop(self, before: int) -> None:
        """Forget the values of earlier samples, but not their extremes: whole chunks of them."""
        begin, (first, stop) = before // _CHUNK * _CHUNK, self._spared
        kept = range(first // _CHUNK, -(-stop // _CHUNK))
        for number in [number for number in self._chunks if number * _CHUNK < begin and number not in kept]:
            del self._chunks[number]
        spared = _inside(self.runs, first, min(stop, begin))
        self.runs = [*map(list, spared), *([max(each, begin), end] for each, end in self.runs if end > begin)]

    def dropped(self, first: int, stop: int) -> list[tuple[int, int]]:
        """The parts of a range whose samples came, but are no longer in memory."""
        found = []
        for begin, end in _inside(self.seen, first, stop):
            place = begin
            for low, high in _inside(self.runs, begin, end):
                found += [(place, low)] * (low > place)
                place = high
            found += [(place, end)] * (end > place)
        return found

    def pieces(self, first: int, stop: int) -> Iterator[Piece]:
        """The samples of a range that are in memory."""
        for begin, end in _inside(self.runs, first, stop):
            for number in range(begin // _CHUNK, -(-end // _CHUNK)):
                place, until = max(begin, number * _CHUNK), min(end, (number + 1) * _CHUNK)
                yield place, self._chunks[number][place - number * _CHUNK:until - number * _CHUNK]

    def columns(self, first: int, stop: int, maximum: int) -> SampleColumns:
        """The extremes of a range in at most so many columns and one more, all of the same number of samples."""
        size = max(1, -(-(stop - first) // maximum))
        level = self.pyramid.level_for(size)
        if level is not None:
            cell = BLOCK * STEP**level
            size = -(-size // cell) * cell
            column, end = first // size, -(-stop // size)
            cells = self.pyramid.cells(level, column * size // cell, end * size // cell)
            return SampleColumns(column * size, size, *merged(*cells, 0, size // cell))
        column, end = first // size, -(-stop // size)
        low, high = empty_ranges(end - column, self.dtype)
        for begin, values in self.pieces(column * size, end * size):
            there = slice(begin // size - column, (begin + len(values) - 1) // size - column + 1)
            part = merged(values, values, begin, size)
            np.minimum(low[there], part[0], out=low[there])
            np.maximum(high[there], part[1], out=high[there])
        return self._with_dropped(SampleColumns(column * size, size, low, high))

    def _with_dropped(self, columns: SampleColumns) -> SampleColumns:
        """The same, with the extremes of whole blocks where values were dropped."""
        size, low, high = columns.size, columns.low, columns.high
        first, stop = columns.first, columns.first + size * len(low)
        parts = self.dropped(first, stop)
        for begin, end in parts:
            block, after = begin // BLOCK, -(-end // BLOCK)
            least, most = self.pyramid.cells(0, block, after)
            if size < BLOCK:
                column = np.arange((begin - first) // size, -(-(end - first) // size))
                cell = np.clip((column * size + size // 2 + first) // BLOCK - block, 0, after - block - 1)
            else:  # a block lies in one column, or in two
                cell = np.tile(np.arange(after - block), 2)
                edges = (block + np.arange(after - block)) * BLOCK - first
                column = np.clip(np.concatenate([edges, edges + BLOCK - 1]) // size, 0, len(low) - 1)
            np.minimum.at(low, column, least[cell])
            np.maximum.at(high, column, most[cell])
        return SampleColumns(first, size, low, high, coarse=bool(parts))


def _insert(runs: list[list[int]], first: int, stop: int) -> None:
    """Add a run; runs that touch become one."""
    at = bisect_right(runs, first, key=lambda run: run[0])
    if at and runs[at - 1][1] >= first:
        at -= 1
        first = runs[at][0]
    after = at
    while after < len(runs) and runs[after][0] <= stop:
        stop = max(stop, runs[after][1])
        after += 1
    runs[at:after] = [[first, stop]]


def _inside(runs: list[list[int]], first: int, stop: int) -> list[tuple[int, int]]:
    """The parts of runs in a range."""
    at = max(0, bisect_right(runs, first, key=lambda run: run[0]) - 1)
    found = []
    for begin, end in runs[at:]:
        if begin >= stop:
            break
        if end > first:
            found.append((max(begin, first), min(end, stop)))
    return found

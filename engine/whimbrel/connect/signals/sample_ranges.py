"""Runs of consecutive samples, with gaps between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from whimbrel.batch import Mask, Ticks


@dataclass(frozen=True)
class SampleRanges:
    """The samples that a source has, as runs; what lies between two runs is a gap.

        sample   0  1  2  3  4  5  6
        there    x  x        x  x  x      first 0, 4   stop 2, 7   (five rows, one gap of two samples)

    Parameters
    ----------
    first, stop : numpy.ndarray of int64
        The sample numbers of each run, in order. Runs are not empty and do not touch.

    Examples
    --------
    >>> runs = SampleRanges.of_mask(np.array([True, True, False, False, True, True, True]))
    >>> runs.rows, runs.rows_before(3), list(runs.pieces(1, 10))
    (5, 2, [(1, 1), (4, 3)])
    """

    first: Ticks
    stop: Ticks

    @staticmethod
    def of(runs: Iterable[tuple[int, int]]) -> SampleRanges:
        """Runs ``(first, stop)`` in order. Empty ones are left out, and those that touch are one."""
        joined: list[list[int]] = []
        for first, stop in runs:
            if joined and first == joined[-1][1]:
                joined[-1][1] = stop
            elif stop > first:
                joined.append([first, stop])
        bounds = np.array(joined, np.int64).reshape(-1, 2)
        return SampleRanges(bounds[:, 0], bounds[:, 1])

    @staticmethod
    def of_mask(there: Mask, first: int = 0) -> SampleRanges:
        """The runs of true values; `first` is the number of the first sample."""
        edges = np.flatnonzero(np.diff(there, prepend=False, append=False)) + first
        return SampleRanges(edges[::2], edges[1::2])

    @cached_property
    def bounds(self) -> Ticks:
        """The row at which each run begins, and the number of rows."""
        return np.concatenate([[0], np.cumsum(self.stop - self.first)])

    @property
    def rows(self) -> int:
        """How many samples there are."""
        return int(self.bounds[-1])

    @property
    def gaps(self) -> bool:
        """Whether samples are missing between others."""
        return len(self.first) > 1

    def sample(self, row: int) -> int:
        """The number of the sample in a row."""
        return int(self.samples(np.array([row]))[0])

    def samples(self, rows: Ticks) -> Ticks:
        """The numbers of the samples in some rows."""
        run = np.searchsorted(self.bounds, rows, "right") - 1
        return self.first[run] + rows - self.bounds[run]

    def rows_before(self, sample: int) -> int:
        """How many samples have a smaller number."""
        run = int(np.searchsorted(self.stop, sample, "right"))
        if run == len(self.stop):
            return self.rows
        return int(self.bounds[run]) + max(0, sample - int(self.first[run]))

    def slice(self, row: int, stop: int) -> SampleRanges:
        """The runs of the rows from `row` up to `stop`."""
        return SampleRanges.of((first, first + count) for first, count in self.pieces(row, self.rows, stop))

    def pieces(self, row: int, limit: int, stop: int | None = None) -> Iterator[tuple[int, int]]:
        """First sample and length of pieces from a row on, each in one run and of at most so many samples."""
        end = self.rows if stop is None else stop
        for run, (begin, after) in enumerate(pairwise(self.bounds.tolist())):
            at, last = max(begin, row), min(after, end)
            while at < last:
                count = min(limit, last - at)
                yield int(self.first[run]) + at - begin, count
                at += count

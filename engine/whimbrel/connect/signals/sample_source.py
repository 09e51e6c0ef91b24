"""Base class of bounded sources of samples on a timebase."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise

import numpy as np

from whimbrel.batch import Batch, Column, Pulse, Schema
from whimbrel.clock import Timebase
from whimbrel.connect.signals.sample_ranges import SampleRanges
from whimbrel.connect.tables.columnar_source import BATCH_ROWS
from whimbrel.plan.properties import Sampling, TimeGrid
from whimbrel.plan.source import Blocks, Source

ReadSamples = Callable[[int, int], tuple[Column, ...]]
"""Columns of so many samples from a sample on; all of them are there."""

_FEWEST_BETWEEN_CUTS = 4


class SampleSource(Source):
    """A source of samples on a timebase, which keeps no times.

    Each sample is an event of one tick. Batches have at most 262,144 samples, and none crosses a gap.

    Parameters
    ----------
    name : str
    schema : Schema
        One column for each channel. The event time is no column.
    timebase : Timebase
        Its phase is a whole number of ticks.
    runs : SampleRanges
        The samples that are there.
    """

    longest = 1
    in_order = True
    time = "start"
    timebase: Timebase
    runs: SampleRanges

    def __init__(self, name: str, schema: Schema, timebase: Timebase, runs: SampleRanges) -> None:
        self.name, self.schema, self.timebase, self.runs = name, schema, timebase, runs
        self.rows = runs.rows
        self.sampling = Sampling(timebase.period, int(timebase.phase), gaps=runs.gaps)
        if self.rows:
            timebase.time(runs.sample(self.rows - 1) + 1)  # the end of time is an error before a row is read

    @abstractmethod
    def opened(self, columns: tuple[str, ...]) -> AbstractContextManager[ReadSamples]:
        """Open the source to read these columns."""

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        return self._batches(self.schema.select(columns), offset)

    def _batches(self, schema: Schema, offset: int) -> Generator[Batch]:
        with self.opened(schema.names) as read:
            for first, count in self.runs.pieces(offset, BATCH_ROWS):
                yield Batch(schema, Pulse(self.timebase, first, count), 1, read(first, count))

    def rows_between(self, start: int, end: int) -> tuple[int, int]:
        return self._rows_before(start), self._rows_before(end)

    def _rows_before(self, time: int) -> int:
        rows = self.rows or 0
        if not rows or time <= self.timebase.time(self.runs.sample(0)):
            return 0
        if time > self.timebase.time(self.runs.sample(rows - 1)):
            return rows
        return self.runs.rows_before(self.timebase.first_sample(time))

    def cuts(self, parts: int) -> list[int]:
        if not self.rows:
            return []
        rows = np.linspace(0, self.rows, parts + 1)[1:-1].astype(np.int64)
        return self.timebase.times(self.runs.samples(rows)).tolist()

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        if not self.rows:
            return None
        ends = [0, self.rows]
        if cuts is not None:
            begin, last = (self.timebase.time(self.runs.sample(row)) for row in (0, self.rows - 1))
            begin -= (begin - cuts.offset) % cuts.hop
            between = (last - begin) // cuts.hop
            if 0 < between * rows * _FEWEST_BETWEEN_CUTS <= self.rows:
                ends[1:1] = [self._rows_before(begin + cuts.hop * (number + 1)) for number in range(between)]
        firsts = [begin + np.arange(count) * (end - begin) // count
                  for begin, end in pairwise(ends) if (count := -(-(end - begin) // rows))]
        first = np.concatenate(firsts)
        stop = np.append(first[1:], self.rows)
        return Blocks(first, stop, *(self.timebase.times(self.runs.samples(row)) for row in (first, stop - 1)))

    def excerpt(self, first: int, stop: int) -> Source:
        part = copy.copy(self)
        part.runs = self.runs.slice(first, stop)
        part.rows = part.runs.rows
        return part

"""Kernel of blocks of samples: it places blocks on a timebase."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Column, Pulse, Schema, Ticks
from whimbrel.clock import INF, MIN_TIME, Timebase, show_ticks
from whimbrel.errors import KernelError
from whimbrel.kernels import Kernel
from whimbrel.operators.rows.assumption_errors import shown_time

_MAX_ROWS = 262_144
_DIFFERENT = 'Fix the data, or use duplicates="first" to keep the samples that came first.'


class BlockSamplesKernel(Kernel):
    """Places blocks on the timebase, in the order of their times.

    Attributes
    ----------
    duplicates : int
        Samples of overlapping blocks that were there already.
    missing : int
        Samples in the gaps so far.
    """

    def __init__(self, output: Schema, period: Fraction, phase: int | None, jitter: int, duplicates: str,
                 where: str) -> None:
        self.output, self.period, self.jitter, self.where = output, period, jitter, where
        self.compared = duplicates == "raise"
        self.zero: int | None = phase
        self.next: int | None = None  # the sample after all others
        # First sample and columns of what a block after the watermark may overlap, null samples included.
        self.recent: list[tuple[int, tuple[Column, ...]]] = []
        self.duplicates = self.missing = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        if self.zero is None:
            self.zero = batch.time(0)
        columns, lengths = self._flat(batch)
        kept = lengths > 0
        if not kept.any():
            return []
        sync, lengths = batch.sync[kept], lengths[kept]
        first = self._first_samples(batch, sync)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        # A stretch is a run of blocks that follow one another without a gap or an overlap.
        cut = np.flatnonzero(first[1:] != (first + lengths)[:-1]) + 1
        out: list[Batch] = []
        for begin, end in zip([0, *cut.tolist()], [*cut.tolist(), len(first)], strict=True):
            part = tuple(column.slice(int(starts[begin]), int(starts[end])) for column in columns)
            out += self._stretch(int(first[begin]), part, int(sync[begin]))
        self._forget(int(sync[-1]))
        return out

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark in (INF, MIN_TIME):
            self.watermark = watermark
            return []
        early = watermark - self.jitter
        # No block before the watermark follows, and samples that are there already never come again.
        reached = MIN_TIME if self.next is None else self.timebase.time(self.next)
        self.watermark = max(early, reached)
        self._forget(watermark)
        return []

    @property
    def buffered_rows(self) -> int:
        return sum(len(columns[0]) for _, columns in self.recent)

    @property
    def buffered_bytes(self) -> int:
        return sum(column.values.nbytes for _, columns in self.recent for column in columns)

    @property
    def timebase(self) -> Timebase:
        return Timebase(self.period, Fraction(self.zero or 0), "")

    def _flat(self, batch: Batch) -> tuple[tuple[Column, ...], Ticks]:
        """The samples of all blocks, one after the other, and how many each has."""
        lists: list[Any] = [batch.column(name).values for name in self.output.names]
        counts = [pc.list_value_length(array) for array in lists]
        filled = [np.asarray(Column.from_arrow(pc.fill_null(count, 0).cast(pa.int64())).values) for count in counts]
        lengths = np.maximum.reduce(filled)
        columns = []
        for name, array, count in zip(self.output.names, lists, filled, strict=True):
            wrong = (count != lengths) & np.asarray(batch.column(name).validity())
            if wrong.any():
                row = int(wrong.argmax())
                other = self.output.names[int(np.argmax([each[row] for each in filled]))]
                at = self._shown(batch.time(row))
                raise KernelError(f"The block at {at} has {count[row]:,} samples of {name!r}, but {lengths[row]:,} of "
                                  f"{other!r}.", where=self.where,
                                  hint="Use blocks with lists of one length, or one stream for each channel.")
            values = array.flatten()
            if array.null_count and (count != lengths).any():  # a channel without a list has null samples
                numbers = np.repeat(np.cumsum(count) - count, lengths) + _within(lengths)
                there = np.repeat(count == lengths, lengths)
                values = values.take(pa.array(np.where(there, numbers, 0), mask=~there))
            columns.append(Column.from_arrow(values))
        return tuple(columns), lengths

    def _first_samples(self, batch: Batch, sync: Ticks) -> Ticks:
        """The sample nearest to the time of each block; an error if it is too far away."""
        timebase = self.timebase
        first, distance = timebase.nearest_samples(sync)
        wrong = distance > self.jitter
        if wrong.any():
            row = int(wrong.argmax())
            far, most = (show_ticks(int(ticks), self.output.unit) for ticks in (distance[row], self.jitter))
            sample = int(first[row])
            raise KernelError(f"The block at {self._shown(int(sync[row]))} is {far} from sample {sample:,}, at "
                              f"{self._shown(timebase.time(sample))}; at most {most} is allowed.", where=self.where,
                              hint="Check rate=, fix the data, or allow more with jitter=.")
        return first

    def _stretch(self, first: int, columns: tuple[Column, ...], at: int) -> list[Batch]:
        """New samples of blocks that follow one another; an overlap with samples before is compared."""
        rows = len(columns[0])
        reached = first if self.next is None else self.next
        again = min(max(0, reached - first), rows)
        if again:
            self._forget(at)
            self._compare(first, tuple(column.slice(0, again) for column in columns), at)
            self.duplicates += again
        self.missing += max(0, first - reached)
        if again == rows:
            return []
        new = tuple(column.slice(again, rows) for column in columns)
        self.next = first + rows
        self.recent.append((first + again, new))
        return self._without_gaps(Batch(self.output, Pulse(self.timebase, first + again, rows - again), 1, new))

    def _without_gaps(self, batch: Batch) -> list[Batch]:
        """The samples that any channel has, in batches of bounded size."""
        runs = [(0, len(batch))]
        if all(column.valid is not None for column in batch.columns):
            there = np.logical_or.reduce([column.validity() for column in batch.columns])
            edges = np.flatnonzero(np.diff(there, prepend=False, append=False))
            runs = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
            self.missing += len(batch) - int(np.count_nonzero(there))
        return [batch.slice(row, min(row + _MAX_ROWS, stop))
                for begin, stop in runs for row in range(begin, stop, _MAX_ROWS)]

    def _compare(self, first: int, columns: tuple[Column, ...], at: int) -> None:
        """Raise an error at the first sample that differs from the one that is there."""
        if not self.compared:
            return
        stop = first + len(columns[0])
        for start, known in self.recent:
            begin, end = max(first, start), min(stop, start + len(known[0]))
            if begin >= end:
                continue
            for name, column, mine in zip(self.output.names, columns, known, strict=True):
                one, other = column.slice(begin - first, end - first), mine.slice(begin - start, end - start)
                if (row := _first_difference(one, other)) is not None:
                    sample = begin + row
                    raise KernelError(f"The block at {self._shown(at)} overlaps with one before it, and {name!r} "
                                      f"differs at sample {sample:,}, at {self._shown(self.timebase.time(sample))}.",
                                      where=self.where, hint=_DIFFERENT)

    def _forget(self, time: int) -> None:
        """Drop samples that no block from this time on can overlap."""
        if self.zero is None or not self.recent:
            return
        earliest = self.timebase.first_sample(time - self.jitter)
        kept = ((max(first, earliest), tuple(column.slice(max(0, earliest - first), len(column)) for column in columns))
                for first, columns in self.recent if first + len(columns[0]) > earliest)
        self.recent = list(kept)

    def _shown(self, ticks: int) -> Any:
        return shown_time(Batch.empty(self.output), ticks)


def _within(lengths: Ticks) -> Ticks:
    """The position of each sample in its block."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _first_difference(one: Column, other: Column) -> int | None:
    """The first row in which two columns differ; NaN equals NaN, and null equals null."""
    a, b = np.asarray(one.values), np.asarray(other.values)
    valid_a, valid_b = one.validity(), other.validity()
    same = (a == b) | ((a != a) & (b != b))  # noqa: PLR0124 - NaN
    differs = (valid_a != valid_b) | (valid_a & ~same)
    return int(differs.argmax()) if differs.any() else None

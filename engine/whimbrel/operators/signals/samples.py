"""Turn segments into samples."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Field, Pulse, Schema, Segments, SegmentType, frozen
from whimbrel.batch.sample_blocks import joined
from whimbrel.clock import INF, MIN_TIME, Timebase
from whimbrel.disorder import Sorter
from whimbrel.errors import KernelError, SchemaError
from whimbrel.expr import Keys
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.operators.signals.sampling import Integers, by_key, runs_of_numbers
from whimbrel.plan import NonOverlapping, Operator, Properties, Reach, Sampling, fluent

_FEW_RUNS = 16
"""So many runs of samples may have a batch each, however short they are."""
_LONG_RUN = 16_384
"""Samples of a run that is worth a batch."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SegmentSamples(Operator):
    """Turn segments into samples.

        time     0    5    10   15   20
        in       [a,  b,   c]
                      [b,  c,   d]           (segments that overlap)
        out      a────b────c────d            (each sample once)

    Parameters
    ----------
    keys : tuple of str
        Columns that say which signal a segment is of.
    period : Fraction
        Ticks from one sample to the next.

    Notes
    -----
    The first sample of a segment is at the start of its event. Each sample is an event of one tick. Columns that are no
    segments are repeated. A sample that is missing in all channels is left out. One that several segments have comes
    once, with the columns of the first. Shapes: one row per sample; no sample is copied where segments follow each
    other. State: one time per key. Raises a KernelError if the segments of a row differ in their samples. Source:
    XStream (ICDE 2008), section 3.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": range(6), "x": [1, 5, 2, 2, 4, 9]}, time="at").drop("at").assume(periodic=1)
    >>> log.rewindow(3).where(col.x.seg.max() > 5).samples().collect().to_pylist()
    [{'start': 3, 'end': 4, 'x': 2}, {'start': 4, 'end': 5, 'x': 4}, {'start': 5, 'end': 6, 'x': 9}]
    """

    keys: tuple[str, ...] = ()
    period: Fraction

    def schema(self, *upstream: Schema) -> Schema:
        segment_timing(upstream[0], self.show())
        return upstream[0].with_fields([Field(field.name, field.type.samples) if isinstance(field.type, SegmentType)
                                        else field for field in upstream[0]])

    def properties(self, *upstream: Properties) -> Properties:
        per, whole = frozenset(self.keys), int(self.period) if self.period.denominator == 1 else None
        return Properties(duration=1, points=True, causal=upstream[0].causal,
                          apart=NonOverlapping(per, whole, gaps=whole is not None),
                          sampling=Sampling(self.period, None, per, gaps=True))

    def reach(self, *inputs: Reach) -> Reach | None:
        longest = inputs[0].longest  # a sample is that of the first segment that has it
        return None if longest is None else inputs[0].wider(longest, 0, 1)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        segments = {field.name for field in upstream[0] if isinstance(field.type, SegmentType)}
        return (wanted.union(self.keys, segments),)  # a sample is there if any channel has it

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else None

    def kernel(self, *upstream: Schema) -> Kernel:
        return SamplesKernel(upstream[0], self.schema(*upstream), self.keys, self.show())

    def show(self) -> str:
        return "samples()"


@fluent
def samples(schema: Schema, *, keys: Keys = (), known: Properties) -> SegmentSamples:
    """Turn segments into samples. See :class:`whimbrel.operators.SegmentSamples`."""
    names = {name for name, _ in keys} | (known.apart.per if known.apart is not None else frozenset())
    period = segment_timing(schema, "samples()").period
    return SegmentSamples(keys=tuple(sorted(names & set(schema.names))), period=period)


def segment_timing(schema: Schema, where: str) -> SegmentType:
    """The type of the segments of a stream, which must have one timebase."""
    types: list[Any] = [field.type for field in schema if isinstance(field.type, SegmentType)]
    if not types:
        raise SchemaError("There is no column of segments.", where=where, hint="Make segments with rewindow().")
    for other in types[1:]:
        if other.timing != types[0].timing:
            raise SchemaError(f"Segments must have one timebase, got {types[0]} and {other}.", where=where,
                              hint="Select some of them, or bring the signals to one rate with resample().")
    found: SegmentType = types[0]
    return found


class SamplesKernel(Kernel):
    """Remembers for each key the time up to which its samples were given."""

    def __init__(self, schema: Schema, output: Schema, keys: tuple[str, ...], where: str) -> None:
        self.output, self.columns, self.where = output, keys, where
        self.period: Fraction = segment_timing(schema, where).period
        self.channels = [field.name for field in schema if isinstance(field.type, SegmentType)]
        self.keys = KeyTable([schema.type_of(name) for name in keys])
        self.given: dict[int, int] = {}
        self.done = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        if not self.columns:
            return self._samples(0, batch)
        ids = self.keys.ids([batch.column(name) for name in self.columns], len(batch))
        for key, rows in by_key(ids, batch):
            for part in self._samples(key, rows):
                self.done.add(part)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return self.done.release(watermark if watermark in (INF, MIN_TIME) else watermark - 1)

    @property
    def buffered_rows(self) -> int:
        return self.done.rows

    def _samples(self, key: int, batch: Batch) -> list[Batch]:
        """The samples of segments of one signal that were not given yet."""
        first = batch.column(self.channels[0]).segments
        index, size = first.index, np.where(first.validity(), first.size, 0)
        for name in self.channels[1:]:
            other = batch.column(name).segments
            if (other.index != index)[size > 0].any() or (np.where(other.validity(), other.size, 0) != size).any():
                raise KernelError(f"Segments of {self.channels[0]!r} and {name!r} have different samples.",
                                  where=self.where, hint="Select one of them.")
        base = Timebase(self.period, Fraction(), "")
        zero = batch.sync - base.times(index)
        ends = zero + base.times(index + size)
        if batch.sync[0] >= self.given.get(key, MIN_TIME) and (batch.sync[1:] >= ends[:-1]).all():  # none overlap
            self.given[key] = int(ends[-1])
            rows = np.flatnonzero(size)
            return self._given(batch, rows, np.zeros(len(rows), np.int64), size[rows], index[rows], zero[rows])
        until = np.maximum.accumulate(np.append(self.given.get(key, MIN_TIME), ends))
        self.given[key] = int(until[-1])
        begin = np.maximum(index, base.first_samples(np.maximum(until[:-1], batch.sync) - zero))
        count = np.maximum(0, index + size - begin)
        rows = np.flatnonzero(count)
        return self._given(batch, rows, begin[rows] - index[rows], count[rows], begin[rows], zero[rows])

    def _given(self, batch: Batch, *part: Integers) -> list[Batch]:
        """Samples of rows: how many of each are left out at its start, how many are given, and their numbers."""
        if not len(part[0]):
            return []
        whole = not self.columns and not any(len(batch.column(name).segments.blocks.missing) for name in self.channels)
        return (self._runs(batch, *part) if whole else None) or self._rows(batch, *part)

    def _runs(self, batch: Batch, rows: Integers, skipped: Integers, count: Integers, begin: Integers,
              zero: Integers) -> list[Batch] | None:
        """A batch for each run of samples, without times, if none is missing and there are not many runs."""
        starts = np.append(0, np.flatnonzero(begin[1:] != begin[:-1] + count[:-1]) + 1)
        samples = np.add.reduceat(count, starts)
        if (zero != zero[0]).any() or _many(len(starts), int(samples.sum())):
            return None
        timebase, made = Timebase(self.period, Fraction(int(zero[0])), ""), list[Batch]()
        stops = np.append(starts[1:], len(rows))
        channels = [batch.column(name).segments for name in self.channels]
        for start, stop, many, first in zip(starts.tolist(), stops.tolist(), samples.tolist(), begin[starts].tolist(),
                                            strict=True):
            own = slice(start, stop)
            pieces = [segments.blocks.slices(segments.position[rows[own]] + skipped[own], count[own])
                      for segments in channels]
            alike = all(list(map(len, piece)) == list(map(len, pieces[0])) for piece in pieces[1:])
            if not alike or _many(len(pieces[0]), many):
                pieces = [[joined(piece)] for piece in pieces]
            others = {field.name: _repeated(batch.column(field.name), rows[own], count[own]) for field in self.output
                      if field.name not in self.channels}
            offset = 0
            for parts in zip(*pieces, strict=True):
                values, after = dict(zip(self.channels, parts, strict=True)), offset + len(parts[0])
                columns = tuple(Column.of_samples(field.type, values[field.name]) if field.name in values else
                                others[field.name].slice(offset, after) for field in self.output)
                made.append(Batch(self.output, Pulse(timebase, first + offset, after - offset), 1, columns))
                offset = after
        return made

    def _rows(self, batch: Batch, rows: Integers, skipped: Integers, count: Integers, begin: Integers,
              zero: Integers) -> list[Batch]:
        owner = np.repeat(rows, count)
        numbers = np.repeat(begin - (np.cumsum(count) - count), count) + np.arange(len(owner))
        zeros = np.repeat(zero, count)
        columns: list[Column] = []
        there = np.zeros(len(owner), np.bool_)
        for field in self.output:
            column = batch.column(field.name)
            if field.name not in self.channels:
                columns.append(column.take(owner))
                continue
            columns.append(_flat(field, column.segments.with_rows(rows).part(skipped, count)))
            there |= columns[-1].validity()
        out = Batch(self.output, frozen(zeros + Timebase(self.period, Fraction(), "").times(numbers)), 1,
                    tuple(columns))
        if not there.all():
            out, numbers, zeros = out.only(there), numbers[there], zeros[there]
        return self._on_timebase(out, numbers, zeros) if len(out) else []

    def _on_timebase(self, out: Batch, numbers: Integers, zeros: Integers) -> list[Batch]:
        """A batch for each run of samples, without times, if there are not many."""
        _, rows, count = runs_of_numbers(numbers)
        if self.columns or (zeros != zeros[0]).any() or _many(len(rows), len(out)):
            return [out]
        timebase = Timebase(self.period, Fraction(int(zeros[0])), "")
        return [out.slice(row, row + many).having(sync=Pulse(timebase, int(numbers[row]), many))
                for row, many in zip(rows.tolist(), count.tolist(), strict=True)]


def _repeated(column: Column, rows: Integers, count: Integers) -> Column:
    """Each of these rows, so many times."""
    if not column.fixed:
        return column.take(np.repeat(rows, count))
    valid = None if column.valid is None else np.repeat(column.valid[rows], count)
    return Column(column.type, np.repeat(column.values[rows], count), valid)


def _many(runs: int, samples: int) -> bool:
    return runs > _FEW_RUNS and samples < _LONG_RUN * runs


def _flat(field: Field, part: Segments) -> Column:
    """The samples of all rows, one row after the other."""
    values = part.blocks.values(part.position, part.size)
    if not len(part.blocks.missing) or not (lost := part.missing()).any():
        return Column.of_samples(field.type, values)
    valid = np.ones(len(values), np.bool_)
    offsets = np.cumsum(part.size) - part.size
    for row in np.flatnonzero(lost).tolist():
        start, stop = int(part.position[row]), int(part.position[row] + part.size[row])
        for first, last in part.blocks.between(start, stop).missing.tolist():
            valid[offsets[row] + first:offsets[row] + last] = False
    return Column.of_samples(field.type, values, valid)

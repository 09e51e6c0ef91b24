"""Turn rows that are blocks of samples into samples on a timebase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Column, Field, Pulse, Schema, Ticks
from whimbrel.clock import (
    INF,
    MIN_TIME,
    Duration,
    Instant,
    Rate,
    TickUnit,
    Timebase,
    duration_ticks,
    parse_instant,
    sample_period,
    show_ticks,
)
from whimbrel.errors import KernelError, PlanError, SchemaError, near_match
from whimbrel.kernels import Kernel
from whimbrel.operators.rows.assumption_errors import shown_time
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach, Sampling, earlier, later

Duplicates = Literal["raise", "first"]

_MAX_ROWS = 262_144
_DIFFERENT = 'Fix the data, or use duplicates="first" to keep the samples that came first.'


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockSamples(Operator):
    """Turn rows that are blocks of samples into samples on a timebase.

        time     0    5    10   15   20   25
        in       [a,b]     [c]       [d,e]       (a row for each block, at its first sample)
        out      a────b────c─────────d────e      (every 5; the sample at 15 is missing)

    Options ``samples=`` and ``rate=`` of sources put it after them.

    Parameters
    ----------
    columns : tuple of str
        Columns of lists: a channel each.
    period : Fraction
        Ticks from one sample to the next.
    phase : int, optional
        Time of any sample, in ticks. None: the first block's.
    jitter : int
        Most ticks between the time of a block and that of its first sample.
    duplicates : {"raise", "first"}
        What happens to samples of overlapping blocks that differ. Equal ones are kept once.
    block_ticks : int, optional
        Most ticks that a block lasts, if it is known. Ranges of time then need not read all blocks.
    options : str
        The options as the user wrote them.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Shapes: a row out for each sample, without a copy where blocks follow one another. State: the last blocks, up to the
    watermark. Samples that are null in all channels, and those between two blocks, are gaps. Raises a KernelError that
    names the block if its time is between two samples, if its lists differ in length, or if it overlaps with others
    and differs. Source: XStream (ICDE 2008), section 3.

    Examples
    --------
    >>> import whimbrel as wb
    >>> rows = {"at": [0, 3000, 8000], "pcm": [[1, 2, 3], [4, 5], [6]]}
    >>> import pyarrow as pa
    >>> table = pa.table(rows).cast(pa.schema([("at", pa.timestamp("us")), ("pcm", pa.list_(pa.int16()))]))
    >>> block = wb.from_arrow(table, time="at", samples="pcm", rate=1000).collect_samples()
    >>> block["pcm"].tolist(), block.gaps
    ([1, 2, 3, 4, 5, 6], [(5, 3)])
    """

    columns: tuple[str, ...]
    period: Fraction
    phase: int | None = None
    jitter: int = 0
    duplicates: Duplicates = "raise"
    block_ticks: int | None = None
    options: str = ""
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        known = upstream[0]
        return known.with_fields([Field(name, _sample_type(known, name, self.options)) for name in self.columns])

    def properties(self, *upstream: Properties) -> Properties:
        sampling = Sampling(self.period, self.phase)
        return Properties(causal=upstream[0].causal, points=True, apart=sampling.apart, sampling=sampling)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (frozenset(self.columns),)  # also those of other channels: what no channel has is a gap

    def reach(self, *inputs: Reach) -> Reach | None:
        if self.block_ticks is None or self.phase is None:
            return None  # the first block of all says where samples are
        return inputs[0].wider(self.block_ticks + self.jitter, self.jitter, 1)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        if self.block_ticks is None or self.phase is None:
            return super().lineage(wanted, *inputs)
        start = earlier(wanted.start, self.block_ticks + self.jitter)
        return (wanted.only(()).starts(start, later(wanted.end, self.jitter)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return BlockSamplesKernel(self, upstream[0])

    def show(self) -> str:
        return f"samples({self.options})"


def block_samples(schema: Schema, columns: str | Sequence[str], rate: Rate, *, phase: Instant | None = None,
                  jitter: Duration | None = None, duplicates: Duplicates = "raise",
                  block_ticks: int | None = None, call: str = "samples") -> BlockSamples:
    """Check the options of blocks. See :class:`BlockSamples`.

    Parameters
    ----------
    columns : str or sequence of str
        Columns with lists of samples.
    rate : int, float, str, Fraction or Decimal
        Samples per second.
    phase : str, datetime or int (ticks), optional
        Time of any sample. Default: the first block's.
    jitter : str, timedelta or int (ticks), optional
        Most time between a block and its first sample. Default: one tick.
    duplicates : {"raise", "first"}
        What happens to different samples of overlapping blocks.
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    options = ", ".join([", ".join(map(repr, names)), f"rate={rate}"])
    where = f"{call}(samples={columns!r}, rate={rate!r})"
    if not names or len(set(names)) < len(names):
        raise PlanError(f"samples must name columns, each once, got {columns!r}.", where=where,
                        hint='Use for example samples=["left", "right"].')
    if duplicates not in get_args(Duplicates):
        raise PlanError(f"duplicates must be 'raise' or 'first', got {duplicates!r}.", where=where,
                        hint=near_match(str(duplicates), get_args(Duplicates), noun="value"))
    period = sample_period(rate, schema.unit, where=where)
    most = min(1, (period.numerator - 1) // (2 * period.denominator))
    if jitter is not None:
        most = duration_ticks(jitter, schema.unit, where=where)
        if not 0 <= 2 * most < period:
            raise PlanError(f"jitter must be at least 0 and less than half of the period, got {jitter!r}.", where=where,
                            hint="Use a lower rate if blocks are that far from their samples.")
    at = None if phase is None else parse_instant(phase, schema.unit, schema.zone, name="phase", where=where)
    made = BlockSamples(columns=names, period=period, phase=at, jitter=most, duplicates=duplicates,
                        block_ticks=block_ticks, options=options, unit=schema.unit)
    for name in names:
        _sample_type(schema, name, where)
    return made


def block_duration(period: Fraction, longest: int) -> int:
    """Most ticks that a block of so many samples lasts."""
    return ceil(period * longest) + 1


def _sample_type(schema: Schema, name: str, where: str) -> pa.DataType:
    type_ = schema.type_of(name, where=where)
    lists = pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)
    item = type_.value_type if lists else None
    if item is None or not (pa.types.is_integer(item) or pa.types.is_floating(item) or pa.types.is_boolean(item)):
        raise SchemaError(f"{name!r} must be a column of lists of numbers, got {type_}.", where=where,
                          hint="Use samples= with the column that has a block of samples in each row.")
    return item


class BlockSamplesKernel(Kernel):
    """Places blocks on the timebase, in the order of their times.

    Attributes
    ----------
    duplicates : int
        Samples of overlapping blocks that were there already.
    missing : int
        Samples in the gaps so far.
    """

    def __init__(self, op: BlockSamples, schema: Schema) -> None:
        self.op = op
        self.output = op.schema(schema)
        self.zero: int | None = op.phase
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
        early = watermark - self.op.jitter
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
        return Timebase(self.op.period, Fraction(self.zero or 0), "")

    def _flat(self, batch: Batch) -> tuple[tuple[Column, ...], Ticks]:
        """The samples of all blocks, one after the other, and how many each has."""
        lists: list[Any] = [batch.column(name).values for name in self.op.columns]
        counts = [pc.list_value_length(array) for array in lists]
        filled = [np.asarray(Column.from_arrow(pc.fill_null(count, 0).cast(pa.int64())).values) for count in counts]
        lengths = np.maximum.reduce(filled)
        columns = []
        for name, array, count in zip(self.op.columns, lists, filled, strict=True):
            wrong = (count != lengths) & np.asarray(batch.column(name).validity())
            if wrong.any():
                row = int(wrong.argmax())
                other = self.op.columns[int(np.argmax([each[row] for each in filled]))]
                at = self._shown(batch.time(row))
                raise KernelError(f"The block at {at} has {count[row]:,} samples of {name!r}, but {lengths[row]:,} of "
                                  f"{other!r}.", where=self.op.show(),
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
        wrong = distance > self.op.jitter
        if wrong.any():
            row = int(wrong.argmax())
            far, most = (show_ticks(int(ticks), self.op.unit) for ticks in (distance[row], self.op.jitter))
            sample = int(first[row])
            raise KernelError(f"The block at {self._shown(int(sync[row]))} is {far} from sample {sample:,}, at "
                              f"{self._shown(timebase.time(sample))}; at most {most} is allowed.", where=self.op.show(),
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
        if self.op.duplicates == "first":
            return
        stop = first + len(columns[0])
        for start, known in self.recent:
            begin, end = max(first, start), min(stop, start + len(known[0]))
            if begin >= end:
                continue
            for name, column, mine in zip(self.op.columns, columns, known, strict=True):
                one, other = column.slice(begin - first, end - first), mine.slice(begin - start, end - start)
                if (row := _first_difference(one, other)) is not None:
                    sample = begin + row
                    raise KernelError(f"The block at {self._shown(at)} overlaps with one before it, and {name!r} "
                                      f"differs at sample {sample:,}, at {self._shown(self.timebase.time(sample))}.",
                                      where=self.op.show(), hint=_DIFFERENT)

    def _forget(self, time: int) -> None:
        """Drop samples that no block from this time on can overlap."""
        if self.zero is None or not self.recent:
            return
        earliest = self.timebase.first_sample(time - self.op.jitter)
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

"""Turn rows that are blocks of samples into samples on a timebase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal, get_args

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.clock import (
    Duration,
    Instant,
    Rate,
    TickUnit,
    duration_ticks,
    parse_instant,
    sample_period,
)
from whimbrel.errors import PlanError, SchemaError, near_match
from whimbrel.kernels import Kernel
from whimbrel.operators.rows.block_samples_kernel import BlockSamplesKernel
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach, Sampling, earlier, later

Duplicates = Literal["raise", "first"]


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
        return BlockSamplesKernel(self.schema(*upstream), self.period, self.phase, self.jitter, self.duplicates,
                                  self.show())

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

"""The samples of a result: arrays and a timebase, without times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import SPACIOUS_BYTES, Batch, Column, Pulse, Schema, Ticks, sample_dtype
from whimbrel.clock import TickUnit, Timebase, ticks_per_second
from whimbrel.errors import PlanError
from whimbrel.kernels import wait_for_compiler
from whimbrel.plan import Node
from whimbrel.run.execution import Execution

Array = np.ndarray[Any, Any]

_WHERE = "collect_samples()"


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Mapping[str, Array]):
    """Samples of a stream: an array for each channel, and a timebase.

    A mapping of channel to array. Arrays hold the samples that are there, one run after the other. Channels with nulls
    are masked arrays.

    Attributes
    ----------
    timebase : Timebase
        Exact times of samples, in ticks.
    unit : {"s", "ms", "us", "ns"} or None
        Unit of a tick.
    zone : str or None
        Time zone of the stream.
    first, stop : numpy.ndarray of int64
        Sample numbers of each run without a gap: from `first` up to `stop`.

    Examples
    --------
    >>> import numpy as np
    >>> import whimbrel as wb
    >>> x = np.ma.masked_equal([5, 6, 0, 0, 9], 0)
    >>> block = wb.from_samples({"x": x}, rate=1000, unit="ms").collect_samples()
    >>> block["x"].tolist(), block.gaps, block.times().astype(int).tolist()
    ([5, 6, 9], [(2, 2)], [0, 1, 4])
    """

    timebase: Timebase
    unit: TickUnit
    zone: str | None
    first: Ticks
    stop: Ticks
    columns: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def rows(self) -> int:
        """Number of samples."""
        return int((self.stop - self.first).sum())

    @property
    def rate(self) -> Fraction | None:
        """Samples per second; None for integer times."""
        per_second = ticks_per_second(self.unit)
        return None if per_second is None else per_second / self.timebase.period

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """First missing sample and number of missing samples of each gap."""
        return list(zip(self.stop[:-1].tolist(), (self.first[1:] - self.stop[:-1]).tolist(), strict=True))

    def numbers(self) -> Ticks:
        """The number of each sample."""
        return np.concatenate([np.empty(0, np.int64), *map(np.arange, self.first, self.stop)])

    def times(self) -> Array:
        """The time of each sample, as datetime64 or as ticks, computed now."""
        ticks = self.timebase.times(self.numbers())
        return ticks if self.unit is None else ticks.view(f"datetime64[{self.unit}]")

    def __repr__(self) -> str:
        rate = self.rate
        per_second = "" if rate is None else f" at {float(rate):g} per second"
        gaps = "1 gap" if len(self.gaps) == 1 else f"{len(self.gaps)} gaps"
        return f"Samples({self.rows:,} of {', '.join(self.columns)}{per_second}, {gaps})"


def collect_samples(plan: Node) -> Samples:
    """Run until all sources end, and return the samples without times."""
    batches: list[Batch] = []
    held_bytes = 0
    with closing(Execution(plan, keep_rows=0, hurry=True)) as session, ExitStack() as waiting:
        total = session.reader.total_rows
        waiting.enter_context(wait_for_compiler(math.inf if total is None else total / 100_000))
        while not session.finished:
            for out in session.step() or []:
                batches += [batch for batch in out if batch.rows]
                held_bytes += sum(batch.nbytes for batch in out)
            if held_bytes > SPACIOUS_BYTES:
                session.pipeline.check_memory(held_bytes)
            for error in session.failures.values():
                raise error
    known = plan.properties.sampling
    for name in sorted(known.per if known is not None else ()):
        if len(_distinct(batches, name)) > 1:
            raise PlanError(f"collect_samples() gives one signal, but this stream has one for each {name!r}.",
                            where=_WHERE, hint=f"Select one with where(col.{name} == ...), or use .collect().")
    return samples_of(plan.schema, batches, _known_timebase(plan, batches))


def samples_of(schema: Schema, batches: Sequence[Batch], known: Timebase | None = None) -> Samples:
    """Batches of samples of one timebase as arrays; `known` is for batches that have times.

    Raises
    ------
    PlanError
        If events are not on a timebase, or on several.
    """
    timebase = next((batch.times.timebase for batch in batches if isinstance(batch.times, Pulse)), known)
    if timebase is None:
        raise PlanError("collect_samples() needs a stream of samples, but this stream has no timebase.", where=_WHERE,
                        hint="Add .assume(rate=...), or use .collect().")
    numbers = [_numbers(batch, timebase) for batch in batches]
    first, stop = _runs(numbers)
    columns = {name: _array(schema.type_of(name), [batch.column(name) for batch in map(Batch.compact, batches)])
               for name in schema.names}
    return Samples(timebase, schema.unit, schema.zone, first, stop, columns)


def _known_timebase(plan: Node, batches: Sequence[Batch]) -> Timebase | None:
    """The timebase of the result; a phase that is not known is the first event's time."""
    known = plan.properties.sampling
    if known is None:
        return None
    first = batches[0].compact().time(0) if batches else 0
    return Timebase(known.period, Fraction(first if known.phase is None else known.phase), "")


def _distinct(batches: Sequence[Batch], name: str) -> set[Any]:
    return {key for batch in batches for key in batch.compact().column(name).to_arrow().unique().to_pylist()}


def _numbers(batch: Batch, timebase: Timebase) -> Ticks | tuple[int, int]:
    """Sample numbers of a batch; first and stop where they are consecutive."""
    if isinstance(batch.times, Pulse):
        if batch.times.timebase != timebase:
            raise PlanError("collect_samples() needs samples of one timebase, got two.", where=_WHERE,
                            hint="Use .resample(...) on one of the streams, or .collect().")
        first = batch.times.first
        if batch.absent is None:
            return first, first + len(batch)
        return first + np.flatnonzero(~batch.absent)
    sync = batch.compact().sync
    numbers = timebase.first_samples(sync - (1 if timebase.period > 2 else 0))  # the phase may be rounded
    wrong = abs(timebase.times(numbers) - sync) > 1
    if wrong.any():
        raise PlanError(f"collect_samples() needs samples, but an event at {int(sync[wrong.argmax()])} is between two.",
                        where=_WHERE, hint="Use .collect() for events that are not on the timebase.")
    return numbers


def _runs(numbers: Sequence[Ticks | tuple[int, int]]) -> tuple[Ticks, Ticks]:
    """Runs of consecutive numbers."""
    first: list[int] = []
    stop: list[int] = []
    for part in numbers:
        if isinstance(part, tuple):
            begins, ends = [part[0]], [part[1]]
        else:
            breaks = np.flatnonzero(np.diff(part) != 1) + 1
            begins, ends = part[np.r_[0, breaks]].tolist(), (part[np.r_[breaks - 1, len(part) - 1]] + 1).tolist()
        if stop and begins[0] == stop[-1]:
            stop[-1] = ends.pop(0)
            begins.pop(0)
        first += begins
        stop += ends
    return np.array(first, np.int64), np.array(stop, np.int64)


def _array(type_: pa.DataType, columns: Sequence[Column]) -> Array:
    """The values of a channel, one batch after the other."""
    column = Column.concat(columns) if columns else Column.nulls(type_, 0)
    if isinstance(column.values, pa.FixedSizeListArray) and sample_dtype(type_) is not None:
        column = Column(pa.null(), *column.samples)  # complex numbers
    if not isinstance(column.values, np.ndarray):
        return column.to_arrow().to_numpy(zero_copy_only=False)
    values = column.values
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        values = values.view(f"{'datetime64' if pa.types.is_timestamp(type_) else 'timedelta64'}[{type_.unit}]")
    return values if column.valid is None else np.ma.MaskedArray(values, ~column.valid)

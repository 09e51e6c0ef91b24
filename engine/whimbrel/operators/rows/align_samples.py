"""Move the samples of a periodic stream to their exact times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Pulse, Schema, frozen
from whimbrel.clock import INF, MIN_TIME, TickUnit, Timebase, show_ticks
from whimbrel.disorder import Sorter
from whimbrel.errors import KernelError
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.primitives.lifetimes.overlap_check import until_one_is_wrong
from whimbrel.kernels.primitives.signals.sample_times import DOUBLE, TOO_FAR, align_to_samples
from whimbrel.operators.rows.assumption_errors import MISSING_HINT, assumption_error, shown_time
from whimbrel.plan import (
    KnownInput,
    LineageRequest,
    Operator,
    Properties,
    Reach,
    Sampling,
    TimeGrid,
)
from whimbrel.temporal.bounds import Bounds

Array = np.ndarray[Any, Any]

_align, _until_one_is_wrong = Compiled(align_to_samples), Compiled(until_one_is_wrong)
_FAR_HINT = "Remove the assumption, fix the data, or allow more with jitter=."
_DOUBLE_HINT = "Remove one of the two; if several signals are mixed, name their key in per=."


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignSamples(Operator):
    """Move each row to the exact time of its sample.

    Sample `i` is at the tick nearest to ``phase + i * period``. A row is the sample whose time is nearest to its start.

        time     0    5    10   15   20
        in       a────b─────c────────d─      (12: jitter of 2; nothing at 15)
        out      a────b────c─────────d─      (samples 0, 1, 2 and 4 of a stream with a period of 5 ticks)

    Parameters
    ----------
    period : Fraction
        Ticks from one sample to the next, at least one.
    phase : int, optional
        Time of any sample, in ticks. None: the start of the first row, for each key.
    jitter : int
        Most ticks between a row and the time of its sample.
    gaps : bool
        Samples may be missing.
    per : frozenset of str
        Key columns: each key has samples of its own.
    options : str
        The assumption as the user wrote it.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is. Integer times get this unit.

    Notes
    -----
    Shapes: one row out per row in. Columns keep the measured time. The end of an event moves as far as its start. An
    event that lasts more than half of a period, and ends within the jitter of a later sample, ends at that sample.
    State: six numbers a key; with key columns also the rows that later ones may precede. Raises a KernelError that
    names the row and the sample. Source: XStream (ICDE 2008), section 3, whose timebases have exact rates here.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 5, 12, 20], "x": [1, 2, 3, 4]}, time="at", name="log")
    >>> log.assume(periodic=5, jitter=2, gaps=True).collect().to_pylist()[2:]
    [{'start': 10, 'end': 11, 'at': 12, 'x': 3}, {'start': 20, 'end': 21, 'at': 20, 'x': 4}]
    >>> log.assume(periodic=5, jitter=2).collect()
    Traceback (most recent call last):
    whimbrel.errors.KernelError: An event at 20 is sample 4, at 20, but sample 3, at 15, is missing.
      where: assume(periodic=5, jitter=2)
      hint:  Add gaps=True if samples may be missing.
    """

    period: Fraction
    phase: int | None = None
    jitter: int = 0
    gaps: bool = False
    per: frozenset[str] = frozenset()
    options: str = ""
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        return Schema(upstream[0].fields, self.unit, upstream[0].zone)

    @property
    def timebase(self) -> Timebase:
        """Times of samples after sample 0."""
        return Timebase(self.period, Fraction(), "")

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        sampling = Sampling(self.period, self.phase, self.per, self.gaps)
        whole = not self.jitter and self.period.denominator == 1
        if whole and self.phase is not None and known.time_grid is not None and known.time_grid.on(
                TimeGrid(self.period.numerator, self.phase)):  # each row is at its sample
            return replace(known, packed=True, apart=sampling.apart, sampling=sampling)
        return Properties(intervals_only=known.intervals_only, duration=self.duration(known.duration),
                          causal=known.causal, starts_only=known.starts_only, points=known.points,
                          apart=sampling.apart, sampling=sampling)

    def duration(self, duration: int | None) -> int | None:
        """Duration of the moved events; None if it depends on the sample."""
        if duration is None or not self.jitter or 2 * duration <= self.period:
            return duration
        return duration if duration == self.period else None  # it then ends at the next sample

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted | self.per,)

    def reach(self, *inputs: Reach) -> Reach | None:
        if self.phase is None and (self.jitter or self.period.denominator > 1):
            return None  # the first row of all says where samples are, and that of a range may be off
        longest = inputs[0].longest
        return self._bounds.reach_of_starts(inputs[0], None if longest is None else longest + 2 * self.jitter)

    @property
    def _bounds(self) -> Bounds:
        return Bounds(self.jitter, self.jitter)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.per else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        if self.reach(Reach()) is None or not self.gaps:  # rows before say where a sample is, and that none is missing
            return (wanted.only(self.per).always(),)
        return (self._bounds.widened(wanted.same()),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return AlignSamplesKernel(self, upstream[0])

    def show(self) -> str:
        return f"assume({self.options})"


class AlignSamplesKernel(Kernel):
    """Goes from sample to sample of each key, and holds rows of keys that a later row of another may precede."""

    def __init__(self, op: AlignSamples, schema: Schema) -> None:
        self.op = op
        self.output = op.schema(schema)
        self.columns = tuple(sorted(op.per))
        self.keys = KeyTable([schema.type_of(name) for name in self.columns])
        self.zero = np.empty(0, np.int64)  # for each key the tick of sample 0
        # Of the current sample its number, its tick, the rest of its time, and whether it came.
        self.sample, self.tick, self.rest, self.seen = self.zero, self.zero, self.zero, np.empty(0, np.bool_)
        self.started, self.ended = self.zero, self.zero  # of the last event that may outlast its sample
        self.sorter = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact().having(schema=self.output)
        if not len(batch):
            return []
        ids = frozen(self.keys.ids([batch.column(name) for name in self.columns], len(batch)))
        self._add_keys(batch, ids)
        starts = self._starts(batch, ids)
        if self.op.jitter:
            ends = self._ends(batch, ids, starts)
            same = np.array_equal(starts, batch.sync)  # a column may share these times
            batch = batch.having(ends=ends) if same else batch.having(sync=starts, ends=ends)
        self._check_ends(batch, ids)
        batch = self._without_times(batch)
        if not self.columns:
            return [batch]
        self.sorter.add(batch)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark not in (INF, MIN_TIME):
            watermark = max(MIN_TIME, watermark - self.op.jitter)
        self.watermark = watermark
        return self.sorter.release(watermark if watermark in (INF, MIN_TIME) else watermark - 1)

    @property
    def buffered_rows(self) -> int:
        return self.sorter.rows

    @property
    def buffered_bytes(self) -> int:
        return self.sorter.nbytes

    def _add_keys(self, batch: Batch, ids: Array) -> None:
        """Sample 0 of a new key is its first row, unless the user said when it is."""
        extra = len(self.keys) - len(self.zero)
        if extra > 0:
            extra = max(extra, len(self.zero))
            self.zero, self.sample, self.tick, self.rest, self.started, self.ended = (
                np.concatenate([known, np.full(extra, MIN_TIME)])
                for known in (self.zero, self.sample, self.tick, self.rest, self.started, self.ended))
            self.seen = np.concatenate([self.seen, np.zeros(extra, np.bool_)])
        new = np.flatnonzero(self.zero[ids] == MIN_TIME)
        if not len(new):
            return
        timebase, (keys, first) = self.op.timebase, np.unique(ids[new], return_index=True)
        for key, time in zip(keys.tolist(), batch.sync[new[first]].tolist(), strict=True):
            self.zero[key] = zero = time if self.op.phase is None else self.op.phase
            self._check_range(time, zero)
            self.sample[key] = sample = timebase.first_sample(time - zero) - 1
            exact = sample * self.op.period + Fraction(1, 2)
            self.tick[key] = floor(exact) + zero
            self.rest[key] = (exact - floor(exact)) * self.parts

    def _check_range(self, time: int, zero: int) -> None:
        room = 4 * int(self.op.period) + 4
        if not (MIN_TIME + room < time < INF - room and MIN_TIME + room < time - zero < INF - room):
            raise KernelError(f"The time {time} is too far from sample 0, at {zero}.", where=self.op.show(),
                              hint="Drop such placeholder times with where(...) first.")

    @property
    def parts(self) -> int:
        """Fractions of a tick that times of samples are counted in."""
        return 2 * self.op.period.denominator

    def _starts(self, batch: Batch, ids: Array) -> Array:
        """When the sample of each row is; an error if it is too far away, or does not follow."""
        last = int(batch.sync[-1])
        self._check_range(last, int(self.zero[self.zero != MIN_TIME].min()))
        starts, found = np.empty(len(batch), np.int64), np.zeros(3, np.int64)
        step, rest = divmod(self.op.period * self.parts, self.parts)
        row = int(_align(ids, frozen(batch.sync), int(step), int(rest), self.parts, self.op.jitter, self.op.gaps,
                         self.sample, self.tick, self.rest, self.seen, starts, found))
        if row == len(batch):
            return frozen(starts)
        key, (wrong, sample, tick) = ids[row], map(int, found)
        mine = f"sample {sample}, at {shown_time(batch, tick)}"
        if wrong == TOO_FAR:
            apart, most = (show_ticks(ticks, self.op.unit) for ticks in (abs(int(batch.sync[row]) - tick),
                                                                        self.op.jitter))
            why, hint = f"is {apart} from {mine}; at most {most} is allowed", _FAR_HINT
        elif wrong == DOUBLE:
            why, hint = f"is {mine}, as an event before it is", _DOUBLE_HINT
        else:
            missing = int(self.sample[key]) + 1
            at = shown_time(batch, self.op.timebase.time(missing) + int(self.zero[key]))
            why, hint = f"is {mine}, but sample {missing}, at {at}, is missing", MISSING_HINT
        raise assumption_error(batch, row, self.columns, why, self.op.show(), hint)

    def _check_ends(self, batch: Batch, ids: Array) -> None:
        """Raise an error at the first event that starts before the one of its key before it has ended."""
        if isinstance(batch.ends, int) and batch.ends <= self.op.period:
            return
        row = int(_until_one_is_wrong(ids, frozen(batch.sync), frozen(batch.other), 0, 0, self.started, self.ended))
        if row < len(batch):
            raise assumption_error(batch, row, self.columns, "begins before the one before it has ended",
                                   self.op.show())

    def _without_times(self, batch: Batch) -> Batch:
        """The rows on a timebase, where they are consecutive samples of one signal."""
        if self.columns:
            return batch
        zero, last = int(self.zero[0]), int(self.sample[0])
        pulse = Pulse(Timebase(self.op.period, Fraction(zero), ""), last - len(batch) + 1, len(batch))
        if pulse.time(0) != batch.time(0):
            return batch
        return batch.having(sync=pulse.made_as(batch.sync))

    def _ends(self, batch: Batch, ids: Array, starts: Array) -> Array | int:
        """The ends of events that start at their samples now."""
        if isinstance(batch.ends, int) and (duration := self.op.duration(batch.ends)) is not None:
            return duration
        timebase, zeros, lasts = self.op.timebase, self.zero[ids], batch.other - batch.sync
        ends = np.where(batch.other == INF, zeros, batch.other) - zeros
        near = timebase.first_samples(np.maximum(ends - self.op.jitter, starts + 1 - zeros))  # after its own
        sample = timebase.times(near) + zeros
        held = (2 * lasts > float(self.op.period)) & (np.abs(batch.other - sample) <= self.op.jitter)
        return np.where(batch.other == INF, INF, np.where(held, sample, starts + lasts))

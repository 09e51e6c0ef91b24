"""Number the samples of a periodic stream, and move each to its exact time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.clock import INF, MIN_TIME, TickUnit, Timebase, show_ticks
from whimbrel.disorder import Sorter
from whimbrel.errors import KernelError
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.primitives.lifetimes.overlap_check import until_one_is_wrong
from whimbrel.operators.rows.assumption_errors import assumption_error, shown_time
from whimbrel.plan import KnownInput, LineageRequest, NonOverlapping, Operator, Properties, Reach, earlier, later

Array = np.ndarray[Any, Any]

_until_one_is_wrong = Compiled(until_one_is_wrong)
_NONE = frozen(np.empty(0, np.int64))
_TOO_FAR = "Remove the assumption, fix the data, or allow more with jitter=."
_DOUBLE = "Remove one of the two; if several signals are mixed, name their key in per=."
_MISSING = "Add gaps=True if samples may be missing."


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignSamples(Operator):
    """Number the samples of a periodic stream, and move each to the exact time of its number.

    Sample `i` is at the tick nearest to ``phase + i * period``. A row is the sample whose time is nearest to its start.

        time     0    5    10   15   20
        in       a────b─────c────────d─      (12: jitter of 2; nothing at 15)
        out      a────b────c─────────d─      (samples 0, 1, 2 and 4 of a stream with a period of 5 ticks)

    Parameters
    ----------
    period : Fraction
        Ticks from one sample to the next, at least one.
    phase : Fraction, optional
        Time of any sample, in ticks. None: the start of the first row, for each key.
    jitter : int
        Most ticks between a row and the time of its sample.
    gaps : bool
        Samples may be missing.
    per : frozenset of str
        Key columns: each key has samples of its own.
    words : str
        The assumption as the user wrote it.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Shapes: one row out per row in. Columns keep the measured time. The end of an event moves as far as its start. An
    event that lasts more than half of a period, and then ends within twice the jitter of the next sample, lasts until
    that sample. State: five times a key; with key columns also the rows that
    later ones may precede. Raises a KernelError that names the row and the sample. Source: XStream (ICDE 2008), section
    3, whose timebases have exact rates here.

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
    phase: Fraction | None = None
    jitter: int = 0
    gaps: bool = False
    per: frozenset[str] = frozenset()
    words: str = ""
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        period = int(self.period) if self.period.denominator == 1 else None
        return Properties(intervals_only=known.intervals_only, duration=self.duration(known.duration),
                          causal=known.causal, starts_only=known.starts_only, points=known.points,
                          apart=NonOverlapping(self.per, period, gaps=period is not None and self.gaps))

    def duration(self, duration: int | None) -> int | None:
        """How long an event lasts that lasted so long; None if that depends on the sample."""
        if duration is None or 2 * duration <= self.period or abs(duration - self.period) > 2 * self.jitter + 1:
            return duration
        if self.period.denominator > 1:
            return None if self.jitter else duration
        return int(self.period) if abs(duration - self.period) <= 2 * self.jitter else duration

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted | self.per,)

    def reach(self, *inputs: Reach) -> Reach | None:
        if self.phase is None and (self.jitter or self.period.denominator > 1):
            return None  # the first row of all says where samples are, and that of a range may be off
        longest = inputs[0].longest
        return inputs[0].wider(self.jitter, self.jitter, None if longest is None else longest + 2 * self.jitter)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        if self.reach(Reach()) is None or not self.gaps:  # rows before say where a sample is, and that none is missing
            return (wanted.only(self.per).always(),)
        near = wanted.same()
        return (replace(near, start=earlier(near.start, self.jitter), end=later(near.end, self.jitter)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return AlignSamplesKernel(self, upstream[0])

    def show(self) -> str:
        return self.words


class AlignSamplesKernel(Kernel):
    """Computes the number of each sample, and compares it with the one of its key before it."""

    def __init__(self, op: AlignSamples, schema: Schema) -> None:
        self.op = op
        self.columns = tuple(sorted(op.per))
        self.keys = KeyTable([schema.type_of(name) for name in self.columns])
        whole, part = (0, Fraction()) if op.phase is None else divmod(op.phase, 1)
        self.timebase = Timebase(op.period, part, "")
        self.zero = None if op.phase is None else int(whole)
        self.zeros = np.empty(0, np.int64)  # for each key the tick of sample 0
        self.last, self.next = self.zeros, self.zeros  # the last sample that came, and the one after it
        self.started, self.ended = self.zeros, self.zeros  # when the last event that may outlast its sample did
        self.sorter = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        ids = self.keys.ids([batch.column(name) for name in self.columns], len(batch))
        self._add_keys(batch, ids)
        zeros = self.zeros[ids] if self.columns else self.zeros[0]
        self._check_range(batch)
        samples = self._nearest(batch.sync - zeros)
        starts = self.timebase.times(samples) + zeros
        self._check(batch, ids, samples, starts)
        if self.op.jitter:
            ends = self._ends(batch, samples, starts, zeros)
            same = np.array_equal(starts, batch.sync)  # a column may share these times
            batch = batch.having(ends=ends) if same else batch.having(sync=frozen(starts), ends=ends)
        self._check_ends(batch, ids)
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
        extra = len(self.keys) - len(self.zeros)
        if extra > 0:
            extra = max(extra, len(self.zeros))
            self.zeros, self.last, self.next, self.started, self.ended = (
                np.concatenate([known, np.full(extra, MIN_TIME)])
                for known in (self.zeros, self.last, self.next, self.started, self.ended))
        new = np.flatnonzero(self.zeros[ids] == MIN_TIME)
        if len(new):
            keys, first = np.unique(ids[new], return_index=True)
            self.zeros[keys] = batch.sync[new[first]] if self.zero is None else self.zero

    def _check_range(self, batch: Batch) -> None:
        zeros = self.zeros[self.zeros != MIN_TIME]
        lowest, highest = int(zeros.min()), int(zeros.max())
        first, last = int(batch.sync.min()), int(batch.sync.max())
        room = 2 * int(self.op.period) + 2
        if first - highest < MIN_TIME + room or last - lowest > INF - room or first < MIN_TIME + room:
            raise KernelError(f"The time {last if last - lowest > INF - room else first} is too far from sample 0.",
                              where=self.op.show(),
                              hint="Drop such placeholder times with where(...) first.")

    def _nearest(self, times: Array) -> Array:
        """The sample whose time is nearest to each of these; the later one of two."""
        first = self.timebase.first_sample(int(times[0]))
        following = np.arange(first, first + len(times))
        if not self.columns and np.array_equal(self.timebase.times(following), times):
            return following
        after = self.timebase.first_samples(times)
        before = after - 1
        nearer = times - self.timebase.times(before) < self.timebase.times(after) - times
        return after - nearer

    def _check(self, batch: Batch, ids: Array, samples: Array, starts: Array) -> None:
        """Raise an error at the first row that is too far from its sample, or whose sample does not follow."""
        wrong = np.abs(batch.sync - starts) > self.op.jitter
        row = int(_until_one_is_wrong(frozen(ids), frozen(samples), _NONE, 1, 0 if self.op.gaps else 1, self.last,
                                      self.next))
        far = int(wrong.argmax()) if wrong.any() else len(batch)
        if min(row, far) == len(batch):
            return
        at = min(row, far)
        key, sample, before = int(ids[at]), int(samples[at]), int(self.last[ids[at]])
        mine = self._sample(batch, key, sample)
        if far <= row:
            apart, most = (show_ticks(ticks, self.op.unit) for ticks in (abs(int(batch.sync[at] - starts[at])),
                                                                        self.op.jitter))
            why, hint = f"is {apart} from {mine}; at most {most} is allowed", _TOO_FAR
        elif sample <= before:
            why, hint = f"is {mine}, as an event before it is", _DOUBLE
        else:
            why, hint = f"is {mine}, but {self._sample(batch, key, before + 1)}, is missing", _MISSING
        raise assumption_error(batch, at, self.columns, why, self.op.show(), hint)

    def _check_ends(self, batch: Batch, ids: Array) -> None:
        """Raise an error at the first event that starts before the one of its key before it has ended."""
        if isinstance(batch.ends, int) and batch.ends <= self.op.period:
            return
        row = int(_until_one_is_wrong(frozen(ids), frozen(batch.sync), frozen(batch.other), 0, 0, self.started,
                                      self.ended))
        if row < len(batch):
            raise assumption_error(batch, row, self.columns, "begins before the one before it has ended",
                                   self.op.show())

    def _ends(self, batch: Batch, samples: Array, starts: Array, zeros: Array) -> Array | int:
        """The ends of events that start at their samples now."""
        if isinstance(batch.ends, int) and (duration := self.op.duration(batch.ends)) is not None:
            return duration
        lasts, following = batch.other - batch.sync, self.timebase.times(samples + 1) + zeros
        held = (2 * lasts > float(self.op.period)) & (np.abs(starts + lasts - following) <= 2 * self.op.jitter)
        return np.where(batch.other == INF, INF, np.where(held, following, starts + lasts))

    def _sample(self, batch: Batch, key: int, sample: int) -> str:
        return f"sample {sample}, at {shown_time(batch, self.timebase.time(sample) + int(self.zeros[key]))}"

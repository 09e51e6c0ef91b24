"""Kernel of sync: events wait for the samples in their ranges."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Pulse, Schema, SegmentType, elapsed, frozen
from whimbrel.clock import INF, MIN_TIME, Timebase
from whimbrel.disorder import Sorter
from whimbrel.errors import KernelError
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.operators.rows.assumption_errors import shown_time
from whimbrel.operators.signals.sampling import (
    Integers,
    TimedSignal,
    by_key,
    channel_names,
    first_samples,
    first_timebase,
    numbered_runs,
)
from whimbrel.operators.signals.signal_buffer import SignalBuffer
from whimbrel.plan import Sampling

_EVENTS, _SIGNALS = 0, 1


class HeldSignal(TimedSignal):
    """The samples of a signal that events may ask for."""

    def __init__(self, types: list[SegmentType], timebase: Timebase) -> None:
        super().__init__(timebase)
        self.buffer = SignalBuffer(types)

    def fork(self) -> HeldSignal:
        clone = copy.copy(self)
        clone.buffer = self.buffer.fork()
        return clone


class SyncKernel(Kernel):
    """Gives an event when no further sample of its range can come.

    Attributes
    ----------
    waiting : Batch
        Events, whose lifetimes are their ranges.
    signals : dict of int to HeldSignal
        By the number of their key.
    left_out : int
        Ranges that were left out because samples are missing.
    """

    def __init__(self, events: Schema, signals: Schema, output: Schema, keys: tuple[str, ...], sampling: Sampling,
                 before: int, after: int | None, limit: int | None, *, skip: bool, where: str) -> None:
        self.output, self.columns, self.sampling, self.where = output, keys, sampling, where
        self.takes_long_batches = not keys
        self.before, self.after, self.limit, self.skip = before, after, limit, skip
        self.channels = channel_names(signals, keys)
        self.types = [output.type_of(name) for name in self.channels]
        self.keys = KeyTable([events.type_of(name) for name in keys])
        self.waiting = Batch.empty(events)
        self.signals: dict[int, HeldSignal] = {}
        self.watermarks = [MIN_TIME, MIN_TIME]
        self.left_out = 0
        self.done = Sorter()

    @property
    def buffered_rows(self) -> int:
        return len(self.waiting) + self.done.rows + sum(len(signal.buffer) for signal in self.signals.values())

    @property
    def buffered_bytes(self) -> int:
        return sum(signal.buffer.nbytes for signal in self.signals.values())

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if port == _EVENTS:
            if len(rows := batch.compact()):
                self.waiting = Batch.concat([self.waiting, self._ranges(rows)])
        elif not self.columns:
            if batch.rows:
                self._take_in(0, batch)
        elif len(rows := batch.compact()):
            for key, part in by_key(self._ids(rows), rows):
                self._take_in(key, part)
        return []

    def _ids(self, batch: Batch) -> Integers:
        return np.asarray(self.keys.ids([batch.column(name) for name in self.columns], len(batch)))

    def _ranges(self, rows: Batch) -> Batch:
        """Events that last as long as their ranges."""
        start, end = rows.sync, rows.other
        if self.after is not None:
            end = np.where(start > INF - self.after, INF, start + self.after)
        start = np.where(start < MIN_TIME + self.before, MIN_TIME, start - self.before)
        if self.limit is not None:
            end = np.where(elapsed(end, start) > self.limit, start + self.limit, end)
        elif (end == INF).any():
            at = shown_time(rows, int(rows.sync[np.argmax(end == INF)]))
            raise KernelError(f"The end of the event at {at} is unknown.", where=self.where,
                              hint="Use limit= for the longest range.")
        return rows.having(sync=frozen(start), ends=frozen(end))

    def _take_in(self, key: int, batch: Batch) -> None:
        if key not in self.signals:
            timebase = first_timebase(batch if isinstance(batch.times, Pulse) else batch.compact(), self.sampling)
            self.signals[key] = HeldSignal(self.types, timebase)
        signal = self.signals[key]
        runs = numbered_runs(batch, signal.timebase, self.where)
        batch = batch.compact()
        signal.buffer.add(*runs, [batch.column(name) for name in self.channels], self.where)
        if self.watermarks[_EVENTS] == INF and not len(self.waiting):
            signal.buffer.drop_before(signal.buffer.stop)

    def restore_state(self, parts: dict[str, Any]) -> None:
        timebase = Timebase(self.sampling.period, Fraction(), "")
        self.signals = {key: HeldSignal(self.types, timebase) for key in parts["signals"]}
        super().restore_state(parts)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        found = self._ready()
        needed = self.watermarks[_EVENTS]
        needed = needed if needed in (INF, MIN_TIME) else max(MIN_TIME, needed - self.before)
        if len(self.waiting):
            needed = min(needed, int(self.waiting.sync.min()))
        self._forget(needed)
        self.watermark = needed
        for rows in found:
            self.done.add(rows)
        return self.done.release(needed if needed in (INF, MIN_TIME) else needed - 1)

    def _ready(self) -> list[Batch]:
        """Events of which no further sample can come, by signal."""
        ready = self.waiting.other <= self.watermarks[_SIGNALS]
        count = int(np.count_nonzero(ready))
        if not count:
            return []
        rows = self.waiting
        if count < len(rows):
            rows, self.waiting = rows.take(np.flatnonzero(ready)), rows.take(np.flatnonzero(~ready))
        else:
            self.waiting = rows.slice(0, 0)
        parts = by_key(self._ids(rows), rows) if self.columns else [(0, rows)]
        return [self._with_samples(self.signals[key], events) for key, events in parts if key in self.signals]

    def _with_samples(self, signal: HeldSignal, events: Batch) -> Batch:
        """Events with the samples in their ranges."""
        first, stop = (first_samples(signal.timebase, times) for times in (events.sync, events.other))
        there = _samples_between(signal.buffer, first, stop)
        kept = (there == stop - first) & (there > 0) if self.skip else there > 0
        if not kept.all():
            rows = np.flatnonzero(kept)
            self.left_out += int(np.count_nonzero(there)) - len(rows)
            events, first, stop = events.take(rows), first[rows], stop[rows]
        cuts = signal.buffer.cut(first, stop - first)
        channels = dict(zip(self.channels, cuts, strict=True))
        columns = tuple(Column(field.type, channels[field.name]) if field.name in channels
                        else events.column(field.name) for field in self.output)
        return Batch(self.output, frozen(signal.timebase.times(first)), frozen(signal.timebase.times(stop)), columns)

    def _forget(self, time: int) -> None:
        """Drop samples that no event can ask for any more."""
        for signal in self.signals.values():
            stop = signal.buffer.stop
            signal.buffer.drop_before(stop if time == INF else int(first_samples(signal.timebase, time)))


def _samples_between(buffer: SignalBuffer, first: Integers, stop: Integers) -> Integers:
    """How many samples are there from one number to before another."""
    if not len(buffer.gaps):
        return np.maximum(0, np.minimum(stop, buffer.stop) - np.maximum(first, buffer.begin))
    begins, ends = buffer.runs()
    lengths = np.append(0, np.cumsum(ends - begins))

    def before(numbers: Integers) -> Integers:
        run = np.searchsorted(begins, numbers, "right")
        over = np.where(run > 0, np.maximum(0, ends[np.maximum(run - 1, 0)] - numbers), 0)
        return np.asarray(lengths[run] - over)

    return before(stop) - before(first)

"""Windows of one signal: those that are complete."""

from __future__ import annotations

import copy

import numpy as np

from whimbrel.batch import SegmentType
from whimbrel.clock import INF, MIN_TIME, Timebase
from whimbrel.operators.signals.sampling import Integers, TimedSignal, first_samples
from whimbrel.operators.signals.signal_buffer import SignalBuffer

ENDLESS = 1 << 60
"""Samples of a window without a size and limit."""

Windows = tuple[Integers, Integers]
"""First sample and size of some windows."""


class WindowRule:
    """Which windows there are: their size and hop in samples, and what happens at gaps."""

    def __init__(self, size: int, hop: int, gaps: str, *, keep_short: bool) -> None:
        self.size, self.hop, self.gaps, self.keep_short = size, hop, gaps, keep_short


class SignalWindows(TimedSignal):
    """The windows of one signal.

    Attributes
    ----------
    next : int
        No window that starts before this sample is still to come.
    origin : int
        The sample from which windows of the first buffered run are counted.
    covered : int
        Where the last complete window ends.
    left_out : int
        Windows that were left out because they touch a gap.
    """

    def __init__(self, rule: WindowRule, types: list[SegmentType], timebase: Timebase) -> None:
        super().__init__(timebase)
        self.rule = rule
        self.buffer = SignalBuffer(types)
        self.next, self.origin, self.left_out = -ENDLESS, 0, 0
        self.covered = -ENDLESS
        self.signal_start = ENDLESS

    def fork(self) -> SignalWindows:
        clone = copy.copy(self)
        clone.buffer = self.buffer.fork()
        return clone

    def complete(self) -> Windows:
        """The windows that the samples so far complete."""
        rule, buffer = self.rule, self.buffer
        self.signal_start = min(self.signal_start, buffer.begin)
        first, stop = buffer.runs()
        if rule.gaps == "split":
            return self._of_runs(first, stop)
        if rule.gaps == "fill":
            return self._with_gaps(first, stop)
        return self._without_gaps(first, stop)

    def _without_gaps(self, first: Integers, stop: Integers) -> Windows:
        hop, size = self.rule.hop, self.rule.size
        if len(first) == 1:
            lowest = -(-max(self.buffer.begin, self.next) // hop)
            after = max(lowest, (self.buffer.stop - size) // hop + 1)
            self.next = after * hop
            return self._whole(np.arange(lowest * hop, self.next, hop))
        low = -(-np.maximum(first, self.next) // hop)
        high = (stop - size) // hop
        self._count_left_out(first, stop, low, high)
        index = _ranges(low, high) * hop
        self.next = max(int(low[-1]), int(high[-1]) + 1) * hop
        return self._whole(index)

    def _whole(self, index: Integers) -> Windows:
        """Complete windows, by their first samples."""
        if len(index):
            self.covered = int(index[-1]) + self.rule.size
        return index, np.full(len(index), self.rule.size)

    def _count_left_out(self, first: Integers, stop: Integers, low: Integers, high: Integers) -> None:
        """Windows that have samples on one side of a gap, or on both."""
        hop, size = self.rule.hop, self.rule.size
        lowest = np.maximum((first - size) // hop + 1, -(-max(self.next, self.signal_start) // hop))
        touched = np.unique(_ranges(lowest, (np.append(stop[:-1], first[-1]) - 1) // hop))
        self.left_out += len(touched) - int(np.maximum(0, high - low + 1)[:-1].sum())

    def _of_runs(self, first: Integers, stop: Integers) -> Windows:
        hop, size = self.rule.hop, self.rule.size
        there = stop > first
        there[-1] = True
        origin = np.where(np.arange(len(first)) == 0, self.origin if self.next > -ENDLESS else first, first)
        first, stop, origin = first[there], stop[there], origin[there]
        low = -(-(np.maximum(first, self.next) - origin) // hop)
        high = (stop - size - origin) // hop
        which = np.repeat(np.arange(len(first)), np.maximum(0, high - low + 1))
        index = _ranges(low, high) * hop + origin[which]
        sizes = np.full(len(index), size)
        after = origin + np.maximum(low, high + 1) * hop
        covered = np.where(high >= low, origin + high * hop + size, -ENDLESS)
        covered = np.maximum.accumulate(np.append(self.covered, covered))[1:]
        self.next, self.origin, self.covered = int(after[-1]), int(origin[-1]), int(covered[-1])
        if self.rule.keep_short:
            begins, lasts = _remainders(after[:-1], stop[:-1], covered[:-1])
            index, sizes = np.concatenate([index, begins]), np.concatenate([sizes, lasts])
            order = np.argsort(index, kind="stable")
            index, sizes = index[order], sizes[order]
        return index, sizes

    def _with_gaps(self, first: Integers, stop: Integers) -> Windows:
        hop, size = self.rule.hop, self.rule.size
        begin = max(self.next, self.signal_start)
        low = np.maximum((first - size) // hop + 1, -(-begin // hop))
        index = np.unique(_ranges(low[stop > first], ((stop - 1) // hop)[stop > first])) * hop
        self.next = max(-(-begin // hop), (self.buffer.stop - size) // hop + 1) * hop
        return self._whole(index[index < self.next])

    def closed(self, watermark: int) -> Windows:
        """The short window at the end of a run that no sample can continue."""
        buffer, rule = self.buffer, self.rule
        none = np.empty(0, np.int64)
        over = watermark == INF or (rule.gaps == "split" and watermark > self.timebase.nearest_time(buffer.stop))
        if not over or not rule.keep_short or not buffer.started:
            return none, none
        after, stop = np.array([self.next]), np.array([buffer.stop])
        if rule.gaps == "skip" and len(buffer.gaps) and buffer.gaps[-1, 1] > self.next:
            return none, none
        found = _remainders(after, stop, np.array([self.covered]))
        self.next = max(self.next, buffer.stop)
        if rule.gaps == "split":
            self.origin = self.next
        return found

    def forget(self) -> None:
        """Drop samples that no further window needs."""
        self.buffer.drop_before(self.next)

    def earliest(self, watermark: int, *, at_end: bool) -> int:
        """The time before which no further window starts."""
        rule, buffer = self.rule, self.buffer
        if watermark in (INF, MIN_TIME):
            return watermark
        coming = int(first_samples(self.timebase, watermark))
        waits = buffer.stop >= coming or (rule.keep_short and self.next < buffer.stop)
        number = max(self.next, -ENDLESS) if waits else max(self.next, coming)
        if rule.gaps == "fill" and not waits:
            number = max(self.next, coming - rule.size + 1)
        if at_end:
            number = min(number + rule.size, buffer.stop if rule.keep_short else number + rule.size)
        return min(watermark, self.timebase.nearest_time(number))


def _remainders(after: Integers, stop: Integers, covered: Integers) -> Windows:
    """Short windows at the end of runs, where these have samples that no other window has."""
    new = np.maximum(after, covered) < stop
    return after[new], (stop - after)[new]


def _ranges(low: Integers, high: Integers) -> Integers:
    """All integers of some ranges with both ends, one range after the other."""
    count = np.maximum(0, high - low + 1)
    offsets = np.cumsum(count) - count
    return np.repeat(low - offsets, count) + np.arange(int(count.sum()))

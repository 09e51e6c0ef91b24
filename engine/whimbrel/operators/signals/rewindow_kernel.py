"""Kernel of rewindow: complete windows of each signal."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Pulse, Schema, Segments, SegmentType, frozen
from whimbrel.clock import INF, MIN_TIME, Timebase
from whimbrel.disorder import Sorter
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.operators.signals.sampling import Integers, by_key, channel_names, first_timebase, numbered_runs
from whimbrel.operators.signals.signal_windows import ENDLESS, SignalWindows, WindowRule, Windows
from whimbrel.plan import Sampling

_PORTION_SAMPLES = 1 << 22
"""About as many samples are in the windows of one batch."""
_LONG_HOP = 64
"""Samples from one window to the next, from which on windows are few."""

class RewindowKernel(Kernel):
    """Buffers the samples of each signal from its next window on.

    Attributes
    ----------
    signals : dict of int to SignalWindows
        By the number of their key.
    left_out : int
        Windows that were left out because they touch a gap.
    """

    def __init__(self, schema: Schema, output: Schema, keys: tuple[str, ...], sampling: Sampling, size: int | None,
                 hop: int, gaps: str, fill: dict[str, Any], limit: int | None, *, at_end: bool, keep_short: bool,
                 where: str) -> None:
        self.output, self.columns, self.sampling, self.where = output, keys, sampling, where
        self.channels = channel_names(schema, keys)
        self.types = [output.type_of(name) for name in self.channels]
        self.fill = [fill.get(name) for name in self.channels] if gaps == "fill" else None
        whole = size or limit or ENDLESS
        self.rule = WindowRule(whole, hop if size is not None else whole, gaps, keep_short=keep_short)
        self.at_end = at_end
        self.takes_long_batches = not keys and self.rule.hop >= _LONG_HOP
        self.keys = KeyTable([schema.type_of(name) for name in keys])
        self.signals: dict[int, SignalWindows] = {}
        self.done = Sorter()

    @property
    def left_out(self) -> int:
        return sum(signal.left_out for signal in self.signals.values())

    @property
    def buffered_rows(self) -> int:
        return sum(len(signal.buffer) for signal in self.signals.values()) + self.done.rows

    @property
    def buffered_bytes(self) -> int:
        return sum(signal.buffer.nbytes for signal in self.signals.values())

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not self.columns:
            return self._give([self._take_in(0, batch)] if batch.rows else [])
        batch = batch.compact()
        ids = self.keys.ids([batch.column(name) for name in self.columns], len(batch))
        return self._give([self._take_in(key, rows) for key, rows in by_key(ids, batch)] if len(batch) else [])

    def _take_in(self, key: int, batch: Batch) -> list[Batch]:
        """The windows that samples of one signal complete."""
        if key not in self.signals:
            timebase = first_timebase(batch if isinstance(batch.times, Pulse) else batch.compact(), self.sampling)
            self.signals[key] = SignalWindows(self.rule, self.types, timebase)
        signal = self.signals[key]
        runs = numbered_runs(batch, signal.timebase, self.where)
        batch = batch.compact()
        signal.buffer.add(*runs, [batch.column(name) for name in self.channels], self.where)
        return self._windows(key, signal, signal.complete())

    def restore_state(self, parts: dict[str, Any]) -> None:
        timebase = Timebase(self.sampling.period, Fraction(), "")
        self.signals = {key: SignalWindows(self.rule, self.types, timebase) for key in parts["signals"]}
        super().restore_state(parts)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        ready = [self._windows(key, signal, signal.closed(watermark)) for key, signal in self.signals.items()]
        known = [signal.earliest(watermark, at_end=self.at_end) for signal in self.signals.values()]
        self.watermark = max(self.watermark, min([watermark, *known]))
        return self._give(ready)

    def _windows(self, key: int, signal: SignalWindows, found: Windows) -> list[Batch]:
        """Windows of a signal as rows; not too many samples in one batch."""
        index, size = found
        if not len(index):
            return []
        cuts = signal.buffer.cut(index, size)
        signal.forget()
        columns: list[Column] = []
        filled = np.zeros(0 if self.fill is None else len(index), np.int64)
        channels = iter(zip(cuts, self.fill or [None] * len(cuts), strict=True))
        for field in self.output:
            if field.name in self.columns:
                column = self.keys.values(np.array([key]))[self.columns.index(field.name)]
                columns.append(column.take(np.zeros(len(index), np.int64)))
            elif isinstance(field.type, SegmentType):
                segments, value = next(channels)
                if self.fill is not None:
                    filled = np.maximum(filled, segments.missing())
                    segments = _filled(segments, value)
                columns.append(Column(field.type, segments))
            else:
                columns.append(Column(pa.int64(), filled))
        batch = Batch(self.output, *self._lifetimes(signal.timebase, index, size), tuple(columns))
        rows = max(1, _PORTION_SAMPLES // int(size.max()))
        if rows >= len(batch):
            return [batch]
        return [batch.slice(first, min(first + rows, len(batch))) for first in range(0, len(batch), rows)]

    def _lifetimes(self, timebase: Timebase, index: Integers, size: Integers) -> tuple[Integers, Integers]:
        """Starts and ends of windows."""
        hop, ends = self.rule.hop, index + size
        if self.at_end:
            return frozen(timebase.times(ends)), frozen(timebase.times(ends + hop))
        adjacent = hop == self.rule.size == int(size.min()) and int(ends[-1] - index[0]) == hop * len(index)
        if adjacent:  # each ends where the next one starts
            times = frozen(timebase.times(np.append(index, ends[-1])))
            return times[:-1], times[1:]
        return frozen(timebase.times(index)), frozen(timebase.times(ends))

    def _give(self, parts: list[list[Batch]]) -> list[Batch]:
        """Rows of one signal are in order; those of several are sorted."""
        if not self.columns:
            return [batch for part in parts for batch in part]
        for part in parts:
            for batch in part:
                self.done.add(batch)
        time = self.watermark
        return self.done.release(time if time in (INF, MIN_TIME) else time - 1)


def _filled(segments: Segments, value: Any) -> Segments:
    if not segments.missing().any():
        return segments
    physical = segments.dtype.type(value) if segments.dtype.kind == "c" else Column.from_arrow(
        pa.array([value], segments.type.samples)).values[0]
    return Segments(segments.type, segments.blocks.filled(physical), segments.index, segments.size, segments.position)

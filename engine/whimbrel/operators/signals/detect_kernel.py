"""Kernel of detectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.disorder import Sorter
from whimbrel.expr import Expr, evaluate, type_of
from whimbrel.kernels import Compiled, Kernel, KeyTable, SampleRuns
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.signals.detectors import (
    FIRST,
    FLOATS,
    INTEGERS,
    OPEN,
    START,
    WAITS,
    find_ranges,
    settle_ranges,
)
from whimbrel.operators.signals.sample_values import groups_of, samples_of
from whimbrel.plan import Sampling
from whimbrel.plan.typed_aggregate import NO_MASK

Array = np.ndarray[Any, Any]

_find, _settle = Compiled(find_ranges), Compiled(settle_ranges)
_NO_ENDS = frozen(np.empty(0, np.int64))
_FARTHEST = 1 << 62
"""Times closer to an end of int64 than this are refused: padding of others is int64."""


class DetectorKernel(Kernel):
    """Keeps the open range and the statistics of each key, and sorts ranges of several keys.

    Attributes
    ----------
    integers, floats : array of int64 and float64
        For each key its state, as the primitive has it.
    """

    def __init__(self, out_schema: Schema, value: Expr, keys: Sequence[Expr], sampling: Sampling | None,
                 levels: tuple[float, float, float], counts: tuple[int, int, int], pad: int, limit: int,
                 schema: Schema) -> None:
        self.out_schema, self.value, self.key, self.pad, self.limit = out_schema, value, tuple(keys), pad, limit
        self.levels, self.counts = levels, counts
        period, phase = (None, None) if sampling is None else (sampling.period, sampling.phase)
        self.lasts = 0 if period is None else int(period)
        self.keys = KeyTable([type_of(expr, schema) for expr in keys])
        self.runs = SampleRuns(period, phase, keyed=bool(keys))
        self.integers, self.floats = np.empty(0, np.int64), np.empty(0)
        self.done = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        check_reach(batch, _FARTHEST, "above() or cfar()", in_order=True)
        groups, hidden = groups_of(self.keys, [evaluate(expr, batch) for expr in self.key], len(batch))
        self._grow(max(1, len(self.keys)))
        values, broken = samples_of(self.value, batch)
        fresh = NO_MASK
        if self.runs.period is not None:
            fresh = self.runs.mark(batch.times, groups, hidden, broken).fresh
        same = isinstance(batch.ends, int)
        ends, lasts = (_NO_ENDS, batch.ends) if same else (frozen(batch.other), 0)
        buffers = self._buffers(len(batch) + 2 * len(self.keys) + 2)
        on, off, forget = self.levels
        made = _find(groups, hidden, broken, fresh, frozen(batch.sync), ends, max(self.lasts, lasts), values,
                     on, off, forget, *self.counts, self.pad, self.limit, self.integers, self.floats, *buffers)
        self._add(int(made), buffers)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark == MIN_TIME:
            return []
        keys = len(self.integers) // INTEGERS
        ended = np.zeros(keys, np.bool_)
        if self.runs.period is not None and watermark != INF:
            ended = self.runs.ended(watermark)
        buffers = self._buffers(2 * keys)
        made = _settle(watermark, watermark == INF, frozen(ended), self.counts[2], self.pad, self.integers, self.floats,
                       *buffers)
        self._add(int(made), buffers)
        self.watermark = self._settled(watermark)
        return self.done.release(self.watermark if self.watermark in (INF, MIN_TIME) else self.watermark - 1)

    @property
    def buffered_rows(self) -> int:
        return self.done.rows

    def _settled(self, watermark: int) -> int:
        """The time before which no further range can start."""
        if watermark in (INF, MIN_TIME):
            return watermark
        state = self.integers.reshape(-1, INTEGERS)
        waits, opened = state[:, WAITS] != 0, state[:, OPEN] != 0
        earliest = [max(MIN_TIME, watermark - self.pad), *(int(found.min()) for found in (
            state[waits, FIRST], state[opened, START] - self.pad) if len(found))]
        return max(self.watermark, min(earliest))

    def _grow(self, groups: int) -> None:
        if groups * INTEGERS > len(self.integers):
            groups = max(groups, 2 * (len(self.integers) // INTEGERS))
            self.integers = extend(self.integers, groups * INTEGERS, 0)
            self.floats = extend(self.floats, groups * FLOATS, 0.0)
            self.runs.grow(groups)

    def _buffers(self, ranges: int) -> tuple[Array, ...]:
        return (np.empty(ranges, np.int64), np.empty(ranges, np.int64), np.empty(ranges, np.int64), np.empty(ranges),
                np.empty(ranges, np.int64))

    def _add(self, made: int, buffers: tuple[Array, ...]) -> None:
        if not made:
            return
        keys, starts, ends, peaks, counts = (buffer[:made].copy() for buffer in buffers)
        columns = (*self.keys.values(keys.astype(np.int32)), Column(pa.float64(), peaks), Column(pa.int64(), counts))
        order = np.argsort(starts, kind="stable")
        self.done.add(Batch(self.out_schema, starts, ends, columns).take(order))

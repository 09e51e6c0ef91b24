"""A watermark for each partition of a source, and their low watermark."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, Schema, frozen
from whimbrel.clock import MIN_TIME
from whimbrel.clock.lateness import each_late_before, late_before
from whimbrel.disorder.watermark_generator import ArrivalWatermarks, WatermarkGenerator
from whimbrel.kernels import Compiled, KeyTable
from whimbrel.kernels.primitives.sorting.partition_watermarks import pass_time
from whimbrel.plan import OrderingSpec

Array = np.ndarray[Any, Any]

_pass_time = Compiled(pass_time)
_NO_PUNCTUATION = np.empty(0, np.bool_)
_NO_PUNCTUATION.flags.writeable = False


class LowWatermark(WatermarkGenerator):
    """With hw the largest time seen in a partition, current = max(current, hw - L, its punctuations, low watermark).

    Rows of one partition never make a row of another late, unless they advance the low watermark. With a `lag`, the low
    watermark is the largest time in any partition less the lag, rounded down to a multiple of `every`. A punctuation
    whose partition is null is a low watermark too. Only the low watermark says that nothing earlier can come.

        arrives      a1   b90  a5   a150   b60  b101      (L = 0, lag = 50, every = 50)
        low         -50   0    0    100    100  100
        current[a]   1    1    5    150    150  150
        current[b]  -50   90   90   100    100  101        so b60 is late

    Parameters
    ----------
    disorder : OrderingSpec
        Of a source with partitions.
    type_ : pyarrow.DataType
        Of the column by which it is partitioned.

    Attributes
    ----------
    keys : KeyTable
        Numbers of the partitions.
    passed, newest_of, late : array of int64
        Per partition: how far its time has come by its own rows and punctuations, its newest row, and how many rows
        came late.
    """

    def __init__(self, disorder: OrderingSpec, type_: pa.DataType) -> None:
        super().__init__()
        self.disorder = disorder
        self.keys = KeyTable([type_])
        self.passed = np.empty(0, np.int64)
        self.newest_of = np.empty(0, np.int64)
        self.late = np.empty(0, np.int64)

    @classmethod
    def of(cls, disorder: OrderingSpec, schema: Schema) -> LowWatermark:
        """That of rows with a schema."""
        assert disorder.partition is not None
        return cls(disorder, schema.type_of(disorder.partition))

    def advance_idle(self, time: int) -> int:
        """Wait for no partition whose newest row is before this time; the low watermark then."""
        self.now = max(self.now, self.disorder.passed(time))
        return self.now

    def follow(self, batch: Batch, is_punctuation: Mask | None = None) -> ArrivalWatermarks:
        partitions = self._column(batch)
        numbers = self._numbers(batch)
        of_all = None if is_punctuation is None else (is_punctuation, is_punctuation & ~partitions.validity())
        low = self._low(batch.sync, of_all)
        current, newest = np.empty(len(batch), np.int64), np.empty(len(batch), np.int64)
        latency = self.disorder.reorder_latency
        _pass_time(batch.sync, numbers, _NO_PUNCTUATION if is_punctuation is None else frozen(is_punctuation), low,
                   -1 if latency is None else latency, self.passed, self.newest_of, current, newest)
        return ArrivalWatermarks(current, newest)

    def fork(self) -> LowWatermark:
        clone = copy.copy(self)
        clone.passed, clone.newest_of, clone.late = self.passed.copy(), self.newest_of.copy(), self.late.copy()
        return clone

    def where(self, batch: Batch, row: int) -> str:
        value, = self._column(batch).slice(row, row + 1).to_arrow().to_pylist()
        return f" ({self.disorder.partition} = {value!r})"

    def count_late(self, rows: Batch) -> None:
        self.late += self.counted(rows)

    def late_rows(self, maximum: int) -> Mapping[Any, int]:
        return self.largest(self.late, maximum)

    def counted(self, rows: Batch) -> Array:
        """How many of these rows, at least one, each partition has."""
        return np.bincount(self._numbers(rows), minlength=len(self.late))

    def largest(self, rows: Array, maximum: int) -> Mapping[Any, int]:
        """The `maximum` partitions that have the most of these rows, of which each has so many."""
        found = np.flatnonzero(rows)
        if not len(found):
            return {}
        worst = found[np.argsort(-rows[found], kind="stable")[:maximum]].astype(np.int32)
        values, = self.keys.values(worst)
        return dict(zip(values.to_arrow().to_pylist(), rows[worst].tolist(), strict=True))

    def _column(self, batch: Batch) -> Column:
        assert self.disorder.partition is not None
        return batch.column(self.disorder.partition)

    def _numbers(self, batch: Batch) -> Array:
        numbers = self.keys.ids([self._column(batch)], len(batch))
        missing = len(self.keys) - len(self.passed)
        if missing > 0:
            extra = max(missing, len(self.passed))
            nothing = np.full(extra, MIN_TIME)
            self.passed = np.concatenate([self.passed, nothing])
            self.newest_of = np.concatenate([self.newest_of, nothing])
            self.late = np.concatenate([self.late, np.zeros(extra, np.int64)])
        return frozen(numbers)

    def _low(self, sync: Array, marks: tuple[Mask, Mask] | None) -> Array:
        """The low watermark as each row comes; `marks` are all punctuations, and those that are for all partitions."""
        seen = sync if marks is None else np.where(marks[0], MIN_TIME, sync)
        newest = np.maximum(np.maximum.accumulate(seen), self.newest)
        low = np.broadcast_to(np.int64(self.now), sync.shape)
        if self.disorder.lag is not None:
            lagged = np.maximum(newest, MIN_TIME + self.disorder.lag) - self.disorder.lag
            over = lagged % self.disorder.every
            low = np.maximum(low, np.where(lagged < MIN_TIME + over, MIN_TIME, lagged - over))
        if marks is not None:
            low = np.maximum(low, np.maximum.accumulate(np.where(marks[1], sync, MIN_TIME)))
        self.newest, self.now = int(newest[-1]), int(low[-1])
        return frozen(low)


class LatencyWatermark(WatermarkGenerator):
    """One of several latencies of a source with partitions: later by the latency than without any.

        arrives      a1   b90  a5   a150   b60  b101      (lag = 50, every = 50, latency = 10)
        low         -60  -10  -10    90     90   90
        current[a]  -9   -9   -5    140    140  140
        current[b]  -60   80   80    90     90   91

    Parameters
    ----------
    disorder : OrderingSpec
        Of the source; its reorder latency is this one.
    schema : Schema
    """

    def __init__(self, disorder: OrderingSpec, schema: Schema) -> None:
        super().__init__()
        self.latency = disorder.reorder_latency or 0
        self.newest_times = LowWatermark.of(replace(disorder, reorder_latency=0), schema)

    def follow(self, batch: Batch, is_punctuation: Mask | None = None) -> ArrivalWatermarks:
        moments = self.newest_times.follow(batch, is_punctuation)
        self.newest, self.now = self.newest_times.newest, late_before(self.newest_times.now, self.latency)
        return ArrivalWatermarks(each_late_before(moments.current, self.latency), moments.newest)

    def advance_idle(self, time: int) -> int:
        """Wait for no partition whose newest row is before this time; the low watermark then."""
        self.now = late_before(self.newest_times.advance_idle(time), self.latency)
        return self.now

    def fork(self) -> LatencyWatermark:
        clone = copy.copy(self)
        clone.newest_times = self.newest_times.fork()
        return clone

    def count_late(self, rows: Batch) -> None:
        self.newest_times.count_late(rows)

    def late_rows(self, maximum: int) -> Mapping[Any, int]:
        return self.newest_times.late_rows(maximum)

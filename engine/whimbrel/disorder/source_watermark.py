"""Watermark of a source without partitions."""

from __future__ import annotations

import copy

import numpy as np

from whimbrel.batch import Batch, Mask
from whimbrel.clock import MIN_TIME
from whimbrel.clock.lateness import each_late_before
from whimbrel.disorder.watermark_generator import ArrivalWatermarks, WatermarkGenerator
from whimbrel.kernels import ordered


class SourceWatermark(WatermarkGenerator):
    """With hw the largest time seen, current = max(current, hw - L, punctuations).

        arrives  1  5  3  9  2     (L = 4)
        current  1  1  1  5  5

    Parameters
    ----------
    latency : int or None
        L in ticks; None: rows do not move the time.
    in_order : bool
        Whether rows are known to come in the order of time.
    """

    def __init__(self, latency: int | None, *, in_order: bool = False) -> None:
        super().__init__()
        self.latency, self.in_order = latency, in_order

    def on_time(self, batch: Batch) -> bool:
        """Whether nothing has to be judged: rows are in order, or nothing is promised; then they have passed."""
        if self.latency is None and (self.now == MIN_TIME or batch.sync.min() >= self.now):
            self.newest = max(self.newest, int(batch.sync.max()))
            return True
        if self.latency != 0 or batch.time(0) < max(self.newest, self.now) or not (self.in_order or ordered(batch)):
            return False
        self.newest = self.now = batch.time(-1)
        return True

    def follow(self, batch: Batch, is_punctuation: Mask | None = None) -> ArrivalWatermarks:
        seen = batch.sync if is_punctuation is None else np.where(is_punctuation, MIN_TIME, batch.sync)
        newest = np.maximum(np.maximum.accumulate(seen), self.newest)
        current = np.broadcast_to(np.int64(self.now), seen.shape)
        if self.latency is not None:
            current = np.maximum(each_late_before(newest, self.latency), self.now)
        if is_punctuation is not None:
            current = np.maximum(current, np.maximum.accumulate(np.where(is_punctuation, batch.sync, MIN_TIME)))
        self.newest, self.now = int(newest[-1]), int(current[-1])
        return ArrivalWatermarks(current, newest)

    def fork(self) -> SourceWatermark:
        return copy.copy(self)

"""Advance the watermark of each partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock.ticks import MIN_TIME

Array = np.ndarray[Any, Any]


def pass_time(sync: Array, partition: Array, is_punctuation: Array, low: Array, latency: int, passed: Array,
              newest: Array, current: Array, highest: Array) -> None:
    """Let each row move the time of its partition; write what both are when it is judged.

    Parameters
    ----------
    sync : array of int64
        Times of the rows.
    partition : array of int32
        Their partitions.
    is_punctuation : array of bool, length 0 or as `sync`
        Rows that are not events: they only advance the watermark of their partition.
    low : array of int64
        The low watermark when each row arrives; no partition has a lower one.
    latency : int
        Ticks from the watermark of a partition to its newest row; negative: rows do not advance it.
    passed, newest : array of int64
        Per partition: how far its time has come, and its newest row.
    current, highest : array of int64
        Per row: what these two are then.
    """
    for row in range(sync.shape[0]):
        mine, time = partition[row], sync[row]
        if is_punctuation.shape[0] and is_punctuation[row]:
            passed[mine] = max(passed[mine], time)
        else:
            newest[mine] = max(newest[mine], time)
            if latency >= 0 and time >= MIN_TIME + latency:
                passed[mine] = max(passed[mine], time - latency)
        current[row] = max(passed[mine], low[row])
        highest[row] = newest[mine]

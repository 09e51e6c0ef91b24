"""Check that events do not overlap and are periodic, by key."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock import MIN_TIME

Array = np.ndarray[Any, Any]


def until_one_is_wrong(
    ids: Array, sync: Array, ends: Array, lasts: int, period: int, begun: Array, ended: Array,
) -> int:
    """The first row that begins before the one of its key before it has ended, or not `period` ticks after it did.

    Parameters
    ----------
    ids : array of int
        The key of each row.
    sync : array of int64
        When rows begin.
    ends : array of int64
        When they end; empty where all last equally long.
    lasts : int
        How long, then.
    period : int
        0: at any distance.
    begun, ended : array of int64
        When the last event of each key began and ended, MIN_TIME where there was none; known up to the row found.
    """
    for row in range(sync.shape[0]):
        key = ids[row]
        if sync[row] < ended[key] or (period > 0 and begun[key] != MIN_TIME and sync[row] - begun[key] != period):
            return row
        begun[key] = sync[row]
        ended[key] = ends[row] if ends.shape[0] > 0 else sync[row] + lasts
    return sync.shape[0]

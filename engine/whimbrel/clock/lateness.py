"""The rule of lateness: before which time rows are late."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock.ticks import MIN_TIME

Times = np.ndarray[Any, np.dtype[np.int64]]


def late_before(newest: int, latency: int) -> int:
    """The time before which the lateness of rows is larger than a latency.

    A row is late if ``newest - time > latency``, so that the row at ``newest - latency`` is on time.

    >>> late_before(9, 2), late_before(MIN_TIME, 2) == MIN_TIME
    (7, True)
    """
    return max(newest - latency, MIN_TIME)


def each_late_before(newest: Times, latency: int) -> Times:
    """As :func:`late_before`, for each of several times.

    >>> each_late_before(np.array([5, 9]), 2).tolist()
    [3, 7]
    """
    return np.maximum(newest, MIN_TIME + max(latency, 0)) - latency

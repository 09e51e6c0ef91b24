"""Durations of events."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def durations(starts: Array, ends: Array) -> tuple[Any, Any]:
    """The least and the most ticks from a start to its end; the least is negative if one does not end after it starts.

    Where a duration leaves int64 it is negative, too.
    """
    minimum, maximum, wrong = np.int64(2**63 - 1), np.int64(-1), False
    for row in range(starts.shape[0]):
        lasts = ends[row] - starts[row]
        wrong |= ends[row] <= starts[row]
        minimum, maximum = min(minimum, lasts), max(maximum, lasts)
    return (np.int64(-1) if wrong else minimum), maximum

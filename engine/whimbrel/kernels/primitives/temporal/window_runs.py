"""Find windows that lie next to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import index

Array = np.ndarray[Any, Any]


def in_step(low: Array, high: Array, window: int, many: int) -> bool:
    """Whether so many windows, from one on, each begin and end one position after the window before.

    Parameters
    ----------
    low, high : array of int64
        Where windows begin and end.
    window, many : int
    """
    last = window + many - 1
    if last >= low.shape[0] or low[last] - low[window] != many - 1 or high[last] - high[window] != many - 1:
        return False
    for at in range(window, last):
        if low[index(at + 1)] - low[index(at)] != 1 or high[index(at + 1)] - high[index(at)] != 1:
            return False
    return high[window] > low[window]

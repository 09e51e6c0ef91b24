"""The limit of windows of samples: hand-written loops over one array."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

Array = np.ndarray[Any, Any]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def loud_windows(samples: Array, size: int, deviation: float, mean: float) -> Array:
    """Windows whose standard deviation is above one bound, and their mean below another: sums in integers."""
    kept = np.empty(samples.shape[0] // size, np.int64)
    found = 0
    for window in range(samples.shape[0] // size):
        total, squares = np.int64(0), np.int64(0)
        for at in range(window * size, window * size + size):
            value = np.int64(samples[at])
            total += value
            squares += value * value
        center = total / size
        kept[found] = window
        found += (squares / size - center * center > deviation * deviation) and center < mean
    return kept[:found]


@numba.njit(cache=True, nogil=True, fastmath=True)  # type: ignore[untyped-decorator]
def loud_windows_of_floats(samples: Array, size: int, deviation: float, mean: float) -> Array:
    """The same of floats, with the deviation in a second pass over the window."""
    kept = np.empty(samples.shape[0] // size, np.int64)
    found = 0
    for window in range(samples.shape[0] // size):
        part = samples[window * size:window * size + size]
        total = samples.dtype.type(0)
        for value in part:
            total += value
        center = total / samples.dtype.type(size)
        squares = samples.dtype.type(0)
        for value in part:
            squares += (value - center) * (value - center)
        kept[found] = window
        found += squares / size > deviation * deviation and center < mean
    return kept[:found]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def triggered(scores: Array, times: Array, deviations: float, forget: float, startup: int, hold: int,
              limit: int) -> tuple[Array, Array]:
    """First and last score of each range that is so many deviations above the running mean (CFAR).

    The mean and the variance stand still in a range. After `limit` ticks they begin again.
    """
    first, last = np.empty(len(scores), np.int64), np.empty(len(scores), np.int64)
    found, seen, quiet = 0, 0, 0
    mean, variance, inside = 0.0, 0.0, False
    for at in range(len(scores)):
        value = np.float64(scores[at])
        if inside and times[at] - times[first[found]] >= limit:
            found, inside, seen = found + 1, False, 0
        high = value > mean + deviations * np.sqrt(variance)
        if inside:
            if high:
                last[found], quiet = at, 0
                continue
            quiet += 1
            if quiet <= hold:
                continue
            found, inside = found + 1, False
        elif high and seen >= startup:
            first[found], last[found], quiet, inside = at, at, 0, True
            continue
        if seen == 0:
            mean, variance = value, 0.0
        else:
            weight = max(1.0 - forget, 1.0 / (seen + 1))
            change = value - mean
            mean += weight * change
            variance = (1.0 - weight) * (variance + weight * change * change)
        seen += 1
    found += inside
    return first[:found], last[:found]

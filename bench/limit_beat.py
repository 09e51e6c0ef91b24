"""The limit of workload E: one hand-written loop for each definition, over columns that are known to have no gaps.

Where events are missing at random, the same loops run over their times too.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

Array = np.ndarray[Any, Any]
compiled = numba.njit(cache=True, nogil=True)


@compiled  # type: ignore[untyped-decorator]
def plus_three(x: Array) -> Array:
    """``x + 3``."""
    out = np.empty(len(x), np.float64)
    for row in range(len(x)):
        out[row] = x[row] + 3.0
    return out


@compiled  # type: ignore[untyped-decorator]
def positive(x: Array) -> tuple[Array, Array]:
    """Places and values above 0."""
    at, out = np.empty(len(x), np.int64), np.empty(len(x), np.float32)
    done = 0
    for row in range(len(x)):
        at[done], out[done] = row, x[row]
        done += x[row] > 0
    return at[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def sliding_sum(x: Array, width: int) -> Array:
    """Sum of the last `width` values, until the last one has left."""
    out = np.empty(len(x) + width - 1)
    total = 0.0
    for row in range(len(out)):
        if row < len(x):
            total += x[row]
        if row >= width:
            total -= x[row - width]
        out[row] = total
    return out


@compiled  # type: ignore[untyped-decorator]
def added(x: Array, y: Array) -> Array:
    """``x + y``."""
    out = np.empty(len(x), np.float64)
    for row in range(len(x)):
        out[row] = np.float64(x[row]) + np.float64(y[row])
    return out


@compiled  # type: ignore[untyped-decorator]
def views(kind: Array, width: int) -> Array:
    """How many of each `width` values are 1."""
    out = np.zeros((len(kind) + width - 1) // width, np.int64)
    for row in range(len(kind)):
        out[row // width] += kind[row] == 1
    return out


@compiled  # type: ignore[untyped-decorator]
def crossing(x: Array, short: int, long: int) -> tuple[Array, Array, Array]:
    """Places at which the mean of the last `short` values is above that of the last `long`, and both."""
    at, first, second = np.empty(len(x) + short, np.int64), np.empty(len(x) + short), np.empty(len(x) + short)
    done, one, other = 0, 0.0, 0.0
    for row in range(len(x) + short - 1):
        if row < len(x):
            one += x[row]
            other += x[row]
        if row >= short:
            one -= x[row - short]
        if row >= long:
            other -= x[row - long]
        few = min(row + 1, short, len(x) + short - 1 - row)
        many = min(row + 1, long, len(x) + long - 1 - row)
        at[done], first[done], second[done] = row, one / few, other / many
        done += one / few > other / many
    return at[:done], first[:done], second[:done]


@compiled  # type: ignore[untyped-decorator]
def strength(x: Array, width: int) -> Array:
    """RSI: from the gains and the losses of the last `width` steps; nan where nothing was lost."""
    out = np.empty(len(x) - 1 + width - 1)
    up, down = 0.0, 0.0
    for row in range(len(out)):
        if row < len(x) - 1:
            step = np.float64(x[row + 1]) - np.float64(x[row])
            up += max(step, 0.0)
            down += max(-step, 0.0)
        if row >= width:
            step = np.float64(x[row - width + 1]) - np.float64(x[row - width])
            up -= max(step, 0.0)
            down -= max(-step, 0.0)
        out[row] = 100.0 - 100.0 / (1.0 + up / down) if down > 1e-9 else math.nan
    return out


@compiled  # type: ignore[untyped-decorator]
def standard_scores(x: Array, width: int) -> Array:
    """Less the mean of each `width` values, over their standard deviation (n - 1)."""
    out = np.empty(len(x))
    for first in range(0, len(x), width):
        stop = min(first + width, len(x))
        total = 0.0
        for row in range(first, stop):
            total += x[row]
        mean = total / (stop - first)
        squares = 0.0
        for row in range(first, stop):
            squares += (x[row] - mean) ** 2
        deviation = math.sqrt(squares / (stop - first - 1))
        for row in range(first, stop):
            out[row] = (x[row] - mean) / deviation
    return out


@compiled  # type: ignore[untyped-decorator]
def moments(x: Array, width: int) -> tuple[Array, Array, Array]:
    """Kurtosis (over n), root mean square and crest factor of each `width` values."""
    windows = len(x) // width
    kurtosis, rms, crest = np.empty(windows), np.empty(windows), np.empty(windows)
    for window in range(windows):
        total, squares, largest = 0.0, 0.0, 0.0
        for row in range(window * width, (window + 1) * width):
            total += x[row]
            squares += np.float64(x[row]) ** 2
            largest = max(largest, abs(x[row]))
        mean = total / width
        second, fourth = 0.0, 0.0
        for row in range(window * width, (window + 1) * width):
            step = (x[row] - mean) ** 2
            second += step
            fourth += step * step
        kurtosis[window] = fourth / width / (second / width) ** 2
        rms[window] = math.sqrt(squares / width)
        crest[window] = largest / rms[window]
    return kurtosis, rms, crest


@compiled  # type: ignore[untyped-decorator]
def outliers(x: Array, width: int, deviations: float) -> tuple[Array, Array]:
    """Places and values more than so many standard deviations (n - 1) above the mean of the `width` values before."""
    at, out = np.empty(len(x), np.int64), np.empty(len(x), np.float32)
    done = 0
    for row in range(1, len(x)):
        first = max(0, row - width)
        count, total = row - first, 0.0
        for other in range(first, row):
            total += x[other]
        mean, squares = total / count, 0.0
        for other in range(first, row):
            squares += (x[other] - mean) ** 2
        if count > 1:
            at[done], out[done] = row, x[row]
            done += x[row] > mean + deviations * math.sqrt(squares / (count - 1))
    return at[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def sliding_sum_of_some(at: Array, x: Array, width: int) -> tuple[Array, Array]:
    """Sum of the values of the last `width` ticks, at each tick at which one enters or leaves and some are left."""
    rows = len(at)
    start, out = np.empty(2 * rows, np.int64), np.empty(2 * rows)
    total, entering, leaving, done = 0.0, 0, 0, 0
    while leaving < rows:
        now = at[leaving] + width
        if entering < rows:
            now = min(now, at[entering])
        while leaving < rows and at[leaving] + width == now:
            total -= x[leaving]
            leaving += 1
        while entering < rows and at[entering] == now:
            total += x[entering]
            entering += 1
        if entering > leaving:
            start[done], out[done] = now, total
            done += 1
    return start[:done], out[:done]

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
    """Rows and values above 0."""
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
    """Rows at which the mean of the last `short` values is above that of the last `long`, and both."""
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
    """Rows and values more than so many standard deviations (n - 1) above the mean of the `width` values before."""
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


@compiled  # type: ignore[untyped-decorator]
def imputed(x: Array, width: int) -> Array:
    """Values, and the mean of each `width` rows where one is nan."""
    out = np.empty(len(x))
    for first in range(0, len(x), width):
        stop = min(first + width, len(x))
        count, total = 0, 0.0
        for row in range(first, stop):
            if not math.isnan(x[row]):
                count += 1
                total += x[row]
        mean = total / count
        for row in range(first, stop):
            out[row] = mean if math.isnan(x[row]) else x[row]
    return out


@compiled  # type: ignore[untyped-decorator]
def resampled(x: Array, every: int, to: int) -> Array:
    """Values between those of every `every` ticks, at every `to` ticks, on the line between its neighbours."""
    out = np.empty(((len(x) - 1) * every - 1) // to + 1)
    for row in range(len(out)):
        before, past = (row * to) // every, (row * to) % every
        out[row] = x[before] + (np.float64(x[before + 1]) - x[before]) * past / every
    return out


@compiled  # type: ignore[untyped-decorator]
def heart_beats(x: Array) -> Array:  # word allowed: the beats of a heart
    """Pan and Tompkins (1985): low pass (two sums of 6), high pass (32), derivative of five points, square, mean of 30.

    Sums reach over the ends of the signal; the others are where all that they need is.
    """
    rows = len(x)
    low, lower = np.zeros(rows + 100), np.zeros(rows + 100)
    passed, square = np.zeros(rows + 100), np.zeros(rows + 100)
    one, other, long = 0.0, 0.0, 0.0
    for at in range(rows + 26):
        one += np.float64(x[at]) if at < rows else 0.0
        one -= np.float64(x[at - 6]) if 6 <= at < rows + 6 else 0.0
        low[at] = one if at < rows + 5 else 0.0
        other += low[at] - (low[at - 6] if at >= 6 else 0.0)
        lower[at] = other if at < rows + 10 else 0.0
        long += lower[at] - (lower[at - 32] if at >= 32 else 0.0)
        passed[at] = lower[at - 16] - long / 32.0 if at >= 16 else 0.0
        if at >= 20:
            slope = (2.0 * passed[at] + passed[at - 1] - passed[at - 3] - 2.0 * passed[at - 4]) / 8.0
            square[at] = slope * slope
    first, stop = 20, rows + 26
    out = np.empty(stop - first + 29)
    total = 0.0
    for at in range(first, stop + 29):
        total += square[at] if at < stop else 0.0
        total -= square[at - 30] if at - 30 >= first else 0.0
        out[at - first] = total / (min(at, stop - 1) - max(at - 29, first) + 1)
    return out


@compiled  # type: ignore[untyped-decorator]
def outliers_of_keys(x: Array, keys: int, width: int, deviations: float) -> tuple[Array, Array]:
    """As `outliers`, where row r is of key ``r % keys`` and compared with the `width` values of its key before."""
    at, out = np.empty(len(x), np.int64), np.empty(len(x), np.float32)
    done = 0
    for row in range(len(x)):
        count = min(row // keys, width)
        if count < 2:
            continue
        total, squares = 0.0, 0.0
        for back in range(1, count + 1):
            total += x[row - back * keys]
        mean = total / count
        for back in range(1, count + 1):
            squares += (x[row - back * keys] - mean) ** 2
        at[done], out[done] = row, x[row]
        done += x[row] > mean + deviations * math.sqrt(squares / (count - 1))
    return at[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def added_where_both(at: Array, x: Array, other_at: Array, y: Array) -> tuple[Array, Array]:
    """``x + y`` at the times that both have."""
    start, out = np.empty(min(len(x), len(y)), np.int64), np.empty(min(len(x), len(y)))
    left, right, done = 0, 0, 0
    while left < len(x) and right < len(y):
        if at[left] == other_at[right]:
            start[done], out[done] = at[left], np.float64(x[left]) + np.float64(y[right])
            done += 1
        step = at[left] <= other_at[right]
        right += at[left] >= other_at[right]
        left += step
    return start[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def standard_scores_of_some(at: Array, x: Array, width: int) -> Array:
    """As `standard_scores`, of the values that there are."""
    out = np.empty(len(x))
    first = 0
    while first < len(x):
        window, stop, total = at[first] // width, first, 0.0
        while stop < len(x) and at[stop] // width == window:
            total += x[stop]
            stop += 1
        mean, squares = total / (stop - first), 0.0
        for row in range(first, stop):
            squares += (x[row] - mean) ** 2
        deviation = math.sqrt(squares / (stop - first - 1))
        for row in range(first, stop):
            out[row] = (x[row] - mean) / deviation
        first = stop
    return out


@compiled  # type: ignore[untyped-decorator]
def timeline(first: int, rows: int, period: int) -> tuple[Array, Array]:
    """Starts and ends of so many rows: what a table of results has besides the values of a loop."""
    start, end = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for row in range(rows):
        start[row], end[row] = first + row * period, first + (row + 1) * period
    return start, end


@compiled  # type: ignore[untyped-decorator]
def ends(start: Array) -> Array:
    """Ends of intervals of one tick."""
    out = np.empty_like(start)
    for row in range(len(start)):
        out[row] = start[row] + 1
    return out


@compiled  # type: ignore[untyped-decorator]
def views_of_some(at: Array, kind: Array, width: int) -> Array:
    """How many values of each `width` ticks are 1."""
    out = np.zeros(at[-1] // width + 1, np.int64)
    for row in range(len(kind)):
        out[at[row] // width] += kind[row] == 1
    return out

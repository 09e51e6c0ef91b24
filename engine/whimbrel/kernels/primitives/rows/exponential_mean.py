"""Exponentially weighted means of rows, by key."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

STEPS = 1024
"""Parts of a halflife that are in a table."""

_PARTS = 2.0 ** (-np.arange(STEPS) / STEPS)
_HALVES = 2.0 ** -np.arange(1100.0)
_LOG = math.log(2) / STEPS


def weighted_means(
    group: Array, hidden: Array, values: Array, start: Array, rate: float, alpha: float,
    means: Array, last: Array, there: Array, out: Array,
) -> None:
    """The mean after each row: ``(1 - kept) * value + kept * mean``, and the value at the first row of a key.

    Parameters
    ----------
    group : array of int32
        The key of each row.
    hidden : array of bool
        Rows to leave out; empty: none.
    values : array of float64
    start : array of int64
    rate : float
        So many parts of a halflife, see `STEPS`, pass with each tick; 0: `alpha` is used instead.
    alpha : float
        Weight of a value.
    means, last : array of float64 and int64
        For each key, its mean, and the start of its last row.
    there : array of bool
        For each key, whether it has had a row.
    out : array of float64
    """
    key, mean, before, has_mean = np.int64(-1), 0.0, np.int64(0), False
    for row in range(group.shape[0]):
        if hidden.shape[0] and hidden[row]:
            continue
        if group[row] != key:  # the state of one key stays in registers while its rows follow each other
            if key >= 0:
                means[key], last[key], there[key] = mean, before, has_mean
            key = np.int64(group[row])
            mean, before, has_mean = means[key], last[key], there[key]
        value = values[row]
        weight = alpha
        if rate > 0:
            weight = 1.0 - remaining((start[row] - before) * rate) if has_mean else 1.0
            before = start[row]
        if not has_mean or value == mean:
            mean, has_mean = value, True
        else:
            mean = weight * value + (1.0 - weight) * mean
        out[row] = mean
    if key >= 0:
        means[key], last[key], there[key] = mean, before, has_mean


def remaining(parts: float) -> float:
    """``2**(-parts / STEPS)``, for parts of at least 0: two tables, and a series between their entries.

    >>> remaining(2.5 * STEPS) == 2**-2.5, remaining(1e300)
    (True, 0.0)
    """
    if parts >= STEPS * 1099.0:
        return 0.0
    whole = int(parts)
    rest = (parts - whole) * _LOG
    return float(_HALVES[whole >> 10] * _PARTS[whole & 1023]
                 * (1.0 - rest * (1.0 - rest * (1 / 2 - rest * (1 / 6 - rest / 24)))))

"""Two-pass variance and standard deviation of complete groups."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whimbrel.aggregates.double_double_sum import NO_WHOLE_SUM, whole_in
from whimbrel.plan import State, TwoPasses

_LARGEST_FLOAT = 1e150
"""Squares of larger numbers leave what floats can hold."""

_LARGEST_WHOLE = 2.0**63 - 1024
"""Of all floats that are an int64."""

_HALF = 2**32 - 1


def value_in(state: State, value: Any) -> State:
    """Add to (sum, rows, rows that are not finite or too large, newest value, how often it was another one)."""
    x = float(value)
    return (state[0] + x, state[1] + 1, state[2] + (not -_LARGEST_FLOAT < x < _LARGEST_FLOAT),
            x, state[4] + (x != state[3]))


def around_mean(state: State) -> State:
    """Mean, sum of squared distances from it, sum of distances, and rows as before: no distance yet.

    Of equal values the mean is that value, which a rounded sum need not give.
    """
    mean = 0.0
    if state[1] > 0:
        mean = state[0] / state[1] if state[4] > 1 else state[3]
    return (mean, 0.0, 0.0, state[1], state[2])


def distance_in(state: State, value: Any) -> State:
    distance = float(value) - state[0]
    return (state[0], state[1] + distance * distance, state[2] + distance, state[3], state[4])


def around_whole_mean(state: State) -> State:
    """Of integers, from the integer that is nearest to the mean."""
    mean = 0
    if state[1] > 0:
        mean = int(min(max(np.rint((state[0] + state[2]) / state[1]), -(2.0**63)), _LARGEST_WHOLE))
    return (mean, 0.0, 0.0, state[1], 0)


def whole_distance_in(state: State, value: Any) -> State:
    high, low = (value >> 32) - (state[0] >> 32), (value & _HALF) - (state[0] & _HALF)
    distance = float(high) * 2.0**32 + float(low)
    return (state[0], state[1] + distance * distance, state[2] + distance, state[3], state[4])


def squared_distances(state: State) -> Any:
    """Less what the mean was rounded by (Chan, Golub and LeVeque 1983)."""
    return max(state[1] - state[2] * state[2] / state[3], 0.0)


def sample_variance_of(state: State) -> Any:
    if state[3] < 2:
        return None
    if state[4] > 0:
        return np.nan
    return squared_distances(state) / (state[3] - 1)


def population_variance_of(state: State) -> Any:
    if state[3] < 1:
        return None
    if state[4] > 0:
        return np.nan
    return squared_distances(state) / state[3]


def sample_deviation_of(state: State) -> Any:
    if state[3] < 2:
        return None
    if state[4] > 0:
        return np.nan
    return math.sqrt(squared_distances(state) / (state[3] - 1))


def population_deviation_of(state: State) -> Any:
    if state[3] < 1:
        return None
    if state[4] > 0:
        return np.nan
    return math.sqrt(squared_distances(state) / state[3])


def from_mean(result: Any) -> TwoPasses:
    """The algebra that ends with such a result."""
    return TwoPasses((0.0, 0, 0, math.nan, 0), value_in, around_mean, distance_in, result)


def from_whole_mean(result: Any) -> TwoPasses:
    """The same of integers, which floats may not tell apart."""
    return TwoPasses(NO_WHOLE_SUM, whole_in, around_whole_mean, whole_distance_in, result)

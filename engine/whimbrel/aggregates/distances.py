"""Variance and standard deviation of values that lie together: their mean first, then how far each is from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whimbrel.plan import State, TwoPasses

_LARGEST_FLOAT = 1e150
"""Squares of larger numbers leave what floats can hold."""


def value_in(state: State, value: Any) -> State:
    """Add to (sum, rows, rows that are not finite or too large)."""
    x = float(value)
    return (state[0] + x, state[1] + 1, state[2] + (not -_LARGEST_FLOAT < x < _LARGEST_FLOAT))


def around_mean(state: State) -> State:
    """Mean, sum of squared distances from it, sum of distances, and rows as before: no distance yet."""
    mean = 0.0
    if state[1] > 0:
        mean = state[0] / state[1]
    return (mean, 0.0, 0.0, state[1], state[2])


def distance_in(state: State, value: Any) -> State:
    distance = float(value) - state[0]
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
    return TwoPasses((0.0, 0, 0), value_in, around_mean, distance_in, result)

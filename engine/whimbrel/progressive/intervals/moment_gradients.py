"""Gradients of means, variances and standard deviations, from their sums.

The gradients are by the sums in the states.

Numerical differences, as for other values, would lose them: for numbers far from 0, a variance is the small difference
of two large sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.aggregates import Mean, Std, Var
from whimbrel.aggregates.mean import HUGE_UNIT
from whimbrel.plan import Aggregate

Array = np.ndarray[Any, Any]

_LARGEST_WHOLE = 2.0**200
"""Larger than any sum of integers."""

_MOMENTS = 7
"""The number of fields of a variance: sum and error, squares and two errors, rows, and rows that are not finite."""


def moment_slopes(aggregate: Aggregate, states: Sequence[Array], values: Array, known: Array) -> Array:
    """The gradient by field and row; 0 if the value is unknown.

    Parameters
    ----------
    aggregate : Mean, Var or Std
    states : sequence of numpy.ndarray of float64
    values : numpy.ndarray of float64
        The value of the aggregate, by row.
    known : numpy.ndarray of bool
    """
    assert isinstance(aggregate, Mean | Var | Std)
    if isinstance(aggregate, Mean):
        return np.where(known, mean_slopes(states), 0.0)
    rows = states[5]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (states[0] + states[1]) / rows
        variance = values if isinstance(aggregate, Var) else values**2
        each = 1 / (rows - aggregate.sample)
        if isinstance(aggregate, Std):
            each /= 2 * values
        of_sum, of_squares = -2 * mean * each, each
        slopes = np.array([of_sum, of_sum, of_squares, of_squares, of_squares, (mean**2 - variance) * each, 0 * each])
    return np.where(known & np.isfinite(slopes), slopes, 0.0)


def mean_slopes(states: Sequence[Array]) -> Array:
    """The gradient of the mean, by its own states or by those of a variance."""
    rows = states[5 if len(states) == _MOMENTS else 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        each = 1 / rows
        if len(states) == _MOMENTS:
            nothing = 0 * each
            slopes = np.array([each, each, nothing, nothing, nothing, -(states[0] + states[1]) * each**2, nothing])
        else:
            unit = np.where(np.abs(states[2]) > _LARGEST_WHOLE, HUGE_UNIT, 1.0)  # a mean of huge floats
            slopes = np.array([each, -(states[0] + states[2] * unit) * each**2, unit * each])
    return np.where(np.isfinite(slopes), slopes, 0.0)

"""Check the delta method for intervals of expressions of several aggregates.

The width of an interval comes from the variance between blocks, to first order. That fails where the expression is
strongly nonlinear, such as a ratio whose denominator may be 0. The check computes the value again where each of its
sums is off by as much as its own error, and the others are off with it, by a regression over blocks. It then adds what
is left of the value's own error. If a result is farther from the linear approximation than the interval is wide, as
beyond a pole, the value has no interval. If a result is somewhat outside the interval, the interval is widened to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whimbrel.progressive.intervals.sample_values import SampleValues

Array = np.ndarray[Any, Any]
Errors = Callable[[Array], Array]

_LITTLE = 0.05
"""The fraction of an interval that may be rounding."""


def checked_widths(values: SampleValues, value: int, errors: Errors, widths: Array) -> Array:
    """Half the intervals of a value, widened for nonlinearity; infinite if the linear approximation fails.

    Parameters
    ----------
    values : SampleValues
    value : int
    errors : callable
        Standard errors, by number and row, of linear functions of the value's fields: by number, field and row.
    widths : numpy.ndarray of float64
        By row, to first order.
    """
    own = np.flatnonzero(values.split.values.needed[value] & values.split.values.additive)
    numbers = np.zeros((1 + len(own), *values.slopes[value].shape))  # the value, and each of its fields
    numbers[0] = values.slopes[value]
    numbers[np.arange(len(own)) + 1, own] = 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sizes = np.nan_to_num(errors(numbers), posinf=0.0)
        rows = np.flatnonzero(np.isfinite(widths) & (widths > 0) & (sizes[0] > 0))
        if not len(rows):
            return widths
        alike = _correlations(numbers, sizes, errors)[:, :, rows]
        wide, with_value = widths[rows], alike[0]
        value_off, *fields_off = alike * sizes[1:, rows] * (wide / sizes[0, rows])
        extra = value_off - with_value[:, None] * fields_off
        moves = np.array([0 * value_off, value_off, -value_off, *fields_off, *np.negative(fields_off),
                          *(fields_off + extra), *(extra - fields_off)])
        once = 3 + 2 * len(own)
        found = _values_at(values, value, own, moves, rows)
        lines = wide * np.array([0 * wide, 0 * wide + 1, 0 * wide - 1, *with_value, *-with_value])
        bends = np.abs(found[:once] - found[0] - lines)
        rest = np.tile(wide * (1 - with_value**2), (2, 1))
        rest_bends = np.abs(found[once:] - found[3:once] - rest)
        near = (bends <= (1 + _LITTLE) * wide).all(axis=0) & (rest_bends <= rest + _LITTLE * wide).all(axis=0)
        reach = np.abs(found[:once] - found[0]).max(axis=0)
    out = widths.copy()
    out[rows] = np.where(near, np.maximum(wide, reach), np.inf)
    return out


def _correlations(numbers: Array, sizes: Array, errors: Errors) -> Array:
    """By number, field and row, the correlation of their errors."""
    units = np.where(sizes[:, None] > 0, numbers / sizes[:, None], 0.0)
    fields = len(numbers) - 1
    pairs = [(first, second) for second in range(1, fields + 1) for first in range(second)]
    first, second = (units[[pair[side] for pair in pairs]] for side in (0, 1))
    known = np.nan_to_num((errors(first + second) ** 2 - errors(first - second) ** 2) / 4, posinf=0.0, neginf=0.0)
    alike = np.ones((fields + 1, fields, numbers.shape[-1]))
    for (one, other), correlation in zip(pairs, np.clip(known, -1, 1), strict=True):
        alike[one, other - 1] = correlation
        if one:
            alike[other, one - 1] = correlation
    return alike


def _values_at(values: SampleValues, value: int, own: Array, moves: Array, rows: Array) -> Array:
    """By move and row, the value with moved fields, corrected for the rounding of integers."""
    every, off = np.tile(rows, len(moves)), np.zeros((len(moves), len(rows)))
    fields = [np.asarray(field)[every] for field in values.scaled]
    for place, field in enumerate(own):
        there = fields[field] + moves[:, place].reshape(-1)
        if fields[field].dtype.kind != "f":
            rounded = np.rint(there)
            off += values.slopes[value, field, rows] * (there - rounded).reshape(off.shape)
            there = rounded.astype(fields[field].dtype)
        fields[field] = there
    return values.numbers_of(values.values_of(fields, every), value).reshape(off.shape) + off

"""Sums of values and squares for variances, with compensation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whimbrel.aggregates.compensated_sum import SMALLEST, all_left, larger_of_both, two_sum, with_larger
from whimbrel.aggregates.double_double_sum import halves
from whimbrel.aggregates.error_free_product import LARGEST_FLOAT, product_error, square_parts
from whimbrel.plan import State

_WHOLE = 2.0**53
"""Up to it floats hold every integer."""

_CERTAIN = 2.0**-40
"""Of the squares, from which on a difference has all digits that a float has."""

_LARGE_SQUARES = 2.0**600

NO_MOMENTS: State = (0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)
"""Sum and its error, sum of squares, its error and the error of that, rows, rows that are not finite.

The squares have one error more: they differ by the square of what values differ by.
"""

NO_SIZED: State = (*NO_MOMENTS, SMALLEST, 0, 0.0, 0)
"""The same; where the size of the largest values begins, and how many have it; a value, and how many are certainly it.

Two sums that rows have left may differ by what these took from them: where all that are left are one value, it is known
that they do not.
"""


def moments_in(state: State, value: Any) -> State:
    x = float(value)
    if not -LARGEST_FLOAT < x < LARGEST_FLOAT:
        return (*state[:5], state[5] + 1, state[6] + 1)
    return (*moved(state, x, 1.0), state[5] + 1, state[6])


def sized_in(state: State, value: Any) -> State:
    x = float(value)
    size = abs(x)
    low, large = state[7], state[8]
    if size < LARGEST_FLOAT:
        low, large = with_larger(low, large, size)
    alike = state[10] + 1 if x == state[9] else 1
    return (*moments_in(state[:7], value), low, large, x, alike)


def sized_out(state: State, value: Any) -> State:
    x = float(value)
    alike = state[10] - (x == state[9])
    if not -LARGEST_FLOAT < x < LARGEST_FLOAT:
        return (*state[:5], state[5] - 1, state[6] - 1, *state[7:10], alike)
    return (*moved(state, x, -1.0), state[5] - 1, state[6], state[7], state[8] - (abs(x) >= state[7]), state[9], alike)


def whole_moments_in(state: State, value: Any) -> State:
    """Of an integer: one that floats do not hold as two halves, whose products they do."""
    return (*whole_moved(state, value, 1.0), state[5] + 1, state[6])


def whole_moments_out(state: State, value: Any) -> State:
    return (*whole_moved(state, value, -1.0), state[5] - 1, state[6])


def whole_moved(state: State, value: Any, sign: Any) -> Any:
    if -_WHOLE < value < _WHOLE:
        return moved(state, float(value), sign)
    high, low = halves(value)
    total, off = two_sum(state[0], sign * high)
    total, off = two_sum(total, state[1] + (off + sign * low))
    squares, error, rest = plus_product(state[2], state[3], state[4], sign * high, high)
    squares, error, rest = plus_product(squares, error, rest, sign * high, 2.0 * low)
    squares, error, rest = plus_product(squares, error, rest, sign * low, low)
    squares, error = two_sum(squares, error)
    return total, off, squares, error, rest


def plus_product(total: Any, error: Any, rest: Any, left: Any, right: Any) -> Any:
    product = left * right
    return plus(total, error, rest, product, product_error(left, right, product))


def moved(state: State, x: Any, sign: Any) -> Any:
    """Sums and their errors with one value more or less."""
    square, error = square_parts(x)
    total, off = two_sum(state[0], sign * x)
    return (total, state[1] + off, *plus(state[2], state[3], state[4], sign * square, sign * error))


def plus(total: Any, error: Any, rest: Any, value: Any, value_error: Any) -> Any:
    """A sum in three floats, with a value in two floats more."""
    total, off = two_sum(total, value)
    error, lost = two_sum(error, off)
    error, more = two_sum(error, value_error)
    return total, error, rest + (lost + more)


def moments_of_both(left: State, right: State) -> State:
    total, off = two_sum(left[0], right[0])
    squares, error, rest = plus(left[2], left[3], left[4] + right[4], right[2], right[3])
    return (total, left[1] + right[1] + off, squares, error, rest, left[5] + right[5], left[6] + right[6])


def sized_of_both(left: State, right: State) -> State:
    alike = left[10] + right[10] if left[9] == right[9] else max(left[10], right[10])
    same = left[9] if left[10] > right[10] else right[9]
    return (*moments_of_both(left[:7], right[:7]), *larger_of_both(left[7], left[8], right[7], right[8]), same, alike)


def are_spoiled(state: State) -> Any:
    return all_left(state[7], state[8])


def deviations(state: State) -> Any:
    """Sum of squared distances from the mean: what two large sums differ by."""
    total, off, squares, error, rest, rows = state[:6]
    square, square_error = square_parts(total)
    part = square / rows
    taken = part * rows
    left_over = ((square - taken) - product_error(part, float(rows), taken)) + square_error
    left_over = left_over + 2.0 * total * off + off * off
    distance, lost = two_sum(squares, -part)
    distance, more = two_sum(distance, error)
    found = distance + (lost + more + rest - left_over / rows)
    if found > squares * _CERTAIN:
        return found
    return last_digits(total, off, squares, error, rest, float(rows))


def last_digits(total: Any, off: Any, squares: Any, error: Any, rest: Any, rows: Any) -> Any:
    """The same where nearly all digits are lost: all products in parts, which are added up until nothing is rounded.

    As in four times as many digits (Ogita, Rump and Oishi 2005, SumK).
    """
    unit = 1.0
    if squares > _LARGE_SQUARES:
        unit = 2.0**-300
    total, off = total * unit, off * unit
    squares, error, rest = squares * unit * unit, error * unit * unit, rest * unit * unit
    parts = np.empty(12)
    parts[0], parts[1], parts[2] = rows * squares, rows * error, rows * rest
    parts[3], parts[4] = product_error(rows, squares, parts[0]), product_error(rows, error, parts[1])
    parts[5] = product_error(rows, rest, parts[2])
    parts[6], parts[7], parts[8] = -(total * total), -(2.0 * total * off), -(off * off)
    parts[9], parts[10] = -product_error(total, total, -parts[6]), -product_error(2.0 * total, off, -parts[7])
    parts[11] = -product_error(off, off, -parts[8])
    for _ in range(3):
        for index in range(1, 12):
            parts[index], parts[index - 1] = two_sum(parts[index], parts[index - 1])
    found = 0.0
    for index in range(12):
        found += parts[index]
    return max(found, 0.0) / rows / (unit * unit)


def sized_deviations(state: State) -> Any:
    return 0.0 if state[10] == state[5] else deviations(state)


def sample_variance(state: State) -> Any:
    if state[5] < 2:
        return None
    if state[6] > 0:
        return np.nan
    return deviations(state) / (state[5] - 1)


def population_variance(state: State) -> Any:
    if state[5] < 1:
        return None
    if state[6] > 0:
        return np.nan
    return deviations(state) / state[5]


def sample_deviation(state: State) -> Any:
    if state[5] < 2:
        return None
    if state[6] > 0:
        return np.nan
    return math.sqrt(deviations(state) / (state[5] - 1))


def population_deviation(state: State) -> Any:
    if state[5] < 1:
        return None
    if state[6] > 0:
        return np.nan
    return math.sqrt(deviations(state) / state[5])


def sized_sample_variance(state: State) -> Any:
    if state[5] < 2:
        return None
    if state[6] > 0:
        return np.nan
    return sized_deviations(state) / (state[5] - 1)


def sized_population_variance(state: State) -> Any:
    if state[5] < 1:
        return None
    if state[6] > 0:
        return np.nan
    return sized_deviations(state) / state[5]


def sized_sample_deviation(state: State) -> Any:
    if state[5] < 2:
        return None
    if state[6] > 0:
        return np.nan
    return math.sqrt(sized_deviations(state) / (state[5] - 1))


def sized_population_deviation(state: State) -> Any:
    if state[5] < 1:
        return None
    if state[6] > 0:
        return np.nan
    return math.sqrt(sized_deviations(state) / state[5])

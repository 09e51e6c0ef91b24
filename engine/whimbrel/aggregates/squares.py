"""The sum of squares, and what is made of it: variance and standard deviation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.aggregates.distances import (
    from_mean,
    population_deviation_of,
    population_variance_of,
    sample_deviation_of,
    sample_variance_of,
)
from whimbrel.aggregates.exact_sum import (
    NO_SUM,
    SMALLEST,
    add_exactly,
    are_gone,
    exact_total,
    in_unit,
    is_spoiled,
    larger_of_both,
    merge_exact,
    subtract_exactly,
    two_sum,
    with_larger,
)
from whimbrel.aggregates.sum import (
    add_float,
    add_floats,
    add_integer,
    add_integers,
    float_total,
    subtract_integer,
)
from whimbrel.errors import ExpressionError
from whimbrel.plan import Aggregate, State, Steps

_LARGEST_ROOT = 3_037_000_499
"""Of all integers whose square is an int64."""

_LARGEST_FLOAT = 1e150
"""Squares of larger numbers cannot be split into exact parts."""

_SPLIT = 134_217_729.0
"""2**27 + 1 cuts a float into two halves of 26 bits (Dekker 1971)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SumOfSquares(Aggregate):
    """Sum of the squares of the values; 0 when all are null. One that leaves int64 is an error, never a wrap.

        time     0    5    10
        in       2────────         sum_of_squares over [0, 5) is 4, over [5, 10) is 13
                      3────

    Notes
    -----
    State: three integers a group, or one float; where floats also leave, rounding errors are kept too.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.sum_of_squares(wb.col.x)).collect()["v"].to_pylist()
    [4, 13]
    """

    name: ClassVar[str] = "sum_of_squares"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        assert input_type is not None
        if pa.types.is_floating(input_type):
            return pa.float64()
        if pa.types.is_integer(input_type) or pa.types.is_boolean(input_type):
            return pa.int64()
        raise ExpressionError(f"sum_of_squares of {input_type} has no meaning.", where=self.show(),
                              hint="sum_of_squares takes numbers and bools")

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Steps:
        if not pa.types.is_floating(input_type):
            return Steps(init=(0, 0, 0), accumulate=square_in, deaccumulate=square_out, merge=squares_of_both,
                         result=integer_squares, additive=True)
        if not removable:
            return Steps(init=(0.0,), accumulate=add_square, merge=add_floats, result=float_total, additive=True)
        return Steps(init=NO_SUM, accumulate=add_square_exactly, deaccumulate=subtract_square_exactly,
                     merge=merge_exact, result=exact_total, additive=True, spoiled=is_spoiled)


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread(Aggregate):
    """What var and std share: exact sums of values and of squares, from which rows can be taken back.

    Parameters
    ----------
    sample : bool
        Divide by the number of rows less one, as for a sample; otherwise by the number of rows, as for everything.
    """

    sample: bool = True

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        assert input_type is not None
        if pa.types.is_integer(input_type) or pa.types.is_floating(input_type) or pa.types.is_boolean(input_type):
            return pa.float64()
        raise ExpressionError(f"{self.name} of {input_type} has no meaning.", where=self.show(),
                              hint=f"{self.name} takes numbers and bools")

    @staticmethod
    def of_moments(result: Callable[[Any], Any], of_distances: Callable[[Any], Any], *, removable: bool) -> Steps:
        """The algebra that ends with such results."""
        steps = Steps(init=_NO_MOMENTS, accumulate=moments_in, merge=moments_of_both, result=result, additive=True,
                      twice=from_mean(of_distances))
        if not removable:
            return steps
        return replace(steps, init=_NO_SIZED, accumulate=sized_in, deaccumulate=sized_out, merge=sized_of_both,
                       spoiled=are_spoiled)

    @property
    def options(self) -> str:
        return "" if self.sample else ", sample=False"


@dataclass(frozen=True, kw_only=True, eq=False)
class Var(Spread):
    """Variance of the values that are not null, as a float; null when there are too few (sample: one or none).

        time     0    5    10
        in       2────────         var over [0, 5) is null, over [5, 10) is 0.5
                      3────

    Sums of values and of squares are kept with their rounding errors, so that neither a large mean nor rows
    that leave cost digits; where all values of a window lie together, distances from their mean are squared instead.
    A value that is not finite, or above 1e150, makes it nan while it is active.

    Parameters
    ----------
    sample : bool
        Divide by the number of rows less one, as for a sample; otherwise by the number of rows, as for everything.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.var(wb.col.x)).collect()["v"].to_pylist()
    [None, 0.5]
    """

    name: ClassVar[str] = "var"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Steps:
        return self.of_moments(
            sample_variance if self.sample else population_variance,
            sample_variance_of if self.sample else population_variance_of, removable=removable)


@dataclass(frozen=True, kw_only=True, eq=False)
class Std(Spread):
    """Standard deviation of the values that are not null: the square root of :class:`Var`.

        time     0    5    10
        in       2────────         std over [0, 5) is null, over [5, 10) is 0.707
                      3────

    Parameters
    ----------
    sample : bool
        Divide by the number of rows less one, as for a sample; otherwise by the number of rows, as for everything.

    Notes
    -----
    State and digits: as for :class:`Var`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.std(wb.col.x)).collect()["v"].to_pylist()
    [None, 0.7071067811865476]
    """

    name: ClassVar[str] = "std"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Steps:
        return self.of_moments(
            sample_deviation if self.sample else population_deviation,
            sample_deviation_of if self.sample else population_deviation_of, removable=removable)


def square_in(state: State, value: Any) -> State:
    """Add to (sum modulo 2**64, wraps, squares that no int64 holds)."""
    if value > _LARGEST_ROOT or value < -_LARGEST_ROOT:
        return (state[0], state[1], state[2] + 1)
    return (*add_integer(state[:2], value * value), state[2])


def square_out(state: State, value: Any) -> State:
    if value > _LARGEST_ROOT or value < -_LARGEST_ROOT:
        return (state[0], state[1], state[2] - 1)
    return (*subtract_integer(state[:2], value * value), state[2])


def squares_of_both(left: State, right: State) -> State:
    return (*add_integers(left[:2], right[:2]), left[2] + right[2])


def integer_squares(state: State) -> Any:
    if state[1] != 0 or state[2] != 0:
        raise OverflowError("integer sum of squares")
    return state[0]


def add_square(state: State, value: Any) -> State:
    return add_float(state, value * value)


def add_square_exactly(state: State, value: Any) -> State:
    square, error = square_parts(value)
    state = add_exactly(state, square)
    total, off = two_sum(state[0], in_unit(error, SMALLEST, state[2]))
    return (total, state[1] + off, *state[2:])


def subtract_square_exactly(state: State, value: Any) -> State:
    square, error = square_parts(value)
    state = subtract_exactly(state, square)
    total, off = two_sum(state[0], -in_unit(error, SMALLEST, state[2]))
    return (total, state[1] + off, *state[2:])


def square_parts(value: Any) -> Any:
    """The square of a float as a sum of two floats; beyond 1e150 the second is 0."""
    square = value * value
    if not -_LARGEST_FLOAT < value < _LARGEST_FLOAT:
        return square, 0.0
    return square, product_error(value, value, square)


def product_error(left: Any, right: Any, product: Any) -> Any:
    """What rounding took from a product of floats (Dekker 1971)."""
    high = left * _SPLIT - (left * _SPLIT - left)
    low = left - high
    other_high = right * _SPLIT - (right * _SPLIT - right)
    other_low = right - other_high
    return low * other_low - (((product - high * other_high) - low * other_high) - high * other_low)


_NO_MOMENTS: State = (0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)
"""Sum and its error, sum of squares, its error and the error of that, rows, rows that are not finite.

The squares have one error more: they differ by the square of what values differ by.
"""

_NO_SIZED: State = (*_NO_MOMENTS, SMALLEST, 0)
"""The same; where the size of the largest values begins, and how many have it."""


def moments_in(state: State, value: Any) -> State:
    x = float(value)
    if not -_LARGEST_FLOAT < x < _LARGEST_FLOAT:
        return (*state[:5], state[5] + 1, state[6] + 1)
    return (*moved(state, x, 1.0), state[5] + 1, state[6])


def sized_in(state: State, value: Any) -> State:
    size = abs(float(value))
    if not size < _LARGEST_FLOAT:
        return (*moments_in(state[:7], value), *state[7:])
    return (*moments_in(state[:7], value), *with_larger(state[7], state[8], size))


def sized_out(state: State, value: Any) -> State:
    x = float(value)
    if not -_LARGEST_FLOAT < x < _LARGEST_FLOAT:
        return (*state[:5], state[5] - 1, state[6] - 1, *state[7:])
    return (*moved(state, x, -1.0), state[5] - 1, state[6], state[7], state[8] - (abs(x) >= state[7]))


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
    return (*moments_of_both(left[:7], right[:7]), *larger_of_both(left[7], left[8], right[7], right[8]))


def are_spoiled(state: State) -> Any:
    return are_gone(state[7], state[8])


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
    return max(distance + (lost + more + rest - left_over / rows), 0.0)


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

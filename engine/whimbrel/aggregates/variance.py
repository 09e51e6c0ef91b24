"""Sum of squares, variance and standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.aggregates.compensated_sum import (
    NO_SUM,
    SMALLEST,
    add_exactly,
    exact_total,
    in_unit,
    is_spoiled,
    merge_exact,
    subtract_exactly,
    two_sum,
)
from whimbrel.aggregates.error_free_product import square_parts
from whimbrel.aggregates.moments import (
    NO_MOMENTS,
    NO_SIZED,
    are_spoiled,
    moments_in,
    moments_of_both,
    population_deviation,
    population_variance,
    sample_deviation,
    sample_variance,
    sized_in,
    sized_of_both,
    sized_out,
    sized_population_deviation,
    sized_population_variance,
    sized_sample_deviation,
    sized_sample_variance,
    whole_moments_in,
    whole_moments_out,
)
from whimbrel.aggregates.sum import (
    add_float,
    add_floats,
    add_integer,
    add_integers,
    float_total,
    subtract_integer,
)
from whimbrel.aggregates.two_pass_variance import (
    from_mean,
    from_whole_mean,
    population_deviation_of,
    population_variance_of,
    sample_deviation_of,
    sample_variance_of,
)
from whimbrel.aggregates.wide_integer_variance import wide_spread
from whimbrel.errors import ExpressionError
from whimbrel.plan import Aggregate, AggregateFunctions, State

Results = tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]
"""What ends an algebra: one function for each kind of its states."""

_LARGEST_ROOT = 3_037_000_499
"""Of all integers whose square is an int64."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SumOfSquares(Aggregate):
    """Sum of the squares of the values; 0 when all are null.

    A sum that leaves int64 is an error, never a wrap.

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
        raise ExpressionError(f"sum_of_squares needs numbers or bools, got {input_type}.", where=self.show(),
                              hint="Cast it first, for example with .cast(float).")

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        if not pa.types.is_floating(input_type):
            return AggregateFunctions(init=(0, 0, 0), accumulate=square_in, remove=square_out,
                                      merge=squares_of_both,
                         result=integer_squares, additive=True)
        if not removable:
            return AggregateFunctions(init=(0.0,), accumulate=add_square, merge=add_floats, result=float_total,
                                      additive=True)
        return AggregateFunctions(init=NO_SUM, accumulate=add_square_exactly, remove=subtract_square_exactly,
                     merge=merge_exact, result=exact_total, additive=True, spoiled=is_spoiled)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dispersion(Aggregate):
    """Common part of var and std: compensated sums of values and squares, with removal.

    Parameters
    ----------
    sample : bool
        Divide by the number of rows less one, as for a sample; otherwise by the number of rows, as for everything.
    """

    takes_turned: ClassVar[bool] = True

    sample: bool = True

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        assert input_type is not None
        if pa.types.is_integer(input_type) or pa.types.is_floating(input_type) or pa.types.is_boolean(input_type):
            return pa.float64()
        if pa.types.is_decimal(input_type):
            return pa.float64()
        raise ExpressionError(f"{self.name} needs numbers, bools or decimals, got {input_type}.", where=self.show(),
                              hint="Cast the values to a number type first.")

    @staticmethod
    def of_moments(input_type: pa.DataType | None, results: Results, *, removable: bool) -> AggregateFunctions:
        """Algebra of the aggregate, with these functions for its result.

        The functions take moments, moments with their size, or distances.
        """
        of_moments, of_sized, of_distances = results
        if not pa.types.is_floating(input_type):
            return AggregateFunctions(init=NO_MOMENTS, accumulate=whole_moments_in, remove=whole_moments_out,
                         merge=moments_of_both, result=of_moments, additive=True, twice=from_whole_mean(of_distances))
        if not removable:
            return AggregateFunctions(init=NO_MOMENTS, accumulate=moments_in, merge=moments_of_both, result=of_moments,
                         additive=True, twice=from_mean(of_distances))
        return AggregateFunctions(init=NO_SIZED, accumulate=sized_in, remove=sized_out, merge=sized_of_both,
                     result=of_sized, additive=True, spoiled=are_spoiled, twice=from_mean(of_distances))

    @property
    def options(self) -> str:
        return "" if self.sample else ", sample=False"


@dataclass(frozen=True, kw_only=True, eq=False)
class Var(Dispersion):
    """Variance of the values that are not null, as a float.

    It is null when there are too few values (sample: one or none).

        time     0    5    10
        in       2────────         var over [0, 5) is null, over [5, 10) is 0.5
                      3────

    Sums of values and of squares are kept with their rounding errors, so a large mean or removed rows cost no digits.
    When all values of a window are available together, the distances from their mean are squared instead.
    Equal values have none. Integers are taken as they are, also those that floats do not tell apart.
    A value that is not finite, or above 1e150, makes it nan while it is active.
    Decimals of every width are added up and squared exactly; only what this ends with is rounded, to a float.
    Durations have none, for there is no unit of squared time; they have a :class:`Std`.

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

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if pa.types.is_duration(input_type):
            raise ExpressionError(f"The variance of {input_type} would be a squared time, which has no type.",
                                  where=self.show(), hint="Use std(...), which is a duration, or cast to int first.")
        return super().result_type(input_type)

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        if pa.types.is_decimal(input_type):
            return wide_spread(input_type, self.result_type(input_type), root=False, sample=self.sample)
        sample = (sample_variance, sized_sample_variance, sample_variance_of)
        population = (population_variance, sized_population_variance, population_variance_of)
        return self.of_moments(input_type, sample if self.sample else population, removable=removable)


@dataclass(frozen=True, kw_only=True, eq=False)
class Std(Dispersion):
    """Standard deviation of the values that are not null.

    It is the square root of :class:`Var`.

    Of durations it is a duration, rounded to the nearest tick; of two the even one.

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

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return input_type if pa.types.is_duration(input_type) else super().result_type(input_type)

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        if pa.types.is_decimal(input_type) or pa.types.is_duration(input_type):
            return wide_spread(input_type, self.result_type(input_type), root=True, sample=self.sample)
        sample = (sample_deviation, sized_sample_deviation, sample_deviation_of)
        population = (population_deviation, sized_population_deviation, population_deviation_of)
        return self.of_moments(input_type, sample if self.sample else population, removable=removable)


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

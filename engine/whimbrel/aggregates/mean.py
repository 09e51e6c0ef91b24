"""The arithmetic mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.aggregates.compensated_sum import (
    NO_SUM,
    add_exactly,
    exact_share,
    is_spoiled,
    merge_exact,
    subtract_exactly,
    two_sum,
)
from whimbrel.aggregates.double_double_sum import (
    NO_WHOLE_SUM,
    whole_both,
    whole_in,
    whole_out,
    whole_sums_of_rows,
)
from whimbrel.aggregates.wide_integer_columns import wide_mean
from whimbrel.errors import ExpressionError
from whimbrel.expr import MAX_DIGITS, decimal
from whimbrel.plan import Aggregate, AggregateFunctions, State


@dataclass(frozen=True, kw_only=True, eq=False)
class Mean(Aggregate):
    """Arithmetic mean of the values that are not null.

    It is null when there is none. That of numbers is a float. The sum of integers is exact, however large they are;
    that of floats never leaves what floats can hold. The mean of decimals is one: the exact quotient, with at least 6
    digits after the point, halves rounded away from zero. That of times is a time, that of durations a duration,
    rounded to the nearest tick of their unit; of two the even one.

        time     0    5    10
        in       2────────         mean over [0, 5) is 2.0, over [5, 10) is 2.5
                      3────

    Notes
    -----
    State: two sums and a number of rows a group; where floats also leave, rounding errors are kept too.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.mean(wb.col.x)).collect()["v"].to_pylist()
    [2.0, 2.5]
    """

    name: ClassVar[str] = "mean"
    takes_turned: ClassVar[bool] = True

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        assert input_type is not None
        if pa.types.is_integer(input_type) or pa.types.is_floating(input_type) or pa.types.is_boolean(input_type):
            return pa.float64()
        if pa.types.is_decimal(input_type):
            whole = input_type.precision - input_type.scale
            scale = max(input_type.scale, min(_FEWEST_DIGITS, MAX_DIGITS - whole))
            return decimal(whole + scale, scale)
        if is_span_or_time(input_type):
            return input_type
        raise ExpressionError(f"mean needs numbers, bools, decimals, durations or times, got {input_type}.",
                              where=self.show(),
                              hint='Cast it first: .cast(pa.timestamp("s")).' if pa.types.is_date(input_type) else
                              "Cast it first, for example with .cast(float).")

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        if pa.types.is_decimal(input_type) or is_span_or_time(input_type):
            return wide_mean(input_type, self.result_type(input_type))
        if not pa.types.is_floating(input_type):
            result = whole_average_turned if pa.types.is_uint64(input_type) else whole_average
            return AggregateFunctions(init=NO_WHOLE_SUM, accumulate=whole_in, remove=whole_out, merge=whole_both,
                         result=result, additive=True, of_rows=whole_sums_of_rows)
        if not removable:
            return AggregateFunctions(init=(0.0, 0, 0.0), accumulate=average_in, merge=average_both, result=average,
                                      additive=True)
        return AggregateFunctions(init=(*NO_SUM, 0), accumulate=exact_in, remove=exact_out, merge=exact_both,
                     result=exact_average, additive=True, spoiled=is_spoiled)


_FEWEST_DIGITS = 6
"""After the point of a mean of decimals."""


def is_span_or_time(type_: pa.DataType | None) -> bool:
    """Whether values are whole ticks of a unit: durations, timestamps, times of day."""
    return bool(pa.types.is_duration(type_) or pa.types.is_timestamp(type_) or pa.types.is_time(type_))


HUGE = 2.0**960
"""Of smaller floats 2**63 can be added up."""

HUGE_UNIT = 2.0**64


def average_in(state: State, value: Any) -> State:
    """Add to (sum, rows, sum of huge values in a unit of their own); without a branch, so that many are one step."""
    small = value if -HUGE < value < HUGE else 0.0
    return (state[0] + small, state[1] + 1, state[2] + (value - small) / HUGE_UNIT)


def average_both(left: State, right: State) -> State:
    return (left[0] + right[0], left[1] + right[1], left[2] + right[2])


def average(state: State) -> Any:
    if state[1] == 0:
        return None
    if state[2] == 0:
        return state[0] / state[1]
    return (state[0] / HUGE_UNIT + state[2]) / state[1] * HUGE_UNIT


def whole_average(state: State) -> Any:
    if state[1] == 0:
        return None
    return (state[0] + state[2]) / state[1]


def whole_average_turned(state: State) -> Any:
    """Of unsigned integers, each less 2**63: the sum of them, in two floats, has that much for each row more."""
    if state[1] == 0:
        return None
    all_turned = _TURNED * state[1]
    large, off = two_sum(state[2], all_turned)
    return (large + (off + state[0])) / state[1]


_TURNED = 2.0**63


def exact_in(state: State, value: Any) -> State:
    return (*add_exactly(state[:6], float(value)), state[6] + 1)


def exact_out(state: State, value: Any) -> State:
    return (*subtract_exactly(state[:6], float(value)), state[6] - 1)


def exact_both(left: State, right: State) -> State:
    return (*merge_exact(left[:6], right[:6]), left[6] + right[6])


def exact_average(state: State) -> Any:
    if state[6] == 0:
        return None
    return exact_share(state[:6], state[6])

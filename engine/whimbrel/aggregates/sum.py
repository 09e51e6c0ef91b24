"""Sums: checked for integers, compensated for floats with removal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.aggregates.compensated_sum import (
    NO_SUM,
    add_exactly,
    exact_total,
    is_spoiled,
    merge_exact,
    subtract_exactly,
)
from whimbrel.aggregates.wide_integer_columns import wide_sum
from whimbrel.errors import ExpressionError
from whimbrel.expr import MAX_DIGITS, decimal
from whimbrel.plan import Aggregate, AggregateFunctions, State

_DIGITS = 38
"""Of a sum of decimals that have no more."""

Array = np.ndarray[Any, Any]

_LARGEST = 2**63 - 1
_SMALLEST = -(2**63)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sum(Aggregate):
    """Sum of the values; 0 when all are null.

    An integer sum that leaves int64 is an error, never a wrap.

    The sum of decimals is exact: a decimal of 38 digits and the same scale, of 76 digits where the values may have more
    than 38. One with more digits is an error.

        time     0    5    10
        in       2────────         sum over [0, 5) is 2, over [5, 10) is 5
                      3────

    Parameters
    ----------
    widen : bool
        Whether an integer sum is a decimal of 38 digits, which holds also what is beyond int64; that of decimals then
        has 76.

    Notes
    -----
    State: two integers a group, or one float, or three to nine integers where the sum is a decimal; where floats also
    leave, rounding errors are kept too.
    Source: Trill (VLDB 2015), section 3.3; Neumaier 1974 for the compensation.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.sum(wb.col.x)).collect()["v"].to_pylist()
    [2, 5]
    """

    name: ClassVar[str] = "sum"

    widen: bool = False

    @property
    def options(self) -> str:
        return ", widen=True" if self.widen else ""

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        assert input_type is not None
        if pa.types.is_decimal(input_type):
            wide = self.widen or input_type.precision > _DIGITS
            return decimal(MAX_DIGITS if wide else _DIGITS, input_type.scale)
        if self.widen:
            if not (pa.types.is_integer(input_type) or pa.types.is_boolean(input_type)):
                raise ExpressionError(f"widen=True needs integers or decimals, got {input_type}.", where=self.show(),
                                      hint="Leave widen= out.")
            return decimal(_DIGITS, 0)
        if pa.types.is_floating(input_type):
            return pa.float64()
        if pa.types.is_integer(input_type) or pa.types.is_boolean(input_type):
            return pa.int64()
        if pa.types.is_duration(input_type):
            return input_type
        raise ExpressionError(f"sum needs numbers, bools, decimals or durations, got {input_type}.", where=self.show(),
                              hint="Cast it first, for example with .cast(float).")

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        if self.widen or pa.types.is_decimal(input_type):
            return wide_sum(input_type, self.result_type(input_type))
        if not pa.types.is_floating(input_type):
            return AggregateFunctions(init=(0, 0), accumulate=add_integer, remove=subtract_integer,
                                      merge=add_integers, result=integer_total, additive=True, always=True,
                                      of_rows=sums_of_rows)
        if not removable:
            return AggregateFunctions(init=(0.0,), accumulate=add_float, merge=add_floats, result=float_total,
                                      additive=True,
                         always=True)
        return AggregateFunctions(init=NO_SUM, accumulate=add_exactly, remove=subtract_exactly, merge=merge_exact,
                     result=exact_total, additive=True, always=True, spoiled=is_spoiled)


def add_integer(state: State, value: Any) -> State:
    """Add to (sum modulo 2**64, wraps): order carries no meaning at one instant, so only the result may overflow."""
    total, wraps = state
    if value > 0 and total > _LARGEST - value:
        return ((total + _SMALLEST) + (value + _SMALLEST), wraps + 1)
    if value < 0 and total < _SMALLEST - value:
        return ((total - _SMALLEST) + (value - _SMALLEST), wraps - 1)
    return (total + value, wraps)


def sums_of_rows(values: Array, ones: Array, zeros: Array) -> Sequence[Array]:
    return [values, zeros]


def subtract_integer(state: State, value: Any) -> State:
    total, wraps = state
    if value < 0 and total > _LARGEST + value:
        return ((total + _SMALLEST) - (value - _SMALLEST), wraps + 1)
    if value > 0 and total < _SMALLEST + value:
        return ((total - _SMALLEST) - (value + _SMALLEST), wraps - 1)
    return (total - value, wraps)


def add_integers(left: State, right: State) -> State:
    total, wraps = add_integer(left, right[0])
    return (total, wraps + right[1])


def integer_total(state: State) -> Any:
    if state[1] != 0:
        raise OverflowError("integer sum")
    return state[0]


def add_float(state: State, value: Any) -> State:
    return (state[0] + value,)


def add_floats(left: State, right: State) -> State:
    return (left[0] + right[0],)


def float_total(state: State) -> Any:
    return state[0]

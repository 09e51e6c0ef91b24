"""Products, with an overflow check for integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.errors import ExpressionError
from whimbrel.plan import Aggregate, AggregateFunctions, State

_SMALLEST = -(2**63)


@dataclass(frozen=True, kw_only=True, eq=False)
class Product(Aggregate):
    """Product of the values that are not null.

    It is 1 when there is none. A product that leaves int64 is an error, never a wrap.

        time     0    5    10
        in       2────────         product over [0, 5) is 2, over [5, 10) is 6
                      3────

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.product(wb.col.x)).collect()["v"].to_pylist()
    [2, 6]
    """

    name: ClassVar[str] = "product"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        assert input_type is not None
        if pa.types.is_floating(input_type):
            return pa.float64()
        if pa.types.is_integer(input_type) or pa.types.is_boolean(input_type):
            return pa.int64()
        raise ExpressionError(f"product needs numbers or bools, got {input_type}.", where=self.show(),
                              hint="Cast it first, for example with .cast(float).")

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        if pa.types.is_floating(input_type):
            return AggregateFunctions(init=(1.0,), accumulate=times_float, merge=times_floats, result=float_product)
        return AggregateFunctions(init=(-1, 0, 0, 0), accumulate=times_integer, merge=times_integers,
                                  result=integer_product)


def times_integer(state: State, value: Any) -> State:
    """Multiply into (size, negatives, zeros, overflows): only the result may overflow, since order has no meaning.

    The magnitude of the product is stored as a negative number, because int64 has one more number below zero. Zeros and
    signs are counted separately, because a magnitude that has overflowed stays so.
    """
    size, negatives, zeros, overflows = state
    if value == 0:
        return (size, negatives, zeros + 1, overflows)
    minus = value if value < 0 else -value
    if size == -1:
        size = minus
    elif minus >= -(_SMALLEST // size):
        size = size * -minus
    else:
        overflows = 1
    return (size, negatives + (1 if value < 0 else 0), zeros, overflows)


def times_integers(left: State, right: State) -> State:
    size, negatives, zeros, overflows = times_integer(left, right[0])
    return (size, negatives - 1 + right[1], zeros + right[2], max(overflows, right[3]))


def integer_product(state: State) -> Any:
    size, negatives, zeros, overflows = state
    if zeros > 0:
        return 0
    if overflows > 0 or (negatives % 2 == 0 and size == _SMALLEST):
        raise OverflowError("integer product")
    return size if negatives % 2 == 1 else -size


def times_float(state: State, value: Any) -> State:
    return (state[0] * value,)


def times_floats(left: State, right: State) -> State:
    return (left[0] * right[0],)


def float_product(state: State) -> Any:
    return state[0]

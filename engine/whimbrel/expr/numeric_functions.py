"""Evaluate functions of numbers on whole columns.

Exponentials, logarithms, sines, cosines and powers are those of the C library, which Arrow calls for each row. NumPy's
depend on the processor in the last bit. float32 is computed in double precision and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import numpy_type
from whimbrel.expr.nodes import Binary, Expr, Lit, When
from whimbrel.expr.number_loops import in_double
from whimbrel.expr.row_choice import choose_extremes, choose_values
from whimbrel.expr.value import PRESENT, Value


def sign(x: Value) -> Value:
    """-1, 0 or 1, with the type of a float, and int64 for integers."""
    if t.is_integer(x.type):
        return Value(pa.int64(), np.sign(x.data).astype(np.int64), x.valid)
    return Value(x.type, np.sign(x.data) + x.data.dtype.type(0), x.valid)


def literal_exponent(expr: Binary) -> float | None:
    """The exponent of a power if it is the same for every row."""
    value = expr.right.value if isinstance(expr.right, Lit) else None
    return float(value) if isinstance(value, int | float | Decimal) else None


def float_power(expr: Binary, x: Any, y: Any, result: pa.DataType) -> Any:
    """A power of floats: products for the exponents 2, 3 and 4, a root for 0.5, else ``pow`` of the C library."""
    wide = x.astype(np.float64)
    match literal_exponent(expr):
        case 2.0:
            powers = wide * wide
        case 3.0:
            powers = wide * wide * wide
        case 4.0:
            squares = wide * wide
            powers = squares * squares
        case 0.5:
            powers = np.where(wide == -np.inf, np.inf, np.sqrt(wide + 0.0))
        case _:
            return in_double(pc.power, numpy_type(result), x, y)
    return powers.astype(numpy_type(result))


def extreme(function: str, values: Sequence[Value]) -> Value:
    """The greatest or least of values of one type that are not null.

    NaN is greater than every number. Of equal values it is the first.
    """
    if t.is_null(values[0].type):
        return values[0]
    return reduce(_greater if function == "greatest" else _lesser, values)


def _greater(x: Value, y: Value) -> Value:
    if not x.fixed:
        return Value(x.type, pc.max_element_wise(x.arrow(), y.arrow()))
    made = _of_present("greatest", x, y)
    return _chosen(x, y, (x.data != x.data) | (x.data >= y.data)) if made is None else made


def _lesser(x: Value, y: Value) -> Value:
    if not x.fixed:
        return Value(x.type, pc.min_element_wise(x.arrow(), y.arrow()))
    made = _of_present("least", x, y)
    return _chosen(x, y, (x.data == x.data) & ~(y.data < x.data)) if made is None else made


def _of_present(function: str, x: Value, y: Value) -> Value | None:
    """The compiled loop, where nothing is null."""
    if not (x.valid is PRESENT and y.valid is PRESENT):
        return None
    found = choose_extremes(function, x.data, y.data)
    return None if found is None else Value(x.type, found)


def _has_negative_zero(data: Any) -> bool:
    return bool(np.any(np.signbit(data) & (data == 0)))


def clip_ends(choice: When) -> tuple[Expr, float | None, float | None] | None:
    """What a choice of ``clip`` limits, and both ends; None if it is another choice.

    Examples
    --------
    >>> from whimbrel.expr import col
    >>> clip_ends(col.x.clip(0, 1))[1:]
    (0, 1)
    """
    if (found := _one_end(choice, ">")) is not None:
        x, high, rest = found
        return (x, None, high) if rest is x else None
    if (found := _one_end(choice, "<")) is None:
        return None
    x, low, rest = found
    if rest is x:
        return x, low, None
    inside = _one_end(rest, ">") if isinstance(rest, When) else None
    if inside is None or inside[0] is not x or inside[2] is not x or low > inside[1]:
        return None
    return x, low, inside[1]


def _one_end(choice: When, sign: str) -> tuple[Expr, float, Expr] | None:
    """What is compared with a number, the number, which is chosen beyond it, and what is chosen otherwise."""
    condition, end = choice.condition, choice.then
    if not (isinstance(condition, Binary) and condition.op == sign and condition.right is end and isinstance(end, Lit)):
        return None
    number = end.value
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        return None
    return condition.left, number, choice.otherwise


def clipped(x: Value, ends: Sequence[float | None]) -> Value | None:
    """A column within both ends by NumPy's minimum and maximum; None where they may give something else."""
    types = {pa.int64(): int, pa.float64(): float}
    number = types.get(x.type)
    if number is None:
        return None
    for end in ends:
        if end is not None and (type(end) not in (int, number) or number(end) != end or abs(end) >= 2**63):
            return None
        if end == 0 and number is float and (math.copysign(1, end) < 0 or _has_negative_zero(x.data)):
            return None
    low, high = (None if end is None else x.data.dtype.type(end) for end in ends)
    found = x.data if high is None else np.minimum(x.data, high)
    return Value(x.type, found if low is None else np.maximum(found, low), x.valid)


def _chosen(x: Value, y: Value, first: Any) -> Value:
    """The first value where it is chosen or the other is null."""
    taken = (first & x.valid) | ~y.valid
    valid = PRESENT if x.valid is PRESENT or y.valid is PRESENT else x.valid | y.valid
    return Value(x.type, choose_values(taken, x.data, y.data), valid)


"""Result types of decimal arithmetic, by Arrow's (SQL's) rules."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.errors import ExpressionError

MAX_DIGITS = 76
"""Of Arrow's widest decimal."""

_MAX_QUOTIENT_SCALE = 38
"""Digits after the point that a quotient has at most."""

_MIN_QUOTIENT_SCALE = 4


def decimal(digits: int, scale: int) -> pa.DataType:
    """The narrowest decimal that Arrow computes with.

    >>> decimal(10, 2), decimal(40, 2)
    (Decimal128Type(decimal128(10, 2)), Decimal256Type(decimal256(40, 2)))
    """
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)


def literal_decimal(value: Decimal | int) -> pa.DataType:
    """The type that holds a number exactly, with no digit more.

    >>> literal_decimal(Decimal("-1.50")), literal_decimal(1000)
    (Decimal128Type(decimal128(3, 2)), Decimal128Type(decimal128(4, 0)))
    """
    if isinstance(value, int):
        return decimal(len(str(abs(value))), 0)
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ExpressionError(f"A decimal must be a number, got {value}.", hint="Use float('nan') or float('inf').")
    scale = max(0, -exponent)
    size = max(len(digits) + max(0, exponent), scale, 1)
    if size > MAX_DIGITS:
        raise ExpressionError(f"A decimal may have {MAX_DIGITS} digits, got {size}.", hint="Use a float.")
    return decimal(size, scale)


def of_integer(type_: pa.DataType) -> pa.DataType:
    """The decimal that holds every integer of a type."""
    return literal_decimal(int(np.iinfo(type_.to_pandas_dtype()).max))


def wider(type_: pa.DataType) -> pa.DataType:
    """With one digit more before the point, if there is one."""
    return decimal(min(type_.precision + 1, MAX_DIGITS), type_.scale)


def common_decimal(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type that holds the values of both, at least one of them a decimal; the other one may be an integer."""
    one, other = (type_ if t.is_decimal(type_) else of_integer(type_) for type_ in (left, right))
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    if whole + scale > MAX_DIGITS:
        raise ExpressionError(f"{left} and {right} together have more than {MAX_DIGITS} digits.",
                              hint="Cast one of them to fewer digits, such as .cast(pa.decimal128(38, 2)).")
    return decimal(whole + scale, scale)


def arithmetic_type(op: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type of a sum, difference, product or quotient of two decimals."""
    whole, other_whole = left.precision - left.scale, right.precision - right.scale
    if op in ("+", "-"):
        scale = max(left.scale, right.scale)
        digits = max(whole, other_whole) + scale + 1
    elif op == "*":
        scale = left.scale + right.scale
        digits = left.precision + right.precision + 1
    else:
        scale = min(max(_MIN_QUOTIENT_SCALE, left.scale + right.precision - right.scale + 1), _MAX_QUOTIENT_SCALE)
        digits = whole + right.scale + scale
    if scale > MAX_DIGITS:
        raise ExpressionError(f"The product has {scale} digits after the point, more than {MAX_DIGITS}.",
                              hint="Cast one factor to fewer, such as .cast(pa.decimal128(38, 10)).")
    return decimal(min(max(digits, scale, 1), MAX_DIGITS), scale)

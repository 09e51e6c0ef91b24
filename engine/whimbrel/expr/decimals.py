"""Exact decimal arithmetic on whole columns, through Arrow."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import Column
from whimbrel.errors import KernelError
from whimbrel.expr.decimal_types import MAX_DIGITS, decimal, of_integer, wider
from whimbrel.expr.nodes import Expr
from whimbrel.expr.value import Scope, Value, from_arrow

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked, "/": pc.divide_checked,
}


def decimal_arithmetic(op: str, x: Value, y: Value, result: pa.DataType, scope: Scope, expr: Expr) -> Value:
    """A sum, difference, product or quotient; null where the divisor is zero.

    A quotient is rounded to the digits of its type, halves away from zero, as SQL does.
    """
    left, right = x.arrow(), y.arrow()
    if op == "/":
        return Value(result, refusing(scope, expr, lambda one, other: _quotient(one, other, result), left, right))
    return Value(result, refusing(scope, expr, lambda one, other: _combined(op, one, other, result), left, right))


def _combined(op: str, left: Any, right: Any, result: pa.DataType) -> Any:
    if result.precision >= MAX_DIGITS:  # by the digits that there are, since types would say more than Arrow has
        left, right = _narrow(left), _narrow(right)
    return _ARITHMETIC[op](_widest(left), _widest(right)).cast(result)


def _quotient(left: Any, right: Any, result: pa.DataType) -> Any:
    zero = pc.equal(right, pa.scalar(Decimal(0), right.type))
    right = pc.if_else(zero, pa.scalar(None, right.type), right)
    left, right = _narrow(left), _narrow(right)
    # Arrow cuts its quotient where the types say: one digit more than is wanted tells which way to round.
    scale = max(left.type.scale, result.scale + right.type.scale - right.type.precision)
    left = left.cast(decimal(left.type.precision + scale - left.type.scale, scale))
    found = pc.divide_checked(_widest(left), _widest(right))
    if found.type.scale > result.scale:
        found = pc.round(_wider(found), ndigits=result.scale, round_mode="half_towards_infinity")
    return found.cast(result)


def _wider(data: Any) -> Any:
    """With one digit more, which rounding may need."""
    return data.cast(wider(data.type))


def _widest(data: Any) -> Any:
    """In Arrow's widest decimal: it computes in that of its operands, and refuses a result of more digits."""
    return data.cast(pa.decimal256(data.type.precision, data.type.scale))


def _narrow(data: Any) -> Any:
    """The same values at a type of no more digits than the longest of them has."""
    scale = data.type.scale
    ends = pc.min_max(data) if isinstance(data, pa.Array) else {"min": data, "max": data}
    digits = [len(value.as_tuple().digits) for value in (ends["min"].as_py(), ends["max"].as_py()) if value is not None]
    return data.cast(decimal(max(*digits, scale, 1) if digits else max(scale, 1), scale))


def decimal_from(value: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Value:
    """Numbers, bools and texts as decimals; digits beyond the scale are rounded, halves to the even one."""
    data = value.arrow()
    if t.is_boolean(value.type):
        data = data.cast(pa.int8())
    if t.is_integer(data.type):
        data = data.cast(of_integer(data.type))
    return Value(target, refusing(scope, expr, lambda given: _rounded(given, target), data))


def from_decimal(value: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Value:
    """Decimals as another type; of an integer the digits after the point are cut off, as of a float."""
    if t.is_boolean(target):
        return from_arrow(pc.not_equal(value.arrow(), pa.scalar(Decimal(0), value.type)))
    if t.is_integer(target):
        found = refusing(scope, expr, lambda given: pc.trunc(_wider(given)).cast(target), value.arrow())
    else:
        found = refusing(scope, expr, lambda given: given.cast(target), value.arrow())
    return from_arrow(found) if not t.is_string(target) else Value(target, found)


def rounded_decimal(function: str, value: Value, digits: int, scope: Scope, expr: Expr) -> Value:
    """floor, ceil and round, which may need one digit more."""
    ways: dict[str, Callable[[Any], Any]] = {
        "floor": pc.floor, "ceil": pc.ceil, "round": lambda given: pc.round(given, digits, "half_to_even")}
    found = refusing(scope, expr, lambda given: ways[function](_wider(given)), value.arrow())
    return Value(found.type, found)


def decimal_sign(op: str, value: Value) -> Value:
    """``-x`` and ``abs(x)``."""
    return Value(value.type, (pc.negate if op == "-" else pc.abs)(value.arrow()))


def _rounded(data: Any, target: pa.DataType) -> Any:
    if t.is_decimal(data.type) and data.type.scale > target.scale:
        data = pc.round(_wider(data), target.scale, "half_to_even")
    return data.cast(target)


def refusing(scope: Scope, expr: Expr, compute: Callable[..., Any], *data: Any) -> Any:
    """What Arrow computes; an error in our words, unless only rows that do not count make it."""
    try:
        return compute(*data)
    except pa.ArrowInvalid as error:
        counts = scope.counts()
        if not np.all(counts):
            mask = Column(pa.bool_(), counts).to_arrow() if isinstance(counts, np.ndarray) else pa.scalar(bool(counts))
            try:
                return compute(*(pc.if_else(mask, each, pa.scalar(None, each.type)) for each in data))
            except pa.ArrowInvalid:
                pass
        reason = str(error).splitlines()[0]
        if (text := re.fullmatch("The string ('.*') is not a valid decimal.*", reason)) is not None:
            raise KernelError(f"Cannot cast: {text[1]} is not a decimal number.", where=expr.show(),
                              hint='Use .cast(..., errors="null") for null in its place.') from None
        raise KernelError(f"A decimal does not fit: {reason}", where=expr.show(),
                          hint="Cast to more digits, such as .cast(pa.decimal256(76, 2)), or to float.") from None

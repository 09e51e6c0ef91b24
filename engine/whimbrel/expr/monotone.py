"""Monotone analysis: whether an expression keeps the order of ordered columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, Literal, assert_never

import pyarrow as pa
import pyarrow.types as t

from whimbrel.batch import Schema
from whimbrel.clock import ticks_per_second
from whimbrel.clock.clock_changes import largest_change_back
from whimbrel.expr.nodes import Binary, Call, Cast, Col, Expr, Lit, RowFunction, Unary, When, node
from whimbrel.expr.types import floor_months, floor_ticks, type_of

Direction = Literal["constant", "increasing", "decreasing"]

_TURNED: Mapping[Direction, Direction] = {"constant": "constant", "increasing": "decreasing",
                                          "decreasing": "increasing"}
_COMES_AGAIN = ("dt.month", "dt.day", "dt.hour", "dt.minute", "dt.second", "dt.weekday")
_ROUNDED = ("floor", "ceil", "round")


@dataclass(frozen=True, slots=True)
class ValueOrder:
    """How the values of an expression follow each other from row to row, without nulls.

    Parameters
    ----------
    direction : {"constant", "increasing", "decreasing"}
        Increasing values never fall, and decreasing ones never rise.
    strict : bool
        Whether no two rows have the same value, if no two have the same time.
    band : int
        So much a value may be against the direction, compared with the farthest one before.
    positive : bool
        Whether no value is negative.
    """

    direction: Direction
    strict: bool = False
    band: int = 0
    positive: bool = False

    def turned(self) -> ValueOrder:
        """Of the values with the other sign."""
        return replace(self, direction=_TURNED[self.direction], positive=False)


@dataclass(frozen=True, slots=True)
class NoOrder:
    """Why values are in no order.

    Parameters
    ----------
    part : str
        The part of the expression that loses the order.
    reason : str
        A verb and its object, such as "repeats".
    """

    part: str
    reason: str


Found = ValueOrder | NoOrder


def order_of(expr: Expr, schema: Schema, ordered: Mapping[str, ValueOrder]) -> Found:
    """The order of the values of an expression, from the order of columns.

    Integers that overflow are errors of the engine, so that they need no care here. The order of ``start_time()`` is
    that of the name ``start_time``.

    Parameters
    ----------
    expr : Expr
    schema : Schema
    ordered : mapping of str to ValueOrder

    Examples
    --------
    >>> from whimbrel.batch import Field
    >>> from whimbrel.expr import col
    >>> schema, time = Schema((Field("t", pa.int64()),)), {"t": ValueOrder("increasing", strict=True)}
    >>> order_of(10 - col.t // 60, schema, time)
    ValueOrder(direction='decreasing', strict=False, band=0, positive=False)
    >>> order_of(col.t % 60 + 1, schema, time)
    NoOrder(part='col.t % 60', reason='repeats')
    """
    match node(expr):
        case Col(name):
            return ordered.get(name, NoOrder(expr.show(), "is in no order"))
        case Lit(value):
            positive = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
            return ValueOrder("constant", positive=positive)
        case Binary(op, left, right):
            return _binary(expr, op, left, right, schema, ordered)
        case Unary("-", x):
            below = order_of(x, schema, ordered)
            return below if isinstance(below, NoOrder) else below.turned()
        case Unary():
            return NoOrder(expr.show(), "is a condition")
        case Cast(x, target):
            return _cast(expr, x, target, schema, ordered)
        case Call() as call:
            return _call(expr, call, schema, ordered)
        case When():
            return NoOrder(expr.show(), "chooses between values")
        case RowFunction():
            return NoOrder(expr.show(), "is a function of Python")
        case other:
            assert_never(other)


def _binary(expr: Expr, op: str, left: Expr, right: Expr, schema: Schema, ordered: Mapping[str, ValueOrder]) -> Found:
    if op == "%":
        return NoOrder(expr.show(), "repeats")
    if op not in ("+", "-", "*", "/", "//"):
        return NoOrder(expr.show(), "is a power" if op == "**" else "is a condition")
    one, other = order_of(left, schema, ordered), order_of(right, schema, ordered)
    if _truncates(expr):  # it steps at most as often as the quotient rounded down, so that its band is no wider
        return one
    if isinstance(one, NoOrder):
        return one
    if isinstance(other, NoOrder):
        return other
    if one.direction == other.direction == "constant":
        return ValueOrder("constant")
    whole = _whole(type_of(expr, schema))
    if op in "+-":
        return _sum(expr, one, other if op == "+" else other.turned(), whole=whole)
    if op == "*" and isinstance(left, Lit):
        return _times(expr, other, left.value, whole=whole)
    if isinstance(right, Lit):
        return _times(expr, one, right.value, whole=whole) if op == "*" else _divided(expr, op, one, right.value)
    if op != "*":
        return NoOrder(expr.show(), "divides by a value that is not a literal")
    same = one.direction == other.direction and one.positive and other.positive and not one.band + other.band
    return ValueOrder(one.direction, positive=True) if same else NoOrder(
        expr.show(), "multiplies values that may be negative")


def _truncates(expr: Expr) -> bool:
    """Whether an expression is a division by a positive integer toward zero, as SQL writes it."""
    match node(expr):
        case Binary("+", Binary("//", x, Lit(int(y))) as quotient, When()) if y > 0:
            negative = Binary("&", Binary("<", x, Lit(0)), Binary("!=", Binary("%", x, Lit(y)), Lit(0)))
            return Binary("+", quotient, When(negative, Lit(1), Lit(0))).show() == expr.show()
    return False


def _sum(expr: Expr, one: ValueOrder, other: ValueOrder, *, whole: bool) -> Found:
    directions = {one.direction, other.direction} - {"constant"}
    if len(directions) > 1:
        return NoOrder(expr.show(), "adds values of opposite order")
    if not whole and one.band + other.band:
        return NoOrder(expr.show(), "rounds values of a band")
    strict = whole and (one.strict or other.strict) and not one.band + other.band
    return ValueOrder(directions.pop(), strict, one.band + other.band, one.positive and other.positive)


def _times(expr: Expr, x: ValueOrder, factor: Any, *, whole: bool) -> Found:
    if not isinstance(factor, int | float) or isinstance(factor, bool) or isnan(factor):
        return NoOrder(expr.show(), "multiplies by something else than a number")
    if factor == 0:
        return ValueOrder("constant", positive=True)
    if not whole and x.band:
        return NoOrder(expr.show(), "rounds values of a band")
    made = replace(x, strict=x.strict and whole, band=x.band * abs(int(factor)) if x.band else 0)
    return made if factor > 0 else made.turned()


def _divided(expr: Expr, op: str, x: ValueOrder, divisor: Any) -> Found:
    if not isinstance(divisor, int | float) or isinstance(divisor, bool) or not divisor or isnan(divisor):
        return NoOrder(expr.show(), "divides by something else than a number")
    if x.band and (op == "/" or not isinstance(divisor, int)):
        return NoOrder(expr.show(), "rounds values of a band")
    made = replace(x, strict=False, band=-(-x.band // abs(int(divisor))) if x.band else 0)
    return made if divisor > 0 else made.turned()


def _cast(expr: Expr, x: Expr, target: pa.DataType, schema: Schema, ordered: Mapping[str, ValueOrder]) -> Found:
    below, source = order_of(x, schema, ordered), type_of(x, schema)
    if isinstance(below, NoOrder) or source == target:
        return below
    if t.is_integer(source) and t.is_integer(target):
        signed = t.is_signed_integer(source), t.is_signed_integer(target)
        wider = target.bit_width > source.bit_width
        return below if wider and (signed[0] <= signed[1]) else NoOrder(expr.show(), "is a narrowing cast")
    if (t.is_integer(source) or t.is_floating(source)) and target == pa.float64() and not below.band:
        return replace(below, strict=False)
    if t.is_timestamp(source) and target == pa.int64():
        return below
    return NoOrder(expr.show(), "is a narrowing cast")


def _call(expr: Expr, call: Call, schema: Schema, ordered: Mapping[str, ValueOrder]) -> Found:
    if call.function == "start_time" and not call.args:
        return ordered.get("start_time", NoOrder(expr.show(), "is in no order"))
    if call.function in _COMES_AGAIN:
        return NoOrder(expr.show(), "repeats")
    if len(call.args) != 1 or call.function not in ("dt.floor", "dt.year", *_ROUNDED):
        return NoOrder(expr.show(), "may lose the order")
    [x] = call.args
    below = order_of(x, schema, ordered)
    if isinstance(below, NoOrder):
        return below
    if below.band:
        return NoOrder(expr.show(), "rounds values of a band")
    if call.function.startswith("dt."):
        return _of_clocks(expr, call, below.direction, type_of(x, schema))
    return replace(below, strict=False)


def _of_clocks(expr: Expr, call: Call, direction: Direction, type_: pa.DataType) -> Found:
    """A part of times, or times rounded down by the clocks of their zone, which may go back.

    A rounded time is at most its size and that change before the time itself.
    """
    zone = type_.tz if t.is_timestamp(type_) else None
    if zone in (None, "UTC") or (call.function == "dt.floor" and floor_months(call) is not None):
        return ValueOrder(direction)
    if call.function != "dt.floor":
        return NoOrder(expr.show(), f"reads clocks of {type_.tz}, which go back")
    size, second = floor_ticks(call, type_)[0], ticks_per_second(type_.unit) or 1
    back = largest_change_back(type_.tz) * second
    return ValueOrder(direction, band=size + back if back and size > 60 * second else 0)


def _whole(type_: pa.DataType) -> bool:
    """Whether sums of this type are exact."""
    return bool(t.is_integer(type_) or t.is_timestamp(type_) or t.is_duration(type_))

"""Translate expressions to Spark SQL when the results are identical."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import Schema
from whimbrel.expr import Binary, Call, Col, Expr, Lit, Unary, When, binary_types, lifetime_of, physical, type_of

if TYPE_CHECKING:
    from pyspark.sql import Column

Names = Mapping[str, "Column"]
"""What stands for each column of the stream."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_SAME: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul,
}


class _Otherwise(Exception):  # noqa: N818 - no error: the engine does it
    """Spark would say something else, or nobody has looked."""


def native(expr: Expr, names: Names, schema: Schema, *, may_fail: bool) -> Column | None:
    """A column of Spark with the same value in every row; None where that is not known.

    Parameters
    ----------
    expr : Expr
    names : mapping of str to Column
        Columns of the stream, in the types that Spark has for theirs.
    schema : Schema
        Their types.
    may_fail : bool
        Whether integers may be added and multiplied. An overflow is an error in Spark too (in its ANSI mode),
        but several
        conditions may be evaluated on different rows.

    Notes
    -----
    Spark's NaN is larger than every number and equal to itself; here it is neither, so comparisons of floats ask for
    it. What Spark would round, collate or count otherwise is left to the engine: division, casts, texts, calendars.
    """
    if lifetime_of(expr):
        return None
    try:
        return _Translation(names, schema, may_fail=may_fail).of(expr)
    except _Otherwise:
        return None


class _Translation:
    def __init__(self, names: Names, schema: Schema, *, may_fail: bool) -> None:
        self.names, self.schema, self.may_fail = names, schema, may_fail

    def of(self, expr: Expr) -> Column:
        match expr:
            case Col(name, None) if name in self.names:
                return self.names[name]
            case Lit(value):
                return _literal(value, type_of(expr, self.schema))
            case Binary():
                return self._binary(expr)
            case Unary("~", x):
                return ~self.of(x)
            case Call("is_null", (x,)):
                return self.of(x).isNull()
            case Call("is_not_null", (x,)):
                return self.of(x).isNotNull()
            case Call("is_in", (x,), values) if self._is_exact(x):
                return self.of(x).isin(*(_literal(value, type_of(x, self.schema)) for value in values))
            case Call("between", (x, low, high)):
                return self._binary(Binary(">=", x, low)) & self._binary(Binary("<=", x, high))
            case Call("greatest" | "least" as function, args) if len(args) > 1 and self._is_exact(expr):
                from pyspark.sql import functions as f

                return getattr(f, function)(*(self._at(arg, self._type(expr)) for arg in args))
            case When(condition, then, otherwise) if self._type(then) == self._type(otherwise):
                from pyspark.sql import functions as f

                return f.when(self.of(condition), self.of(then)).otherwise(self.of(otherwise))
        raise _Otherwise

    def _type(self, expr: Expr) -> pa.DataType:
        return type_of(expr, self.schema)

    def _is_exact(self, expr: Expr) -> bool:
        """Whether equal means the same to both."""
        type_ = self._type(expr)
        return t.is_integer(type_) or t.is_string(type_) or t.is_boolean(type_)

    def _binary(self, expr: Binary) -> Column:
        left_type, right_type, _ = binary_types(expr, (expr.left, self._type(expr.left)),
                                                (expr.right, self._type(expr.right)))
        left, right = self._at(expr.left, left_type), self._at(expr.right, right_type)
        match expr.op:
            case "&":
                return left & right
            case "|":
                return left | right
            case "+" | "-" | "*" if t.is_float64(left_type) and left_type == right_type:
                return _SAME[expr.op](left, right)
            case "+" | "-" | "*" if self.may_fail and t.is_int64(left_type) and left_type == right_type:
                return _SAME[expr.op](left, right)
            case "//" | "%" if t.is_int64(left_type) and t.is_int64(right_type):
                return self._divided(expr, left, right)
            case op if op in _COMPARISONS and left_type == right_type:
                return self._compared(op, left, right, left_type, expr)
        raise _Otherwise

    def _at(self, expr: Expr, type_: pa.DataType) -> Column:
        """An operand in the type that its place asks for."""
        if isinstance(expr, Lit):
            return _literal(expr.value, type_)
        here = self._type(expr)
        if here == type_:
            return self.of(expr)
        if t.is_integer(here) and (t.is_int64(type_) or t.is_float64(type_)):
            return self.of(expr).cast("long" if t.is_int64(type_) else "double")
        if t.is_float32(here) and t.is_float64(type_):
            return self.of(expr).cast("double")
        raise _Otherwise

    def _divided(self, expr: Binary, left: Column, right: Column) -> Column:
        """Rounded down, as in Python; Spark's own division rounds towards nought."""
        from pyspark.sql import functions as f

        if not isinstance(expr.right, Lit) or not isinstance(expr.right.value, int) or expr.right.value <= 0:
            raise _Otherwise
        rest = f.pmod(left, right)
        if expr.op == "%":
            return rest
        whole = f.call_function("div", left, right)
        return f.when((left < 0) & (rest != 0), whole - 1).otherwise(whole)

    def _compared(self, op: str, left: Column, right: Column, type_: pa.DataType, expr: Binary) -> Column:
        from pyspark.sql import functions as f

        if t.is_floating(type_):
            held = [f.isnan(side) for side, part in ((left, expr.left), (right, expr.right))
                    if not isinstance(part, Lit)]
            either = reduce(operator.or_, held, f.lit(False))
            unlike = f.when(left.isNotNull() & right.isNotNull(), f.lit(op == "!="))
            return f.when(either, unlike).otherwise(_SAME[op](left, right))
        if t.is_integer(type_) or t.is_string(type_) or t.is_boolean(type_) or t.is_date32(type_) or (
                t.is_timestamp(type_) and type_.unit == "us"):
            return _SAME[op](left, right)
        raise _Otherwise


def _literal(value: Any, type_: pa.DataType) -> Column:
    """A literal in the type of its place. Times are spelled out, so that Spark finds them when it looks at files."""
    from pyspark.sql import functions as f

    if value is None:
        raise _Otherwise
    held = physical(value, type_)
    if t.is_boolean(type_) or t.is_string(type_):
        return f.lit(held)
    if t.is_signed_integer(type_):
        return f.lit(held).cast({8: "byte", 16: "short", 32: "int", 64: "long"}[type_.bit_width])
    if t.is_floating(type_) and not math.isnan(held):
        return f.lit(held).cast("float" if t.is_float32(type_) else "double")
    if t.is_date32(type_):
        return f.expr(f"DATE'{(_EPOCH + timedelta(days=held)).date()}'")
    if t.is_timestamp(type_) and type_.unit == "us":
        moment = (_EPOCH + timedelta(microseconds=held)).replace(tzinfo=None)
        return f.expr(f"TIMESTAMP'{moment}Z'" if type_.tz else f"TIMESTAMP_NTZ'{moment}'")
    raise _Otherwise

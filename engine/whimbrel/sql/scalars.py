"""Scalar expressions: one ``match`` from the nodes of the parser to expressions."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import date, datetime
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.aggregates import Count, CountDistinct
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Binary, Cast, Expr, Lit, Unary, lift, when
from whimbrel.sql.epochs import is_of_time
from whimbrel.sql.functions import call
from whimbrel.sql.intervals import duration
from whimbrel.sql.positions import plain_hint
from whimbrel.sql.relation import is_whole_number
from whimbrel.sql.scope import NameScope
from whimbrel.sql.text_functions import literal_text
from whimbrel.sql.types import TypedNull, arrow_type

_COMPARISONS: Final[dict[Any, str]] = {
    exp.EQ: "==", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_ARITHMETIC: Final[dict[Any, Callable[[Any, Any], Expr]]] = {
    exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul, exp.Pow: operator.pow}
_BITS: Final[dict[Any, Callable[..., Expr]]] = {
    exp.BitwiseNot: Expr.bitwise_not, exp.BitwiseAnd: Expr.bitwise_and, exp.BitwiseOr: Expr.bitwise_or,
    exp.BitwiseLeftShift: Expr.shift_left, exp.BitwiseRightShift: Expr.shift_right}
_NULL_CONDITION = Cast(Lit(None), pa.bool_())


def scalar(node: Any, scope: NameScope) -> Expr:
    """The expression of a node."""
    if node is None:
        raise scope.binder.text.error("A value is missing.", None, "Write the value.")
    try:
        return _scalar(node, scope)
    except WhimbrelError as error:
        if error.where.startswith("line "):
            raise
        raise scope.binder.text.error(error.what, node, plain_hint(error.hint)) from None


def condition(node: Any, scope: NameScope) -> Expr:
    """The expression of a node that must be true or false."""
    found = scalar(node, scope)
    type_ = scope.type_of(found, node)
    if not (pa.types.is_boolean(type_) or pa.types.is_null(type_)):
        raise scope.binder.text.error(f"A condition must be true or false, got {type_}.", node,
                                      "Compare it with a value.")
    return Cast(found, pa.bool_()) if pa.types.is_null(type_) else found


def _scalar(node: Any, scope: NameScope) -> Expr:
    if (special := scope.special(node)) is not None:
        return special

    def part(key: str = "this") -> Expr:
        if node.args.get(key) is None:
            raise scope.binder.text.error("A value is missing.", node, "Write the value.")
        return scalar(node.args[key], scope)

    match node:
        case exp.Paren():
            return part()
        case exp.Column():
            return _column(node, scope)
        case exp.Literal():
            return _literal(node)
        case exp.Boolean():
            return Lit(bool(node.this))
        case exp.Null() | TypedNull():
            return Lit(None) if isinstance(node, exp.Null) else Cast(Lit(None), node.this)
        case exp.Parameter() | exp.Placeholder():
            return _parameter(node, node.name, scope)
        case exp.Interval():
            return lift(duration(node, scope.binder.text))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            if isinstance(node.this, exp.Tuple) and isinstance(node.expression, exp.Tuple):
                return _rows_compared(node, scope)
            return _compared(_COMPARISONS[type(node)], part(), part("expression"))
        case exp.And():
            return condition(node.this, scope) & condition(node.expression, scope)
        case exp.Or():
            return condition(node.this, scope) | condition(node.expression, scope)
        case exp.Not() if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            return scalar(node.this.this, scope).is_not_null()
        case exp.Not():
            return ~condition(node.this, scope)
        case exp.Neg():
            inner = part()
            number = isinstance(inner, Lit) and isinstance(inner.value, int | float)
            return Lit(-inner.value) if number else Unary("-", inner)  # type: ignore[attr-defined]
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Pow():
            return _on_grid(node, scope) if _is_grid(node) else _ARITHMETIC[type(node)](part(), part("expression"))
        case exp.Div() | exp.Mod():
            return (_divided if isinstance(node, exp.Div) else _remainder)(node, scope)
        case exp.IntDiv():
            return truncated(part(), part("expression"))
        case exp.BitwiseNot() | exp.Binary() if type(node) in _BITS:
            return _BITS[type(node)](*(scalar(each, scope) for each in node.iter_expressions()))
        case exp.Between():
            return part().between(part("low"), part("high"))
        case exp.Is():
            return _is(node, scope)
        case exp.NullSafeEQ():
            return ~_distinct(part(), part("expression"))
        case exp.NullSafeNEQ():
            return _distinct(part(), part("expression"))
        case exp.In():
            return _in(node, scope)
        case exp.Like() | exp.ILike():
            return _like(node, scope)
        case exp.Escape() if isinstance(node.this, exp.Like | exp.ILike):
            return _like(node.this, scope, literal_text(node.expression, scope, scalar))
        case exp.Case():
            return _case(node, scope)
        case exp.If():
            otherwise = scalar(node.args["false"], scope) if node.args.get("false") else Lit(None)
            return when(condition(node.this, scope)).then(scalar(node.args["true"], scope)).otherwise(otherwise)
        case exp.Coalesce():
            values = [part(), *(scalar(each, scope) for each in node.expressions)]
            return reduce(lambda first, then: first.fill_null(then), values)
        case exp.Nullif():
            first = part()
            return when(_compared("==", first, part("expression"))).then(Lit(None)).otherwise(first)
        case exp.Cast() if type(node) in (exp.Cast, exp.TsOrDsToDate):
            return _cast(node, scope)
        case exp.TryCast() | exp.AtTimeZone():
            return _converted(node, part(), scope)
        case exp.DPipe():
            return _text(node.this, scope) + _text(node.expression, scope)
        case exp.Concat() if type(node) is exp.Concat:  # null counts as nothing here
            return reduce(operator.add, [_text(each, scope).fill_null("") for each in node.expressions])
        case exp.Subquery():
            raise scope.binder.text.error("A subquery must stand in WHERE, or be compared there.", node,
                                          "Join with the query instead.")
        case exp.Window():
            raise scope.binder.text.error("OVER must stand in the SELECT list, or in QUALIFY.", node,
                                          "Put it in a subquery.")
        case exp.Star():
            raise scope.binder.text.error("* must stand alone in the SELECT list, or in count(*).", node,
                                          "Name a column.")
        case _:
            return call(node, scope, scalar)


def _column(node: Any, scope: NameScope) -> Expr:
    name = node.name
    if not node.table and name.startswith("$") and not node.this.args.get("quoted"):
        return _parameter(node, name[1:], scope)
    return scope.column(node)


def _parameter(node: Any, name: str, scope: NameScope) -> Expr:
    return lift(scope.binder.parameter(name, node))


def _literal(node: Any) -> Expr:
    if node.is_string:
        return Lit(node.this)
    text = node.this
    return Lit(int(text)) if re.fullmatch(r"[0-9]+", text) else Lit(float(text))


def _compared(op: Any, left: Expr, right: Expr) -> Expr:
    if (isinstance(left, Lit) and left.value is None) or (isinstance(right, Lit) and right.value is None):
        return _NULL_CONDITION
    return Binary(op, left, right)


def truncated(x: Expr, y: Expr) -> Expr:
    """Division of integers toward zero, as SQL has it; engines of Python round down."""
    inexact = ((x < 0) if _never_negative(y) else (x < 0) ^ (y < 0)) & (x % y != 0)
    return x // y + when(inexact).then(1).otherwise(0)


def _never_negative(y: Expr) -> bool:
    """Whether a divisor is a count, or a literal above zero."""
    return isinstance(y, Count | CountDistinct) or (isinstance(y, Lit) and isinstance(y.value, int) and y.value > 0)


def _divided(node: Any, scope: NameScope) -> Expr:
    x, y = scalar(node.this, scope), scalar(node.expression, scope)
    if all(is_whole_number(scope.type_of(each, part)) for each, part in ((x, node.this), (y, node.expression))):
        return _rounded_down(x, y.value) if _is_epoch(x, y, scope) else truncated(x, y)  # type: ignore[attr-defined]
    return x / y


def _is_epoch(x: Expr, y: Expr, scope: NameScope) -> bool:
    """Whether a division is one of event time by a number, which rounds down."""
    return isinstance(y, Lit) and isinstance(y.value, int) and y.value != 0 and is_of_time(x, scope.relation)


def _rounded_down(x: Expr, number: int) -> Expr:
    """An epoch from event time; one of an epoch is an epoch of time itself."""
    match x:
        case Binary(op="//", left=time, right=Lit(value=int(inner))) if inner > 0 and number > 0:
            return time // (inner * number)
        case _:
            return x // number


def _is_grid(node: Any) -> bool:
    """Whether an expression is a value less its remainder, such as ``time - time % 60``."""
    rest = node.expression
    return isinstance(node, exp.Sub) and isinstance(rest, exp.Mod) and node.this.unnest() == rest.this.unnest()


def _on_grid(node: Any, scope: NameScope) -> Expr:
    """A value less its remainder, which is event time rounded down."""
    x, y = scalar(node.this, scope), scalar(node.expression.expression, scope)
    return x // y * y if _is_epoch(x, y, scope) else x - _remainder(node.expression, scope)


def _remainder(node: Any, scope: NameScope) -> Expr:
    x, y = scalar(node.this, scope), scalar(node.expression, scope)
    if not all(is_whole_number(scope.type_of(each, part)) for each, part in ((x, node.this), (y, node.expression))):
        return x % y
    sign = (x < 0) if _never_negative(y) else (x < 0) ^ (y < 0)
    return x % y - when(sign & (x % y != 0)).then(y).otherwise(0)


def _is(node: Any, scope: NameScope) -> Expr:
    value = node.expression
    if isinstance(value, exp.Null):
        return scalar(node.this, scope).is_null()
    if isinstance(value, exp.Boolean):
        truth = condition(node.this, scope)
        return (truth if value.this else ~truth).fill_null(False)
    raise scope.binder.text.error("IS needs NULL, TRUE or FALSE.", node, "Use IS NOT DISTINCT FROM for other values.")


def _distinct(x: Expr, y: Expr) -> Expr:
    null = [isinstance(each, Lit) and each.value is None for each in (x, y)]
    if any(null):
        return Lit(False) if all(null) else (x if null[1] else y).is_not_null()
    return (x != y).fill_null(True) & ~(x.is_null() & y.is_null())


def _in(node: Any, scope: NameScope) -> Expr:
    if node.args.get("query") is not None or node.args.get("unnest") is not None or node.args.get("field") is not None:
        raise scope.binder.text.error("IN with a subquery must be a condition of WHERE, joined by AND.", node,
                                      "Join with the query instead.")
    if not node.expressions:
        raise scope.binder.text.error("IN needs a list of values.", node, "Write the values in parentheses.")
    if isinstance(node.this, exp.Tuple):
        rows = [exp.EQ(this=node.this, expression=each) for each in node.expressions]
        return reduce(operator.or_, [_rows_compared(each, scope) for each in rows])
    x = scalar(node.this, scope)
    values = [scalar(each, scope) for each in node.expressions]
    literals = [each.value for each in values if isinstance(each, Lit) and each.value is not None]
    others = [each for each in values if not isinstance(each, Lit)]
    choices = [x.is_in(literals)] if literals else []
    choices += [x == each for each in others]
    if any(isinstance(each, Lit) and each.value is None for each in values):
        choices.append(_NULL_CONDITION)
    return reduce(operator.or_, choices)


def _rows_compared(node: Any, scope: NameScope) -> Expr:
    """Whether two rows of values are equal, or differ."""
    ours, theirs = node.this.expressions, node.expression.expressions
    if not ours or not isinstance(node, exp.EQ | exp.NEQ) or len(ours) != len(theirs):
        raise scope.binder.text.error("Rows of values are compared with = and <>, and have as many values.",
                                      (*ours, *theirs, node)[0], "Compare the values one by one.")
    equal = reduce(operator.and_, [_compared("==", scalar(one, scope), scalar(other, scope))
                                   for one, other in zip(ours, theirs, strict=True)])
    return equal if isinstance(node, exp.EQ) else ~equal


def _like(node: Any, scope: NameScope, escape: str = "") -> Expr:
    pattern = scalar(node.expression, scope)
    if not isinstance(pattern, Lit) or not isinstance(pattern.value, str):
        raise scope.binder.text.error("LIKE needs a literal text as its pattern.", node, "Use contains(x, 'text').")
    if "\\" in pattern.value and not escape:
        raise scope.binder.text.error("LIKE has no escapes here.", node, "Add ESCAPE '\\' after the pattern.")
    found = _matches(scalar(node.this, scope), pattern.value, escape, ignore_case=isinstance(node, exp.ILike))
    return ~found if node.args.get("negate") else found


def _matches(x: Expr, text: str, escape: str, *, ignore_case: bool) -> Expr:
    """Whether texts are as a pattern, in which a mark after an escape means itself."""
    inner = text.strip("%")
    if not ignore_case and not re.search("[%_]", inner) and not (escape and escape in text):
        if inner == text:
            return x == text
        if text == f"{inner}%":
            return x.str.starts_with(inner)
        if text == f"%{inner}":
            return x.str.ends_with(inner)
        if text == f"%{inner}%":
            return x.str.contains(inner)
    parts, marks = [], iter(text)
    for mark in marks:
        if escape and mark == escape:
            parts.append(re.escape(next(marks, "")))
        else:
            parts.append(".*" if mark == "%" else "." if mark == "_" else re.escape(mark))
    return x.str.contains(f"{'(?is)' if ignore_case else '(?s)'}^{''.join(parts)}$", regex=True)


def _case(node: Any, scope: NameScope) -> Expr:
    result: Expr = scalar(node.args["default"], scope) if node.args.get("default") is not None else Lit(None)
    subject = None if node.this is None else scalar(node.this, scope)
    for branch in reversed(node.args["ifs"]):
        if subject is None:
            test = condition(branch.this, scope)
        else:
            test = _compared("==", subject, scalar(branch.this, scope))
        result = when(test).then(scalar(branch.args["true"], scope)).otherwise(result)
    return result


def _text(node: Any, scope: NameScope) -> Expr:
    x = scalar(node, scope)
    type_ = scope.type_of(x, node)
    return x if pa.types.is_string(type_) or pa.types.is_large_string(type_) else x.cast(pa.string())


def _cast(node: Any, scope: NameScope) -> Expr:
    type_ = arrow_type(node.args["to"], scope.binder.text)
    literal = node.this
    if isinstance(literal, exp.Literal) and literal.is_string:
        try:
            if pa.types.is_date(type_):
                return Lit(date.fromisoformat(literal.this))
            if pa.types.is_timestamp(type_):
                return Lit(datetime.fromisoformat(literal.this))
        except ValueError:
            raise scope.binder.text.error(f"Cannot read {literal.this!r} as {type_}.", node,
                                          "Use '2013-01-31' or '2013-01-31 12:00:00'.") from None
    x = scalar(literal, scope)
    if isinstance(x, Lit) and x.value is not None and not isinstance(x.value, str):
        return Cast(x, type_)
    scope.type_of(Cast(x, type_), node)
    return x.cast(type_)


def _converted(node: Any, x: Expr, scope: NameScope) -> Expr:
    if isinstance(node, exp.AtTimeZone):
        return x.dt.at_time_zone(literal_text(node.args["zone"], scope, scalar))
    return x.try_cast(arrow_type(node.args["to"], scope.binder.text))

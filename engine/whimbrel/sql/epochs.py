"""Epochs: functions of event time that change only on a grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.clock import duration_ticks
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Binary, Call, Cast, Col, Expr, Lit, Unary, start_time, substitute, type_of
from whimbrel.expr.monotone import NoOrder, ValueOrder, order_of
from whimbrel.operators.aggregation.result_expressions import WindowBound
from whimbrel.sql.binder import Binder
from whimbrel.sql.intervals import bucket
from whimbrel.sql.relation import SqlRelation, rounded_columns
from whimbrel.sql.scope import NameScope, matching

_UNITS: Final = {"WEEK": "1w", "DAY": "1d", "HOUR": "1h", "MINUTE": "1m", "SECOND": "1s", "MILLISECOND": "1ms",
                 "MONTH": "1mo", "QUARTER": "1q", "YEAR": "1y"}

_MONTH_DAYS: Final = 30


def _itself(time: Expr) -> Expr:
    return time


@dataclass(frozen=True)
class Epoch:
    """A function of event time that changes only at the points of a grid.

    Parameters
    ----------
    column : sqlglot column
        The event time that it follows.
    size : str or int
        Duration of each epoch; an int is in ticks.
    size_ticks : int
    value : callable
        Expression of the time -> expression of the epoch. It may also be given the start of the window.
    divisor : int
        The value is the time divided by it, where it is a plain division; else 0. It is 1 of a time rounded down, too,
        which is the start of its own epoch.
    rounds : bool
        Whether the value is the time rounded down.
    """

    column: Any
    size: Any
    size_ticks: int
    value: Callable[[Expr], Expr] = _itself
    divisor: int = 1
    rounds: bool = False

    def kept_by(self, relation: SqlRelation) -> bool:
        """Whether a column of this value is the start of the rows of a relation, divided."""
        if not self.rounds:
            return self.divisor > 0
        return relation.lives == "window" and relation.step_ticks % self.size_ticks == 0


def epoch_of(node: Any, scope: NameScope) -> Epoch | None:
    """The epoch of an expression, or None if it follows no event time or repeats."""
    relation = scope.relation
    match node:
        case exp.Paren() | exp.Floor():
            return epoch_of(node.this, scope)
        case exp.Column():
            found = matching(relation, node.name, node.table)
            if len(found) != 1:
                return None
            if found[0].column not in relation.times:
                return rounded(node, rounded_columns(relation.stream.node).get(found[0].column), relation)
            divisor = relation.times[found[0].column]
            return Epoch(node, divisor, divisor, _divided_by(divisor), divisor)
        case exp.Div():
            below, factor = epoch_of(node.this, scope), _positive(node.expression)
            whole = relation.stream.schema.unit is None
            if below is None or factor is None or not whole or not below.divisor:
                return None
            ticks = below.divisor * factor
            return Epoch(below.column, ticks, ticks, _divided_by(ticks), ticks)
        case exp.Sub() if isinstance(node.expression, exp.Mod):
            below, factor = epoch_of(node.this, scope), _positive(node.expression.expression)
            if below is None or factor is None or below.divisor != 1 or node.this != node.expression.this:
                return None
            return Epoch(below.column, factor, factor, lambda time: time // factor * factor, 0)
        case exp.Mul() | exp.Add() | exp.Sub():
            return _shifted(node, scope)
        case exp.DateTrunc() | exp.TimestampTrunc():
            return _truncated(node.this, _UNITS.get(node.args["unit"].name.upper()), scope)
        case exp.Anonymous() if node.name.lower() == "time_bucket" and len(node.expressions) == 2:
            interval, time = node.expressions
            if not isinstance(interval, exp.Interval):
                return None
            return _truncated(time, bucket(interval, scope.binder.text), scope)
        case exp.DateBin() if isinstance(node.this, exp.Interval) and not node.args.get("zone"):
            return _truncated(node.expression, bucket(node.this, scope.binder.text), scope)
        case _:
            return None


def follows_time(node: Any, relation: SqlRelation) -> bool:
    """Whether any column in an expression follows event time, or has an order of its own."""
    ordered = {*relation.times, *relation.orders()}
    return any(found[0].column in ordered for column in node.find_all(exp.Column)
               if len(found := matching(relation, column.name, column.table)) == 1)


def is_of_time(value: Expr, relation: SqlRelation) -> bool:
    """Whether a value is event time, with numbers added, multiplied and divided."""
    match value:
        case Col(name=name):
            return name in relation.times
        case Call(function=function):
            return function == "start_time"
        case WindowBound():
            return True
        case Unary(op="-", x=inner) | Cast(x=inner):
            return is_of_time(inner, relation)
        case Binary(op="+" | "-" | "*", left=Lit(), right=inner):
            return is_of_time(inner, relation)
        case Binary(op="+" | "-" | "*" | "//", left=inner, right=Lit()):
            return is_of_time(inner, relation)
        case _:
            return False


@dataclass(frozen=True)
class NewTime:
    """A value as an event time.

    Parameters
    ----------
    start : Expr
        The value over the start of events and columns, or its negative value.
    falls : bool
        Whether it is the negative value.
    """

    start: Expr
    falls: bool = False


def new_time(value: Expr, relation: SqlRelation) -> NewTime | None:
    """The event time that a monotone function of event time or of ordered columns can be.

    One that falls has its negative value as a time.
    """
    start, found = _order(value, relation)
    if isinstance(found, NoOrder) or found.direction == "constant":
        return None
    type_ = type_of(start, relation.stream.schema)
    if not pa.types.is_timestamp(type_) and (not pa.types.is_integer(type_) or type_ == pa.uint64()):
        return None
    if found.direction == "increasing":
        return NewTime(start)
    return NewTime(-(start.cast("int64") if pa.types.is_timestamp(type_) else start), falls=True)


def retimed(relation: SqlRelation, value: Expr, node: Any, binder: Binder) -> SqlRelation | None:
    """The relation with such a value as its event time; None if it can be none."""
    time, stream = new_time(value, relation), relation.stream
    if time is None:
        return None
    times = {value.name: 1} if isinstance(value, Col) and not time.falls else {}
    return replace(relation, stream=binder.step(node, lambda: stream.retime(time.start)), times=times, lives="instant")


def why_not(value: Expr, relation: SqlRelation) -> str:
    """Why an expression of event time is no event time: a verb and its object."""
    _, found = _order(value, relation)
    if isinstance(found, NoOrder):
        return found.reason
    return "never rises" if found.direction == "constant" else "is no time"


def _order(value: Expr, relation: SqlRelation) -> tuple[Expr, ValueOrder | NoOrder]:
    """An expression over the start of events, and the order of its values."""
    starts: dict[str, Expr] = {name: start_time() if divisor == 1 else start_time() // divisor
                               for name, divisor in relation.times.items()}
    start = substitute(value, starts)
    try:
        type_of(start, relation.stream.schema)
    except WhimbrelError:
        return start, NoOrder(start.show(), "is no time")
    known = {**relation.orders(), "start_time": ValueOrder("increasing")}
    return start, order_of(start, relation.stream.schema, known)


def _divided_by(divisor: int) -> Callable[[Expr], Expr]:
    return _itself if divisor == 1 else lambda time: time // divisor


def _positive(node: Any) -> int | None:
    while isinstance(node, exp.Paren):
        node = node.this
    number = isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit()
    return int(node.this) if number and int(node.this) > 0 else None


def _shifted(node: Any, scope: NameScope) -> Epoch | None:
    """An epoch plus, minus or times a literal: it changes at the same points."""
    below, factor = epoch_of(node.this, scope), _positive(node.expression)
    if isinstance(node.expression, exp.Literal) and node.expression.this == "0" and not isinstance(node, exp.Mul):
        factor = 0
    if below is None or factor is None or scope.relation.stream.schema.unit is not None:
        return None
    value = below.value
    match node:
        case exp.Mul():
            return replace(below, value=lambda time: value(time) * factor, divisor=0)
        case exp.Add():
            return replace(below, value=lambda time: value(time) + factor, divisor=0)
        case _:
            return replace(below, value=lambda time: value(time) - factor, divisor=0)


def _truncated(time: Any, size: Any, scope: NameScope) -> Epoch | None:
    """A time rounded down to a fixed step, if the zone has no clocks that change, or to a span of the calendar.

    Ticks of months are nominal: they say which epochs are multiples of others.
    """
    below = epoch_of(time, scope)
    if below is None or below.divisor != 1 or below.rounds:
        return None
    return rounded(below.column, size, scope.relation)


def rounded(column: Any, size: Any, relation: SqlRelation) -> Epoch | None:
    """A column as a time that is rounded down."""
    schema = relation.stream.schema
    if size is None or schema.unit is None:
        return None
    span = CalendarSpan.of(size)
    if span is not None and span.unit == "mo":
        ticks = span.count * _MONTH_DAYS * duration_ticks("1d", schema.unit)
        return Epoch(column, size, ticks, lambda value: value.dt.floor(size), 1, rounds=True)
    ticks = duration_ticks(size, schema.unit)
    if ticks <= 0 or (schema.zone not in (None, "UTC") and span is None and ticks > duration_ticks("1m", schema.unit)):
        return None
    return Epoch(column, size, ticks, lambda value: value.dt.floor(size), 1, rounds=True)

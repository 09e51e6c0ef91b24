"""Registers and matched events of a pattern's run, as expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

from whimbrel.errors import ExpressionError
from whimbrel.expr.columns import children
from whimbrel.expr.nodes import Col, Expr, OuterValue, RowFunction, by_name, lift
from whimbrel.expr.trace import TracedRow, fields_of, trace

REGISTER = "register."
"""Prefix of register names among columns."""


class Registers:
    """Namespace of the registers of a pattern, by attribute or call.

    Examples
    --------
    >>> register.total + 1
    register.total + 1
    """

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return self(name)

    def __call__(self, name: str) -> Expr:
        return Col(REGISTER + by_name(name).name, OuterValue("register", name))

    __getitem__ = __call__
    __iter__ = None  # with __getitem__ alone Python would count through registers 0, 1, 2, ... without end

    def __repr__(self) -> str:
        return "register"


register = Registers()


class Matched:
    """Columns of an event that a run has matched.

    Use an attribute, a subscript or a call.
    """

    def __init__(self, which: Literal["first", "last"], event: str) -> None:
        self.__which, self.__event = which, event

    def __getattr__(self, column: str) -> Expr:
        if column.startswith("__"):
            raise AttributeError(column)
        return self(column)

    def __call__(self, column: str) -> Expr:
        which, event = self.__which, self.__event
        return Col(f"{which}_of({event!r}).{by_name(column).name}", OuterValue(which, column, event))

    __getitem__ = __call__
    __iter__ = None


def first_of(event: str) -> Matched:
    """Columns of the first event matched under this name.

    The event is one that the pattern's run has matched. Columns are null before there is one.

    Examples
    --------
    >>> first_of("slow").delay
    first_of('slow').delay
    """
    return Matched("first", event)


def last_of(event: str) -> Matched:
    """Columns of the last event matched under this name.

    The event is one that the pattern's run has matched. Columns are null before there is one.

    Examples
    --------
    >>> from whimbrel.expr import col
    >>> col.price > last_of("rise").price
    col.price > last_of('rise').price
    """
    return Matched("last", event)


def registers_of(expr: Expr) -> dict[str, OuterValue]:
    """Values of a run's memory that an expression reads, by their names among columns."""
    if isinstance(expr, Col):
        return {} if expr.remembered is None else {expr.name: expr.remembered}
    return {name: found for child in children(expr) for name, found in registers_of(child).items()}


def trace_step(value: Any, where: str) -> Expr:
    """As :func:`~whimbrel.expr.trace.trace`; a function may take the event alone, or the event and the register.

    >>> trace_step(lambda e, r: e.x > r.total, "event()")
    col.x > register.total
    """
    code = getattr(value, "__code__", None)
    if isinstance(value, Expr) or code is None or code.co_argcount != 2:
        return trace(value, where)
    event, run = TracedRow(), _Watched()
    try:
        result = value(event, run)
    except Exception:  # noqa: BLE001 - whatever it did, it did not survive columns in place of values
        return _step_function(value, where)
    if not isinstance(result, Expr) and (event.__touched__ or run.__touched__):
        return _step_function(value, where)
    return lift(result)


class _Watched(Registers):
    """Remembers whether it was asked."""

    __touched__ = False

    def __call__(self, name: str) -> Expr:
        self.__touched__ = True
        return super().__call__(name)

    __getitem__ = __call__


class _Part:
    """The fields of a row whose names begin alike."""

    def __init__(self, row: Any, prefix: str) -> None:
        self.__row, self.__prefix = row, prefix

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __getitem__(self, name: str) -> Any:
        return self.__row[self.__prefix + name]


def _step_function(function: Callable[[Any, Any], Any], where: str) -> Expr:
    events, registers = fields_of(function, 0, 2), fields_of(function, 1, 2)
    if not events and not registers:
        raise ExpressionError("Cannot read this function because it uses its event or its register as a whole.",
                              where=where, hint="Use only event.name and register.name.")

    @wraps(function)
    def of_row(row: Any) -> Any:
        return function(_Part(row, ""), _Part(row, REGISTER))

    names = (*events, *(REGISTER + name for name in registers))
    return RowFunction(of_row, names, (*map(Col, events), *map(register, registers)))

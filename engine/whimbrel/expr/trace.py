"""Trace lambdas and other arguments into expressions."""

from __future__ import annotations

import dis
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Col, Expr, Lit, RowFunction, by_name, lift


class TracedRow:
    """Stands for a row while a function is traced: every attribute and item is a column."""

    def __init__(self) -> None:
        self.__touched__ = False

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    __iter__ = None  # with __getitem__ alone Python would count through columns 0, 1, 2, ... without end

    def __getitem__(self, name: str) -> Expr:
        self.__touched__ = True
        return by_name(name)


def trace(value: Any, where: str = "", *, names: bool = False) -> Expr:
    """An expression from an expression, a plain value, or a function of one row.

    A function that asks its row for answers (``if``, ``and``, ``is None``, ``math.sqrt``) cannot be traced; it becomes
    a :class:`RowFunction`, called for every row: slower, equally right.

    Parameters
    ----------
    value : Expr, scalar or callable
    where : str
        The user's call, for errors.
    names : bool
        Whether a bare string is the name of a column instead of a literal.

    Raises
    ------
    ExpressionError
        When it is none of these, or the function uses its row as a whole.

    Examples
    --------
    >>> trace(lambda e: e.price * e.volume > 3)
    col.price * col.volume > 3
    """
    if isinstance(value, str):
        return Col(value) if names else Lit(str(value), bare=True)
    if isinstance(value, Expr) or not callable(value):
        try:
            return lift(value)
        except ExpressionError as error:
            raise ExpressionError(error.what, where=where, hint=error.hint) from None
    if asks_for_none(value):
        return _row_function(value, where, takes_nulls=True)
    row = TracedRow()
    try:
        result = value(row)
    except Exception:  # noqa: BLE001 - whatever it did, it did not survive columns in place of values
        return _row_function(value, where)
    if isinstance(result, Expr):
        return result
    if row.__touched__:  # an answer about the stand-in, not the row
        return _row_function(value, where)
    return lift(result)


def asks_for_none(function: Callable[[Any], Any]) -> bool:
    """Whether it asks for None (``e.x is None``, ``e.x != None``): of a column, the answer would mean nothing."""
    code = getattr(function, "__code__", None)
    steps = [] if code is None else list(dis.get_instructions(code))
    compared = any(one.opname == "LOAD_CONST" and one.argval is None and two.opname == "COMPARE_OP"
                   for one, two in pairwise(steps))
    return compared or any("IS_OP" in step.opname or step.opname.endswith(("_IF_NONE", "_IF_NOT_NONE"))
                           for step in steps)


def _row_function(function: Callable[[Any], Any], where: str, *, takes_nulls: bool = False) -> Expr:
    fields = fields_of(function)
    if not fields:
        raise ExpressionError("Cannot read this function because it uses its row as a whole, or no column.",
                              where=where, hint="Use only row.name or row['name'].")
    return RowFunction(function, fields, tuple(Col(field) for field in fields), takes_nulls)


def fields_of(function: Callable[..., Any], argument: int = 0, arguments: int = 1) -> tuple[str, ...]:
    """The columns a function reads of an argument, from its bytecode; none when that escapes into anything else."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount != arguments:
        return ()
    row = code.co_varnames[argument]
    fields: dict[str, None] = {}
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "RESUME", "NOP")]
    for step, *after in zip(steps, steps[1:], steps[2:], strict=False):
        if step.argval != row or not step.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
            continue
        match after[0].opname, after[1].opname:
            case ("LOAD_ATTR" | "LOAD_METHOD"), _:
                fields[after[0].argval] = None
            case "LOAD_CONST", ("BINARY_SUBSCR" | "BINARY_OP") if isinstance(after[0].argval, str):
                fields[after[0].argval] = None
            case _:
                return ()
    return tuple(fields)

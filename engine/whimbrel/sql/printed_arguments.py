"""Arguments of operators as text of SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.aggregates import UserAggregate
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Expr, functions_called, lift, trace
from whimbrel.plan import MethodCall
from whimbrel.sql.pair_aggregates import WORDS_OF_FUNCTIONS
from whimbrel.sql.printed_expressions import NoWordError, ScalarTexts
from whimbrel.stream.python_text import call_arguments
from whimbrel.stream.python_values import aggregates_in


def argument_texts(call: MethodCall) -> list[str]:
    """The arguments of a call after its tables, by position and then by name."""
    arguments, options = call_arguments(call)
    return [*map(_text, arguments), *(f"{name} => {_text(value)}" for name, value in options.items())]


def functions_of(call: MethodCall) -> dict[str, Any]:
    """Functions of users and user-defined aggregates in the arguments of a call, by their names."""
    arguments, options = call_arguments(call)
    exprs = [each for each in map(_traced, (*arguments, *options.values())) if isinstance(each, Expr)]
    found: dict[str, Any] = {each.name: each for expr in exprs for each in functions_called(expr)}
    return found | {part.functions.name: part.functions for expr in exprs for part in aggregates_in(expr)
                    if isinstance(part, UserAggregate) and part.functions not in WORDS_OF_FUNCTIONS}


def _traced(value: Any) -> Any:
    try:
        return trace(value) if callable(value) else value
    except WhimbrelError:
        return value


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Mapping):
        if all(mine == theirs for mine, theirs in value.items()):  # keys of joins
            return _text(list(value))
        raise NoWordError(repr(value)[:80])
    try:
        expr = value if isinstance(value, Expr) else trace(value, where="") if callable(value) else lift(value)
    except WhimbrelError:
        raise NoWordError(repr(value)[:80]) from None
    return ScalarTexts().text(expr)

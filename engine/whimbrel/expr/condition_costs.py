"""Costs of conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from whimbrel.expr.columns import children
from whimbrel.expr.nodes import Binary, Call, Called, Expr, RowFunction, node

Cost = Literal["cheap", "expensive"]
"""What a user says of a condition."""

_ALWAYS: Final = ("str.json_extract", "str.strptime", "str.extract")
_BY_PATTERN: Final = ("str.contains", "str.count_matches", "str.replace")


def why_expensive(expr: Expr) -> str | None:
    """Why an expression costs much for each row, in words; None if it does not, as far as its text says.

    >>> from whimbrel.expr import col
    >>> why_expensive(col.url.str.contains("a+b", regex=True)), why_expensive(col.x * 2 > 5)
    ('a regular expression', None)
    """
    if isinstance(expr, Called) and expr.by.cost is not None:
        if expr.by.cost == "expensive":
            return f"{expr.by!r}(), which is marked so"
        return next((why for each in expr.args if (why := why_expensive(each)) is not None), None)
    match node(expr):
        case RowFunction():
            return "a Python function"
        case Call(name, _, options) if name in _BY_PATTERN and any(option is True for option in options):
            return "a regular expression"
        case Call(name) if name in _ALWAYS:
            return f"{name.partition('.')[2]}()"
    return next((why for child in children(expr) if (why := why_expensive(child)) is not None), None)


def marked_cheap(expr: Expr) -> list[str]:
    """The functions in an expression that the user has marked as cheap.

    >>> import whimbrel as wb
    >>> half = wb.function(lambda x: x / 2, cost="cheap")
    >>> marked_cheap(half(wb.col.x) > 3)
    ['function()']
    """
    found = [f"{expr.by!r}()"] if isinstance(expr, Called) and expr.by.cost == "cheap" else []
    return list(dict.fromkeys([*found, *(name for each in children(expr) for name in marked_cheap(each))]))


def calls_python(expr: Expr) -> bool:
    """Whether a Python function is called for each row, whatever the user says of its cost."""
    return isinstance(node(expr), RowFunction) or any(map(calls_python, children(expr)))


def parts_of(condition: Expr) -> Iterator[Expr]:
    """The conditions that must all be true for this one.

    >>> from whimbrel.expr import col
    >>> list(parts_of((col.a > 1) & col.b & (col.c | col.d)))
    [col.a > 1, col.b, col.c | col.d]
    """
    if isinstance(condition, Binary) and condition.op == "&":
        yield from parts_of(condition.left)
        yield from parts_of(condition.right)
    else:
        yield condition


def all_of(parts: Sequence[Expr]) -> Expr:
    """The condition that is true where all of these are."""
    whole, *others = parts
    for each in others:
        whole = whole & each
    return whole

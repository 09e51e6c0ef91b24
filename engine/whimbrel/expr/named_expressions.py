"""Named expressions: result columns and group keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from whimbrel.errors import PlanError
from whimbrel.expr.nodes import Col, Expr, Lit
from whimbrel.expr.trace import trace

Column = Expr | str | int | float | bool | Callable[[Any], Any] | None
"""What may be given as the value of a new column; a string is text."""

Condition = Expr | Callable[[Any], Any]
"""What may be given as a condition."""

Keys = tuple[tuple[str, Expr], ...]
"""Names and values to group by."""


def named_columns(method: str, names: Sequence[str | Expr], columns: Mapping[str, Column],
                  known: Collection[str] = ()) -> Keys:
    """Columns chosen by name, then columns computed by keyword, of a stream whose columns are `known`.

    Raises
    ------
    PlanError
        For an expression without a name, a name that every result has anyway, or a text that names a column where a
        value is wanted.
    """
    chosen = [(_name(name, method), trace(name, where=f"{method}()", names=True)) for name in names]
    for name in columns:
        check_name(name, method)
    computed = tuple((name, trace(value, where=f"{method}({name}=...)")) for name, value in columns.items())
    for name, expr in computed:
        check_text(expr, known, f"{method}({name}=...)")
    return (*chosen, *computed)


def check_text(expr: Expr | None, known: Collection[str], where: str) -> None:
    """Refuse a text for a value that is the name of a column, unless it is written with ``lit``.

    Raises
    ------
    PlanError
        Since either may be meant: the column, or the same text in every row.
    """
    if isinstance(expr, Lit) and expr.bare and expr.value in known:
        name = str(expr.value)
        raise PlanError(f"{name!r} is a column name, but a string as a value means that string in every row.",
                        where=where, hint=f"Use {Col(name).show()} for the column, or wb.lit({name!r}) for the string.")


def named_words(columns: Keys) -> str:
    """Named expressions as they are written: a column that keeps its name by that alone.

    >>> from whimbrel.expr import Col
    >>> named_words((("k", Col("k")), ("h", Col("b") % 10)))
    'k, h=col.b % 10'
    """
    return ", ".join(name if isinstance(expr, Col) and expr.name == name else f"{name}={expr.show()}"
                     for name, expr in columns)


def key_of(keys: Keys, column: str) -> str | None:
    """The name under which a column is one of these keys, as it is; None where it is not.

    >>> from whimbrel.expr import Col
    >>> key_of((("k", Col("a")), ("h", Col("b") % 10)), "a"), key_of((("h", Col("b") % 10),), "b")
    ('k', None)
    """
    return next((name for name, expr in keys if isinstance(expr, Col) and expr.name == column), None)


def check_name(name: str, method: str) -> None:
    """Refuse the names of the two columns that every result has."""
    if name in ("start", "end"):
        raise PlanError(f"{name!r} is a column of every result.", where=f"{method}({name}=...)",
                        hint="Use another name.")


def _name(column: str | Expr, method: str) -> str:
    if isinstance(column, str):
        return column
    if isinstance(column, Col):
        return column.name
    raise PlanError(f"{column!r} needs a name.", where=f"{method}(...)",
                    hint="Use a keyword: total=col.a + col.b.")

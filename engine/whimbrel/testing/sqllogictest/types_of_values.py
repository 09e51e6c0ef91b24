"""Queries whose result depends on SQLite's types of single values."""

from __future__ import annotations

from typing import Any, Final

from whimbrel.errors import SqlError
from whimbrel.sql.parse import parse

_DIVISIONS: Final = ("Div", "IntDiv", "Mod")
_REAL: Final = ("FLOAT", "DOUBLE", "DECIMAL", "REAL")


def check_divisions(text: str) -> None:
    """Refuse a division of a choice between an integer and a float.

    SQLite divides the chosen value by its own type. A choice has one type here, as in PostgreSQL and DuckDB: float.

    Raises
    ------
    SqlError
        For such a query.

    Examples
    --------
    >>> check_divisions("SELECT coalesce(x, 1) / 2, coalesce(x, avg(y)) FROM t")
    """
    for statement in parse(text):
        for division in statement.tree.walk():
            if type(division).__name__ in _DIVISIONS and any(map(_is_mixed, division.walk())):
                raise SqlError("SQLite divides a choice between an integer and a float by the type of each value.",
                               where="a query of the file", hint="Cast the values to one type.")


def _is_mixed(node: Any) -> bool:
    """Whether a node chooses between integers and floats."""
    match type(node).__name__:
        case "Coalesce":
            values = [node.this, *node.expressions]
        case "Case":
            values = [*(each.args["true"] for each in node.args["ifs"]), node.args.get("default")]
        case _:
            return False
    return len({_is_real(value) for value in values if value is not None and type(value).__name__ != "Null"}) > 1


def _is_real(node: Any) -> bool:
    while type(node).__name__ in ("Paren", "Neg"):
        node = node.this
    match type(node).__name__:
        case "Cast":
            return bool(node.args["to"].sql().upper().startswith(_REAL))
        case "Literal":
            return not node.is_string and "." in node.this
        case "Avg":
            return True
    below = [each for part in node.args.values() for each in (part if isinstance(part, list) else [part])
             if hasattr(each, "walk")]
    return any(map(_is_real, below))

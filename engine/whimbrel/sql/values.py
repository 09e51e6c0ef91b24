"""VALUES, and SELECT without FROM: tables of literals."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from whimbrel.expr import Binary, Expr, Lit, Unary
from whimbrel.sql.binder import Binder
from whimbrel.sql.relation import SqlRelation, relation_of
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope

ONE_ROW = "one row"
"""The name of the source of a table that has one row, and that no user has passed."""


def values(node: Any, binder: Binder) -> SqlRelation:
    """A table of the rows of VALUES."""
    nothing = one_row(binder)
    rows = []
    for row in node.expressions:
        cells = row.expressions if type(row).__name__ == "Tuple" else [row]
        rows.append([_literal(scalar(cell, NameScope(binder, nothing)), cell, binder) for cell in cells])
    if len({len(row) for row in rows}) != 1:
        raise binder.text.error("Rows of VALUES must have the same number of values.", node, "Add the missing values.")
    if not rows[0]:
        raise binder.text.error("A row of VALUES must have a value.", node, "Write the values in the parentheses.")
    alias = node.args.get("alias")
    names = [each.name for each in (alias.args.get("columns") or [])] if alias is not None else []
    names += [f"col{number}" for number in range(len(names), len(rows[0]))]
    try:
        table = pa.table({name: pa.array([row[number] for row in rows]) for number, name in enumerate(names)})
    except pa.ArrowInvalid:
        raise binder.text.error("A column of VALUES must have one type.", node, "Use values of one type.") from None
    except pa.ArrowTypeError:
        raise binder.text.error("A column of VALUES must have one type.", node, "Use values of one type.") from None
    source = alias.name if alias is not None and alias.name else "values"
    return relation_of(binder.table(table, source), source, table=True)


def one_row(binder: Binder) -> SqlRelation:
    """A table of one row, whose one column has no name in SQL."""
    relation = relation_of(binder.table(pa.table({"one": [1]}), ONE_ROW), "", table=True)
    return SqlRelation(relation.stream, (), {}, "always")


def _literal(expr: Expr, node: Any, binder: Binder) -> Any:
    match expr:
        case Lit(value):
            return value
        case Unary("-", Lit(value)) if isinstance(value, int | float):
            return -value
        case Binary("+", Lit(first), Lit(second)) if isinstance(first, int) and isinstance(second, int):
            return first + second
        case _:
            raise binder.text.error("VALUES needs literals.", node, "Compute it in a SELECT.")

"""Resolve names of columns, with near matches in errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from whimbrel.batch import Field
from whimbrel.errors import ExpressionError, SchemaError, near_match
from whimbrel.expr import Col, Expr, type_of
from whimbrel.operators.aggregation.result_expressions import Running
from whimbrel.plan import Aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.positions import plain_hint
from whimbrel.sql.relation import SqlColumn, SqlRelation, reduced_parts


def _nothing(node: Any) -> Expr | None:
    return None


@dataclass(frozen=True)
class NameScope:
    """The names of a clause, and what they mean there.

    Parameters
    ----------
    binder : Binder
    relation : SqlRelation
    special : callable
        node -> its expression where a clause gives it another meaning, such as the key of a group; else None.
    types : mapping of str to pyarrow.DataType
        Types of further columns, such as the keys of groups.
    """

    binder: Binder
    relation: SqlRelation
    special: Callable[[Any], Expr | None] = _nothing
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    def column(self, node: Any) -> Expr:
        """The expression of a column."""
        return Col(self.find(node).column)

    def find(self, node: Any) -> SqlColumn:
        """The column that a name means."""
        name, source = node.name, node.table
        found = matching(self.relation, name, source)
        if found and len({each.column for each in found}) == 1:
            return found[0]
        text = self.binder.text
        if len(found) > 1:
            tables = ", ".join(dict.fromkeys(f"{each.source}.{each.name}" for each in found))
            raise text.error(f"The column {name!r} is ambiguous: {tables}.", node,
                             f"Write {found[0].source}.{found[0].name}.")
        if source and source.lower() not in (each.lower() for each in self.relation.sources):
            raise text.error(f"There is no table {source!r} here.", node,
                             near_match(source, self.relation.sources, noun="table"))
        names = [each.name for each in self.relation.columns if not source or each.source.lower() == source.lower()]
        if name.startswith("@"):
            raise text.error(f"There is no property {name!r} here.", node, "Properties are those of streams of an "
                             "interface, such as eth0.TCP.")
        if name in ("window_start", "window_end"):
            raise text.error(f"There is no column {name!r}.", node, "Put a window on the stream, such as TUMBLE.")
        hint = near_match(name, names) if names or "//" not in text.text else (
            "// begins a comment, so FROM may be in it. Use / to divide integers.")
        raise text.error(f"There is no column {name!r}.", node, hint)

    def type_of(self, expr: Expr, node: Any) -> pa.DataType:
        """The type of an expression, which may have aggregates in it."""
        try:
            return type_of(expr, self._with_reduced(expr))
        except (ExpressionError, SchemaError) as error:
            raise self.binder.text.error(error.what, node, plain_hint(error.hint)) from None

    def _with_reduced(self, expr: Expr) -> Any:
        schema = self.relation.stream.schema
        fields = dict(self.types)
        for part in reduced_parts(expr):
            reduced = part.of if isinstance(part, Running) else part
            if isinstance(reduced, Aggregate):
                inner = None if reduced.expr is None else type_of(reduced.expr, schema)
                fields[part.show()] = reduced.result_type(inner)
            else:
                fields[part.show()] = schema.time_type
        if not fields:
            return schema
        kept = tuple(each for each in schema.fields if each.name not in fields)
        return replace(schema, fields=(*kept, *(Field(name, type_) for name, type_ in fields.items())))


def matching(relation: SqlRelation, name: str, source: str = "") -> list[SqlColumn]:
    """Columns of this name: exactly, or else without regard to case."""
    columns = [each for each in relation.columns if not source or each.source.lower() == source.lower()]
    exact = [each for each in columns if each.name == name]
    return exact or [each for each in columns if each.name.lower() == name.lower()]

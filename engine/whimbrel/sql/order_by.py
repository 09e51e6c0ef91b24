"""ORDER BY and LIMIT of the outermost query, for the collected result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from whimbrel.plan import Node, Operators
from whimbrel.sql.binder import Binder
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scope import matching
from whimbrel.stream import Stream


@dataclass(frozen=True, eq=False, repr=False)
class SortedStream(Stream):
    """A stream whose collected result has an order.

    The stream itself is in the order of time, as every stream. Steps after it have no other order.

    Parameters
    ----------
    order : tuple of (str, bool, bool)
        Columns, whether descending, and whether nulls come first.
    limit, offset : int
        Rows to keep and to leave out.
    """

    order: tuple[tuple[str, bool, bool], ...] = ()
    limit: int | None = None
    offset: int = 0

    def collect(self, *, threads: int = 1, on: Any = None) -> pa.Table:
        """Run the query to its end, and return the rows in the order of the query."""
        return self.shown(super().collect(threads=threads, on=on))

    def shown(self, rows: pa.Table) -> pa.Table:
        """Rows of the result in the order of the query, and no more than it asks for."""
        return sort_rows(rows, self.order).slice(self.offset, self.limit)

    def _followed_by(self, made: Operators, *inputs: Node, allow_lookahead: bool = True) -> Any:
        plain = Stream(self.node, self.keys, self.group)
        return plain._followed_by(made, *inputs, allow_lookahead=allow_lookahead)  # noqa: SLF001 - the same class


def sort_rows(rows: pa.Table, order: tuple[tuple[str, bool, bool], ...]) -> pa.Table:
    """Rows by several columns; each has its own place of nulls, which Arrow has for all together."""
    if not order or not rows.num_rows:
        return rows
    keyed, keys = rows, []
    for number, (name, descending, nulls_first) in enumerate(order):
        null = pc.is_null(rows[name]).cast(pa.int8())
        keyed = keyed.append_column(f"null {number}", null).append_column(f"value {number}", rows[name])
        keys += [(f"null {number}", "descending" if nulls_first else "ascending"),
                 (f"value {number}", "descending" if descending else "ascending")]
    return rows.take(pc.sort_indices(keyed, sort_keys=keys))


def ordered(relation: SqlRelation, tree: Any, binder: Binder) -> SortedStream:
    """The result of a query with the ORDER BY, LIMIT and OFFSET of its tree."""
    order, limit, offset = (tree.args.get(key) for key in ("order", "limit", "offset"))
    if order is None:
        what, hint = refusal("limit without order")
        raise binder.text.error(what, limit or offset, hint)
    names = [column.column for column in relation.columns]
    keys = []
    for each in order.expressions:
        name = _column(each.this, tree, relation, names, binder)
        descending = bool(each.args.get("desc"))
        keys.append((name, descending, bool(each.args.get("nulls_first"))))
    stream = relation.stream
    own = {each.name: getattr(stream, each.name) for each in fields(Stream)}
    return SortedStream(**own, order=tuple(keys), limit=_count(limit, binder),
                        offset=_count(offset, binder) or 0)


def _column(node: Any, tree: Any, relation: SqlRelation, names: list[str], binder: Binder) -> str:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        if 1 <= int(node.this) <= len(names):
            return names[int(node.this) - 1]
        raise binder.text.error(f"ORDER BY {node.this} names no column.", node, f"Use 1 to {len(names)}.")
    if isinstance(node, exp.Column):
        found = matching(relation, node.name)
        if len(found) == 1:
            return found[0].column
    if isinstance(tree, exp.Select):
        for each, name in zip(tree.expressions, names, strict=False):
            if each.unalias() == node:
                return name
    raise binder.text.error("ORDER BY needs a column of the result.", node, "Put it in the SELECT list.")


def _count(node: Any, binder: Binder) -> int | None:
    if node is None:
        return None
    value = node.args.get("expression") if not isinstance(node, exp.Fetch) else node.args.get("count")
    if isinstance(value, exp.Literal) and value.this.isdigit():
        return int(value.this)
    if isinstance(value, exp.Parameter | exp.Placeholder):
        return int(binder.parameter(value.name, value))
    raise binder.text.error("LIMIT and OFFSET need a number.", node, "Write the number.")

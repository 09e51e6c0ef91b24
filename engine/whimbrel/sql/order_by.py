"""ORDER BY and LIMIT of the outermost query, for the collected result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from whimbrel.errors import PlanError
from whimbrel.expr import Col
from whimbrel.plan import Node, Operators
from whimbrel.sql.binder import Binder
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scope import matching
from whimbrel.stream import Stream
from whimbrel.stream.result_frames import check_form, converted
from whimbrel.stream.results import check_head


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
    wider : Stream, optional
        The rows with further columns, where the order has some that the query does not select.
    """

    order: tuple[tuple[str, bool, bool], ...] = ()
    limit: int | None = None
    offset: int = 0
    wider: Stream | None = None

    @property
    def rows(self) -> Stream:
        """The rows with all columns of the order, as a plain stream."""
        return self.wider or Stream(self.node, self.keys, self.group)

    def collect(self, *, threads: int = 1, on: Any = None,
                as_: Literal["arrow", "polars", "pandas", "duckdb"] = "arrow") -> Any:
        """Run the query to its end, and return the rows in the order of the query."""
        check_form(as_)
        return converted(self.shown(self.rows.collect(threads=threads, on=on)), as_)

    def head(self, n: int = 10) -> pa.Table:
        """Run the query to its end, since any row may be the first, and return the first rows of its order."""
        check_head(n)
        return self.collect().slice(0, n)

    def at_latencies(self, *latencies: Any, **options: Any) -> Any:
        """Refuse several latencies: their changelog has no order and no limit."""
        what, hint = refusal("emit in order")
        raise PlanError(what, where=f"at_latencies({', '.join(map(repr, latencies))})", hint=hint)

    def on(self, other: Any) -> SortedStream:
        """Rebind the query to other data, also its further columns of the order. See :meth:`whimbrel.Stream.on`."""
        wider = None if self.wider is None else self.wider.on(other)
        return replace(self, node=super().on(other).node, wider=wider)

    def python(self) -> str:
        """Print the query as Python; its order is of the collected result, so it is a comment."""
        keys = [f"{name} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
                for name, descending, nulls_first in self.order]
        limit = "" if self.limit is None else f" LIMIT {self.limit}"
        offset = f" OFFSET {self.offset}" if self.offset else ""
        return f"# Its collected result: ORDER BY {', '.join(keys)}{limit}{offset}\n{super().python()}"

    def shown(self, rows: pa.Table) -> pa.Table:
        """Rows of the result in the order of the query, and no more than it asks for."""
        kept = sort_rows(rows, self.order).slice(self.offset, self.limit)
        return kept if self.wider is None else kept.select(["start", "end", *self.schema.names])

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


def ordered(relation: SqlRelation, tree: Any, binder: Binder, bind: Callable[[Any], SqlRelation]) -> SortedStream:
    """The result of a query with the ORDER BY, LIMIT and OFFSET of its tree; `bind` makes the relation of a tree."""
    order, limit, offset = (tree.args.get(key) for key in ("order", "limit", "offset"))
    if order is None:
        what, hint = refusal("limit without order")
        raise binder.text.error(what, limit or offset, hint)
    names = [column.column for column in relation.columns]
    further: dict[str, Any] = {}
    keys = []
    for number, each in enumerate(order.expressions, 1):
        name = _column(each.this, tree, relation, names, binder)
        if name is None and each.this.find(exp.Query) is not None:
            raise binder.text.error("ORDER BY needs a column of the result, not a query.", each.this,
                                    "Put the query in the SELECT list, with AS, and order by its name.")
        if name is None:
            name = f"_order{number}"
            further[name] = _with_aliases(each.this, tree)
        keys.append((name, bool(each.args.get("desc")), bool(each.args.get("nulls_first"))))
    stream, wider = relation.stream, _wider(tree, further, relation, binder, bind)
    own = {each.name: getattr(stream, each.name) for each in fields(Stream)}
    return SortedStream(**own, order=tuple(keys), limit=_count(limit, binder), offset=_count(offset, binder) or 0,
                        wider=wider)


def _wider(tree: Any, further: dict[str, Any], relation: SqlRelation, binder: Binder,
           bind: Callable[[Any], SqlRelation]) -> Stream | None:
    """The rows of a SELECT with further columns."""
    if not further:
        return None
    if not isinstance(tree, exp.Select) or tree.args.get("distinct") is not None or not tree.expressions:
        raise binder.text.error("ORDER BY needs a column of the result.", next(iter(further.values())),
                                "Put it in the SELECT list.")
    wide = tree.copy()
    for key in ("order", "limit", "offset"):
        wide.set(key, None)
    for name, node in further.items():
        wide.append("expressions", exp.alias_(node.copy(), name, quoted=True))
    found = bind(wide).stream
    kept: dict[str, Any] = {name: Col(name) for name in (*relation.stream.schema.names, *further)}
    return found if list(found.schema.names) == list(kept) else found.select(**kept)


def _with_aliases(node: Any, tree: Any) -> Any:
    """An expression with what aliases of the SELECT list stand for."""
    named = {each.alias.lower(): each.this for each in getattr(tree, "expressions", []) if isinstance(each, exp.Alias)}

    def meant(part: Any) -> Any:
        plain = isinstance(part, exp.Column) and not part.table
        return named[part.name.lower()].copy() if plain and part.name.lower() in named else part

    return node.copy().transform(meant)


def _column(node: Any, tree: Any, relation: SqlRelation, names: list[str], binder: Binder) -> str | None:
    """The column of the result that orders it; None where it has none."""
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        if 1 <= int(node.this) <= len(names):
            return names[int(node.this) - 1]
        raise binder.text.error(f"ORDER BY {node.this} names no column.", node, f"Use 1 to {len(names)}.")
    if isinstance(node, exp.Column):
        found = matching(relation, node.name)
        if len(found) == 1 and (not node.table or not isinstance(tree, exp.Select)):
            return found[0].column
    if isinstance(tree, exp.Select):
        for each, name in zip(tree.expressions, names, strict=False):
            if each.unalias() == node:
                return name
    if isinstance(node, exp.Column) and len(found := matching(relation, node.name)) == 1 and any(
            part.is_star for part in tree.expressions):
        return found[0].column
    return None


def _count(node: Any, binder: Binder) -> int | None:
    if node is None:
        return None
    value = node.args.get("expression") if not isinstance(node, exp.Fetch) else node.args.get("count")
    if isinstance(value, exp.Literal) and value.this.isdigit():
        return int(value.this)
    if isinstance(value, exp.Parameter | exp.Placeholder):
        return int(binder.parameter(value.name, value))
    raise binder.text.error("LIMIT and OFFSET need a number.", node, "Write the number.")

"""Bind SELECT: FROM, WHERE, groups or columns, HAVING, QUALIFY and DISTINCT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sqlglot import exp

from whimbrel.expr import Col, Expr, end_time, start_time
from whimbrel.sql.aggregates import has_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.epochs import epoch_of
from whimbrel.sql.from_clause import from_clause
from whimbrel.sql.grouping import grouped
from whimbrel.sql.grouping_sets import grouping_sets, has_sets
from whimbrel.sql.join_conditions import conjuncts
from whimbrel.sql.match_recognize import match_recognize
from whimbrel.sql.named_windows import with_windows
from whimbrel.sql.numbering import numbers_outside
from whimbrel.sql.over import has_window, over_columns
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import Bound, SqlColumn, SqlRelation
from whimbrel.sql.results_of_groups import reads_groups, results_of_groups, with_values
from whimbrel.sql.scalar_subqueries import values_of
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.select_list import Item, items_of
from whimbrel.sql.set_operations import distinct
from whimbrel.sql.subqueries import filtered
from whimbrel.sql.values import one_row
from whimbrel.sql.window_rows import needs_windows_first, with_bounds

Query = Callable[[Any, Binder], SqlRelation]

_CLAUSES = ("expressions", "from_", "joins", "where", "group", "having", "distinct", "qualify", "with_", "order",
            "limit", "offset", "match", "windows")
_BOUNDS: Final[dict[str, Bound]] = {"window_start": "start", "window_end": "end"}


def select(node: Any, binder: Binder, query: Query) -> SqlRelation:
    """The relation of a SELECT."""
    for key, given in node.args.items():
        if given and key not in _CLAUSES:
            what, hint = refusal("clause", clause=key.strip("_").upper())
            raise binder.text.error(what, given if isinstance(given, exp.Expression) else node, hint)
    node = with_windows(node, binder)
    where = conjuncts(node.args["where"].this) if node.args.get("where") is not None else []
    if node.args.get("from_") is None:
        if not node.expressions:
            raise binder.text.error(refusal("empty")[0], node, refusal("empty")[1])
        relation = one_row(binder)
    else:
        where = numbers_outside(node, where)
        if node.args.get("match") is not None and node.args.get("joins"):
            what, hint = refusal("pattern of a join")
            raise binder.text.error(what, node.args["match"], hint)
        relation, where = from_clause(node, where, binder, query)
    if node.args.get("match") is not None:
        relation = match_recognize(node.args["match"], relation, binder)
    if needs_windows_first(where, relation):
        relation = with_bounds(relation, node, binder)
    relation = filtered(relation, where, binder, query)
    items = items_of(node, relation, binder)
    is_grouped = node.args.get("group") is not None or node.args.get("having") is not None or any(
        has_aggregate(item.node, NameScope(binder, relation)) for item in items)
    if has_sets(node):
        result = grouping_sets(node, items, relation, binder, partial(_groups, binder, query))
    elif is_grouped:
        result = _groups(binder, query, node, items, relation)
    else:
        result = projected(node, items, relation, binder, query)
    if node.args.get("distinct") is not None:
        result = distinct(result, node.args["distinct"], binder)
    return result


def _groups(binder: Binder, query: Query, node: Any, items: list[Item], relation: SqlRelation) -> SqlRelation:
    """The columns of a SELECT with groups."""
    node, items, relation = with_values(node, items, relation, binder, query)
    if reads_groups(node, items):
        return results_of_groups(node, items, relation, binder, query, projected)
    return grouped(node, items, relation, binder)


def projected(node: Any, items: list[Item], relation: SqlRelation, binder: Binder, query: Query) -> SqlRelation:
    """The columns of a SELECT without groups."""
    qualify = node.args.get("qualify")
    over = any(has_window(item.node) for item in items) or qualify is not None
    window = relation.window
    plain = window is None or (not over and window.kind == "tumble")
    relation = tumbled(items, relation, binder) if plain else with_bounds(relation, node, binder)
    names: dict[int, str] = {}
    if over:
        relation, names = over_columns(items, None if qualify is None else qualify.this, relation, binder)
    relation, nodes = values_of(relation, [item.node for item in items], binder, query)
    items = [replace(item, node=node) for item, node in zip(items, nodes, strict=True)]
    scope = row_scope(relation, binder, names)
    columns: dict[str, Expr] = {}
    times: dict[str, int] = {}
    bounds: dict[str, Bound] = {}
    for item in items:
        columns[item.name] = scalar(item.node, scope)
        epoch = epoch_of(item.node, scope)
        if relation.window is not None and isinstance(item.node, exp.Column) and item.node.name in _BOUNDS:
            bounds[item.name] = _BOUNDS[item.node.name]
            times |= {item.name: 1} if bounds[item.name] == "start" else {}
        if epoch is not None and epoch.kept_by(relation):
            times[item.name] = epoch.divisor
    stream = relation.stream
    same = all(isinstance(expr, Col) and expr.name == name for name, expr in columns.items())
    if not (same and list(columns) == list(stream.schema.names)):
        kept = stream.schema.names
        starred = list(columns)[: len(kept)] == list(kept) and all(
            isinstance(columns[name], Col) and columns[name].name == name for name in kept)  # type: ignore[attr-defined]
        if starred and len(columns) > len(kept):
            added = {name: expr for name, expr in columns.items() if name not in kept}
            stream = binder.step(node, lambda: stream.with_columns(**added))
        else:
            stream = binder.step(node, lambda: relation.stream.select(**columns))
    result = tuple(SqlColumn(item.label, "", item.name) for item in items)
    known = relation.windows_of({name: expr.name for name, expr in columns.items() if isinstance(expr, Col)})
    known["bounds"] |= bounds
    return replace(relation, stream=stream, columns=result, times=times, window=None, **known)


def row_scope(relation: SqlRelation, binder: Binder, names: dict[int, str]) -> NameScope:
    """Names of single rows: the bounds of windows, and columns that OVER has made."""
    window = relation.window

    def special(node: Any) -> Expr | None:
        if id(node) in names:
            return Col(names[id(node)])
        if (window is None or not isinstance(node, exp.Column) or node.name not in ("window_start", "window_end")
                or matching(relation, node.name, node.table)):
            return None
        if node.table and node.table != window.source:
            return None
        return start_time() if node.name == "window_start" else end_time()

    return NameScope(binder, relation, special)


def tumbled(items: list[Item], relation: SqlRelation, binder: Binder) -> SqlRelation:
    """Rows without groups in the window of FROM, if columns ask for its bounds: each holds for its window."""
    window = relation.window
    if window is None:
        return relation
    asked = any(column.name in ("window_start", "window_end") for item in items
                for column in item.node.find_all(exp.Column) if not matching(relation, column.name, column.table))
    if not asked:
        return replace(relation, window=None)
    stream = binder.step(items[0].node, lambda: window.apply(relation.stream))
    return replace(relation, stream=stream, times={}, lives="window", step_ticks=window.size_ticks,
                   size_ticks=window.size_ticks, fixed=window.fixed)



"""Bind LATERAL subqueries.

Such a subquery in FROM names columns of the tables before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sqlglot import exp

from whimbrel.expr import Col, Expr
from whimbrel.sql.aggregates import has_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.from_clause import OF_SUBQUERIES, from_clause
from whimbrel.sql.join_conditions import conjuncts, sort_conditions
from whimbrel.sql.joins import How, JoinKind, related
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlColumn, SqlRelation
from whimbrel.sql.scalar_subqueries import VALUES, values_of
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope
from whimbrel.sql.select_list import Item, items_of
from whimbrel.sql.subqueries import filtered, inside, names_outer, qualified

Query = Callable[[Any, Binder], SqlRelation]

_OTHERS: Final = ("group", "having", "qualify", "limit", "offset", "order", "with_", "distinct", "windows")


def lateral(relation: SqlRelation, join: Any, binder: Binder, query: Query) -> SqlRelation:
    """The relation with the rows of a LATERAL subquery for each of its rows."""
    select, on = join.this.this.this, join.args.get("on")
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    known = side in ("", "LEFT") and kind in ("", "CROSS", "INNER") and (on is None or on == exp.true())
    if not known or not isinstance(select, exp.Select) or select.args.get("from_") is None or any(
            select.args.get(key) for key in _OTHERS):
        what, hint = refusal("lateral")
        raise binder.text.error(what, join.this, hint)
    scope = NameScope(binder, relation)
    if select.expressions and all(has_aggregate(each, scope) for each in select.expressions):
        return _values(relation, select, join.this, binder, query)
    return _rows(relation, select, join.this, "left" if side else "inner", binder, query)


def _named(items: list[Item], node: Any) -> list[SqlColumn]:
    """The columns of the subquery under its alias, without their names in the stream."""
    alias = node.args.get("alias")
    source = alias.name if alias is not None and alias.name else "lateral"
    given = [each.name for each in (alias.args.get("columns") or [])] if alias is not None else []
    labels = [*given, *(item.label for item in items[len(given):])]
    return [SqlColumn(label, source, "") for label in labels]


def _unused(name: str, relation: SqlRelation) -> str:
    """The name, or a longer one if a column of the stream has it."""
    taken = relation.stream.schema.names
    number = 2
    made = name
    while made in taken:
        made, number = f"{name}_{number}", number + 1
    return made


def _values(relation: SqlRelation, select: Any, node: Any, binder: Binder, query: Query) -> SqlRelation:
    """The relation with a column for each aggregate of the subquery."""
    items = items_of(select, relation, binder)
    for item, column in zip(items, _named(items, node), strict=True):
        one = select.copy()
        one.set("expressions", [item.node.copy()])
        widened, [value] = values_of(relation, [exp.Subquery(this=one)], binder, query)
        name = _unused(column.name, relation)
        columns: dict[str, Expr] = {each: Col(each) for each in relation.stream.schema.names}
        columns[name] = scalar(value, NameScope(binder, widened))
        shown = tuple(each for each in widened.columns if each.source != VALUES)
        relation = replace(relation, stream=binder.step(node, partial(widened.stream.select, **columns)),
                           columns=(*shown, replace(column, column=name)))
    return relation


def _rows(relation: SqlRelation, select: Any, node: Any, how: How, binder: Binder, query: Query) -> SqlRelation:
    """The relation joined with the rows of the subquery."""
    where = conjuncts(select.args["where"].this) if select.args.get("where") is not None else []
    inner, where = from_clause(select, where, binder, query)
    outer = [qualified(each, inner) for each in where if names_outer(each, inner, relation)]
    inner = filtered(inner, [each for each in where if not names_outer(each, inner, relation)], binder, query)
    items = items_of(select, inner, binder)
    for item in items:
        if names_outer(item.node, inner, relation):
            what, hint = refusal("lateral value")
            raise binder.text.error(what, item.node, hint)
    values: dict[str, Expr] = {f"(value {number})": scalar(item.node, NameScope(binder, inner))
                               for number, item in enumerate(items)}
    conditions = [inside(each, inner) for each in outer]
    hidden = tuple(replace(each, source=f"(subquery) {each.source}") for each in inner.columns)
    inner = replace(inner, stream=binder.step(node, lambda: inner.stream.with_columns(**values)),
                    columns=(*hidden, *(SqlColumn(name, "(lateral)", name) for name in values)))
    found = sort_conditions(conditions, relation, inner, binder)
    both = related(relation, inner, found, JoinKind(how), node, binder)
    joined = {each.name: each.column for each in both.columns if each.source == "(lateral)"}
    columns: dict[str, Expr] = {name: Col(name) for name in relation.stream.schema.names}
    shown = []
    for name, column in zip(values, _named(items, node), strict=True):
        own = _unused(column.name, relation)
        while own in columns:
            own += "_2"
        columns[own] = Col(joined[name])
        shown.append(replace(column, column=own))
    own_names = set(relation.stream.schema.names)
    return replace(both, stream=binder.step(node, lambda: both.stream.select(**columns)),
                   columns=(*relation.columns, *shown), **both.windows_of({name: name for name in own_names}),
                   times={name: divisor for name, divisor in both.times.items() if name in own_names})


OF_SUBQUERIES["lateral"] = lateral

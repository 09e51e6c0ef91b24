"""Bind WHERE with its subqueries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any

from sqlglot import exp

from whimbrel.expr import Col, Expr
from whimbrel.sql.aggregates import has_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.from_clause import from_clause
from whimbrel.sql.join_conditions import conjuncts, sort_conditions
from whimbrel.sql.joins import JoinKind, related
from whimbrel.sql.quantified_predicates import column_count
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scalar_subqueries import values_of
from whimbrel.sql.scalars import condition
from whimbrel.sql.scope import NameScope, matching

Query = Callable[[Any, Binder], SqlRelation]


def filtered(relation: SqlRelation, conditions: list[Any], binder: Binder, query: Query) -> SqlRelation:
    """The rows for which every condition is true."""
    plain = [each for each in conditions if not _has_subquery(each)]
    if plain:
        scope = NameScope(binder, relation)
        both = reduce(and_, [condition(each, scope) for each in plain])
        relation = relation.after(binder.step(plain[0], lambda: relation.stream.where(both)))
    for each in conditions:
        if _has_subquery(each):
            relation = _with_subquery(relation, each, binder, query)
    return relation


def _has_subquery(node: Any) -> bool:
    return node.find(exp.Query) is not None


def _with_subquery(relation: SqlRelation, node: Any, binder: Binder, query: Query) -> SqlRelation:
    """The rows for which a condition with a subquery is true."""
    negated = False
    while isinstance(node, exp.Paren | exp.Not):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, exp.Exists):
        return _existing(relation, node.this, [], node, binder, query, exists="ANTI" if negated else "SEMI")
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        return _in(relation, node, binder, query, negated=negated)
    inner = exp.Not(this=node) if negated else node
    return _where_true(relation, inner, node, binder, query)


def _where_true(relation: SqlRelation, inner: Any, node: Any, binder: Binder, query: Query) -> SqlRelation:
    """The rows for which a condition over values of subqueries is true."""
    widened, [inner] = values_of(relation, [inner], binder, query)
    found = condition(inner, NameScope(binder, widened))
    kept: dict[str, Expr] = {name: Col(name) for name in relation.stream.schema.names}
    return relation.after(binder.step(node, lambda: widened.stream.where(found).select(**kept)))


def _in(relation: SqlRelation, node: Any, binder: Binder, query: Query, *, negated: bool) -> SqlRelation:
    """Rows whose value is in a subquery; with NOT, null in the list or the value is no answer."""
    select = node.args["query"]
    select = select.this if isinstance(select, exp.Subquery) else select
    values = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    if column_count(select, binder, query) != len(values):
        what = "one column" if len(values) == 1 else f"{len(values)} columns"
        raise binder.text.error(f"IN needs a subquery of {what}.", select, f"Select {what}.")
    if len(values) > 1:  # for rows of values counts say which are unknown
        return _where_true(relation, exp.Not(this=node) if negated else node, node, binder, query)
    value = node.this
    if not negated:
        return _existing(relation, select, [(exp.EQ, value)], node, binder, query, exists="SEMI")
    relation = _existing(relation, select, [(exp.EQ, value)], node, binder, query, exists="ANTI")
    return _existing(relation, select, [(None, value)], node, binder, query, exists="ANTI")


def _existing(relation: SqlRelation, select: Any, compared: list[tuple[Any, Any]], node: Any, binder: Binder,
              query: Query, *, exists: str) -> SqlRelation:
    """Rows with a partner in a subquery, or without one; its conditions may name columns of the rows."""
    if isinstance(select, exp.Subquery):
        select = select.this
    if isinstance(select, exp.Select) and not select.expressions:
        raise binder.text.error("The subquery selects nothing.", node, "Write SELECT 1.")
    simple = isinstance(select, exp.Select) and not any(
        select.args.get(key) for key in ("group", "having", "qualify", "limit", "with_")) and not any(
        has_aggregate(each, NameScope(binder, relation)) for each in select.expressions)
    correlated: list[Any] = []
    if simple and select.args.get("from_") is not None:
        where = conjuncts(select.args["where"].this) if select.args.get("where") is not None else []
        inner, where = from_clause(select, where, binder, query)
        correlated = [qualified(each, inner) for each in where if names_outer(each, inner, relation)]
        inner = filtered(inner, [each for each in where if not names_outer(each, inner, relation)], binder, query)
        item = select.expressions[0].unalias()
        if item.is_star:
            item = exp.Column(this=exp.to_identifier(inner.columns[0].name, quoted=True))
    else:
        inner = query(select, binder)
        item = exp.Column(this=exp.to_identifier(inner.columns[0].name, quoted=True))
    correlated, item = [inside(each, inner) for each in correlated], inside(qualified(item, inner), inner)
    inner = replace(inner, columns=tuple(replace(each, source=source_inside(each.source)) for each in inner.columns))
    for kind, value in compared:
        outer = qualified(value, relation)
        if kind is not None:
            correlated.append(kind(this=outer.copy(), expression=item.copy()))
        else:
            nulls = [exp.Is(this=each.copy(), expression=exp.Null()) for each in (outer, item)]
            correlated.append(exp.Or(this=nulls[0], expression=nulls[1]))
    left = relation if all(relation.sources) else replace(
        relation, columns=tuple(replace(each, source=each.source or "(rows)") for each in relation.columns))
    found = sort_conditions(correlated, left, inner, binder)
    joined = related(left, inner, found, JoinKind(exists=exists), node, binder)
    return relation.after(joined.stream)


def source_inside(name: str) -> str:
    """The name of a table of a subquery, which no table outside has."""
    return f"(subquery) {name}"


def inside(node: Any, inner: SqlRelation) -> Any:
    """A condition whose columns of the subquery have the names of its tables there."""
    node = node.copy()
    for column in list(node.find_all(exp.Column)):
        found = matching(inner, column.name, column.table)
        if found and not column.find_ancestor(exp.Query):
            column.set("table", exp.to_identifier(source_inside(found[0].source), quoted=True))
    return node


def names_outer(node: Any, inner: SqlRelation, outer: SqlRelation) -> bool:
    """Whether a condition names a column of the rows outside."""
    return any(not matching(inner, column.name, column.table) and matching(outer, column.name, column.table)
               for column in node.find_all(exp.Column))


def qualified(node: Any, relation: SqlRelation) -> Any:
    """A copy whose plain names are those of a relation, if it has them."""
    node = node.copy()
    for column in list(node.find_all(exp.Column)):
        if not column.table and not column.find_ancestor(exp.Query):
            found = matching(relation, column.name)
            if len(found) == 1 and found[0].source:
                column.set("table", exp.to_identifier(found[0].source, quoted=True))
    return node

"""Bind FROM: tables, subqueries, windows, lists, and joins between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from operator import and_
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.expr import Lit
from whimbrel.sql.binder import Binder
from whimbrel.sql.join_order import conditions_of_one, in_order, join_order, listed
from whimbrel.sql.joins import joined
from whimbrel.sql.manual_joins import manual_join
from whimbrel.sql.pivot import pivoted
from whimbrel.sql.refusals import FILE_FUNCTIONS, refusal
from whimbrel.sql.relation import SqlColumn, SqlRelation, relation_of
from whimbrel.sql.scalars import condition, scalar
from whimbrel.sql.scope import NameScope
from whimbrel.sql.stream_names import stream_of
from whimbrel.sql.table_functions import is_operator, operator_call
from whimbrel.sql.values import one_row, values
from whimbrel.sql.windows import WINDOWS, window_call

Query = Callable[[Any, Binder], SqlRelation]

OF_SUBQUERIES: Final[dict[str, Callable[..., Any]]] = {}
"""Joins with subqueries, by their clause; their modules read FROM themselves, and add them here."""


def from_clause(node: Any, where: list[Any], binder: Binder, query: Query) -> tuple[SqlRelation, list[Any]]:
    """The relation of FROM and its joins, and the conditions of WHERE that are left.

    Conditions of WHERE take part in comma joins, as SQL's authors meant them.
    """
    first = node.args["from_"].this
    spelled = node.args["from_"].meta.get("join", "INNER_JOIN")
    if spelled != "INNER_JOIN":
        tables = [first, *(join.this for join in node.args.get("joins") or [])]
        return manual_join(spelled, tables, where, binder, lambda table: source(table, binder, query))
    joins = [*(first.args.get("joins") or []), *(node.args.get("joins") or [])]
    if listed(joins):
        return _listed(first, joins, where, binder, query)
    relation = source(first, binder, query)
    for number, join in enumerate(joins):
        later = where if _keeps_right(joins[number + 1:]) else []  # it keeps rows that WHERE would not
        where = [] if later else where
        if isinstance(join.this, exp.Lateral) and isinstance(join.this.this, exp.Subquery):
            relation = OF_SUBQUERIES["lateral"](relation, join, binder, query)
        elif isinstance(join.this, exp.Unnest | exp.Lateral):
            relation = unnested(relation, join.this, binder)
        elif _has_subquery(join):
            right = source(join.this, binder, query)
            relation, where = OF_SUBQUERIES["on"](relation, right, join, where, binder, query)
        else:
            relation, where = joined(relation, source(join.this, binder, query), join, where, binder)
        where = later or where
    return relation, where


def _keeps_right(joins: list[Any]) -> bool:
    """Whether a join keeps rows of its right side that have no partner."""
    return any(str(join.args.get("side") or "").upper() in ("RIGHT", "FULL") for join in joins)


def _has_subquery(join: Any) -> bool:
    return join.args.get("on") is not None and join.args["on"].find(exp.Query) is not None


def _listed(first: Any, joins: list[Any], where: list[Any], binder: Binder,
            query: Query) -> tuple[SqlRelation, list[Any]]:
    """The relation of a list; where all are tables, their own conditions are met before they join."""
    relations = [source(each, binder, query) for each in (first, *(join.this for join in joins))]
    alone: dict[int, list[Any]] = {}
    if all(relation.table for relation in relations):
        alone, where = conditions_of_one(where, relations)
    for place, conditions in alone.items():
        relation = relations[place]
        both = reduce(and_, [condition(each, NameScope(binder, relation)) for each in conditions])
        relations[place] = relation.after(binder.step(conditions[0], partial(relation.stream.where, both)))
    order = join_order(relations, where)
    relation = relations[0]
    for place in order[1:]:
        relation, where = joined(relation, relations[place], joins[place - 1], where, binder)
    if order == sorted(order):
        return relation, where
    sizes = [len(each.columns) for each in relations]
    return replace(relation, columns=in_order(relation.columns, sizes, order)), where


def source(node: Any, binder: Binder, query: Query) -> SqlRelation:
    """The relation of one item of FROM, under its alias."""
    if node.args.get("pivots"):
        bare = node.copy()
        bare.set("pivots", None)
        return pivoted(source(bare, binder, query), node.args["pivots"], binder, query)
    for key in ("sample", "hints", "when", "only", "partition", "changes", "rows_from", "ordinality"):
        if node.args.get(key):
            what, hint = refusal("clause", clause={"sample": "TABLESAMPLE"}.get(key, key.upper()))
            raise binder.text.error(what, node, hint)
    match node:
        case exp.Table():
            relation = _table(node, binder, query)
        case exp.Subquery() if isinstance(node.this, exp.Table | exp.Subquery):  # joins in parentheses
            relation, _ = from_clause(exp.Select(from_=exp.From(this=node.this.copy())), [], binder, query)
        case exp.Subquery():
            relation = query(node.this, binder)
        case exp.Values():
            return values(node, binder)
        case exp.Unnest():
            return unnested(one_row(binder), node, binder)
        case _:
            what, hint = refusal("expression", text=type(node).__name__.upper())
            raise binder.text.error(what, node, hint)
    alias = node.args.get("alias")
    if alias is None:
        return relation.named("") if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query) else relation
    if alias.name:
        relation = relation.named(alias.name)
    return renamed(relation, alias, binder)


def renamed(relation: SqlRelation, alias: Any, binder: Binder) -> SqlRelation:
    """The relation with the names of columns that an alias has."""
    columns = alias.args.get("columns") or []
    if not columns:
        return relation
    if len(columns) > len(relation.columns):
        raise binder.text.error(f"The alias names {len(columns)} columns of {len(relation.columns)}.", alias,
                                "Name as many columns as there are.")
    new = [replace(column, name=each.name) for column, each in zip(relation.columns, columns, strict=False)]
    return replace(relation, columns=(*new, *relation.columns[len(new):]))


def _table(node: Any, binder: Binder, query: Query) -> SqlRelation:
    name = node.this
    if isinstance(name, exp.Anonymous | exp.Func):
        called = name.name if isinstance(name, exp.Anonymous) else name.sql_name()
        quoted = isinstance(name.this, exp.Identifier) and name.this.args.get("quoted")
        if called.upper() in WINDOWS and not quoted:
            return window_call(called.upper(), name, binder, lambda table: source(table, binder, query))
        if called.lower() in FILE_FUNCTIONS:
            raise binder.text.error(refusal("files")[0], node, refusal("files")[1])
        if is_operator(called):
            return operator_call(called, name, binder, lambda table: source(table, binder, query))
        raise binder.text.error(f"There is no table function {called!r}.", node,
                                "Use TUMBLE, HOP, SESSION, CUMULATE, SLIDE, HOLD or the name of an operator.")
    return stream_of(node, binder)


def unnested(relation: SqlRelation, node: Any, binder: Binder) -> SqlRelation:
    """One row for each item of a list: a column of the relation, or a list of literals."""
    inner = node.this if isinstance(node, exp.Lateral) else node
    if not isinstance(inner, exp.Unnest) or len(inner.expressions) != 1 or inner.args.get("offset"):
        raise binder.text.error("This form of LATERAL or UNNEST is not part of the language.", node,
                                "Use CROSS JOIN UNNEST(list) AS u(x).")
    alias = node.args.get("alias") or inner.args.get("alias")
    names = [each.name for each in (alias.args.get("columns") or [])] if alias is not None else []
    name = names[0] if names else (alias.name if alias is not None and alias.name else "unnest")
    [items] = inner.expressions
    taken = set(relation.stream.schema.names)
    column = name if name not in taken else f"{name}_item"
    if isinstance(items, exp.Array):
        literals = [scalar(each, NameScope(binder, relation)) for each in items.expressions]
        if not relation.columns and all(isinstance(each, Lit) for each in literals):
            table = pa.table({column: [each.value for each in literals]})  # type: ignore[attr-defined]
            return relation_of(binder.table(table, alias.name if alias is not None else "unnest"),
                               alias.name if alias is not None else "unnest", table=True)
        stream = binder.step(node, lambda: relation.stream.explode(column, literals))
    else:
        lists = scalar(items, NameScope(binder, relation))
        stream = binder.step(node, lambda: relation.stream.with_columns(**{column: lists}).explode(column))
    made = SqlColumn(name, alias.name if alias is not None else "", column)
    return replace(relation, stream=stream, columns=(*relation.columns, made))

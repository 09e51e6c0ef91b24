"""Bind ON with subqueries.

Such a condition is one of rows that have joined, or of one side before the join.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from whimbrel.sql.binder import Binder
from whimbrel.sql.from_clause import OF_SUBQUERIES
from whimbrel.sql.join_conditions import conjuncts
from whimbrel.sql.joins import joined
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scope import matching
from whimbrel.sql.subqueries import filtered

Query = Callable[[Any, Binder], SqlRelation]


def joined_where(left: SqlRelation, right: SqlRelation, join: Any, where: list[Any], binder: Binder,
                 query: Query) -> tuple[SqlRelation, list[Any]]:
    """Two relations as one, by conditions some of which have subqueries."""
    parts = conjuncts(join.args["on"])
    asked = [each for each in parts if each.find(exp.Query) is not None]
    plain = [each for each in parts if each.find(exp.Query) is None]
    side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
    made = join.copy()
    made.set("on", exp.and_(*(each.copy() for each in plain)) if plain else None)
    if side == "" and kind in ("", "INNER") and not join.args.get("method"):
        if not plain:
            made.set("kind", "CROSS")
        relation, where = joined(left, right, made, where, binder)
        return filtered(relation, asked, binder, query), where
    optional = {"LEFT": right, "RIGHT": left}.get(side, right if kind in ("SEMI", "ANTI") else None)
    if optional is None or not plain or not all(_is_of(each, optional) for each in asked):
        what, hint = refusal("subquery in on")
        raise binder.text.error(what, asked[0], hint)
    kept = filtered(optional, asked, binder, query)
    left, right = (kept, right) if optional is left else (left, kept)
    return joined(left, right, made, where, binder)


def _is_of(node: Any, relation: SqlRelation) -> bool:
    """Whether a relation has the columns of a condition, but for those of subqueries."""
    columns = [part for part in node.walk(prune=lambda each: isinstance(each, exp.Query))
               if isinstance(part, exp.Column)]
    return bool(columns) and all(matching(relation, each.name, each.table) for each in columns)


OF_SUBQUERIES["on"] = joined_where

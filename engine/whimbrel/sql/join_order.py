"""Order the tables of FROM along the equalities of WHERE."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from whimbrel.sql.relation import SqlColumn, SqlRelation
from whimbrel.sql.scope import matching


def listed(joins: list[Any]) -> bool:
    """Whether FROM is a plain list of tables, so that conditions stand in WHERE."""
    return len(joins) > 0 and all(
        not isinstance(join.this, exp.Unnest | exp.Lateral) and join.args.get("on") is None
        and not join.args.get("using") and not join.args.get("method") and not join.args.get("side")
        and str(join.args.get("kind") or "CROSS").upper() == "CROSS" and not join.this.args.get("version")
        for join in joins)


def conditions_of_one(where: list[Any], relations: list[SqlRelation]) -> tuple[dict[int, list[Any]], list[Any]]:
    """The conditions that name one table alone, by its place, and the others."""
    alone: dict[int, list[Any]] = {}
    rest = []
    for condition in where:
        places = None if condition.find(exp.Query, exp.Window) is not None else _places(condition, relations)
        if places is not None and len(places) == 1:
            alone.setdefault(next(iter(places)), []).append(condition)
        else:
            rest.append(condition)
    return alone, rest


def join_order(relations: list[SqlRelation], where: list[Any]) -> list[int]:
    """Places of tables, each after one that an equality connects with it where there is one."""
    pairs = [pair for condition in where if (pair := _connected(condition, relations)) is not None]
    order = [0]
    left = list(range(1, len(relations)))
    while left:
        met = set(order)
        following = next((place for place in left if any(
            (one <= met and other == {place}) or (other <= met and one == {place}) for one, other in pairs)), left[0])
        left.remove(following)
        order.append(following)
    return order


def in_order(columns: tuple[SqlColumn, ...], sizes: list[int], order: list[int]) -> tuple[SqlColumn, ...]:
    """Columns of tables that were joined in an order, as FROM lists the tables."""
    parts, start = {}, 0
    for place in order:
        parts[place] = columns[start : start + sizes[place]]
        start += sizes[place]
    return tuple(column for place in sorted(parts) for column in parts[place])


def _connected(condition: Any, relations: list[SqlRelation]) -> tuple[set[int], set[int]] | None:
    """The tables of both sides of an equality."""
    while isinstance(condition, exp.Paren):
        condition = condition.this
    if not isinstance(condition, exp.EQ) or condition.find(exp.Query) is not None:
        return None
    sides = [_places(each, relations) for each in (condition.this, condition.expression)]
    return (sides[0], sides[1]) if sides[0] and sides[1] and not sides[0] & sides[1] else None


def _places(node: Any, relations: list[SqlRelation]) -> set[int] | None:
    """The tables of all columns of an expression; None if a column is of none or of several."""
    found = set()
    for column in node.find_all(exp.Column):
        places = [place for place, relation in enumerate(relations) if matching(relation, column.name, column.table)]
        if len(places) != 1:
            return None
        found.add(places[0])
    return found

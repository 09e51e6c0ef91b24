"""Joins that TigonSQL's manual writes before FROM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

from sqlglot import exp

from whimbrel.clock import duration_ticks
from whimbrel.expr import Col, Expr
from whimbrel.sql.binder import Binder
from whimbrel.sql.joins import joined
from whimbrel.sql.refusals import MANUAL_JOINS
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scalars import condition
from whimbrel.sql.scope import NameScope, matching

Source = Callable[[Any], SqlRelation]


def manual_join(spelled: str, tables: list[Any], where: list[Any], binder: Binder,
                source: Source) -> tuple[SqlRelation, list[Any]]:
    """The relation of ``OUTER_JOIN FROM R, S``, and the conditions of WHERE that are left.

    Conditions of both sides are those of the join. A condition of one side chooses its rows before the join. In an
    outer join the columns of an equality are filled from the other side.
    """
    word, *arguments = spelled.split()
    if len(tables) != 2:
        raise binder.text.error(f"{word} needs two streams, got {len(tables)}.", tables[0],
                                f"Use {MANUAL_JOINS[word]}.")
    sides = [source(table) for table in tables]
    conditions: list[Any] = []
    rest: list[Any] = []
    for each in where:
        used = _sides(each, sides)
        if each.find(exp.Query) is not None or not used:
            rest.append(each)
        elif len(used) == 2:
            conditions.append(each)
        else:
            [number] = used
            sides[number] = _filtered(sides[number], each, binder)
    if word == "FILTER_JOIN":
        sides[1] = _lasting(sides, arguments, tables, binder)
    side, kind = {"OUTER_JOIN": ("FULL", "OUTER"), "LEFT_OUTER_JOIN": ("LEFT", "OUTER"), "FILTER_JOIN": ("", "SEMI"),
                  "RIGHT_OUTER_JOIN": ("RIGHT", "OUTER")}.get(word, ("", "INNER"))
    if not conditions:
        raise binder.text.error("This join has no condition.", tables[0], "Compare columns of both sides in WHERE.")
    join = exp.Join(this=tables[1].copy(), on=reduce(lambda one, other: exp.And(this=one, expression=other),
                                                     [each.copy() for each in conditions]), side=side, kind=kind)
    relation, _ = joined(sides[0], sides[1], join, [], binder)
    return (_filled(relation, conditions, binder) if kind == "OUTER" else relation), rest


def _sides(node: Any, sides: list[SqlRelation]) -> set[int]:
    return {number for column in node.find_all(exp.Column) for number, side in enumerate(sides)
            if matching(side, column.name, column.table)}


def _filtered(side: SqlRelation, node: Any, binder: Binder) -> SqlRelation:
    chosen = condition(node, NameScope(binder, side))
    return side.after(binder.step(node, lambda: side.stream.where(chosen)))


def _lasting(sides: list[SqlRelation], arguments: list[str], tables: list[Any], binder: Binder) -> SqlRelation:
    """The right side of FILTER_JOIN: each row holds for as long as a left row may come after it."""
    time, seconds = arguments
    left, right = sides
    found = matching(left, time)
    if not found or left.times.get(found[0].column) != 1:
        raise binder.text.error("FILTER_JOIN needs the event time of the left side.", tables[0],
                                f"Use the ordered attribute: {', '.join(left.ordered()) or 'nothing'}.")
    if left.lives != "instant" or right.lives != "instant" or "." in seconds:
        raise binder.text.error("FILTER_JOIN needs events of one time each, and a whole number.", tables[1],
                                "Leave HOLD, SLIDE and windows out.")
    unit = right.stream.schema.unit
    ticks = int(seconds) if unit is None else int(duration_ticks(f"{seconds}s", unit))
    stream = binder.step(tables[1], lambda: right.stream.set_duration(ticks + 1))
    return replace(right, stream=stream, lives="lasting")


def _filled(relation: SqlRelation, conditions: list[Any], binder: Binder) -> SqlRelation:
    """Columns of an equality, from the other side where one is missing."""
    schema = relation.stream.schema
    filled: dict[str, Expr] = {}
    for node in conditions:
        sides = (node.this, node.expression) if isinstance(node, exp.EQ) else ()
        if not sides or not all(isinstance(each, exp.Column) for each in sides):
            continue
        one, other = (NameScope(binder, relation).find(each).column for each in sides)
        if one != other and schema.type_of(one) == schema.type_of(other):
            filled[one], filled[other] = Col(one).fill_null(Col(other)), Col(other).fill_null(Col(one))
    if not filled:
        return relation
    columns = {name: filled.get(name, Col(name)) for name in schema.names}
    return relation.after(binder.step(conditions[0], lambda: relation.stream.select(**columns)))

"""Bind WHERE, with its subqueries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from whimbrel.sql.binder import Binder
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scalars import condition
from whimbrel.sql.scope import NameScope

Query = Callable[[Any, Binder], SqlRelation]


def filtered(relation: SqlRelation, conditions: list[Any], binder: Binder, query: Query) -> SqlRelation:
    """The rows for which every condition is true."""
    scope = NameScope(binder, relation)
    plain = [condition(each, scope) for each in conditions]
    if not plain:
        return relation
    both = plain[0]
    for each in plain[1:]:
        both = both & each
    stream = binder.step(conditions[0], lambda: relation.stream.where(both))
    return replace(relation, stream=stream)

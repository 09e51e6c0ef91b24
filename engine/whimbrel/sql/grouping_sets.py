"""GROUPING SETS, CUBE and ROLLUP as a union of groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.sql.aggregates import is_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.closing_when import refuse_sets
from whimbrel.sql.grouping import named_key, same_expression
from whimbrel.sql.over import has_window
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.select_list import Item
from whimbrel.sql.set_operations import of_common_types, united
from whimbrel.sql.types import TypedNull

MAX_SETS: Final = 64

Groups = Callable[[Any, list[Item], SqlRelation], SqlRelation]


@dataclass(frozen=True)
class _SetKey:
    """One key of any set.

    Parameters
    ----------
    node : sqlglot expression
    alias : str
    type : pyarrow.DataType
    """

    node: Any
    alias: str
    type: pa.DataType

    def is_meant(self, node: Any, relation: SqlRelation) -> bool:
        """Whether an expression is this key, or its name."""
        named = isinstance(node, exp.Column) and not node.table and node.name.lower() == self.alias.lower() and (
            not matching(relation, node.name))
        return named or same_expression(node, self.node, relation)


def has_sets(node: Any) -> bool:
    """Whether GROUP BY has several sets of keys."""
    group = node.args.get("group")
    return group is not None and any(isinstance(each, exp.Cube | exp.Rollup | exp.GroupingSets)
                                     for each in group.expressions)


def grouping_sets(node: Any, items: list[Item], relation: SqlRelation, binder: Binder, groups: Groups) -> SqlRelation:
    """All groups of each set; keys that a set does not have are null. `groups` makes those of one set."""
    refuse_sets(node, binder)
    over = next((item.node for item in items if has_window(item.node)), node.args.get("qualify"))
    if over is not None:
        what, hint = refusal("over of sets")
        raise binder.text.error(what, over, hint)
    number = prod(map(_number_of_sets, node.args["group"].expressions))
    if number > MAX_SETS:
        raise binder.text.error(f"GROUP BY has at most {MAX_SETS} sets of keys, got {number:,}.", node.args["group"],
                                "Use fewer keys in CUBE.")
    parts = [_sets(each) for each in node.args["group"].expressions]
    sets = [[key for part in choice for key in part] for choice in product(*parts)]
    known: list[_SetKey] = []
    chosen = [[_key(each, items, relation, binder, known) for each in keys] for keys in sets]
    relations = []
    for keys in chosen:
        one = _OneSet(keys, [key for key in known if key not in keys], relation, binder)
        select = node.copy()
        select.set("group", exp.Group(expressions=[_written(key) for key in dict.fromkeys(keys)]) if keys else None)
        having = node.args.get("having")
        if having is not None:
            select.set("having", exp.Having(this=one.without(having.this)))
        relations.append(groups(select, [replace(item, node=one.without(item.node)) for item in items], relation))
    return united(of_common_types(relations, node, binder), node, binder)


def _key(node: Any, items: list[Item], relation: SqlRelation, binder: Binder, known: list[_SetKey]) -> _SetKey:
    """The key that a node of a set means."""
    meant, alias = named_key(node, items, relation, binder)
    found = next((key for key in known if same_expression(key.node, meant, relation)), None)
    if found is None:
        scope = NameScope(binder, relation)
        bound = (relation.window is not None and isinstance(meant, exp.Column)
                 and meant.name in ("window_start", "window_end") and not matching(relation, meant.name, meant.table))
        type_ = relation.stream.schema.time_type if bound else scope.type_of(scalar(meant, scope), meant)
        found = _SetKey(meant, alias, type_)
        known.append(found)
    return found


def _written(key: _SetKey) -> Any:
    """A key as GROUP BY has it."""
    node = key.node.copy()
    if isinstance(node, exp.Literal):  # a number alone would be a position
        node = exp.Paren(this=node)
    return exp.Alias(this=node, alias=exp.to_identifier(key.alias, quoted=True)) if key.alias else node


@dataclass(frozen=True)
class _OneSet:
    """What expressions mean in one set of keys."""

    keys: list[_SetKey]
    missing: list[_SetKey]
    relation: SqlRelation
    binder: Binder

    def without(self, node: Any, *, inside: bool = False) -> Any:
        """An expression with null for missing keys, outside of aggregates and keys.

        In a subquery plain names are those of its own tables.
        """
        inside = inside or isinstance(node, exp.Query)
        if any(key.is_meant(node, self.relation) for key in self.keys):
            return node
        if not (inside and any(not column.table for column in node.find_all(exp.Column))):
            for key in self.missing:
                if key.is_meant(node, self.relation):
                    return TypedNull(this=key.type)
        if isinstance(node, exp.Grouping):
            return self._bits(node)
        if is_aggregate(node, NameScope(self.binder, self.relation)):
            return node
        changed = {}
        for key_, value in node.args.items():
            if isinstance(value, exp.Expression):
                new: Any = self.without(value, inside=inside)
            elif isinstance(value, list):
                new = [self.without(each, inside=inside) if isinstance(each, exp.Expression) else each
                       for each in value]
            else:
                continue
            if new is not value and new != value:
                changed[key_] = new
        if not changed:
            return node
        copy = node.copy()
        for key_, new in changed.items():
            copy.set(key_, new)
        return copy

    def _bits(self, call: Any) -> Any:
        """A bit for each argument of GROUPING: 1 where the set does not have this key."""
        bits = ""
        for each in call.expressions:
            missing = any(key.is_meant(each, self.relation) for key in self.missing)
            if not missing and not any(key.is_meant(each, self.relation) for key in self.keys):
                raise self.binder.text.error("GROUPING needs keys of GROUP BY.", each, "Name a key of the sets.")
            bits += "1" if missing else "0"
        return exp.Literal.number(str(int(bits or "0", 2)))


def _number_of_sets(node: Any) -> int:
    match node:
        case exp.Rollup():
            return len(node.expressions) + 1
        case exp.Cube():
            return int(2 ** len(node.expressions))
        case exp.GroupingSets():
            return sum(_number_of_sets(each) if isinstance(each, exp.Rollup | exp.Cube) else 1
                       for each in node.expressions)
    return 1


def _sets(node: Any) -> list[list[Any]]:
    """The sets of keys of one part of GROUP BY."""
    match node:
        case exp.Rollup():
            keys = [_keys(each) for each in node.expressions]
            return [[key for part in keys[:size] for key in part] for size in range(len(keys), -1, -1)]
        case exp.Cube():
            keys = [_keys(each) for each in node.expressions]
            return [[key for part in chosen for key in part] for size in range(len(keys), -1, -1)
                    for chosen in combinations(keys, size)]
        case exp.GroupingSets():
            return [one for each in node.expressions
                    for one in (_sets(each) if isinstance(each, exp.Rollup | exp.Cube) else [_keys(each)])]
        case _:
            return [[node]]


def _keys(node: Any) -> list[Any]:
    """The keys in parentheses, or one key."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this] if isinstance(node, exp.Paren) else [node]

"""GROUPING SETS, CUBE and ROLLUP as a union of groups."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from math import prod
from typing import Any, Final

from sqlglot import exp

from whimbrel.sql.binder import Binder
from whimbrel.sql.closing_when import refuse_sets
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.select_list import implied_name
from whimbrel.sql.set_operations import of_common_types, united

MAX_SETS: Final = 64

Query = Callable[[Any, Binder], SqlRelation]


def has_sets(node: Any) -> bool:
    """Whether GROUP BY has several sets of keys."""
    group = node.args.get("group")
    return group is not None and any(isinstance(each, exp.Cube | exp.Rollup | exp.GroupingSets)
                                     for each in group.expressions)


def grouping_sets(node: Any, binder: Binder, query: Query) -> SqlRelation:
    """All groups of each set; keys that a set does not have are null."""
    refuse_sets(node, binder)
    number = prod(map(_number_of_sets, node.args["group"].expressions))
    if number > MAX_SETS:
        raise binder.text.error(f"GROUP BY has at most {MAX_SETS} sets of keys, got {number:,}.", node.args["group"],
                                "Use fewer keys in CUBE.")
    parts = [_sets(each) for each in node.args["group"].expressions]
    sets = [[key for part in choice for key in part] for choice in product(*parts)]
    every = [key for one in sets for key in one]
    relations = []
    for keys in sets:
        select = node.copy()
        missing = [_bare(key) for key in every if key not in keys]
        for call in list(select.find_all(exp.Grouping)):
            call.replace(_grouping(call, missing))
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
        select.set("expressions", [_item(each, missing) for each in select.expressions])
        if select.args.get("having") is not None:
            select.set("having", exp.Having(this=_without(select.args["having"].this, missing)))
        relations.append(query(select, binder))
    alike = of_common_types(relations, node, binder)
    return united(alike, node, binder)


def _grouping(call: Any, missing: list[Any]) -> Any:
    """A bit for each argument of GROUPING: 1 where the set does not have this key."""
    bits = "".join("1" if each in missing else "0" for each in call.expressions)
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


def _bare(node: Any) -> Any:
    return node.this if isinstance(node, exp.Alias) else node


def _item(node: Any, missing: list[Any]) -> Any:
    """An item of the SELECT list with null for missing keys, under the same name."""
    if isinstance(node, exp.Alias):
        return exp.Alias(this=_without(node.this, missing), alias=node.args["alias"])
    changed = _without(node, missing)
    name = implied_name(node)
    if changed is node or not name:
        return changed
    return exp.Alias(this=changed, alias=exp.to_identifier(name, quoted=True))


def _without(node: Any, missing: list[Any]) -> Any:
    """An expression with null for missing keys, outside of aggregates."""
    if any(node == each for each in missing):
        return exp.Null()
    if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup):
        return node
    changed = {}
    for key, value in node.args.items():
        if isinstance(value, exp.Expression):
            new: Any = _without(value, missing)
        elif isinstance(value, list):
            new = [_without(each, missing) if isinstance(each, exp.Expression) else each for each in value]
        else:
            continue
        if new is not value and new != value:
            changed[key] = new
    if not changed:
        return node
    copy = node.copy()
    for key, new in changed.items():
        copy.set(key, new)
    return copy

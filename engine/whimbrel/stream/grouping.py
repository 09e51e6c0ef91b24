"""Group keys as columns that every step keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from whimbrel.errors import PlanError, SchemaError
from whimbrel.expr import Col, Keys
from whimbrel.operators import Explode, Select
from whimbrel.plan import Node, Operator, Operators


def columns_of_keys(names: tuple[str, ...]) -> Keys:
    """Keys that are columns already."""
    return tuple((name, Col(name)) for name in names)


def with_keys_as_columns(node: Node, keys: Keys) -> Node:
    """The stream with computed keys as further columns."""
    for name in (name for name, expr in keys if isinstance(expr, Col) and expr.name == name):
        if name not in node.schema:
            raise SchemaError(f"There is no column {name!r}, by which the stream is grouped.",
                              where=f"group_by({name!r})", hint=f"Keep the key: select({name!r}, ...).")
    computed = {name: expr for name, expr in keys if not (isinstance(expr, Col) and expr.name == name)}
    for name, expr in computed.items():
        if name in node.schema:
            raise PlanError(f"The computed key {name!r} has the name of a column.",
                            where=f"group_by({name}={expr.show()})",
                            hint="Use another name for the key.")
    if not computed:
        return node
    return Node(Select(columns=(*columns_of_keys(node.schema.names), *computed.items())), (node,))


def alike(left: Keys, right: Keys) -> bool:
    """Whether two streams are grouped by keys of the same names."""
    return bool(left) and {name for name, _ in left} == {name for name, _ in right}


def within_groups(made: Operators, keys: Keys) -> Operators | None:
    """An operator that matches rows by columns, so that it matches rows of one group only; None for any other."""
    if not isinstance(made, Operator) or not hasattr(made, "on"):
        return None
    op: Any = made
    pairs = tuple((name, name) for name, _ in keys if (name, name) not in op.on)
    within: Operator = replace(op, on=(*pairs, *op.on))
    return within


def keeping(op: Operator, group: tuple[str, ...]) -> Operator:
    """The step with the keys of the group added to its columns."""
    if not group:
        return op
    made = dict(op.columns) if isinstance(op, Select) else {}
    taken = [name for name, expr in made.items() if name in group and not (isinstance(expr, Col) and expr.name == name)]
    taken += [op.column] if isinstance(op, Explode) and op.column in group else []
    if taken:
        raise PlanError(f"{taken[0]!r} is the name of a group key.", where=op.show(), hint="Use another name.")
    if not isinstance(op, Select):
        return op
    missing = tuple(key for key in columns_of_keys(group) if key[0] not in made)
    return replace(op, columns=(*missing, *op.columns))

"""Compute key columns before a query, to partition it by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from whimbrel.expr import Col, Expr, Keys, lifetime_of
from whimbrel.operators import HoppingWindow, Select, SlidingWindow
from whimbrel.optimize.prune_columns import prune_columns
from whimbrel.optimize.two_phase_aggregate import above
from whimbrel.plan import Node, Operator, replace_parts


def keys_as_columns(plan: Node) -> Node | None:
    """The same query with its computed keys as columns; None where it computes none, or not of each row for itself.

    Parameters
    ----------
    plan : Node
        One chain of steps, of which those with computed keys have the same ones.
    """
    chain = [plan]
    while len(chain[-1].inputs) == 1:
        chain.append(chain[-1].inputs[0])
    asked = {index: found for index, node in enumerate(chain) if (found := _computed(node.op))}
    if not asked:
        return None
    lowest, computed = max(asked.items())
    if any({name: expr.show() for name, expr in each.items()} != {name: expr.show() for name, expr in computed.items()}
           for each in asked.values()):
        return None
    steps: list[Any] = [node.op for node in chain[lowest::-1]]
    below, = chain[lowest].inputs
    while isinstance(below.op, HoppingWindow | SlidingWindow):  # these leave columns as they are
        steps.insert(0, below.op)
        below, = below.inputs
    if any(isinstance(step, Select) for step in steps) or any(map(lifetime_of, computed.values())):
        return None
    held, made = below.schema.names, dict[str, str]()
    for name in computed:
        made[name] = _unlike(name, {*held, *made.values(), *computed.keys() - {name}})
    columns = Select(columns=(*_as_they_are(held), *((made[name], expr) for name, expr in computed.items())))
    steps = [_by_columns(step, made) for step in steps]
    if above(Node(columns, (below,)), steps).schema.names != plan.schema.names:
        steps.append(Select(columns=_as_they_are(plan.schema.names)))
    wanted, = prune_columns([above(Node(columns, (below,)), steps)])
    for _ in steps:
        wanted, = wanted.inputs
    return above(Node(wanted.op, (below,)), steps)


def computed_first(plan: Node, source_of: Callable[[Node], Node | None]) -> Node:
    """The same query over rows that have the columns which it computes.

    Parameters
    ----------
    plan : Node
    source_of : callable
        Makes a source of a part that answers each row for itself, or says that it is none.
    """
    def part(node: Node) -> Node | None:
        op = node.op
        computes = isinstance(op, Select) and any(not isinstance(expr, Col) for _, expr in op.columns)
        return source_of(node) if computes else None

    return replace_parts(plan, part)


def _computed(op: Any) -> dict[str, Expr]:
    return {name: expr for name, expr in _keys_of(op) if not isinstance(expr, Col)}


def _keys_of(op: Any) -> Keys:
    return op.grouping_keys() if isinstance(op, Operator) else ()


def _as_they_are(names: Sequence[str]) -> Keys:
    return tuple((name, Col(name)) for name in names)


def _unlike(name: str, names: set[str]) -> str:
    """A key may have the name of a column, such as the one that it is computed of."""
    while name in names:
        name += "_key"
    return name


def _by_columns(op: Any, made: dict[str, str]) -> Any:
    keys = tuple((name, expr if isinstance(expr, Col) else Col(made[name])) for name, expr in _keys_of(op))
    return replace(op, keys=keys) if _computed(op) else op

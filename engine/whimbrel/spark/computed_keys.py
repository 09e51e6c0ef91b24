"""Keys that a query computes, as columns: then it can be partitioned by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from whimbrel.expr import Col, Expr, lifetime_of
from whimbrel.operators import HoppingWindow, Select, SlidingWindow
from whimbrel.operators.grouping import keys_of
from whimbrel.plan import Node


def keys_first(plan: Node, source_of: Callable[[Node], Node | None]) -> Node | None:
    """The same query over rows that have its keys; None where it computes none, or not of each row for itself.

    Parameters
    ----------
    plan : Node
        One chain of steps above a source, of which those with computed keys have the same ones.
    source_of : callable
        Makes a source of a part that answers each row for itself, or says that it is none.
    """
    chain = [plan]
    while len(chain[-1].inputs) == 1:
        chain.append(chain[-1].inputs[0])
    asked = {place: found for place, node in enumerate(chain) if (found := _computed(node.op))}
    if not asked:
        return None
    lowest, computed = max(asked.items())
    if any({name: expr.show() for name, expr in each.items()} != {name: expr.show() for name, expr in computed.items()}
           for each in asked.values()):
        return None
    steps = [node.op for node in chain[: lowest + 1]]
    below, = chain[lowest].inputs
    while isinstance(below.op, HoppingWindow | SlidingWindow):  # these leave columns as they are
        steps.append(below.op)
        below, = below.inputs
    if any(isinstance(step, Select) for step in steps) or computed.keys() & set(below.schema.names) or any(
            map(lifetime_of, computed.values())):
        return None
    columns = (*((name, Col(name)) for name in below.schema.names), *computed.items())
    node = source_of(Node(Select(columns=columns), (below,)))
    if node is None:
        return None
    for step in reversed(steps):
        node = Node(_by_columns(step), (node,))
    return node if node.schema.names == plan.schema.names else None


def _computed(op: Any) -> dict[str, Expr]:
    return {name: expr for name, expr in keys_of(op) if not isinstance(expr, Col)}


def _by_columns(op: Any) -> Any:
    keys = tuple((name, expr if isinstance(expr, Col) else Col(name)) for name, expr in keys_of(op))
    return replace(op, keys=keys) if _computed(op) else op

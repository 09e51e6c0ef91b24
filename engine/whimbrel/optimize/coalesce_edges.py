"""Coalesce edges to intervals before operators that need intervals."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.operators import Coalesce
from whimbrel.plan import Node, Operator, reads_lifetime, rewrite


def join_edges(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Put a coalescing step wherever edges would reach something that does not take them."""
    return tuple(plan if plan.properties.intervals_only else Node(Coalesce(ordered=False), (plan,))
                 for plan in rewrite(roots, _before))


def _before(node: Node) -> Node:
    if all(below.properties.intervals_only for below in node.inputs):
        return node
    if not isinstance(node.op, Operator) or (node.op.accepts_edges and "end_time" not in reads_lifetime(node.op)):
        return node
    inputs = tuple(below if below.properties.intervals_only else Node(Coalesce(), (below,)) for below in node.inputs)
    return node.over(inputs)

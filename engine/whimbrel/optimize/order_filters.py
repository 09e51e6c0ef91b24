"""Cheap filters before expensive ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from whimbrel.expr import can_fail
from whimbrel.operators import Where
from whimbrel.plan import Node, rewrite, walk


def order_filters(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Put cheap filters that cannot fail below the expensive filters directly under them.

    A filter whose rows several steps read stays.
    """
    consumers = Counter(id(below) for node in walk(roots) for below in node.inputs)
    alone = {id(node.op) for node in walk(roots) if consumers[id(node)] == 1}
    costly = [node for node in walk(roots) if isinstance(node.op, Where) and node.op.stays]
    if not costly:
        return tuple(roots)

    def ordered(node: Node) -> Node:
        op, below = node.op, node.inputs[0] if node.inputs else None
        if not isinstance(op, Where) or op.stays or can_fail(op.condition) or below is None:
            return node
        if not isinstance(below.op, Where) or not below.op.stays or id(below.op) not in alone:
            return node
        return Node(below.op, (ordered(Node(op, below.inputs, node.calls)),), below.calls)

    return rewrite(roots, ordered)

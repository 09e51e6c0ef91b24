"""Give operators that judge late rows the late policy of their sources."""

from __future__ import annotations

from whimbrel.operators.rows.assume_order import AssumeOrder
from whimbrel.plan import Node


def late_policies(node: Node) -> Node:
    """An operator that checks an order, with the late policy of what it reads.

    A plan gets its sources last: a query that was written over a log may run on a feed.
    """
    op = node.op
    if not isinstance(op, AssumeOrder) or op.late is not None:
        return node
    return Node(op.with_late_policy(node.inputs[0].properties), node.inputs, node.calls)

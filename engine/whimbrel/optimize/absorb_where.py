"""Merge a filter into the aggregate as its condition."""

from __future__ import annotations

from dataclasses import replace

from whimbrel.operators import GroupAggregate, Where
from whimbrel.plan import Node, reads_lifetime


def absorb_where(node: Node) -> Node:
    """aggregate(where(x)) -> aggregate(x) with a condition."""
    below = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, GroupAggregate) or below is None or not isinstance(below.op, Where):
        return node
    if below.op.stays:  # as a step, it sees only the rows that pass the steps below it
        return node
    if reads_lifetime(below.op):  # below a window that is absorbed next, it would read another lifetime
        return node
    condition = below.op.condition if node.op.condition is None else below.op.condition & node.op.condition
    return Node(replace(node.op, condition=condition), below.inputs)

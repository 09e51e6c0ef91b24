"""Merge computed columns into the aggregate that reads them."""

from __future__ import annotations

from dataclasses import replace

from whimbrel.expr import Expr, substitute
from whimbrel.operators import GroupAggregate, Select
from whimbrel.plan import Node, reads_lifetime


def absorb_select(node: Node) -> Node:
    """aggregate(select(x)) -> aggregate(x) over the selected expressions."""
    below = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, GroupAggregate) or below is None or not isinstance(below.op, Select):
        return node
    if reads_lifetime(below.op):  # below a window that is absorbed next, it would read another lifetime
        return node
    meaning = dict(below.op.columns)

    def inside(expr: Expr | None) -> Expr | None:
        return None if expr is None else substitute(expr, meaning)

    keys = tuple((name, substitute(expr, meaning)) for name, expr in node.op.keys)
    measures = tuple((name, replace(aggregate, expr=inside(aggregate.expr), condition=inside(aggregate.condition)))
                     for name, aggregate in node.op.measures)
    return Node(replace(node.op, keys=keys, measures=measures, condition=inside(node.op.condition)), below.inputs)

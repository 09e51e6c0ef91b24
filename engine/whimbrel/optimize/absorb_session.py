"""Merge session windows with emit="close" into the aggregate."""

from __future__ import annotations

from whimbrel.expr import Col, Expr
from whimbrel.operators import GroupAggregate, SessionWindow
from whimbrel.operators.aggregation.session_aggregate import SessionAggregate
from whimbrel.plan import Node, reads_lifetime


def absorb_session(node: Node) -> Node:
    """aggregate(session_window(x, emit="close")) -> one step, where both have the same keys."""
    below = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, GroupAggregate) or below is None or not isinstance(below.op, SessionWindow):
        return node
    if node.op.grid is not None:  # windows of its own stand between the sessions and the aggregate
        return node
    session, keys = below.op, [expr for _, expr in node.op.keys]
    alike = len(keys) == len(session.keys) and all(map(_same, keys, (expr for _, expr in session.keys)))
    if session.emit != "close" or not alike or reads_lifetime(node.op):
        return node
    return Node(SessionAggregate(session=session, aggregate=node.op), below.inputs)


def _same(one: Expr, other: Expr) -> bool:
    return one is other or (isinstance(one, Col) and isinstance(other, Col) and one.name == other.name)

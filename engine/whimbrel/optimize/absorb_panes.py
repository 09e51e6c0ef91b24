"""Merge panes that only hopping windows use into their operator."""

from __future__ import annotations

from dataclasses import replace

from whimbrel.operators import GroupAggregate, SetDuration
from whimbrel.operators.aggregation.hopping_aggregate import HoppingAggregate
from whimbrel.plan import AggregatePhase, Node


def absorb_panes(node: Node) -> Node:
    """hops(set_duration(states over a grid)) -> hops over rows: the key of each is looked up once."""
    lasting = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, HoppingAggregate) or lasting is None or not isinstance(lasting.op,
                                                                                      SetDuration) or node.op.of_rows:
        return node
    states, = lasting.inputs
    if not isinstance(states.op,
                      GroupAggregate) or states.op.part is not AggregatePhase.STATES or states.op.grid is None:
        return node
    return Node(replace(node.op, of_rows=(states.op, lasting.op)), states.inputs)

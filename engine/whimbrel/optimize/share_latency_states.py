"""One aggregate for all latencies of a query."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.operators import GroupAggregate, HoppingWindow, LatencyAggregate
from whimbrel.optimize.absorb_select import absorb_select
from whimbrel.optimize.absorb_where import absorb_where
from whimbrel.optimize.absorb_window import absorb_window
from whimbrel.optimize.two_phase_aggregate import above, split_aggregate
from whimbrel.plan import Node, Operator, OrderingSpec, reads_lifetime

_MOST_LATENCIES = 100
"""The number of a latency is one byte."""


def share_latency_states(source: Node, steps: tuple[Operator, ...], aggregate: Node, latencies: Sequence[int],
                         partitions: OrderingSpec | None) -> tuple[Node, tuple[Operator, ...]] | None:
    """The aggregate of windows at several latencies, and the operators that follow it for each.

    None if the order of rows may show, or if something between the source and the aggregate cannot be merged into it.

    Parameters
    ----------
    source : Node
        Rows in the order of arrival.
    steps : tuple of Operator
        From the source to the aggregate; the window is the last one.
    aggregate : Node
    latencies : sequence of int
        Growing.
    partitions : OrderingSpec, optional
        Of the source, where each of them has a watermark of its own.
    """
    op, window = aggregate.op, steps[-1] if steps else None
    assert isinstance(op, GroupAggregate)
    if (not 1 < len(latencies) <= _MOST_LATENCIES or not isinstance(window, HoppingWindow) or window.size % window.hop
            or reads_lifetime(op)):
        return None
    before: tuple[Operator, ...] = (*steps, op)
    after: tuple[Operator, ...] = ()
    if window.size > window.hop:
        split = split_aggregate(steps, aggregate)
        if split is None:
            return None
        before, after = split[0][:-1], (split[0][-1], *split[1:])
    whole = _absorbed(above(source, before))
    if whole.inputs != (source,) or not isinstance(whole.op, GroupAggregate):
        return None
    if not whole.op.any_order(source.schema):
        return None
    shared = LatencyAggregate(of=whole.op, latencies=tuple(latencies), unit=source.schema.unit, partitions=partitions)
    return Node(shared, (source,)), after


def _absorbed(node: Node) -> Node:
    """An aggregate with the filters, columns and windows before it merged into it."""
    while True:
        merged = absorb_window(absorb_select(absorb_where(node)))
        if merged is node:
            return node
        node = merged

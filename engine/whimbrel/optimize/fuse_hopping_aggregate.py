"""Fuse hopping windows with one row each into one operator."""

from __future__ import annotations

from whimbrel.operators import Chop, Finish, GroupAggregate
from whimbrel.operators.aggregation.hopping_aggregate import HoppingAggregate
from whimbrel.plan import AggregatePhase, Node, TimeGrid, WindowGrid


def fuse_hopping_aggregate(node: Node) -> Node:
    """chop(finish(merge(panes))) -> values of states merged in windows(panes), where panes are as long as whole hops.

    Merging by lifetimes makes a start and an end edge for each change, which wait for each other and are then cut. Here
    all panes of a window have the same age, and windows are shown one after the other.
    """
    below = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, Chop) or below is None or not isinstance(below.op, Finish):
        return node
    merge, = below.inputs
    if not isinstance(merge.op,
                      GroupAggregate) or merge.op.part is not AggregatePhase.MERGED or merge.op.grid is not None:
        return node
    if len(list(merge.op.algebra(below.op.rows))) < len(merge.op.measures):  # states that are no few numbers
        return node
    known, period, offset = merge.inputs[0].properties, node.op.period, node.op.offset
    on_grid = known.intervals_only and known.time_grid is not None and known.time_grid.on(TimeGrid(period, offset))
    if not on_grid or known.duration is None or known.duration % period:
        return node
    grid = WindowGrid(known.duration, period, offset)
    return Node(HoppingAggregate(merge=merge.op, finish=below.op, grid=grid, unit=node.op.unit), merge.inputs)

"""Two-phase aggregation: partial states, then merge and finalize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whimbrel.operators import Finish, GroupAggregate, HoppingWindow, SetDuration
from whimbrel.plan import AggregatePhase, Node, Operator, WindowGrid, reads_lifetime


def split_aggregate(steps: tuple[Operator, ...], node: Node, *,
             keeps: bool = False) -> tuple[tuple[Operator, ...], GroupAggregate, Finish] | None:
    """Split an aggregate: the operators up to partial states, the merge, and the finalize.

    None if states cannot be merged. After a window on a grid the states are those of panes, one for each hop, that
    last as long as the window. With `keeps` there may be lists of values among the states, which only the caller knows
    how to merge.
    """
    aggregate, rows = node.op, node.inputs[0].schema
    assert isinstance(aggregate, GroupAggregate)
    window = steps[-1] if steps else None
    grid = isinstance(window, HoppingWindow) and window.size % window.hop == 0 and not reads_lifetime(aggregate)
    states = aggregate.to_states(rows, removable=not grid, keeps=keeps)
    if states is None:
        return None
    merge, finish = states.to_merged(rows), Finish(of=states, rows=rows)
    if not grid or not isinstance(window, HoppingWindow):
        return (*steps, states), merge, finish
    if window.size == window.hop:
        adjacent = WindowGrid(window.size, window.hop, window.offset, window=window.called)
        merge = replace(merge, grid=adjacent, causal=window.label == "end", unit=window.unit)
        return (*steps, states), merge, finish
    panes = replace(window, size=window.hop, panes_of=window.called)
    return (*steps[:-1], panes, states, SetDuration(size=window.size, unit=window.unit)), merge, finish


def states_of_windows(node: Node, *, keeps: bool = False) -> tuple[Node, Node, tuple[Operator, ...]] | None:
    """For an aggregate of windows on a grid: its input, the node of its states, and the operators after that."""
    window = node.inputs[0] if node.inputs else None
    if (not isinstance(node.op, GroupAggregate) or not node.op.measures or window is None
            or not isinstance(window.op, HoppingWindow) or reads_lifetime(node.op) or window.op.size % window.op.hop):
        return None
    steps = split_aggregate((window.op,), node, keeps=keeps)
    if steps is None:
        return None
    before, merge, finish = steps
    states = next(index for index, step in enumerate(before) if isinstance(step, GroupAggregate)) + 1
    below, = window.inputs
    return below, above(below, before[:states]), (*before[states:], merge, finish)


def above(node: Node, steps: Sequence[Operator]) -> Node:
    """Add operators after a node."""
    for step in steps:
        node = Node(step, (node,))
    return node


def takes_any_order(plan: Node) -> bool:
    """Whether each row is answered for itself."""
    return all(node.op.takes_any_order for node in plan.walk() if isinstance(node.op, Operator))


def split_windows(node: Node) -> Node:
    """aggregate(hopping_window(x)) -> the states of panes, one for each hop, merged while a window lasts."""
    below = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, GroupAggregate) or node.op.part is not AggregatePhase.WHOLE or below is None:
        return node
    window = below.op
    if not isinstance(window, HoppingWindow) or window.size <= window.hop or window.size % window.hop:
        return node
    if reads_lifetime(node.op) or (split := split_aggregate((window,), node)) is None:
        return node
    steps, merge, finish = split
    return above(below.inputs[0], (*steps, merge, finish))

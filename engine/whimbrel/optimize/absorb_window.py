"""Merge tumbling windows into the aggregate.

The kernel then keeps one open pane instead of a heap of lifetimes.
"""

from __future__ import annotations

from dataclasses import replace

from whimbrel.operators import GroupAggregate, HoppingWindow, Sort
from whimbrel.plan import Node, WindowGrid, reads_lifetime


def absorb_window(node: Node) -> Node:
    """aggregate(tumbling_window(x)) -> aggregate(x) over a grid.

    Where rows are sorted in between the window stays as well: rows that it makes alike need no order.
    """
    below = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, GroupAggregate) or node.op.grid is not None or below is None:
        return node
    is_sorted = isinstance(below.op, Sort)
    if is_sorted:
        below = below.inputs[0]
    if reads_lifetime(node.op):
        return node
    window = below.op
    if not isinstance(window, HoppingWindow) or window.size != window.hop:
        return node
    inputs = below.inputs
    if is_sorted:
        remembers = node.op.reads_starts(node.inputs[0].schema)
        inputs = (Node(Sort(), (Node(replace(window, remembers=remembers), inputs),)),)
    # Labelled at the end, a pane holds starts in (end - size, end]: a grid one tick later, shown size - 1 ticks on.
    lead = 0 if window.label == "start" else window.size - 1
    grid = WindowGrid(window.size, window.hop, window.offset - lead)
    return Node(replace(node.op, grid=grid, lead=lead, causal=window.label == "end", unit=window.unit), inputs)

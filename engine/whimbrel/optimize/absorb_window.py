"""Merge tumbling windows into the aggregate.

The kernel then keeps one open pane instead of a heap of lifetimes.
"""

from __future__ import annotations

from dataclasses import replace

from whimbrel.operators import ClosedWindow, GroupAggregate, HoppingWindow, Sort
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
    if not isinstance(window, HoppingWindow | ClosedWindow) or window.size != window.hop:
        return node
    if isinstance(window, ClosedWindow) and not window.borders.one_sided:
        return node
    inputs = below.inputs
    if is_sorted:
        remembers = node.op.reads_starts(node.inputs[0].schema)
        inputs = (Node(Sort(), (Node(replace(window, remembers=remembers), inputs),)),)
    # A pane that holds starts in (begin, begin + size] is one of a grid one tick later, shown one tick earlier.
    lead = 0 if window.label == "start" else window.size
    lead -= _closed_right(window)
    if is_sorted and isinstance(window, ClosedWindow):  # starts are on the grid already
        lead = 0
    called = window.called if isinstance(window, HoppingWindow) else window.show()
    grid = WindowGrid(window.size, window.hop, window.offset - lead, window=called)
    return Node(replace(node.op, grid=grid, lead=lead, causal=window.label == "end", unit=window.unit), inputs)


def _closed_right(window: HoppingWindow | ClosedWindow) -> bool:
    """Whether windows have the events on their last border, and not those on their first."""
    return (window.closed if isinstance(window, ClosedWindow) else "right" if window.label == "end" else "left"
            ) == "right"

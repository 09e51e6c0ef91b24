"""Merge windows of the calendar into the aggregate, or their panes first."""

from __future__ import annotations

from dataclasses import replace

from whimbrel.operators import CalendarCells, CalendarTimes, CalendarWindow, Finish, GroupAggregate, Sort
from whimbrel.plan import AggregatePhase, Node, WindowGrid, reads_lifetime


def absorb_calendar(node: Node) -> Node:
    """aggregate(tumbling_window(x)) -> calendar_times(aggregate(calendar_cells(x)) over a grid of one tick).

    Months last differently long, but in months every one lasts one: the kernel of equal windows does the rest.
    """
    below = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, GroupAggregate) or node.op.grid is not None or below is None:
        return node
    is_sorted = isinstance(below.op, Sort)
    if is_sorted:
        below = below.inputs[0]
    window = below.op
    if not isinstance(window, CalendarWindow) or reads_lifetime(node.op):
        return node
    if not window.windows.tumbling or not window.windows.borders.one_sided:
        return node
    remembers = window.remembers and (not is_sorted or node.op.reads_starts(node.inputs[0].schema))
    cells = Node(CalendarCells(windows=window.windows, rounds=True, remembers=remembers), below.inputs)
    rows = Node(Sort(), (cells,)) if is_sorted else cells
    reduced = replace(node.op, grid=WindowGrid(1, 1, window=window.show()), causal=window.windows.label == "end",
                      cell=window.windows.grid.step.show())
    return Node(CalendarTimes(windows=window.windows), (Node(reduced, (rows,)),))


def split_calendar(node: Node) -> Node:
    """aggregate(hopping_window(x)) -> the states of cells, one for each hop, merged while a window lasts."""
    below = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, GroupAggregate) or node.op.part is not AggregatePhase.WHOLE or below is None:
        return node
    window = below.op
    if not isinstance(window, CalendarWindow) or window.windows.tumbling or not window.windows.borders.one_sided:
        return node
    windows, rows = window.windows, below.schema
    states = None if reads_lifetime(node.op) else node.op.to_states(rows, removable=False)
    if states is None:
        return node
    step = windows.grid.step
    panes = replace(states, grid=WindowGrid(1, 1, window=window.show()), causal=windows.label == "end",
                    cell=step.show())
    cells = Node(CalendarCells(windows=replace(windows, size=step), rounds=True, remembers=window.remembers),
                 below.inputs)
    lasting = Node(CalendarTimes(windows=windows, lasting=True), (Node(panes, (cells,)),))
    return Node(Finish(of=states, rows=rows), (Node(states.to_merged(rows), (lasting,)),))


def cancel_cells(node: Node) -> Node:
    """calendar_cells(calendar_times(x)) -> x."""
    if not isinstance(node.op, CalendarCells) or node.op.rounds or not node.inputs:
        return node
    times = node.inputs[0]
    if isinstance(times.op, CalendarTimes) and not times.op.lasting and times.op.windows == node.op.windows:
        return times.inputs[0]
    return node

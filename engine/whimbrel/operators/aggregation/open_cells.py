"""Cells of open panes, each with the states of several latencies."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Mask
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.windows.open_panes import (
    FREE,
    PANES,
    USED,
    add_rows,
    chain_cells,
    close_panes,
    enter_cells,
)
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.operation_log import OperationLog
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST, ScalarAccumulator
from whimbrel.plan import WindowGrid

Array = np.ndarray[Any, Any]

_add, _close = Compiled(add_rows), Compiled(close_panes)
_enter, _chain = Compiled(enter_cells), Compiled(chain_cells)
_NONE = np.empty(0, np.int64)
_NO_KINDS = np.empty(0, np.int8)
_PANES_AT_FIRST, _GROUPS_AT_FIRST = 64, 16
_MOST_IN_PAGES, _DENSE = 1 << 20, 8
"""More cells than this stand in pages only if at least one of so many has rows."""


class OpenCells:
    """Where the states of groups in open panes stand: in pages with all groups, or one by one where groups are many.

    Parameters
    ----------
    grid : WindowGrid
    latencies : int
        How many there are.
    keyed : bool
        Whether there is more than one group.
    measures : sequence of Accumulator
        They have one state for each cell and latency. They are given other numbers when cells move.

    Attributes
    ----------
    stride : int
        Cells in a page; 0 without pages.
    closed : numpy.ndarray
        For each latency: panes that begin before this are done.
    """

    def __init__(self, grid: WindowGrid, latencies: int, *, keyed: bool, measures: Sequence[Accumulator]) -> None:
        self.hop, self.offset, self.latencies = grid.hop, grid.offset, latencies
        self.adds = not all(measure.counts_rows for measure in measures)
        self.stride, self.groups, self.states = _GROUPS_AT_FIRST if keyed else 1, 1, GROUPS_AT_FIRST
        self.closed = np.full(latencies, MIN_TIME)
        self.scalars = np.zeros(3, np.int64)
        self.starts, self.heads, self.tails, self.free = (np.zeros(_PANES_AT_FIRST, np.int64) for _ in range(4))
        self.pane, self.cell_group, self.after, self.table = _NONE, _NONE, _NONE, _NONE
        self.rows = np.zeros(_PANES_AT_FIRST * self.stride * latencies, np.int64)

    def fork(self) -> OpenCells:
        """An independent copy."""
        clone = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(clone, name, value.copy())
        return clone

    def __len__(self) -> int:
        """Cells of open panes."""
        return int(self.scalars[USED] - self.scalars[FREE]) * (self.groups if self.stride else 1)

    def add(self, row: int, batch: Batch, groups: Array, skip: Mask, band: Array, schedule: OperationLog) -> int:
        """Put rows into their cells from a row on; the first row that is not done for want of space."""
        return int(_add(row, batch.sync, groups, skip, band, self.latencies, self.hop, self.offset, self.stride,
                          self.scalars, self.starts, self.heads, self.tails, self.free, self.pane, self.cell_group,
                          self.after, self.table, self.rows, schedule.kind if self.adds else _NO_KINDS, schedule.who,
                          schedule.which, schedule.count))

    def close(self, latency: int, until: int, schedule: OperationLog) -> bool:
        """Close panes of one latency that begin before a time, as far as the buffers go; whether all are closed."""
        return bool(_close(latency, until, self.latencies, self.stride, self.groups, self.adds, self.scalars,
                           self.starts, self.heads, self.tails, self.free, self.pane, self.cell_group, self.after,
                           self.table, self.rows, self.closed, schedule.kind, schedule.who, schedule.target,
                           schedule.count, schedule.sync, schedule.group, schedule.rows))

    def grow_groups(self, groups: int, measures: Sequence[Accumulator]) -> None:
        """Have pages that are long enough for so many groups."""
        self.groups = groups
        if not self.stride or groups <= self.stride:
            return
        stride = 1 << (groups - 1).bit_length()
        if len(self.free) * stride > _MOST_IN_PAGES and not self._dense:
            self._leave_pages(measures)
            return
        before = np.arange(len(self.rows))
        pages, places = np.divmod(before, self.stride * self.latencies)
        self.stride = stride
        self._move(before, pages * (stride * self.latencies) + places, len(self.free) * stride, measures)

    def grow(self, measures: Sequence[Accumulator]) -> None:
        """Have space for one pane and one cell more, at least."""
        if self.scalars[PANES] == len(self.starts):
            self.starts, self.heads, self.tails = (extend(each, 2 * len(each), 0)
                                                   for each in (self.starts, self.heads, self.tails))
        if self.scalars[FREE] or self.scalars[USED] < len(self.free):
            return
        if self.stride and len(self.free) * self.stride >= _MOST_IN_PAGES and not self._dense:
            self._leave_pages(measures)
        elif self.stride:
            self.free, self.rows = extend(self.free, 2 * len(self.free), 0), extend(self.rows, 2 * len(self.rows), 0)
        else:
            self._have_cells(2 * len(self.free))
            _enter(self.table, self.pane, self.cell_group, self.after, int(self.scalars[PANES]), self.heads)

    def grow_states(self, measures: Sequence[Accumulator]) -> None:
        """Have a state in each aggregate for each cell and latency."""
        if len(self.rows) > self.states:
            self.states = len(self.rows)
            for measure in measures:
                measure.grow_groups(self.states)

    @property
    def _dense(self) -> bool:
        """Whether most cells of pages have rows."""
        cells = np.count_nonzero(self.rows.reshape(-1, self.latencies), axis=1)
        return _DENSE * int(np.count_nonzero(cells)) >= len(cells)

    def _leave_pages(self, measures: Sequence[Accumulator]) -> None:
        """Have cells only for groups with rows from now on."""
        old, stride = self.rows, self.stride
        moved = np.empty(len(old) // self.latencies, np.int64)
        self.stride, self.rows = 0, _NONE
        self._have_cells(max(len(moved) // _DENSE, 2 * self.groups))
        used = int(_chain(stride, self.latencies, stride, int(self.scalars[PANES]), self.starts, self.heads, self.tails,
                          old, self.pane, self.cell_group, self.after, self.table, moved))
        self.rows = old
        places = (moved[:used, None] * self.latencies + np.arange(self.latencies)).ravel()
        self._move(places, np.arange(len(places)), len(self.pane), measures)
        self.scalars[USED], self.scalars[FREE] = used, 0

    def _have_cells(self, cells: int) -> None:
        """Have so many cells without pages, and an empty table."""
        self.pane, self.cell_group, self.after, self.free = (extend(each, cells, 0) for each in (
            self.pane, self.cell_group, self.after, self.free))
        self.rows = extend(self.rows, cells * self.latencies, 0)
        self.table = np.zeros(1 << (2 * cells - 1).bit_length(), np.int64)

    def _move(self, old: Array, new: Array, cells: int, measures: Sequence[Accumulator]) -> None:
        """Give the states of cells other places, among so many cells."""
        rows = np.zeros(cells * self.latencies, np.int64)
        rows[new] = self.rows[old]
        self.grow_states(measures)
        self.rows, self.states = rows, max(len(rows), GROUPS_AT_FIRST)
        for measure in measures:
            if isinstance(measure, ScalarAccumulator):
                measure.move_groups(old, new, self.states)

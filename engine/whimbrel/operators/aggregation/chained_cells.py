"""Cells of open panes, only for groups with rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Mask
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend, renumber
from whimbrel.kernels.primitives.windows.chained_cells import (
    FREE,
    PANES,
    USED,
    add_to_cells,
    chain_pages,
    close_cells,
    enter_cells,
)
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.open_pages import OpenPages
from whimbrel.operators.aggregation.operation_log import OperationLog
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST, ScalarAccumulator
from whimbrel.plan import WindowGrid

Array = np.ndarray[Any, Any]

_add, _close = Compiled(add_to_cells), Compiled(close_cells)
_enter, _chain = Compiled(enter_cells), Compiled(chain_pages)
_NONE = np.empty(0, np.int64)
_NO_KINDS = np.empty(0, np.int8)
_CELLS_AT_FIRST = 1024


class ChainedCells:
    """Where the rows and states of groups in open panes stand: one by one.

    Parameters
    ----------
    grid : WindowGrid
    latencies : int
        How many there are.
    measures : sequence of Accumulator
        They have one state for each cell and latency.

    Attributes
    ----------
    closed : numpy.ndarray
        For each latency: panes that begin before this are done.
    """

    def __init__(self, grid: WindowGrid, latencies: int, measures: Sequence[Accumulator]) -> None:
        self.hop, self.offset, self.latencies = grid.hop, grid.offset, latencies
        self.adds = not all(measure.counts_rows for measure in measures)
        self.states = 0
        self.closed = np.full(latencies, MIN_TIME)
        self.scalars = np.zeros(3, np.int64)
        self.starts, self.heads, self.tails, self.pane, self.cell_group, self.after, self.free = (_NONE,) * 7
        self.rows, self.table = _NONE, _NONE

    def fork(self) -> ChainedCells:
        """An independent copy."""
        clone = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(clone, name, value.copy())
        return clone

    def take_over(self, pages: OpenPages, groups: int, measures: Sequence[Accumulator]) -> None:
        """Have cells for what stands in pages until now, of which so many groups have rows."""
        self.closed, panes = pages.closed.copy(), int(pages.scalars[PANES])
        self.starts = pages.starts.copy()
        self.heads, self.tails = np.zeros_like(self.starts), np.zeros_like(self.starts)
        self._have_cells(max(int(np.count_nonzero(pages.rows)), 2 * groups, _CELLS_AT_FIRST))
        used = len(self.free)
        while used == len(self.free):  # a cell may have rows that are all counted in its second page
            self._have_cells(2 * len(self.free))
            moved = np.empty(len(self.rows), np.int64)
            used = int(_chain(pages.stride, self.latencies, min(groups, pages.stride), panes, self.starts, pages.pages,
                              pages.counted, self.heads, self.tails, self.rows, self.pane, self.cell_group, self.after,
                              self.table, moved))
        self.scalars[:] = panes, used, 0
        self.rows[used * self.latencies :] = 0
        if not self.adds:
            return
        pages.grow_states(measures)
        self.states = max(len(self.rows), GROUPS_AT_FIRST)
        new = np.flatnonzero(moved[: used * self.latencies] >= 0)
        for measure in measures:
            if isinstance(measure, ScalarAccumulator):
                measure.move_groups(moved[new], new, self.states)

    def __len__(self) -> int:
        """Cells of open panes."""
        return int(self.scalars[USED] - self.scalars[FREE])

    def bytes_of(self, states: int) -> int:
        """Bytes of open panes, if the states of a cell take so many for each latency."""
        return int(self.scalars[PANES]) * 3 * 8 + len(self) * (self.latencies * (8 + states) + 6 * 8)

    def add(self, row: int, batch: Batch, groups: Array, skip: Mask, band: Array, schedule: OperationLog) -> int:
        """Put rows into their cells from a row on; the first row that is not done for want of space."""
        return int(_add(row, batch.sync, groups, skip, band, self.latencies, self.hop, self.offset, self.scalars,
                        self.starts, self.heads, self.tails, self.free, self.pane, self.cell_group, self.after,
                        self.table, self.rows, schedule.kind if self.adds else _NO_KINDS, schedule.who, schedule.which,
                        schedule.count))

    def close(self, until: Array, schedule: OperationLog) -> bool:
        """Close panes of each latency that begin before a time, as far as the buffers go; whether all are closed."""
        return bool(_close(until, self.latencies, self.adds, self.scalars, self.starts, self.heads, self.tails,
                           self.free, self.pane, self.cell_group, self.after, self.table, self.rows, self.closed,
                           schedule.kind, schedule.who, schedule.target, schedule.count, schedule.sync, schedule.group,
                           schedule.rows, schedule.ids))

    def grow(self) -> None:
        """Have space for one pane and one cell more, at least."""
        if self.scalars[PANES] == len(self.starts):
            self.starts, self.heads, self.tails = (extend(each, 2 * len(each), 0)
                                                   for each in (self.starts, self.heads, self.tails))
        if not self.scalars[FREE] and self.scalars[USED] == len(self.free):
            self._have_cells(2 * len(self.free))
            _enter(self.table, self.pane, self.cell_group, self.after, int(self.scalars[PANES]), self.heads)

    def grow_groups(self, groups: int, measures: Sequence[Accumulator]) -> None:
        """Nothing: there are cells only for groups with rows."""

    @property
    def groups_in_use(self) -> Array:
        """The groups with cells, once each, in order."""
        return np.unique(self.cell_group[self._cells_in_use])

    def renumber_groups(self, old: Array, new: Array) -> None:
        """Give groups other numbers."""
        used = self._cells_in_use
        self.cell_group[used] = renumber(self.cell_group[used], old, new)
        self.table[:] = 0
        _enter(self.table, self.pane, self.cell_group, self.after, int(self.scalars[PANES]), self.heads)

    @property
    def _cells_in_use(self) -> Array:
        used = np.ones(int(self.scalars[USED]), np.bool_)
        used[self.free[: int(self.scalars[FREE])]] = False
        return np.flatnonzero(used)

    def grow_states(self, measures: Sequence[Accumulator]) -> None:
        """Have a state in each aggregate for each cell and latency."""
        if self.adds and len(self.rows) > self.states:
            self.states = len(self.rows)
            for measure in measures:
                measure.grow_groups(self.states)

    def are_too_sparse(self, groups: int) -> bool:
        """No: they are as sparse as they can be."""
        return False

    def _have_cells(self, cells: int) -> None:
        """Have so many cells, and an empty table."""
        self.pane, self.cell_group, self.after, self.free = (extend(each, cells, 0) for each in (
            self.pane, self.cell_group, self.after, self.free))
        self.rows = extend(self.rows, cells * self.latencies, 0)
        self.table = np.zeros(1 << (2 * cells - 1).bit_length(), np.int64)

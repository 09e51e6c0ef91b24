"""Pages of open panes, with a number of rows per group."""

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
    FULL,
    HIGH_FREE,
    HIGH_USED,
    PANES,
    USED,
    add_to_pages,
    close_pages,
)
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.operation_log import OperationLog
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST, ScalarAccumulator
from whimbrel.plan import WindowGrid

Array = np.ndarray[Any, Any]

_add, _close = Compiled(add_to_pages), Compiled(close_pages)
_NO_KINDS = np.empty(0, np.int8)
_PANES_AT_FIRST, _GROUPS_AT_FIRST, _HIGH_AT_FIRST = 64, 16, 4
_ROUND, _GROWTH = 8, 32
"""The cells of a page are a multiple of the one, and grow by such a part at least."""
_MOST_IN_PAGES, _DENSE = 1 << 20, 8
"""More cells than this stand in pages only if at least one of so many has rows."""


class OpenPages:
    """Where the rows and states of groups in open panes stand: in pages with all groups.

    Parameters
    ----------
    grid : WindowGrid
    latencies : int
        How many there are.
    keyed : bool
        Whether there is more than one group.
    measures : sequence of Accumulator
        They have one state for each cell of a page. They are given other numbers when cells move.

    Attributes
    ----------
    stride : int
        Cells in a page.
    closed : numpy.ndarray
        For each latency: panes that begin before this are done.
    """

    def __init__(self, grid: WindowGrid, latencies: int, *, keyed: bool, measures: Sequence[Accumulator]) -> None:
        self.hop, self.offset, self.latencies = grid.hop, grid.offset, latencies
        self.adds = not all(measure.counts_rows for measure in measures)
        self.stride, self.groups, self.states = _GROUPS_AT_FIRST if keyed else 1, 1, GROUPS_AT_FIRST
        self.closed = np.full(latencies, MIN_TIME)
        self.scalars = np.zeros(6, np.int64)
        self.starts = np.zeros(_PANES_AT_FIRST, np.int64)
        self.pages = np.zeros(_PANES_AT_FIRST * latencies, np.int32)
        self.free, self.high_of = np.zeros(_PANES_AT_FIRST, np.int32), np.full(_PANES_AT_FIRST, -1, np.int32)
        self.high_free = np.zeros(_HIGH_AT_FIRST, np.int32)
        self.rows = np.zeros(_PANES_AT_FIRST * self.stride, np.uint8)
        self.high = np.zeros(_HIGH_AT_FIRST * self.stride, np.int32)

    def fork(self) -> OpenPages:
        """An independent copy."""
        clone = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(clone, name, value.copy())
        return clone

    def __len__(self) -> int:
        """Cells of open panes."""
        return self._used * self.groups

    def bytes_of(self, states: int) -> int:
        """Bytes of open panes, if the states of a cell take so many."""
        high = int(self.scalars[HIGH_USED] - self.scalars[HIGH_FREE])
        panes = int(self.scalars[PANES]) * (self.starts.itemsize + self.latencies * self.pages.itemsize)
        return panes + self._used * (self.stride * (1 + states) + 8) + high * (self.stride * self.high.itemsize + 4)

    def add(self, row: int, batch: Batch, groups: Array, skip: Mask, band: Array, schedule: OperationLog) -> int:
        """Put rows into their cells from a row on; the first row that is not done for want of space."""
        return int(_add(row, batch.sync, groups, skip, band, self.latencies, self.hop, self.offset, self.stride,
                        self.groups, self.scalars, self.starts, self.pages, self.free, self.rows, self.high_of,
                        self.high_free, self.high, schedule.kind if self.adds else _NO_KINDS, schedule.who,
                        schedule.which, schedule.count))

    def close(self, until: Array, schedule: OperationLog) -> bool:
        """Close panes of each latency that begin before a time, as far as the buffers go; whether all are closed."""
        return bool(_close(until, self.latencies, self.stride, self.groups, self.adds, self.scalars,
                           self.starts, self.pages, self.free, self.rows, self.high_of, self.high_free, self.high,
                           self.closed, schedule.kind, schedule.who, schedule.target, schedule.count, schedule.sync,
                           schedule.group, schedule.rows, schedule.ids))

    def grow(self) -> None:
        """Have space for one pane and one page more, at least."""
        if self.scalars[PANES] == len(self.starts):
            self.starts = extend(self.starts, 2 * len(self.starts), 0)
            self.pages = extend(self.pages, 2 * len(self.pages), 0)
        if self.is_full:
            self.free = extend(self.free, 2 * len(self.free), 0)
            self.high_of = extend(self.high_of, len(self.free), -1)
            self.rows = extend(self.rows, 2 * len(self.rows), 0)
        if not self.scalars[HIGH_FREE] and self.scalars[HIGH_USED] == len(self.high_free):
            self.high_free, self.high = (extend(each, 2 * len(each), 0) for each in (self.high_free, self.high))

    def grow_groups(self, groups: int, measures: Sequence[Accumulator]) -> None:
        """Have pages that are long enough for so many groups."""
        self.groups = groups
        if groups <= self.stride:
            return
        longer = max(groups, self.stride + self.stride // _GROWTH)
        stride = -(-longer // _ROUND) * _ROUND
        before = np.arange(len(self.rows) if self.adds else 0)
        pages, keys = np.divmod(before, self.stride)
        self.rows, self.high = (_with_stride(each, self.stride, stride) for each in (self.rows, self.high))
        self.stride = stride
        if self.adds:
            _grow(measures, len(before))
            self.states = max(len(self.rows), GROUPS_AT_FIRST)
            for measure in measures:
                if isinstance(measure, ScalarAccumulator):
                    measure.move_groups(before, pages * stride + keys, self.states)

    def grow_states(self, measures: Sequence[Accumulator]) -> None:
        """Have a state in each aggregate for each cell."""
        if self.adds and len(self.rows) > self.states:
            self.states = len(self.rows)
            _grow(measures, self.states)

    @property
    def is_full(self) -> bool:
        """Whether no page is left."""
        return bool(not self.scalars[FREE] and self.scalars[USED] == len(self.free))

    def are_too_sparse(self, groups: int) -> bool:
        """Whether pages for so many groups would take more memory than cells for those that have rows."""
        cells = len(self.free) * max(groups, self.stride)
        if cells <= _MOST_IN_PAGES:
            return False
        return _DENSE * int(np.count_nonzero(self.rows)) < self._used * max(groups, self.stride)

    @property
    def counted(self) -> Array:
        """The number of rows in each cell of each page."""
        counted = self.rows.astype(np.int64)
        full = np.flatnonzero(self.high_of >= 0)
        parts = self.high.reshape(-1, self.stride)[self.high_of[full]].astype(np.int64)
        counted.reshape(-1, self.stride)[full] += FULL * parts
        return counted

    @property
    def _used(self) -> int:
        return int(self.scalars[USED] - self.scalars[FREE])


def _grow(measures: Sequence[Accumulator], states: int) -> None:
    for measure in measures:
        measure.grow_groups(states)


def _with_stride(cells: Array, before: int, stride: int) -> Array:
    """Pages of cells that are longer."""
    longer = np.zeros((len(cells) // before, stride), cells.dtype)
    longer[:, :before] = cells.reshape(-1, before)
    return longer.ravel()

"""Tumbling windows whose finished groups leave little by little."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels.primitives.hashing.hash_table import FAR
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.pane_kernel import PaneKernel
from whimbrel.plan.aggregate_errors import explained_errors

Array = np.ndarray[Any, Any]

MIN_GROUPS = 4_096
"""Fewer groups leave at once: to hand them on takes less time than to take in a batch."""
_PORTION_GROUPS, _PORTIONS = 16_384, 16
"""Fewer groups do not leave alone, nor does a smaller part of all: a portion costs this step and those after it some
hundred microseconds, whatever its size."""
_AHEAD = 1.25
"""So much faster than in proportion: windows differ in rows, and a remainder would leave at once."""


class EvenFlushKernel(PaneKernel):
    """The same rows in the same order as of a :class:`PaneKernel`, in portions.

    There are two sets of states. When a pane with many groups ends, they change roles: rows enter the empty set, and
    the groups of the other one leave in proportion to the rows that come in. All of them have left when the next pane
    ends. The watermark stays at the finished pane until then.

    Attributes
    ----------
    leaving : numpy.ndarray
        Start of the finished pane, the position of the group that leaves next, and the last position; zeros if all have
        left.
    by_group_number : bool
        Whether positions are the numbers of groups, some of which have no rows, or those in `other_touched`.
    other_rows, other_touched, other_measures
        States of the groups that leave, or empty ones.
    taken : int
        Rows that came in since the open pane began.
    pace : int
        Rows that came in while the finished pane was open.
    input_watermark : int
        The watermark once all groups have left.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.leaving = np.zeros(3, np.int64)
        self.by_group_number = False
        self.other_rows, self.other_touched = self.rows.copy(), self.touched.copy()
        self.other_measures: list[Accumulator] = [measure.fork() for measure in self.measures]
        self.taken = self.pace = 0
        self.input_watermark = MIN_TIME

    def fresh(self) -> EvenFlushKernel:
        clone = super().fresh()
        assert isinstance(clone, EvenFlushKernel)
        clone.leaving = self.leaving.copy()
        clone.other_rows, clone.other_touched = self.other_rows.copy(), self.other_touched.copy()
        clone.other_measures = [measure.fork() for measure in self.other_measures]
        return clone

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        while self.pane[1] >= MIN_GROUPS and batch.sync[-1] >= self.pane[0] + self.grid.hop:
            stop = int(np.searchsorted(batch.sync, self.pane[0] + self.grid.hop))
            if stop:
                self._take_part(batch.slice(0, stop))
            self._change_roles()
            batch = batch.slice(stop, len(batch))
        if len(batch):
            self._take_part(batch)
        return self.gathered()

    def _take_part(self, batch: Batch) -> None:
        """Take in rows, with the groups before them that leave."""
        self.taken += len(batch)
        if self._to_leave:
            begin = self.pane[0] if self.pane[1] else batch.time(0) - (batch.time(0) - self.grid.offset) % self.grid.hop
            if batch.sync[-1] >= begin + self.grid.hop:  # panes of few groups end among these rows
                self._leave(self._to_leave)
            else:
                _, left, last = self.leaving.tolist()
                due = min(last, -int(-last * self.taken * _AHEAD // max(1, self.pace)))
                if due == last or due - left >= max(_PORTION_GROUPS, last // _PORTIONS):
                    self._leave(due - left)
        self._take_in(batch, closes=False)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        begin = watermark
        if watermark not in (INF, MIN_TIME):
            begin -= (watermark - self.grid.offset) % self.grid.hop
            if begin + self.lead == self.input_watermark:  # no pane ends
                return []
        ends = self.pane[1] > 0 and begin > self.pane[0]
        if ends and self.pane[1] >= MIN_GROUPS and watermark != INF:
            self._change_roles()
        elif ends or begin >= int(self.leaving[0]) + 2 * self.grid.hop:
            self._leave(self._to_leave)
        out = super().advance(watermark, port)
        self.input_watermark = self.watermark
        self._hold_watermark()
        return out

    @property
    def buffered_rows(self) -> int:
        return super().buffered_rows + self._to_leave

    @property
    def _to_leave(self) -> int:
        """Positions of the finished pane that are left."""
        return int(self.leaving[2] - self.leaving[1])

    def _hold_watermark(self) -> None:
        self.watermark = self.input_watermark
        if self._to_leave:
            self.watermark = min(self.watermark, int(self.leaving[0]) + self.lead)

    def keep_groups(self, old: Array) -> Array:
        new = super().keep_groups(old)
        self.other_rows, self.other_touched = np.zeros_like(self.rows), np.zeros_like(self.touched)
        for measure in self.other_measures:
            measure.move_groups(new[:0], new[:0], len(self.rows))
        return new

    def _remove_keys(self) -> None:
        if not self._to_leave:  # groups that leave need their keys, and all have left when the open pane ends
            super()._remove_keys()

    def _change_roles(self) -> None:
        """The open pane is over, and its groups begin to leave."""
        self._leave(self._to_leave)
        loop = None if self.closing is None else self.closing[0]
        groups, numbers = int(self.pane[1]), len(self.rows)
        # A pane that ends at once has its groups in this order, too.
        self.by_group_number = (loop is not None and loop.inline_key is None and not loop.alone
                                and numbers > FAR and 4 * groups >= numbers)
        self.leaving[:] = self.pane[0], 0, numbers if self.by_group_number else groups
        self.pane[1] = 0
        self.pace, self.taken = self.taken, 0
        self._swap()
        self._grow(len(self.other_rows))
        self._hold_watermark()

    def _swap(self) -> None:
        self.rows, self.other_rows = self.other_rows, self.rows
        self.touched, self.other_touched = self.other_touched, self.touched
        self.measures, self.other_measures = self.other_measures, self.measures

    def _leave(self, positions: int) -> None:
        """Emit the groups of so many more positions of the finished pane."""
        if not positions:
            return
        self._put_away()  # rows that came out are made of the states in use
        self._swap()
        pane, touched = self.pane, self.touched
        at, left, last = self.leaving.tolist()
        stop = left + positions
        most = max(1, (len(self.rows) - 1) // 4)  # of more than a quarter of all groups the loop changes the order
        try:
            with explained_errors(self.measures):
                for first in range(left, stop, most):
                    after = min(first + most, stop)
                    self.touched = (first + np.flatnonzero(self.rows[first:after] > 0) if self.by_group_number
                                    else touched[first:after])
                    self.pane = np.array([at, len(self.touched)])
                    self._close_pane()
                    self._put_away()
        finally:
            self.touched, self.pane = touched, pane
            self._swap()
        self.leaving[:] = (at, stop, last) if stop < last else 0
        self._hold_watermark()

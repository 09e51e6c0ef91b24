"""Log of state operations and output rows that accumulators replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

Outs = Sequence[Array]
"""Buffers of what an aggregate shows, one for each column it makes, and of whether it is there."""

CAPACITY = 65_536
"""Initial capacity of a schedule, in operations and output rows."""


class OperationLog:
    """Reused buffers for the operations of one step and the output rows they fill.

    Parameters
    ----------
    outputs : int, optional
        Initial capacity in output rows.

    Attributes
    ----------
    kind, who, which, slot, target : numpy.ndarray
        Per operation: what happens (see ``kernels.primitives.panes``), to which group, from which row of the batch,
        in which slot of remembered rows, for which output row.
    sync, other, group, ids, rows : numpy.ndarray
        Per output row: its lifetime, group and id, and how many rows the group has.
    count : numpy.ndarray
        How many operations and how many output rows were written.
    """

    def __init__(self, outputs: int | None = None) -> None:
        self._make(2 * CAPACITY, CAPACITY if outputs is None else outputs)
        self.count = np.zeros(2, np.int64)
        self._columns: list[Outs] = []

    @property
    def operations(self) -> int:
        return int(self.count[0])

    @property
    def outputs(self) -> int:
        return int(self.count[1])

    def ensure_capacity(self, groups: int) -> bool:
        """Ensure capacity for this many groups at one instant; True if it grew."""
        if 3 * groups <= len(self.kind) and 2 * groups <= len(self.sync):
            return False
        self._make(4 * groups, 4 * groups)
        return True

    def renew(self) -> None:
        """Have other buffers, where somebody keeps these."""
        self._make(len(self.kind), len(self.sync))
        self._columns = []

    def _make(self, operations: int, rows: int) -> None:
        """Have buffers as they come: a step writes what it reads, and filling them takes as long as a small query."""
        self.kind = np.empty(operations, np.int8)
        self.who, self.which, self.slot, self.target = (np.empty(operations, np.int32) for _ in range(4))
        self.sync, self.other, self.group, self.ids, self.rows = (np.empty(rows, np.int64) for _ in range(5))

    def outs(self, dtypes: Sequence[Sequence[np.dtype[Any]]]) -> list[Outs]:
        """Buffers for what each aggregate shows and whether it is there; reused from step to step."""
        if not self._columns or len(self._columns[0][0]) != len(self.sync):
            self._columns = [[np.empty(len(self.sync), dtype) for dtype in (*each, np.bool_)] for each in dtypes]
        return self._columns

    def state_parts(self) -> dict[str, Any]:
        """Nothing: it is written before it is read in every step."""
        return {}

    def fork(self) -> OperationLog:
        """Fresh buffers: nothing in them outlives a step."""
        return OperationLog()

"""Aggregate row ranges of one in-memory batch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from whimbrel.batch import Batch
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Col
from whimbrel.kernels import KeyTable, forced_tier
from whimbrel.kernels.primitives.hashing.hash_table import FAR
from whimbrel.operators.aggregation.operation_log import OperationLog
from whimbrel.operators.aggregation.pane_codegen import PaneText

Array = np.ndarray[Any, Any]


class PaneState(Protocol):
    """What a generated loop reads and writes of a pane kernel."""

    keys: KeyTable
    pane: Array
    rows: Array
    schedule: OperationLog

    @property
    def reach(self) -> int:
        """How far from either end of time rows must be."""

    def inputs(self, text: PaneText, batch: Batch) -> list[Any]:
        """The inputs of the loop."""

    def state(self, text: PaneText) -> list[Any]:
        """The state and the outputs of the loop."""

    def ensure_capacity(self, *, done: bool) -> None:
        """Grow the buffers in which the loop found no space, if it is not done."""

    def errors_of(self, rows: Callable[[], Batch]) -> AbstractContextManager[None]:
        """Add the name of the aggregate to errors over these rows."""


class PaneParts:
    """Pass parts of rows to the generated loop of a kernel, and close the pane after each.

    Between two parts there is little to do, which counts where they are small: the loop itself needs some
    nanoseconds a row.

    Parameters
    ----------
    kernel : PaneState
    text : PaneText
    loop : callable
        Its compiled form.
    rows : Batch
        That :meth:`suit` the loop.
    """

    def __init__(self, kernel: PaneState, text: PaneText, loop: Callable[..., int], rows: Batch) -> None:
        self._kernel, self._text, self._loop, self._rows = kernel, text, loop, rows
        self._inputs: list[Array] = kernel.inputs(text, rows)
        self._state: list[Any] = []
        self._of: tuple[Any, ...] = ()

    @staticmethod
    def suit(text: PaneText, rows: Batch) -> bool:
        """Whether the loop reads nothing but columns of these rows, as they are."""
        key = text.inline_key
        return (rows.absent is None and all(isinstance(leaf, Col) and not nulls for leaf, nulls, _ in text.leaves)
                and (text.alone if key is None else isinstance(key, Col)
                     and np.asarray(rows.column(key.name).values).dtype == np.int64))

    def take_in(self, first: int, stop: int) -> bool:
        """Take in the rows from `first` up to `stop`, which are in order; False if that is to be done step by step."""
        kernel, sync = self._kernel, self._inputs[0]
        reach = kernel.reach
        if (forced_tier() not in {None, "fused"} or len(kernel.rows) > FAR
                or not MIN_TIME + reach < sync[first] <= sync[stop - 1] < INF - reach):
            return False
        with kernel.errors_of(lambda: self._rows.slice(first, stop)):
            inputs, row, rows = [array[first:stop] for array in self._inputs], 0, stop - first
            while row < rows or kernel.pane[1]:
                row = int(self._loop(*inputs, *self._state_now(), row, True))
                kernel.ensure_capacity(done=row == rows and not kernel.pane[1])
        return True

    def _state_now(self) -> list[Any]:
        """The state of the kernel, read again when some of its arrays have grown."""
        kernel, key = self._kernel, self._text.inline_key
        table = None if key is None else kernel.keys.columns[0].integers.table
        of = kernel.rows, kernel.schedule.sync, table
        if len(self._of) != len(of) or any(now is not then for now, then in zip(of, self._of, strict=True)):
            self._of, self._state = of, kernel.state(self._text)
        return self._state

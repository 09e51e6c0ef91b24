"""Kernel that recomputes the columns of events that read late rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Schema, frozen
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Kernel
from whimbrel.operators.rows.pending_rows import PendingRows
from whimbrel.operators.temporal.temporal_columns import TemporalColumns
from whimbrel.temporal.changed_event_kernel import NONE_CHANGED, ChangedEventKernel

Array = np.ndarray[Any, Any]


class RecomputeRowsKernel(Kernel):
    """Takes the columns of the earlier result, but for the events that read late ones.

    Events that are not late have a row in the earlier result each, in the same order: rows are joined by position.

    Parameters
    ----------
    ops : sequence of TemporalColumns
        One reads the columns of the one before.
    rows : Schema
        Of the input of the first one.
    """

    def __init__(self, ops: Sequence[TemporalColumns], rows: Schema) -> None:
        self.stages: list[ChangedEventKernel] = []
        for op in ops:
            self.stages.append(ChangedEventKernel(op.parts, op.keys, rows, op.schema(rows)))
            rows = op.schema(rows)
        self.watermarks = [MIN_TIME] * 3
        self.earlier, self.rows = PendingRows(), PendingRows()
        self.late: Array = frozen(np.empty(0, np.int64))

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if port == 0:
            self.earlier.add(batch.select([name for stage in self.stages for name in stage.added]))
        elif port == 1 and len(batch):
            for stage in self.stages:
                stage.check(batch)
            self.rows.add(batch)
        elif len(batch):
            self.late = frozen(np.append(self.late, batch.sync))
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        self.watermark = min(self.watermarks)
        waiting, earlier = self.rows.before(self.watermark), self.earlier.before(self.watermark)
        if not waiting:
            return []
        rows, portion, out = Batch.concat(waiting), max(stage.portion for stage in self.stages), list[Batch]()
        known = Batch.concat(earlier).columns if earlier else [null for stage in self.stages for null in stage.nulls(0)]
        late, taken = self._late(rows), 0
        for begin in range(0, len(rows), portion):
            stop = min(begin + portion, len(rows))
            some = late[begin:stop]
            count = stop - begin - int(np.count_nonzero(some))
            out.append(self._joined(rows.slice(begin, stop), some if count < stop - begin else NONE_CHANGED,
                                    [column.slice(taken, taken + count) for column in known]))
            taken += count
        return out

    def _late(self, rows: Batch) -> Mask:
        """Which rows are late: of those that start at one time, the last ones."""
        late = np.zeros(len(rows), np.bool_)
        times = self.late[:int(np.searchsorted(self.late, self.watermark))]
        self.late = self.late[len(times):]
        following = np.searchsorted(times, times, "right") - np.arange(len(times))
        late[np.searchsorted(rows.sync, times, "right") - following] = True
        return frozen(late)

    def _joined(self, rows: Batch, late: Mask, known: Sequence[Column]) -> Batch:
        """The rows with known columns, and with new ones where a late event is read."""
        changed = late
        for stage in self.stages:
            rows, changed = stage.evaluate(rows, changed, late, known[:len(stage.added)])
            known = known[len(stage.added):]
        return rows

    @property
    def recomputed_rows(self) -> int:
        """Rows that were computed again, for each operator."""
        return sum(stage.evaluated for stage in self.stages)

    @property
    def buffered_rows(self) -> int:
        return self.rows.rows + self.earlier.rows + sum(stage.buffered_rows for stage in self.stages)

    @property
    def buffered_bytes(self) -> int:
        return self.rows.nbytes + self.earlier.nbytes + sum(stage.buffered_bytes for stage in self.stages)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(text for stage in self.stages for text in stage.sources)

"""Where a source's rows enter the engine: judged late or on time, put in order, and followed by a frontier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.clock import INF, MIN_TIME, show_ticks
from whimbrel.disorder.sorter import Sorter
from whimbrel.errors import DisorderError
from whimbrel.kernels import Kernel
from whimbrel.plan import Disorder, Source

Array = np.ndarray[Any, Any]


class Ingress(Kernel):
    """Applies a source's reorder latency L and late policy (SEMANTICS 3).

    With hw the largest time seen, current = max(current, hw - L); a row is late if its time is before current. Whether
    it is depends on the rows before it alone, never on how rows are cut into batches.

        arrives  1  5  3  9  2     (L = 4)
        current  1  1  1  5  5     so the last row, at 2, is late

    Attributes
    ----------
    rows, late_dropped, late_adjusted : int
        Counted rows.
    newest : int
        Largest time seen, in ticks.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.disorder: Disorder = source.disorder
        self.sorter = Sorter()
        self.rows = self.late_dropped = self.late_adjusted = 0
        self.newest = MIN_TIME

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        first = self.rows
        self.rows += len(batch)
        latency = self.disorder.reorder_latency
        if latency == 0 and batch.sync[0] >= self.newest and (batch.sync[1:] >= batch.sync[:-1]).all():
            self.newest = self.frontier = int(batch.sync[-1])  # in order: nothing to judge
            return [batch]
        highest = np.maximum(np.maximum.accumulate(batch.sync), self.newest)
        self.newest = int(highest[-1])
        if latency is None:
            self.sorter.add(batch)
            return []
        current = np.maximum(np.maximum(highest, MIN_TIME + latency) - latency, self.frontier)
        late = batch.sync < current
        if late.any():
            batch = self._late(batch, late, current, first)
        self.frontier = int(current[-1])
        self.sorter.add(batch)
        return self.sorter.release(self.frontier)

    def advance(self, frontier: int, port: int = 0) -> list[Batch]:
        self.frontier = max(self.frontier, frontier)
        return self.sorter.release(INF if frontier == INF else self.frontier)

    @property
    def buffered_rows(self) -> int:
        return self.sorter.rows

    def _late(self, batch: Batch, late: Array, current: Array, first: int) -> Batch:
        policy = self.disorder.late
        if policy == "raise":
            raise self._error(batch, int(np.flatnonzero(late)[0]), current, first)
        moved, ends = np.where(late, current, batch.sync), batch.other
        gone = late if policy == "drop" else moved >= ends
        self.late_dropped += int(np.count_nonzero(gone))
        self.late_adjusted += int(np.count_nonzero(late & ~gone))
        return replace(batch, sync=moved, ends=ends).take(np.flatnonzero(~gone))

    def _error(self, batch: Batch, row: int, current: Array, first: int) -> DisorderError:
        schema, latency = self.source.schema, self.disorder.reorder_latency or 0
        by = show_ticks(int(current[row]) + latency - int(batch.sync[row]), schema.unit)
        time, passed = (pa.scalar(int(ticks)).cast(schema.time_type).as_py()
                        for ticks in (batch.sync[row], current[row] + latency))
        promise = f"a reorder latency of {show_ticks(latency, schema.unit)}" if latency else "rows in time order"
        return DisorderError(
            f"Row {first + row:,} of {self.source.name} is late by {by}: {time} came after {passed}, with {promise}.",
            where=f'time="{self.source.time}"',
            hint='sort the rows; or pass reorder_latency="..." and late="drop"/"adjust"; or arrival= for a whole log',
        )

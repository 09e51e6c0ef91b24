"""Kernel that takes an earlier result, but where late rows changed it."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels import Kernel
from whimbrel.operators.lifetimes.coalesce import CoalesceKernel
from whimbrel.operators.rows.pending_rows import PendingRows
from whimbrel.plan import Operator, Reach, earlier, later

Array = np.ndarray[Any, Any]

_NEAR_ROWS = 4_096


class RecomputeKernel(Kernel):
    """Goes from one changed range to the next one; between them the earlier result holds.

    Parameters
    ----------
    op : Operator
    rows : Schema
        Of its input.
    own, changes : Reach
        Rows that a range of the result needs, and what a late row changes.

    Attributes
    ----------
    recomputed_rows : int
        Rows that the operator computed again, those included that only fill its windows.
    changing : int
        End of the changed range at the watermark; MIN_TIME: the earlier result holds there.
    """

    def __init__(self, op: Operator, rows: Schema, own: Reach, changes: Reach) -> None:
        self.schema, self.own, self.changes, self.new = op.schema(rows), own, changes, op.kernel(rows)
        self.of_lifetimes = op.late_rows_change == "lifetimes"
        self.watermarks = [MIN_TIME] * 3
        self.earlier = PendingRows()
        self.rows: list[Batch] = []
        self.late: Array = frozen(np.empty(0, np.int64))
        self.made = PendingRows()
        self.fed = self.changing = MIN_TIME
        self.recomputed_rows = 0
        self._start()

    def _start(self) -> None:
        """Forget what the operator has read."""
        self.again, self.intervals = self.new.fork(), CoalesceKernel(self.schema, ordered=True)
        self.made, self.fed = PendingRows(), MIN_TIME

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        if port == 0:
            self.earlier.add(batch.select(self.schema.names).having(schema=self.schema, ids=None))
        elif port == 1:
            self.rows.append(batch)
        else:
            self.late = frozen(np.append(self.late, batch.sync))
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermarks[port] = watermark
        out: list[Batch] = []
        while self._known > self.watermark:
            before = self.watermark, self.changing
            out += self._changed() if self.changing > MIN_TIME else self._unchanged()
            if before == (self.watermark, self.changing):
                break
        self._forget()
        return out

    @property
    def _known(self) -> int:
        """No row of a band that starts before this time can follow."""
        return min(self.watermarks[1:])

    def _unchanged(self) -> list[Batch]:
        """Rows of the earlier result up to the next changed range."""
        self.earlier.before(self.watermark)  # these were computed again
        late = self.late[np.searchsorted(self.late, earlier(self.watermark, self.changes.back)):]
        begin = max(self.watermark, earlier(int(late[0]), self.changes.forward)) if len(late) else INF
        known = min(begin, self.watermarks[0], self._settled())
        out = list(self.earlier.before(known))
        self.watermark = max(self.watermark, known)
        if self.watermark == begin < INF:
            self.changing = self._after(int(late[0]))
        return out

    def _settled(self) -> int:
        """No late row that follows changes what starts before this time."""
        forward, longest = self.changes.forward, self.changes.longest
        if not self.of_lifetimes or longest is None:
            return earlier(self._known, forward)
        known = earlier(self._known, forward - longest)  # what ends until then stays as it is
        for batch in self.earlier.batches[self.earlier.first:]:
            after = np.flatnonzero(batch.other > known)
            if len(after):
                return min(known, batch.time(int(after[0])))
        return known

    def _after(self, late: int) -> int:
        """The first time after what a late row changes."""
        return later(late, self.changes.back + 1)

    def _changed(self) -> list[Batch]:
        """Rows of a changed range, which grows by late rows near its end."""
        self._grow()
        self._feed(max(self.fed, earlier(self.watermark, self.own.back)),
                   min(self._known, later(self.changing, self.own.forward + 1)))
        known = min(self.changing, self.intervals.watermark)
        self.made.before(self.watermark)  # these only fill windows
        out = list(self.made.before(known))
        self.watermark = max(self.watermark, known)
        if self.watermark == self.changing:
            self.changing = MIN_TIME
            self._start()
        return out

    def _grow(self) -> None:
        """Extend the changed range by late rows near its end: to begin again costs more than a few rows."""
        late = self.late[np.searchsorted(self.late, earlier(self.changing, self.changes.back)):]
        if not len(late):
            return
        back, forward = self.changes.back + 1, self.changes.forward
        begins = np.maximum(late, MIN_TIME + forward) - forward
        ends = np.maximum.accumulate(np.append(self.changing, np.minimum(late, INF - back) + back))
        apart = np.flatnonzero(begins > ends[:-1])
        between = np.zeros(len(apart), np.int64)
        for batch in self.rows:
            between += np.searchsorted(batch.sync, begins[apart]) - np.searchsorted(batch.sync, ends[apart])
        far = apart[between > _NEAR_ROWS]
        self.changing = int(ends[far[0] if len(far) else -1])

    def _feed(self, since: int, until: int) -> None:
        """Let the operator read rows of a range of time."""
        out: list[Batch] = []
        for batch in self.rows:
            begin, end = (int(np.searchsorted(batch.sync, time)) for time in (since, until))
            end = len(batch) if until == INF else end
            if begin < end:
                out += self.again.push(batch.slice(begin, end))
        out += self.again.advance(until)
        while self.again.more:
            out += self.again.next_portion()
        self.fed = until
        made = [row for batch in out for row in self.intervals.push(batch)]
        made += self.intervals.advance(self.again.watermark)
        for batch in made:
            self.recomputed_rows += len(batch)
            self.made.add(batch)

    def _forget(self) -> None:
        """Drop what no later range needs."""
        if self.watermark == INF:
            self.rows, self.late = [], self.late[:0]
            return
        self.earlier.before(self.watermark)
        needed = earlier(self.watermark, self.own.back)
        first = next((number for number, batch in enumerate(self.rows) if batch.time(-1) >= needed), len(self.rows))
        self.rows = self.rows[first:]
        if len(self.late):
            self.late = self.late[int(np.searchsorted(self.late, earlier(self.watermark, self.changes.back))):]

    @property
    def buffered_rows(self) -> int:
        return self.earlier.rows + self.made.rows + self.again.buffered_rows + sum(map(len, self.rows))

    @property
    def buffered_bytes(self) -> int:
        own = sum(batch.nbytes for batch in self.rows)
        return self.earlier.nbytes + self.made.nbytes + self.again.buffered_bytes + own

    @property
    def sources(self) -> tuple[str, ...]:
        return self.again.sources

"""One query being answered: what was read, what is settled, what the answer looks like now."""

from __future__ import annotations

import time
from collections import Counter, deque
from contextlib import suppress
from typing import Any

import pyarrow as pa

from whimbrel.batch import Batch, Column, table_from_batches
from whimbrel.errors import WhimbrelError
from whimbrel.optimize import optimize
from whimbrel.plan import Node
from whimbrel.run.metrics import Metrics, Snapshot, moment
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.reader import Reader

_LATELY_S = 5.0
_MOST_PARTITIONS = 100


class Session:
    """Reads, keeps what is settled, and can say at any moment what the answer would be if the stream ended.

    Not safe to share between threads: whoever steps it also asks it.

    Parameters
    ----------
    plan : Node
        The query as written.
    keep_rows : int, optional
        Settled result rows to keep; older ones are forgotten and counted. None keeps all.
    hurry : bool
        Nobody looks before the end: take large steps.
    """

    def __init__(self, plan: Node, *, keep_rows: int | None = None, hurry: bool = False) -> None:
        self.plan = plan
        self.pipeline = Pipeline(optimize(plan))
        self.reader = Reader(self.pipeline, hurry=hurry)
        self.schema = plan.schema
        self._keep_rows = keep_rows
        self._tables: deque[pa.Table] = deque()
        self._settled = self._forgotten = self.version = 0
        self._began = time.perf_counter()
        self._rows_before = 0
        self._ended: float | None = None
        self._lately: deque[tuple[float, int]] = deque([(self._began, 0)])

    @property
    def finished(self) -> bool:
        return self.reader.finished

    def step(self) -> list[Batch] | None:
        """Read and process a little; settled rows, or None when no source had anything."""
        out = self.reader.step()
        if out is not None:
            self.version += 1
            self._keep(out)
            if self.finished:
                self._ended = time.perf_counter()
        return out

    def _keep(self, batches: list[Batch]) -> None:
        if not batches:
            return
        table = table_from_batches(self.schema, batches)
        self._tables.append(table)
        self._settled += table.num_rows
        if self._keep_rows is None:
            return
        while self._tables and self._settled - self._forgotten - self._tables[0].num_rows >= self._keep_rows:
            self._forgotten += self._tables.popleft().num_rows

    @property
    def settled_rows(self) -> int:
        """How many result rows can no longer change, forgotten ones included."""
        return self._settled

    def resume(self, told: list[int], settled: int) -> None:
        """Go on where the kernels' restored state is: `settled` rows went out before and are not kept here."""
        self.pipeline.told = told
        self._settled = self._forgotten = settled
        self.reader.resume()
        self._rows_before = self.reader.rows
        self._lately = deque([(self._began, self._rows_before)])

    def forget(self) -> None:
        """Drop everything that is settled."""
        self._forgotten = self._settled
        self._tables.clear()

    def settled(self) -> pa.Table:
        """The settled rows that are kept, in the order of their start."""
        if not self._tables:
            return table_from_batches(self.schema, [])
        return in_order(pa.concat_tables(self._tables))

    def snapshot(self) -> Snapshot:
        """The answer now; only what is settled, where the query would fail if its sources ended now."""
        settled = self.settled()
        rest: list[Batch] = []
        if not self.finished:
            with suppress(WhimbrelError):
                rest = self.pipeline.rest()
        table = pa.concat_tables([settled, in_order(table_from_batches(self.schema, rest))]) if rest else settled
        return Snapshot(table, settled.num_rows, self.version, self.metrics(), self.finished)

    def metrics(self) -> Metrics:
        now = self._ended or time.perf_counter()
        ingresses = self.pipeline.ingresses
        total = self.reader.total_rows
        rows = self.reader.rows
        return Metrics(
            rows=rows,
            rows_per_s=self._rate(now, rows),
            share=1.0 if self.finished else None if total is None else min(rows / total, 1.0) if total else 0.0,
            watermark=moment(min(ingress.frontier for ingress in ingresses), self.schema),
            newest=moment(max(ingress.newest for ingress in ingresses), self.schema),
            late_dropped=sum(ingress.late_dropped for ingress in ingresses),
            late_adjusted=sum(ingress.late_adjusted for ingress in ingresses),
            late_by_partition=self._late_by_partition(),
            buffered_rows=self.pipeline.buffered_rows,
            buffered_bytes=sum(ingress.sorter.nbytes for ingress in ingresses),
            settled_rows=self._settled,
            forgotten_rows=self._forgotten,
            elapsed_s=now - self._began,
        )

    def _late_by_partition(self) -> dict[str, Counter[Any]]:
        found: dict[str, Counter[Any]] = {}
        for ingress in self.pipeline.ingresses:
            if ingress.disorder.partition is not None:
                found.setdefault(ingress.source.name, Counter()).update(ingress.time.late_rows(_MOST_PARTITIONS))
        return found

    def _rate(self, now: float, rows: int) -> float:
        self._lately.append((now, rows))
        while len(self._lately) > 2 and self._lately[1][0] < now - _LATELY_S:
            self._lately.popleft()
        then, before = (self._began, self._rows_before) if self.finished else self._lately[0]
        return (rows - before) / max(now - then, 1e-9)

    def close(self) -> None:
        """Let go of the sources."""
        self._ended = self._ended or time.perf_counter()
        self.reader.close()


def in_order(table: pa.Table) -> pa.Table:
    """The table in the order of start; rows of one start keep their order."""
    starts = Column.from_arrow(table.column("start").combine_chunks()).values
    if (starts[1:] >= starts[:-1]).all():
        return table
    return table.take(Column(pa.int64(), starts.argsort(kind="stable")).to_arrow())

"""Join start and end edges to intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF
from whimbrel.kernels import Kernel
from whimbrel.plan import Operator, Properties, Reach


@dataclass(frozen=True, kw_only=True, eq=False)
class Coalesce(Operator):
    """Join each end edge to its start edge.

    Every row is then an interval.

        time     0    5    10
        in       a┄┄┄┄┄┄┄┄┄┄┄          (start edge at 0)
                           a           (its end edge at 10)
        out      a──────────

    The planner puts it before operators that take intervals only, and before results leave. It costs delay: a row
    waits until its end is known, and with ``ordered`` every later row waits with it.

    Parameters
    ----------
    ordered : bool
        Keep rows in order of their start. Not needed where results leave.

    Notes
    -----
    Shapes: one row out per event. State: events whose end is not known, and later events that wait for them.
    Source: Trill's CoalesceEndEdges reshaping policy.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10]}, time="at", end="until")
    >>> events.aggregate(n=wb.count()).collect().to_pylist()
    [{'start': 0, 'end': 5, 'n': 1}, {'start': 5, 'end': 10, 'n': 2}]
    """

    accepts_edges: ClassVar[bool] = True

    ordered: bool = True

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], intervals_only=True, packed=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        return CoalesceKernel(upstream[0], ordered=self.ordered)

    def show(self) -> str:
        return "coalesce()"


class CoalesceKernel(Kernel):
    """Holds rows until their end is known."""

    def __init__(self, schema: Schema, *, ordered: bool) -> None:
        self.ordered = ordered
        self.held = Batch.empty(schema)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if batch.ids is None and not len(self.held):
            return [batch] if len(batch) else []
        rows, starts = batch, batch.other > batch.sync
        if len(self.held):
            rows = Batch.concat([self.held, batch])
            starts = np.concatenate([np.ones(len(self.held), np.bool_), starts])
        if not starts.all():
            rows = _with_ends(rows, starts)
        if self.ordered:
            self.held = rows if starts.all() else rows.take(np.flatnonzero(starts))
            return []
        waits = _waits(rows)
        return self._release(rows, starts & ~waits, starts & waits)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        waits = _waits(self.held)
        if watermark == INF:
            self.watermark = INF
            every = np.ones(len(self.held), np.bool_)
            return self._release(self.held, every, ~every)
        self.watermark = min(watermark, int(self.held.sync[waits][0])) if waits.any() else watermark
        if not self.ordered:
            return []
        leave = self.held.sync < self.watermark
        return self._release(self.held, leave, ~leave)

    def _release(self, rows: Batch, leave: np.ndarray, stay: np.ndarray) -> list[Batch]:
        self.held = rows.take(np.flatnonzero(stay))
        removed = rows.having(ids=None).take(np.flatnonzero(leave), self.storage)
        return [removed] if len(removed) else []

    @property
    def buffered_rows(self) -> int:
        return len(self.held)


def _waits(held: Batch) -> np.ndarray:
    """Rows whose end edge may still come."""
    if held.ids is None:
        return np.zeros(len(held), np.bool_)
    return (held.other == INF) & (held.ids >= 0)


def _with_ends(rows: Batch, starts: np.ndarray) -> Batch:
    """The same rows, those that start with the ends that the others tell."""
    assert rows.ids is not None
    open_rows, ended = np.flatnonzero(_waits(rows)), np.flatnonzero(~starts)
    ids, ended_ids = rows.ids[open_rows], rows.ids[ended]
    first, last = int(ids.min()), int(ids.max())
    if last - first < 8 * len(ids):  # mostly: they are given in turn
        index = np.empty(last - first + 1, np.int64)
        index[ids - first] = open_rows
        found = index[ended_ids - first]
    else:
        by_id = open_rows[np.argsort(ids, kind="stable")]
        found = by_id[np.searchsorted(rows.ids[by_id], ended_ids)]
    other = rows.other.copy()
    other[found] = rows.sync[ended]
    return rows.having(ends=other)

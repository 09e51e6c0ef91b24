"""Fuse consecutive events with equal payloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, SegmentType
from whimbrel.clock import INF
from whimbrel.disorder import Sorter
from whimbrel.errors import SchemaError
from whimbrel.expr import can_be_key
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.primitives.lifetimes.stitch import stitch as stitch_rows
from whimbrel.operators.lifetimes.stitch_segments import StitchSegmentsKernel
from whimbrel.plan import HIDDEN, KnownInput, LineageRequest, Operator, Properties, fluent

Array = np.ndarray[Any, Any]

_stitch = Compiled(stitch_rows)
_MIN_KEYS = 65_536


@dataclass(frozen=True, kw_only=True, eq=False)
class Stitch(Operator):
    """Fuse adjacent events with equal payloads.

    Each starts where the one before it ends.

        time     0    5    10   15
        in       a────     b────       (a: [0, 5), [5, 10); b: [10, 15))
                      a────
        out      a─────────            ([0, 10))
                           b────

    Parameters
    ----------
    None.

    Notes
    -----
    Segments need not be equal: the samples of the second must follow those of the first, and are appended to them.
    All other columns must be equal: null equals null, nan equals nan, and -0.0 equals 0.0. The payload of the first
    event is kept. Each event continues at most one other. If several end at its start, it continues the longest. If
    several start there, the one that ends first goes first. The inverse of :meth:`chop`. Shapes: at most one row out
    per row in, in the order of their first start: a row waits for those before it. State: events that may still be
    continued. Source: Trill (VLDB 2015), section 3.1 (Stitch).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5, 10], "until": [5, 10, 15], "x": [1, 1, 2]}, time="at", end="until")
    >>> events.select("x").stitch().collect().to_pylist()
    [{'start': 0, 'end': 10, 'x': 1}, {'start': 10, 'end': 15, 'x': 2}]
    """

    def schema(self, *upstream: Schema) -> Schema:
        for field in upstream[0]:
            if not can_be_key(field.type) and not isinstance(field.type, SegmentType):
                raise SchemaError(f"stitch() cannot compare column {field.name!r} of type {field.type}.",
                                  where=self.show(), hint="Remove it with drop(...).")
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=upstream[0].causal, apart=upstream[0].no_period())

    def partitioned(self, *by: str) -> str | None:
        return None if by[0] == HIDDEN else by[0]  # payloads that are equal now may have been of two partitions

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        if wanted.starting or wanted.exact:
            return (wanted.always(),)
        return (wanted.same(),)

    def kernel(self, *upstream: Schema) -> Kernel:
        if any(isinstance(field.type, SegmentType) for field in upstream[0]):
            return StitchSegmentsKernel(upstream[0])
        return StitchKernel(upstream[0])

    def show(self) -> str:
        return "stitch()"


@fluent
def stitch(schema: Schema) -> Stitch:
    """Fuse events with equal payloads that follow each other. See :class:`whimbrel.operators.Stitch`."""
    return Stitch()


class StitchKernel(Kernel):
    """Holds each chain until nothing can start where it ends."""

    def __init__(self, schema: Schema) -> None:
        self.types = [field.type for field in schema]
        self.keys = KeyTable(self.types)
        self.waiting: list[Batch] = []
        self.open = Batch.empty(schema)
        self.done = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.waiting.append(batch.compact())
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        rows = self._complete(watermark)
        rows = self._fused(rows) if len(rows) else self.open
        goes_on = (rows.other >= watermark) & (rows.other != INF)
        if goes_on.any():
            self.done.add(rows.take(np.flatnonzero(~goes_on)))
            self.open = rows.take(np.flatnonzero(goes_on))
        else:
            self.done.add(rows)
            self.open = rows.slice(0, 0)
        self.watermark = min(watermark, int(self.open.sync.min())) if len(self.open) else watermark
        return self.done.release(self.watermark)

    @property
    def buffered_rows(self) -> int:
        return len(self.open) + self.done.rows + sum(map(len, self.waiting))

    def _complete(self, before: int) -> Batch:
        """Waiting rows that start before a time, in the order of (start, end)."""
        if not self.waiting:
            return self.open.slice(0, 0)
        rows = Batch.concat(self.waiting)
        cut = int(np.searchsorted(rows.sync, before, "left"))
        self.waiting = [rows.slice(cut, len(rows))] if cut < len(rows) else []
        rows = rows if cut == len(rows) else rows.slice(0, cut)
        if (rows.sync[1:] > rows.sync[:-1]).all():
            return rows
        return rows.take(np.lexsort((rows.other, rows.sync)))

    def _fused(self, new: Batch) -> Batch:
        """What the open chains and these rows make together; no chain is open any more."""
        begin = len(self.open)
        rows = Batch.concat([self.open, new]) if begin else new
        self.open = rows.slice(0, 0)
        if len(self.keys) > max(_MIN_KEYS, 4 * len(rows)):
            self.keys = KeyTable(self.types)  # most of the payloads in it are long gone
        group = self.keys.ids(rows.columns, len(rows))
        end, fused = rows.other.copy(), np.zeros(len(rows), np.bool_)
        head, after = np.full(len(self.keys), -1, np.int64), np.zeros(len(rows), np.int64)
        _stitch(begin, rows.sync, end, group, head, after, fused)
        return rows.having(ends=end, ids=None).take(np.flatnonzero(~fused))

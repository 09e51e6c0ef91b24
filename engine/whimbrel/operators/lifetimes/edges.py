"""Turn events into start and end points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Column, Field, Mask, Schema, Ticks
from whimbrel.clock import INF
from whimbrel.disorder import Sorter
from whimbrel.errors import PlanError
from whimbrel.kernels import Kernel
from whimbrel.plan import Operator, Properties, fluent

OTHER = "other"


@dataclass(frozen=True, kw_only=True, eq=False)
class Edges(Operator):
    """Turn each event into points at its start and end.

        time     0    5    10   15
        in       a─────────            (a: [0, 10), b: [5, 15))
                      b─────────
        out      a    b    a'   b'     (other: null, null, 0, 5)

    Each row is at the start or the end of an event. The column `other` is null at the start. At the end it is the start
    time of the event. :func:`whimbrel.from_edges` reads this form. It also fits a table that follows the stream: insert
    a row, then delete it.

    Parameters
    ----------
    None.

    Notes
    -----
    An event without a known end has one row. Shapes: at most two rows out per row in.
    State: events that have not ended. Source: start and end edges of Trill (VLDB 2015), section 3.1.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 15], "x": [2, 3]}, time="at", end="until").select("x")
    >>> changes = events.edges().collect()
    >>> changes.select(["start", "other", "x"]).to_pylist()[1:3]
    [{'start': 5, 'other': None, 'x': 3}, {'start': 10, 'other': 0, 'x': 2}]
    >>> wb.from_edges(changes.drop("end"), sync="start", other="other").collect().to_pylist()
    [{'start': 0, 'end': 10, 'x': 2}, {'start': 5, 'end': 15, 'x': 3}]
    """

    accepts_edges: ClassVar[bool] = True

    def schema(self, *upstream: Schema) -> Schema:
        schema, = upstream
        if OTHER in schema:
            raise PlanError(f"edges() adds a column {OTHER!r}, which the stream already has.", where=self.show(),
                            hint=f"Rename it: .rename(another_name={OTHER!r}).")
        return schema.with_fields([*schema.fields, Field(OTHER, schema.time_type)])

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(duration=1, causal=upstream[0].causal, points=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted - {OTHER},)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        return EdgesKernel(self.schema(*upstream))

    def show(self) -> str:
        return "edges()"


@fluent
def edges(schema: Schema) -> Edges:
    """Turn events into start and end points. See :class:`whimbrel.operators.Edges`."""
    return Edges()


class EdgesKernel(Kernel):
    """Sorts starts and ends, those of intervals and those that come as edges."""

    def __init__(self, schema: Schema) -> None:
        self.out_schema = schema
        self.sorter = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        starts, bounded = batch.other > batch.sync, batch.other != INF
        first, last = np.minimum(batch.sync, batch.other), np.maximum(batch.sync, batch.other)
        self._add(batch, np.flatnonzero(starts), first, ~starts)
        self._add(batch, np.flatnonzero(bounded), last, bounded, first)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return self.sorter.release(watermark)

    @property
    def buffered_rows(self) -> int:
        return self.sorter.rows

    @property
    def buffered_bytes(self) -> int:
        return self.sorter.nbytes

    def _add(self, batch: Batch, rows: Ticks, happens: Ticks, known: Mask, other: Ticks | None = None) -> None:
        """Add the points of edges; `other` is the start of the events that end."""
        column = Column(self.out_schema.time_type, batch.sync if other is None else other, known)
        points = batch.having(schema=self.out_schema, sync=happens, ends=1, ids=None, began=None,
                         columns=(*batch.columns, column))
        self.sorter.add(points.take(rows))

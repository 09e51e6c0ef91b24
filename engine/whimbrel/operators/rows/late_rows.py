"""Late rows of a source as a stream (side output)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, elapsed
from whimbrel.clock import INF
from whimbrel.disorder import AdvancesWhenIdle, LatencyWatermark, watermark_generator_of
from whimbrel.errors import SchemaError
from whimbrel.kernels import Kernel
from whimbrel.plan import Operator, OrderingSpec, Properties, Source, WithOrdering

LATE_BY, ADJUSTED = "late_by", "adjusted"


@dataclass(frozen=True, kw_only=True, eq=False)
class LateRows(Operator):
    """Keep the late rows of a source, at their arrival times.

        time     1  5  3  9  2      (in the order of arrival)
        out               9         (reorder latency 2: the watermark is 7, so the row at 2 is late)

    A late row is a point event at the watermark of the source when the row arrived. It was not known before, and the
    stream of late rows is in order.

    Parameters
    ----------
    source : Source
    ordering : OrderingSpec, optional
        The last of several reorder latencies by which rows are late, and its late policy. None: those of the source.

    Notes
    -----
    Columns: those of the source, ``late_by`` and ``adjusted``. The first is the time from the row to the newest row, or
    to the watermark if that is later. The second is true if the row is in the stream with a later start, and false if
    it was dropped. Shapes: late rows only.
    State: the times seen. Source: docs/semantics.md, order and late events.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2]}, time="at", reorder_latency=2, late="side_output")
    >>> wb.late_rows(log).collect().to_pylist()
    [{'start': 7, 'end': 8, 'at': 2, 'late_by': 7, 'adjusted': False}]
    """

    source: Source
    ordering: OrderingSpec | None = None

    @property
    def judged(self) -> Source:
        """The source with the promise that counts."""
        return self.source if self.ordering is None else WithOrdering(self.source, self.ordering)

    def schema(self, *upstream: Schema) -> Schema:
        schema = upstream[0]
        length = pa.int64() if schema.unit is None else pa.duration(schema.unit)
        for name in (LATE_BY, ADJUSTED):
            if name in schema:
                raise SchemaError(f"Late rows get a column {name!r}, which {self.source.name} already has.",
                                  where=self.show(), hint="Rename the column of the source.")
        return schema.with_fields([*schema, Field(LATE_BY, length), Field(ADJUSTED, pa.bool_())], where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(duration=1, in_order=False, points=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        partition = self.source.disorder.partition
        return ((wanted | ({partition} if partition is not None else set())) - {LATE_BY, ADJUSTED},)

    def kernel(self, *upstream: Schema) -> Kernel:
        return LateKernel(self, self.schema(*upstream))

    def show(self) -> str:
        return f"late_rows({self.source.name})"


class LateKernel(AdvancesWhenIdle):
    """Follows the time of a source as its ingress does.

    Attributes
    ----------
    late_dropped, late_adjusted : int
        Counted rows.
    """

    def __init__(self, late_rows: LateRows, schema: Schema) -> None:
        self.schema = schema
        source = late_rows.judged
        self.adjusts = source.disorder.late == "adjust"
        self.disorder = source.disorder
        self.time = (watermark_generator_of(source) if late_rows.ordering is None or self.disorder.partition is None
                     else LatencyWatermark(self.disorder, source.schema))
        self.late_dropped = self.late_adjusted = 0

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        moments = self.time.follow(batch)
        self.watermark = self.time.now
        rows = np.flatnonzero(batch.sync < moments.current)
        if not len(rows):
            return []
        late, current = batch.take(rows), moments.current[rows]
        self.time.count_late(late)
        adjusted = (current < late.other) & self.adjusts
        self.late_adjusted += int(np.count_nonzero(adjusted))
        self.late_dropped += len(rows) - int(np.count_nonzero(adjusted))
        late_by = elapsed(np.maximum(moments.newest[rows], current), late.sync)
        length = self.schema.type_of(LATE_BY)
        return [late.having(schema=self.schema, sync=current, ends=1,
                            columns=(*late.columns, Column(length, late_by), Column(pa.bool_(), adjusted)))]

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark == INF:
            self.watermark = INF
        return []

    def advance_idle(self, time: int) -> list[Batch]:
        if isinstance(self.time, LatencyWatermark):
            self.time.advance_idle(time)
        else:
            self.time.now = max(self.time.now, self.disorder.passed(time))
        self.watermark = max(self.watermark, self.time.now)
        return []

    def late_by_partition(self, maximum: int) -> Mapping[Any, int] | None:
        """Late rows of the `maximum` partitions that have the most; None without partitions."""
        return None if self.disorder.partition is None else self.time.late_rows(maximum)

    @property
    def newest(self) -> int:
        """Largest time seen, in ticks."""
        return self.time.newest

"""A streaming DataFrame as a feed."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.clock.duration import Duration
from whimbrel.connect.tables.columnar_source import BATCH_ROWS, TimedSource
from whimbrel.errors import PlanError, SourceError
from whimbrel.spark.errors import short_cause
from whimbrel.spark.rows import as_type, quoted
from whimbrel.spark.types import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WAITING = 2
"""Micro-batches that wait to be read here; then Spark waits."""
_LOOK_S = 0.05


class SparkFeed(TimedSource):
    """Feed of a streaming DataFrame.

    A micro-batch arrives at once: its rows are taken in the order of time, and none of them is late because of another
    one. What is late is later than the newest row of the micro-batches before, less the reorder latency.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Of ``spark.readStream``.
    time, end, arrival, reorder_latency, late
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`.
    name : str, optional
        Default ``"spark"``.

    Raises
    ------
    SchemaError
        For a missing column, one that does not count time, or one of a type that Arrow cannot carry.
    SourceError
        While reading, when the stream fails.

    Notes
    -----
    Read here, rows begin with the first that Spark finds and cannot be read again from the middle. A query that
    resumes after a crash runs on Spark: :meth:`whimbrel.Stream.start_on_spark`.
    """

    live = True

    def __init__(self, frame: DataFrame, *, time: str, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None) -> None:
        where = f"from_spark(..., time={time!r})"
        self.frame = frame
        super().__init__(arrow_schema(frame.schema, where=where), time=time, end=end, arrival=arrival,
                         reorder_latency=reorder_latency, late=late, name=name or "spark", rows=None, where=where)

    def _default_latency(self) -> int | None:
        return 0

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        if offset:
            raise PlanError(f"Cannot resume {self.name} at row {offset:,} because Spark's stream starts again.",
                            where=self.timeline.where, hint="Use start_on_spark(..., checkpoint=...) to resume.")
        names = self.timeline.needed(columns)
        arrived: queue.Queue[pa.Table] = queue.Queue(_WAITING)
        closed = False

        def take(frame: DataFrame, number: int) -> None:
            table = frame.toArrow()
            while table.num_rows and not closed:
                with suppress(queue.Full):
                    arrived.put(table, timeout=_LOOK_S)
                    return

        query = self.frame.select(*map(quoted, names)).writeStream.foreachBatch(take).start()
        try:
            rows = 0
            while True:
                active = query.isActive  # asked before looking: what came before the end is taken
                try:
                    table = arrived.get(timeout=_LOOK_S)
                except queue.Empty:
                    if not active:
                        break
                    yield None
                    continue
                yield from self.timeline.batches(self._in_order(table, names), columns, rows)
                rows += table.num_rows
            if (error := query.exception()) is not None:
                raise SourceError(f"Spark's stream has failed: {short_cause(error)}", where=self.timeline.where,
                                  hint="Read the full trace in Spark's log.")
        finally:
            closed = True
            query.stop()

    def _in_order(self, table: pa.Table, names: Sequence[str]) -> list[pa.RecordBatch]:
        table = table.rename_columns(list(names)).sort_by(self.time).combine_chunks()
        return [pa.record_batch([as_type(part.column(name), self.schema.type_of(name)) for name in names],
                                names=list(names)) for part in table.to_batches(max_chunksize=BATCH_ROWS)]

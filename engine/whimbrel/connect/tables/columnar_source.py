"""Base classes of bounded, columnar sources."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.clock.duration import Duration
from whimbrel.connect.ordering import ordering_spec
from whimbrel.connect.partition_watermarks import PartitionWatermarks, in_partitions
from whimbrel.connect.tables.lifetime_columns import Timeline
from whimbrel.connect.tables.time_column_markers import SEQUENCE, in_file_order, is_stated, refuse_wall_clock
from whimbrel.errors import PlanError
from whimbrel.plan.source import Source

BATCH_ROWS = 262_144
"""Largest number of rows of a batch: its columns fit the CPU cache, and the cost per batch is small per row."""


class TimedSource(Source):
    """A source whose lifetimes come from columns.

    Parameters
    ----------
    fields : pyarrow.Schema
        All columns.
    time, end, arrival : str
        Columns with the start and end of a lifetime, and with the arrival time. :data:`FILE_ORDER` as `arrival`: rows
        are in order of arrival.
    reorder_latency : str, timedelta or int, optional
        How far out of order an on-time row may be. Default: 0 without `arrival`; with it the source is read whole and
        sorted.
    late : {"raise", "drop", "adjust", "side_output"}, optional
        What happens to late rows.
    partition : str or PartitionWatermarks, optional
        Column of partitions that are in order by themselves.
    name : str
        Name of the source.
    rows : int, optional
        Number of rows, if known.
    where : str
        The user's call, for errors.

    Attributes
    ----------
    timeline : Timeline
        The columns with times.
    """

    def __init__(self, fields: pa.Schema, *, time: str, end: str | None, arrival: str | None,
                 reorder_latency: Duration | None, late: str | None, name: str, rows: int | None, where: str,
                 partition: str | PartitionWatermarks | None = None) -> None:
        refuse_wall_clock(time, where)
        if is_stated(time, SEQUENCE):
            raise PlanError("time=wb.SEQUENCE needs rows in a fixed order, which this source does not have.",
                            where=where, hint="Use time= with the name of the event-time column.")
        self.file_order = in_file_order(arrival)
        arrival = None if self.file_order else arrival
        self.timeline = Timeline.of(fields, time=time, end=end, arrival=arrival, where=where)
        self.name = name
        self.schema = self.timeline.schema
        self.time = time
        self.arrival = arrival
        self.longest = 1 if end is None else None
        self.hidden = self.timeline.hidden
        promised = ordering_spec(reorder_latency, late, self.schema.unit, default=self._default_latency(), where=where)
        self.disorder = in_partitions(promised, partition, self.schema, where=where)
        self.rows = rows

    def _default_latency(self) -> int | None:
        return 0 if self.arrival is None and not self.file_order else None

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        self.schema.select(columns)
        return self._read(columns, offset)

    @abstractmethod
    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        """Read rows as :meth:`read`, with checked columns."""


class ColumnarSource(TimedSource):
    """A source of Arrow record batches. Parameters as in :class:`TimedSource`."""

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        with closing(self._record_batches(self.timeline.needed(columns), offset)) as data:
            yield from self.timeline.batches(data, columns, offset, self.lies_in)

    @abstractmethod
    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        """Rows from `offset` on with these columns, at most :data:`BATCH_ROWS` at a time."""

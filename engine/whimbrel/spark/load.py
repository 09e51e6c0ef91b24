"""A Spark DataFrame as a source: Spark prunes, Arrow transfers."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.clock import Duration, Instant
from whimbrel.connect import ColumnarSource
from whimbrel.connect.tables.time_column_markers import Stated, in_file_order
from whimbrel.errors import PlanError
from whimbrel.expr import Expr, columns_of, lifetime_of, predicate
from whimbrel.plan import Blocks, OrderingSpec, Source, TimeGrid
from whimbrel.spark import input_options
from whimbrel.spark.cached_partitions import CachedPartitions, is_cached
from whimbrel.spark.detect_parquet_scan import plain_parquet
from whimbrel.spark.expressions import native
from whimbrel.spark.feed import SparkFeed
from whimbrel.spark.job import job_batches
from whimbrel.spark.parquet_files import PlainFiles
from whimbrel.spark.rows import SparkRows, as_type
from whimbrel.spark.sql_partial_aggregates import names_of
from whimbrel.spark.types import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Order = Literal["time", "newest", "random"]


class SparkSource(ColumnarSource):
    """Source of a DataFrame; making it runs no job.

    Where the DataFrame is nothing but local Parquet files, also in folders that name columns, these are read directly:
    files and row groups that cannot hold rows that are asked for are left out. Otherwise Spark runs one job that
    selects the columns and rows asked for and sends them to this process as they are made, a few batches at a time.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    time, end, arrival, late
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`.
    reorder_latency : str, timedelta or int, optional
        Default: none is promised, the source is history and is read whole, since Spark's partitions have no order. With
        ``order="time"`` nothing is late.
    name : str, optional
        Default ``"spark"``.
    conditions : sequence of Expr
        What every row meets.
    between : (moment, moment), optional
        Only rows that start at or after the first and before the second.
    order : {"time", "newest", "random"}, optional
        How rows come. "time": Spark sorts them, in ranges of time, and they are answered as they come. "newest" and
        "random" are for progressive queries: of the newest rows, or of a random sample.

    Raises
    ------
    SourceError
        While reading, when the job fails.
    SchemaError
        For a missing column, one that does not count time, or one of a type that Arrow cannot carry.
    PlanError
        For a condition that Spark might answer otherwise, and an order that the rows cannot have.

    Notes
    -----
    Spark may send partitions in any order, so a read cannot begin at an `offset` unless files are read directly.
    """

    source: Source | None = None
    """The whole of it, where this is a part."""

    def __init__(self, frame: DataFrame, *, time: str, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None,
                 conditions: Sequence[Expr] = (), between: tuple[Instant | None, Instant | None] | None = None,
                 order: Order | None = None) -> None:
        where = self._where = f"from_spark(..., time={time!r})"
        _check_order(order, arrival, where)
        self.order = order
        self.fields = arrow_schema(frame.schema, where=where)
        super().__init__(self.fields, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
                         name=name or "spark", rows=None, where=where)
        self.conditions = (*conditions, *input_options.in_time(between, self.timeline))
        self.frame = input_options.filter_frame(frame, self.schema, self.conditions, where)
        self._files = None if order == "time" else self._direct(frame)
        if self._files is not None and not self.conditions:
            self.rows = self._files.rows

    def _direct(self, frame: DataFrame) -> PlainFiles | None:
        """The files to read, without those that the conditions leave out."""
        files = plain_parquet(frame, self.fields, where=self._where)
        if files is None:
            return None
        kept = files.where(self.conditions)
        return kept if self.order is None or self.order == "time" else kept.in_order(self.order, self.time)

    def _default_latency(self) -> int | None:
        return 0 if self.order == "time" else None

    def where(self, conditions: Sequence[Expr]) -> Source:
        if self.disorder not in (OrderingSpec(), OrderingSpec(None)) or not conditions:
            return self  # which rows are late depends on the rows before them, whatever those hold
        copied = copy.copy(self)
        copied.source = self
        if self._files is not None:
            copied._files = self._files.where([each for each in conditions if not lifetime_of(each)])  # noqa: SLF001
            if copied._files is self._files:  # noqa: SLF001
                return self
            copied.read_of = f"{copied._files.rows:,} of {self._files.rows:,} rows"  # noqa: SLF001
            copied.rows = None if self.conditions else copied._files.rows  # noqa: SLF001
            return copied
        names = names_of(SparkRows(self.frame, self.schema))
        in_sql = [native(condition, names, self.schema, may_fail=False) for condition in conditions]
        for each in in_sql:
            copied.frame = copied.frame if each is None else copied.frame.where(each)
        copied.read_of = "filtered by Spark"
        return self if all(each is None for each in in_sql) else copied

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        if self._files is None or self.conditions or self.disorder not in (OrderingSpec(), OrderingSpec(None)):
            return None
        return self._files.blocks(self.timeline)

    def in_parts(self) -> Source:
        if self._files is not None or self.order is not None or not is_cached(self.frame):
            return self
        return CachedPartitions(self, self.frame, self.fields, where=self._where)

    def excerpt(self, first: int, stop: int) -> Source:
        copied = copy.copy(self)
        if self._files is not None:
            copied._files = self._files.between(first, stop)  # noqa: SLF001
            copied.source, copied.rows = self, copied._files.rows  # noqa: SLF001
        return copied

    def stamp(self) -> str | None:
        return None if self._files is None else self._files.files.stamp()

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        if self._files is None or not self.conditions:
            return super()._read(columns, offset)
        return self._filtered(columns, offset)

    def _filtered(self, columns: Sequence[str], skip: int) -> Iterator[Batch | None]:
        """Of files: row groups have been left out, and of what they hold some rows are."""
        read = list(dict.fromkeys([*columns, *(name for each in self.conditions for name in sorted(columns_of(each)))]))
        for batch in super()._read(read, 0):
            assert batch is not None
            kept = np.flatnonzero(np.logical_and.reduce([predicate(each, batch) for each in self.conditions]))
            kept, skip = kept[skip:], max(0, skip - len(kept))
            if len(kept):
                yield (batch if len(kept) == len(batch) else batch.take(kept)).select(columns)

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        if self._files is not None:
            parts = self._files.record_batches(columns, offset)
        elif offset == 0:
            parts = job_batches(self.frame, columns, where=self._where, order=self.order,
                                ticks=SparkRows(self.frame, self.schema, self.timeline).ticks() if self.order else None)
        else:
            raise PlanError(f"Cannot resume at row {offset:,} because Spark's partitions have no order.",
                            where=self._where, hint="Write the DataFrame to Parquet and read that.")
        fields = pa.schema([self.fields.field(column) for column in columns])
        with closing(parts):
            for part in parts:
                arrays = [as_type(part.column(field.name), field.type) for field in fields]
                yield pa.record_batch(arrays, names=fields.names)


def _check_order(order: str | None, arrival: str | None, where: str) -> None:
    if order not in (None, "time", "newest", "random"):
        raise PlanError(f"order must be \"time\", \"newest\" or \"random\", got {order!r}.",
                        where=where, hint='Use order="time".')
    if order is not None and arrival is not None:
        raise PlanError(f'Cannot combine order="{order}" with arrival= because rows are not read in arrival order.',
                        where=where, hint="Leave out arrival= or order=.")


def spark_source(data: Any, *, time: str, end: str | None = None, arrival: str | None = None,
                 columns: Sequence[str] | None = None, where: Any = None,
                 between: tuple[Instant | None, Instant | None] | None = None, order: Order | None = None,
                 spark: SparkSession | None = None, **options: Any) -> SparkSource | SparkFeed:
    """Create a source or feed from a DataFrame, table or query.

    A streaming DataFrame gives a feed. The options are those of both.
    """
    call = f"from_spark(..., time={time!r})"
    if isinstance(time, Stated):
        raise PlanError("Spark keeps no order of rows that could be their time, and its rows have all arrived.",
                        where=call, hint="Name the event-time column: time=...")
    if in_file_order(arrival):
        raise PlanError("Spark keeps no order of rows, so file order cannot be the arrival order.", where=call,
                        hint="Name the column of arrival times: arrival=...")
    frame = input_options.frame_of(data, spark, call)
    in_sql, conditions = input_options.split_conditions(where, call)
    frame = input_options.kept(frame, in_sql, call)
    read = sorted(set().union(*map(columns_of, conditions)))
    frame = input_options.only(frame, [name for name in (time, end, arrival) if name] + read, columns, call)
    options |= {"time": time, "end": end, "arrival": arrival}
    if not frame.isStreaming:
        return SparkSource(frame, conditions=conditions, between=between, order=order, **options)
    if between is not None or order is not None:
        raise PlanError("between= and order= do not apply to a streaming DataFrame.", where=call,
                        hint="Leave them out, or use a DataFrame that is not streaming.")
    if conditions:
        frame = input_options.filter_frame(frame, SparkFeed(frame, **options).schema, conditions, call)
    return SparkFeed(frame, **options)

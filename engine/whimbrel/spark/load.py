"""A Spark DataFrame as a source: Spark plans and prunes, Arrow carries the rows."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.clock.duration import Duration
from whimbrel.connect import ColumnarSource
from whimbrel.errors import MissingExtraError, PlanError, SourceError
from whimbrel.spark.feed import SparkFeed
from whimbrel.spark.job import job_batches
from whimbrel.spark.plain_scan import plain_parquet
from whimbrel.spark.rows import as_type
from whimbrel.spark.types import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkSource(ColumnarSource):
    """The rows of a DataFrame; making the source runs no job.

    Where the DataFrame is nothing but local Parquet files, these are read directly. Otherwise Spark runs one job that
    selects the columns asked for and sends them to this process as they are made, a few batches at a time.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    time, end, arrival, late
        As in :class:`~whimbrel.connect.columnar.ColumnarSource`.
    reorder_latency : str, timedelta or int, optional
        Default: none is promised, the source is history and is read whole, since Spark's partitions have no order.
    name : str, optional
        Default ``"spark"``.

    Raises
    ------
    MissingExtraError
        When pyspark is not installed.
    SourceError
        For anything but a batch DataFrame of an ordinary session; while reading, when the job fails.
    SchemaError
        For a missing column, one that does not count time, or one of a type that Arrow cannot carry.

    Notes
    -----
    Spark may send partitions in any order, so a read cannot begin at an `offset` unless files are read directly.
    """

    def __init__(self, frame: DataFrame, *, time: str, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None) -> None:
        self._where = f"from_spark(..., time={time!r})"
        self.frame = frame
        self.fields = arrow_schema(frame.schema, where=self._where)
        self._files = plain_parquet(frame, self.fields, where=self._where)
        super().__init__(self.fields, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
                         name=name or "spark", rows=None if self._files is None else self._files.rows,
                         where=self._where)

    def _default_latency(self) -> int | None:
        return None

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        if self._files is not None:
            parts = self._files.record_batches(columns, offset)
        elif offset == 0:
            parts = job_batches(self.frame, columns, where=self._where)
        else:
            raise PlanError(f"Reading cannot go on at row {offset:,}: Spark's partitions have no order.",
                            where=self._where, hint="write the DataFrame to Parquet and read that")
        fields = pa.schema([self.fields.field(column) for column in columns])
        with closing(parts):
            for part in parts:
                arrays = [as_type(part.column(field.name), field.type) for field in fields]
                yield pa.record_batch(arrays, names=fields.names)


def spark_source(frame: DataFrame, **options: Any) -> SparkSource | SparkFeed:
    """A DataFrame as a source, or as a feed where it streams; options as both have them."""
    _check_frame(frame, f"from_spark(..., time={options['time']!r})")
    return (SparkFeed if frame.isStreaming else SparkSource)(frame, **options)


def _check_frame(frame: DataFrame, where: str) -> None:
    try:
        from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "from_spark") from None
    if not isinstance(frame, ClassicDataFrame):
        connect = type(frame).__module__.startswith("pyspark.sql.connect")
        what = "A DataFrame of Spark Connect" if connect else f"A {type(frame).__name__}"
        raise SourceError(f"{what} cannot be read.", where=where,
                          hint="give a pyspark DataFrame of a session in this process")

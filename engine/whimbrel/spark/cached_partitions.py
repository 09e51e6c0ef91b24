"""Partitions of a cached DataFrame as blocks of progressive queries."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.clock import INF, MIN_TIME
from whimbrel.connect.files.parquet import joined
from whimbrel.connect.tables.columnar_source import TimedSource
from whimbrel.errors import PlanError, SourceError
from whimbrel.plan import Blocks, Excerpts, OrderingSpec, Source, TimeGrid
from whimbrel.spark.detect_parquet_scan import only_steps_over
from whimbrel.spark.errors import short_cause
from whimbrel.spark.job import job_batches
from whimbrel.spark.rows import SparkRows, as_type
from whimbrel.spark.session import check_running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CACHED = "columnar.InMemoryTableScanExec"
_AHEAD = 2
"""Partitions that are fetched while one is being worked on."""


class RowDigest(NamedTuple):
    """What is compared of rows: how many, their first and last time, and all times by exclusive or."""

    rows: int
    earliest: int
    latest: int
    mixed: int

    def and_also(self, other: RowDigest) -> RowDigest:
        """Of both together."""
        return RowDigest(self.rows + other.rows, min(self.earliest, other.earliest), max(self.latest, other.latest),
                    self.mixed ^ other.mixed)


def is_cached(frame: DataFrame) -> bool:
    """Whether Spark would do no more than filter and choose columns of what it has cached, partition by partition."""
    return only_steps_over(frame, _CACHED)


class CachedPartitions(Source):
    """The rows of a cached DataFrame in partitions, which are counted when this is made: one Spark job.

    Spark recomputes lost partitions when they are read. Their rows are compared with the counts of the first reading.
    When they differ, reading fails, because a result could have duplicate or missing rows.

    Parameters
    ----------
    source : TimedSource
        All of its rows.
    frame : pyspark.sql.DataFrame
    fields : pyarrow.Schema
        Its columns.
    where : str
        The user's call, for errors.

    Raises
    ------
    SourceError
        When the job fails, as where a row has no time.
    """

    remote = True

    def __init__(self, source: TimedSource, frame: DataFrame, fields: pa.Schema, *, where: str) -> None:
        self.name, self.time, self.arrival, self.schema = source.name, source.time, source.arrival, source.schema
        self.disorder, self.longest, self.hidden = source.disorder, source.longest, source.hidden
        self.timeline = source.timeline
        self._frame, self._fields, self._where = frame, fields, where
        self._partitions = _counted(SparkRows(frame, self.schema, self.timeline), where)
        self.rows: int = sum(each.rows for each in self._partitions.values())

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        if self.disorder != OrderingSpec(None) or not self._partitions:
            return None
        digests = np.array([*self._partitions.values()], np.int64)
        first = digests[:, 0].cumsum() - digests[:, 0]
        begins = joined(first, rows)
        return Blocks(first[begins], np.append(first[begins[1:]], self.rows),
                      np.minimum.reduceat(digests[:, 1], begins), np.maximum.reduceat(digests[:, 2], begins))

    def excerpt(self, first: int, stop: int) -> CachedPartitions:
        begins = np.cumsum([0, *(each.rows for each in self._partitions.values())])
        begin, end = np.searchsorted(begins, [first, stop]).tolist()
        copied = copy.copy(self)
        vars(copied).update(_partitions=dict([*self._partitions.items()][begin:end]), rows=stop - first)
        return copied

    def excerpts(self, columns: Sequence[str]) -> Excerpts:
        return PartitionExcerpts(self, columns)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        if offset:
            raise PlanError(f"Cannot resume at row {offset:,} because Spark partitions are read whole.",
                            where=self._where, hint="Write the DataFrame to Parquet and read that.")
        come = RowDigest(0, INF, MIN_TIME, 0)
        with closing(self._record_batches(self.timeline.needed(columns))) as parts:
            for batch in self.timeline.batches(parts, columns, 0):
                times = batch.sync
                come = come.and_also(RowDigest(len(batch), int(times.min()), int(times.max()),
                                          int(np.bitwise_xor.reduce(times))))
                yield batch
        counted = reduce(RowDigest.and_also, self._partitions.values(), RowDigest(0, INF, MIN_TIME, 0))
        if come != counted:
            raise SourceError(f"Spark computed different rows when it computed partitions again: {come.rows:,} rows, "
                              f"{counted.rows:,} before.", where=self._where,
                              hint="Write the DataFrame to Parquet and read that.")

    def _record_batches(self, columns: list[str]) -> Generator[pa.RecordBatch]:
        fields = pa.schema([self._fields.field(column) for column in columns])
        with closing(job_batches(self._frame, columns, where=self._where, only=[*self._partitions])) as parts:
            for part in parts:
                yield pa.record_batch([as_type(part.column(field.name), field.type) for field in fields],
                                      names=fields.names)


class PartitionExcerpts(Excerpts):
    """Fetches the next partitions while one is being worked on.

    Parameters
    ----------
    source : CachedPartitions
    columns : sequence of str
    """

    def __init__(self, source: CachedPartitions, columns: Sequence[str]) -> None:
        super().__init__(source, columns)
        self._threads = ThreadPoolExecutor(_AHEAD, thread_name_prefix="whimbrel-spark-ahead")
        self._coming: dict[tuple[int, int], Future[list[Batch | None]]] = {}

    def read(self, first: int, stop: int) -> Iterator[Batch | None]:
        coming = self._coming.pop((first, stop), None)
        return super().read(first, stop) if coming is None else iter(coming.result())

    def expect(self, blocks: Sequence[tuple[int, int]]) -> None:
        before, self._coming = self._coming, {}
        for block in blocks[: _AHEAD + 1]:
            known = block in before
            self._coming[block] = before.pop(block) if known else self._threads.submit(self._fetched, *block)
        for unasked in before.values():
            unasked.cancel()

    def _fetched(self, first: int, stop: int) -> list[Batch | None]:
        return list(self.source.excerpt(first, stop).read(self.columns))


def _counted(rows: SparkRows, where: str) -> dict[int, RowDigest]:
    """Partitions that have rows, by number."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as f

    check_running(rows.frame.sparkSession, where)
    at = rows.frame.select(f.spark_partition_id().alias("number"), rows.ticks().alias("ticks"))
    digests = at.groupBy("number").agg(f.count("*"), f.min("ticks"), f.max("ticks"), f.bit_xor("ticks"))
    try:
        return {number: RowDigest(*values) for number, *values in sorted(digests.collect())}
    except PySparkException as error:
        raise SourceError(f"Spark could not count the rows: {short_cause(error)}", where=where,
                          hint="Read the full trace in Spark's log.") from error

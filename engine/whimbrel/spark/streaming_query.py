"""A streaming query on Spark, with the engine's state in its tasks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.batch import Schema, table_schema
from whimbrel.clock import INF, MIN_TIME, Duration, duration_ticks
from whimbrel.clock.lateness import late_before
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError, SourceError
from whimbrel.migration_hints import SPARK_RUN, absent
from whimbrel.optimize import optimize
from whimbrel.plan import Node, OrderingSpec, Source, check_shown
from whimbrel.run.checkpoint import describe_plans
from whimbrel.spark.commit_log import Book, CommittedBatch
from whimbrel.spark.errors import failure
from whimbrel.spark.exchange import answered
from whimbrel.spark.feed import SparkFeed
from whimbrel.spark.micro_batch import IS_ROW, PART, Followed, MicroBatch
from whimbrel.spark.rows import TICKS, SparkRows, quoted, stage_fields
from whimbrel.spark.sink import SparkSink
from whimbrel.spark.sink_files import SinkFiles, local_folder, table_folder
from whimbrel.spark.sql_partial_aggregates import rows_in_sql
from whimbrel.spark.stages import Before, divide
from whimbrel.spark.tasks import packed, travelling
from whimbrel.spark.types import check_distinct_names, fitting, spark_schema
from whimbrel.spark.workers import check_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

_WHERE = "start_on_spark(...)"
_SPARKS_OWN = re.compile(r"\s*\d+ [a-z]+\s*")


class SparkRun:
    """A handle on a streaming query on Spark.

    Its settled rows are written to a folder or a table, each exactly once.

    Attributes
    ----------
    query : pyspark.sql.streaming.StreamingQuery
        Spark's own handle.
    """

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = absent("A run on Spark", SPARK_RUN)

    def __init__(self, plan: Node, sink: SparkSink, checkpoint: Path, partitions: int | None, *, every: Duration | None,
                 available_now: bool) -> None:
        trigger: dict[str, Any] = {"availableNow": True} if available_now else _each(every) if every else {}
        self._feed = _feed_of(plan)
        check_shown(plan)
        sink.check(plan.schema, _WHERE)
        self._spark = self._feed.frame.sparkSession
        check_workers(self._spark, _WHERE)
        check_distinct_names(plan.schema.names, self._spark, _WHERE)
        keyed = divide(plan, "key")
        if keyed is not None and len(keyed.plan.sources()) > 1:  # tasks are sent one kind of rows
            keyed = None
        plan_of_tasks = plan if keyed is None else keyed.plan
        self._source, = plan_of_tasks.sources()
        self._by = [] if keyed is None else [columns[self._source] for columns in keyed.by]
        wanted = partitions or (self._spark.sparkContext.defaultParallelism if self._by else 1)
        self._book = Book(checkpoint / "whimbrel", describe_plans((plan,)), wanted if self._by else 1)
        if (last := self._book.last) is not None and last.closed:
            raise PlanError("The query has finished, so it cannot resume.", where=_WHERE,
                            hint="Use another checkpoint= and another output folder or table.")
        self._sink = sink
        note, spark = checkpoint / "whimbrel" / "files.jsonl", self._spark
        table = sink.table
        self._files = (SinkFiles(note, local_folder(sink.path, spark), f"start_on_spark(path={sink.path!r})")
                       if table is None
                       else SinkFiles(note, lambda: table_folder(table, spark), f"start_on_spark(table={table!r})"))
        if last is not None:
            self._files.check(last.number)
        self._cause: Exception | None = None
        # The driver sends the watermark to the tasks.
        followed = Followed(self._source, 0, OrderingSpec(None, self._feed.disorder.late))
        followed.name = self._feed.name
        sent = plan_of_tasks.rewrite(lambda node: Node(followed) if isinstance(node.op, Source) else node)
        self._plan = packed(sent)
        none = self._spark.createDataFrame([], self._feed.frame.schema)
        self._reader = self._rows(none).reader(optimize(sent).sources()[0].schema.names)
        self._out = pa.schema([(field.name, fitting(field.type, field.name, _WHERE))
                               for field in table_schema(plan.schema)])
        stream = self._feed.frame.select(*map(quoted, self._needed())).writeStream.foreachBatch(self._take)
        stream = stream.option("checkpointLocation", str(checkpoint / "spark"))
        self.query: StreamingQuery = (stream.trigger(**trigger) if trigger else stream).start()

    @property
    def last_batch(self) -> CommittedBatch | None:
        """Last committed micro-batch: its number and counts of rows.

        The counts are the rows seen and the late rows until then.
        """
        return self._book.last

    @property
    def error(self) -> SourceError | None:
        """Error that ended the query; None if it did not fail."""
        ended = self.query.exception()
        return None if ended is None else failure(
            "Spark's stream has failed", self._cause or ended, where=_WHERE,
            hint="Fix the cause, then start it again with the same checkpoint.")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the query.

        False if it did not come in time. If the query has failed, this raises its error.
        """
        from pyspark.errors import StreamingQueryException

        try:
            ended = self.query.awaitTermination(None if timeout is None else max(1, round(timeout)))
        except StreamingQueryException:
            ended = True
        if self.error is not None:
            raise self.error
        return ended is not False

    def stop(self) -> None:
        """Stop the query, so that it can resume from its checkpoint."""
        self.query.stop()

    def finish(self) -> None:
        """Finish the query: settle and write its provisional rows.

        No row can follow, and the query cannot resume.
        """
        self.stop()
        if self.error is not None:
            raise self.error
        last = self._book.last
        if last is not None and not last.closed:
            nothing = self._spark.createDataFrame([], self._feed.frame.schema)
            self._answer(nothing, CommittedBatch(last.number + 1, last.newest, last.rows, last.late_rows, closed=True),
                         last)

    def _take(self, frame: DataFrame, number: int) -> None:
        """What Spark calls with each micro-batch, and once more with one that it is not sure of."""
        from pyspark.sql import functions as f

        last = self._book.last
        if last is not None and last.number >= number:
            return
        rows = SparkRows(frame, self._feed.schema, self._feed.timeline)
        frame = frame.withColumn(TICKS, rows.ticks()).persist()
        try:
            before = last or CommittedBatch(-1)
            late = f.count_if(f.col(TICKS) < self._watermark(before))
            found = frame.agg(f.max(TICKS), f.count(f.lit(1)), late).head()
            assert found is not None
            newest, count, too_late = found
            entry = CommittedBatch(number, before.newest if newest is None else max(before.newest, newest),
                                   before.rows + count,
                          before.late_rows + too_late)
            self._answer(frame, entry, last)
        except Exception as error:
            self._cause = error  # Spark's own error is about its streams
            raise
        finally:
            frame.unpersist()

    def _answer(self, frame: DataFrame, entry: CommittedBatch, last: CommittedBatch | None) -> None:
        """Let tasks take a micro-batch, write what they settle, and let it count."""
        number, watermark = entry.number, MIN_TIME if last is None else self._watermark(last)
        work = MicroBatch(self._plan, self._reader, self._out, str(self._book.states), number,
                          None if last is None else last.number, watermark,
                          INF if entry.closed else self._watermark(entry))
        parts = self._parts(self._rows(frame).frame)
        parts = parts.repartition(self._book.partitions, PART).sortWithinPartitions(PART, IS_ROW)
        self._sink.write(parts.mapInArrow(travelling(work, "answer"), spark_schema(self._out)), number)
        self._files.add(number)
        self._book.write(entry)

    def _rows(self, frame: DataFrame) -> SparkRows:
        """The rows of a micro-batch, with the keys that the query computes."""
        rows = SparkRows(frame, self._feed.schema, self._feed.timeline)
        if not isinstance(self._source, Before):
            return rows
        first, schema = self._source.stage, self._source.schema
        made = rows_in_sql(first.plan, rows)
        if made is None:
            made = answered(first, [rows], stage_fields(schema, _WHERE), ticks=True)
        return SparkRows(made, Schema(schema.fields, schema.unit, schema.zone))

    def _needed(self) -> Sequence[str]:
        """The columns that are taken from the stream."""
        if not isinstance(self._source, Before):
            return list(dict.fromkeys([*self._reader.sent.names, *self._by]))
        asked, = optimize(self._source.stage.plan).sources()
        return self._feed.timeline.needed(asked.schema.names)

    def _parts(self, frame: DataFrame) -> DataFrame:
        """Rows with their partition, and one empty row per partition, which advances its watermark."""
        from pyspark.sql import functions as f

        of = {field.name: field.dataType for field in frame.schema.fields}
        none = frame.sparkSession.range(self._book.partitions).select(
            f.col("id").cast("int").alias(PART), f.lit(False).alias(IS_ROW),
            *(f.lit(None).cast(of[name]).alias(f"c{index}") for index, name in enumerate(self._reader.sent.names)))
        key = f.pmod(f.hash(*map(f.col, map(quoted, self._by))), f.lit(self._book.partitions)) if self._by else f.lit(0)
        return none.union(frame.select(key.cast("int"), f.lit(True),
                                       *(f.col(quoted(name)) for name in self._reader.sent.names)))

    def _watermark(self, entry: CommittedBatch) -> int:
        latency = self._feed.disorder.reorder_latency
        return MIN_TIME if latency is None else late_before(entry.newest, latency)


def _each(every: Duration) -> dict[str, str]:
    """How often, as Spark says it: in our words or in its own.

    >>> _each("10s"), _each("10 seconds")
    ({'processingTime': '10000 milliseconds'}, {'processingTime': '10 seconds'})
    """
    if isinstance(every, str) and _SPARKS_OWN.fullmatch(every):
        return {"processingTime": every}
    ticks = 0 if is_whole(every) else duration_ticks(every, "ms", where=_WHERE)
    if ticks <= 0:
        raise PlanError(f"every must be a positive duration, got {every!r}.", where=_WHERE, hint='Use every="10s".')
    return {"processingTime": f"{ticks} milliseconds"}


def _feed_of(plan: Node) -> SparkFeed:
    """The one source of a query that can follow a stream."""
    sources = plan.sources()
    if len(sources) != 1 or not isinstance(sources[0], SparkFeed):
        names = ", ".join(source.name for source in sources)
        raise PlanError(f"start_on_spark() needs exactly one streaming DataFrame, got {names}.", where=_WHERE,
                        hint="Use query.on(wb.from_spark(stream, ...)).")
    feed = sources[0]
    if feed.disorder.late == "side_output":
        raise PlanError("late=\"side_output\" is not available for a stream on Spark.", where=_WHERE,
                        hint='Use late="drop"; run.last_batch counts late rows.')
    return feed

"""Execute a query on Spark with Spark SQL and the engine's kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

import pyarrow as pa

from whimbrel.batch import Schema, SegmentType, table_schema
from whimbrel.connect import ArrowSource
from whimbrel.connect.signals.sample_arrays import ArraySource
from whimbrel.errors import MissingExtraError, PlanError
from whimbrel.operators import GroupAggregate
from whimbrel.optimize import FirstRows, first_rows, has_first_samples, with_first_samples
from whimbrel.plan import Node, OrderingSpec, Source, check_shown
from whimbrel.run import Piece, in_ranges
from whimbrel.spark.detect_parquet_scan import check_texts
from whimbrel.spark.errors import failure, interrupted
from whimbrel.spark.exchange import ROWS_A_TASK, answered
from whimbrel.spark.first_rows import first_spark_rows
from whimbrel.spark.load import SparkSource
from whimbrel.spark.rows import SparkRows, as_type, stage_fields
from whimbrel.spark.session import check_running
from whimbrel.spark.source_dataframes import MAX_SENT_BYTES, is_table, rows_of
from whimbrel.spark.sql_partial_aggregates import rows_in_sql, states_in_sql
from whimbrel.spark.stages import Before, Exchange, How, Stage, divide
from whimbrel.spark.tasks import Task
from whimbrel.spark.types import check_distinct_names, fitting, spark_schema
from whimbrel.spark.workers import check_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WHERE = "on_spark(...)"


class SparkExecution:
    """Execution of a query on Spark.

    Parameters
    ----------
    plan : Node
        As written.
    spark : SparkSession
    exchange : {"key", "time", "order"}, optional
        How rows change places, in one stage; None: what seems best.
    native : bool, optional
        Whether Spark SQL makes the states of aggregates; None: where it can.

    Raises
    ------
    PlanError
        For feeds, sources whose rows may be late, tables too large to be sent along, and what cannot be done as asked.
    """

    def __init__(self, plan: Node, spark: SparkSession, *, exchange: Exchange | None = None,
                 native: bool | None = None) -> None:
        _check_session(spark)
        self.plan, self.spark, self.native = plan, spark, native
        check_shown(plan)
        for source in plan.sources():
            _check_source(source)
        if exchange not in (None, *get_args(Exchange)):
            raise PlanError(f"exchange must be one of {', '.join(map(repr, get_args(Exchange)))}, got {exchange!r}.",
                            where=f"on_spark(exchange={exchange!r})",
                            hint="Leave exchange= out to let the planner choose.")
        self.pieces = [] if exchange else _pieces(plan, spark)
        self._exchange: Exchange | None = exchange
        assumed = self._divided_by_time()
        self._is_assumed = assumed is not None
        stage = assumed or divide(plan, exchange)
        if stage is None:
            raise PlanError(f"Cannot exchange the rows of this query by {exchange}.",
                            where=f"on_spark(exchange={exchange!r})",
                            hint="Leave exchange= out; explain(on=spark) shows the plan.")
        self.stage = stage
        self._made: dict[Stage, DataFrame | None] = {}
        if native and not any(self.in_sql(each) is not None for each in stages(stage)):
            raise PlanError("native=True is not possible: no stage of this query gives identical results in Spark SQL.",
                            where="on_spark(native=True)", hint="Leave native= out.")

    def frame(self) -> DataFrame:
        """The result as a DataFrame: start, end, payload.

        If the time of sample 0 decides how ranges of time are cut, a job finds it now.
        """
        check_workers(self.spark, WHERE)
        if self._is_assumed and not self.pieces:
            plan = with_first_samples(self.plan, lambda source, blocks: first_spark_rows(
                source, self._rows(source), blocks))
            self.stage, self._is_assumed = divide(plan, self._exchange) or self.stage, False
        fields = pa.schema([pa.field(field.name, fitting(field.type, field.name, WHERE))
                            for field in table_schema(self.plan.schema)])
        if self.pieces:
            numbers = self.spark.range(0, len(self.pieces), 1, len(self.pieces))
            return numbers.mapInArrow(_answering(self.pieces, fields), spark_schema(fields))
        return answered(self.stage, self._given(self.stage), fields, ticks=False)

    def in_sql(self, stage: Stage) -> DataFrame | None:
        """A stage as Spark's own work, where that says the same."""
        if self.native is False or stage.how is not How.LOCAL or stage is self.stage:
            return None
        if stage not in self._made:
            source, = stage.plan.sources()
            says = states_in_sql if isinstance(stage.plan.op, GroupAggregate) else rows_in_sql
            self._made[stage] = says(stage.plan, self._rows(source))
        return self._made[stage]

    def _divided_by_time(self) -> Stage | None:
        """Stages as they are when the time of sample 0 is known, if that lets ranges of time run in parallel."""
        if not has_first_samples(self.plan):
            return None
        stage = divide(with_first_samples(self.plan, lambda *_: FirstRows(0, 1)), self._exchange)
        if stage is None or not any(each.how is How.TIME for each in stages(stage)):
            return None
        return stage

    def _given(self, stage: Stage) -> list[SparkRows]:
        return [self._rows(source) for source in stage.plan.sources()]

    def _rows(self, source: Source) -> SparkRows:
        if not isinstance(source, Before):
            return rows_of(source, self.spark, WHERE)
        check_distinct_names(source.schema.names, self.spark, WHERE)
        frame = self.in_sql(source.stage)
        if frame is None:
            fields = stage_fields(source.schema, WHERE)
            frame = answered(source.stage, self._given(source.stage), fields, ticks=True)
        return SparkRows(frame, Schema(source.schema.fields, source.schema.unit, source.schema.zone))


def stages(last: Stage) -> Iterator[Stage]:
    """All stages, those first that make rows for others."""
    for stage in last.earlier:
        yield from stages(stage)
    yield last


def collect_on_spark(plan: Node, spark: SparkSession) -> pa.Table:
    """Collect the result of a query on Spark, ordered by start."""
    carriage = SparkExecution(plan, spark)  # it says so where pyspark is not installed

    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        table = carriage.frame().toArrow()
    except (PySparkException, Py4JError) as error:
        if interrupted(error):
            raise KeyboardInterrupt from error
        for source in plan.sources():
            if isinstance(source, SparkSource):
                check_texts(source.frame, error, "collect(on=spark)")
        raise failure("Spark failed", error,
                      where="collect(on=spark)", hint="Read the whole error in its cause.") from error
    promised = table_schema(plan.schema)
    columns = [_as_promised(table.column(field.name), field.type) for field in promised]
    return pa.Table.from_arrays(columns, schema=promised).sort_by("start")


def _as_promised(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    if not isinstance(type_, SegmentType):
        return column.cast(type_)
    return pa.chunked_array([as_type(chunk, type_) for chunk in column.chunks], type_)


def _pieces(plan: Node, spark: SparkSession) -> list[Piece]:
    """A query over files, or over a small table, as tasks that read for themselves."""
    sources = plan.sources()
    if any(isinstance(source, SparkSource) for source in sources):
        return []
    pieces = in_ranges(with_first_samples(plan, first_rows), spark.sparkContext.defaultParallelism)
    if not pieces and (sum(source.rows or 0 for source in sources) <= ROWS_A_TASK or not all(map(is_table, sources))):
        pieces = [Piece(plan)]
    held = sum(source.nbytes for source in sources if isinstance(source, ArrowSource | ArraySource))
    return pieces if held <= MAX_SENT_BYTES else []


def _answering(pieces: list[Piece], fields: pa.Schema) -> Task:
    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from pieces[number].answer().cast(fields).to_batches(max_chunksize=ROWS_A_TASK // 16)

    return run


def _check_session(spark: SparkSession) -> None:
    try:
        from pyspark.sql import SparkSession as Classic
    except ImportError:
        raise MissingExtraError("pyspark", "spark", WHERE) from None
    if not isinstance(spark, Classic):
        connect = type(spark).__module__.startswith("pyspark.sql.connect")
        what = "one of Spark Connect" if connect else type(spark).__name__
        raise PlanError(f"spark must be a Spark session of this process, got {what}.", where=WHERE,
                        hint="Use a session of SparkSession.builder.master(...), or of local_session().")
    check_running(spark, WHERE)


def _check_source(source: Source) -> None:
    if source.live:
        raise PlanError(f"{source.name} is a feed, which is unbounded.", where=WHERE,
                        hint="Use start_on_spark(...) with a streaming DataFrame.")
    if source.edges:
        raise PlanError(f"{source.name} has start and end edges, which Spark cannot keep together.", where=WHERE,
                        hint="Use point events or intervals.")
    if source.disorder not in (OrderingSpec(), OrderingSpec(None)):
        raise PlanError(f"Which rows of {source.name} are late depends on their order, which Spark does not keep.",
                        where=WHERE, hint="Leave out reorder_latency= and late=: the engine sorts a history.")

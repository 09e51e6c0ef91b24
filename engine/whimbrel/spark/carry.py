"""A query carried by Spark: each task answers a range of time, with the engine's own kernels."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.batch import Batch, table_schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.connect import ArrowSource, ColumnarSource
from whimbrel.errors import MissingExtraError, PlanError, SchemaError, SourceError
from whimbrel.optimize import optimize
from whimbrel.plan import Disorder, Node, Reach, Source
from whimbrel.run import Piece, batches, in_ranges
from whimbrel.spark.cause import short_cause
from whimbrel.spark.load import SparkSource, as_promised

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_ROWS_A_TASK = 1_000_000
_MOST_SHIPPED_BYTES = 64 << 20
_RANGE, _FROM, _TO, _TICKS = "whimbrel_range", "whimbrel_from", "whimbrel_to", "whimbrel_ticks"


def on_spark(plan: Node, spark: SparkSession) -> DataFrame:
    """The answer of a query as a DataFrame: start, end, payload.

    A DataFrame that was read with ``from_spark`` is exchanged by ranges of time, each with the rows that lie within
    reach of it; Parquet files and small tables are read by the tasks themselves. Where lifetimes have no bound, as in
    sessions, one task takes the rows in the order of time, however many they are.

    Raises
    ------
    PlanError
        For several sources, feeds, late rows, and tables too large to be sent along.
    SchemaError
        For columns of a type that Spark has not.
    """
    where = "on_spark(...)"
    fields = _fields(plan, where)
    source = _only_source(plan, spark, where)
    schema = _struct(fields)
    if isinstance(source, SparkSource):
        return _exchanged(plan, source, fields, schema)
    pieces = in_ranges(plan, spark.sparkContext.defaultParallelism) or [Piece(plan)]
    numbers = spark.range(0, len(pieces), 1, len(pieces))
    return numbers.mapInArrow(_answering(pieces, fields), schema)


def collect_on_spark(plan: Node, spark: SparkSession) -> pa.Table:
    """The answer as a table, in the order of start."""
    from pyspark.errors import PySparkException

    frame = on_spark(plan, spark)
    try:
        table = frame.toArrow()
    except PySparkException as error:
        raise SourceError(f"Spark failed: {short_cause(error)}", where="collect(on=spark)",
                          hint="the whole error is its cause") from error
    promised = table_schema(plan.schema)
    columns = [table.column(field.name).cast(field.type) for field in promised]
    return pa.Table.from_arrays(columns, schema=promised).sort_by("start")


# What is sent: a plan over a source that has a name and columns only.


class Promised(Source):
    """Stands in a plan that travels for the source that a task will read."""

    def __init__(self, source: Source) -> None:
        self.name, self.time, self.schema, self.longest = source.name, source.time, source.schema, source.longest

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        raise NotImplementedError("a task reads what it was handed")


class _Arriving(ColumnarSource):
    """Record batches that come in the order of time."""

    def __init__(self, parts: Iterable[pa.RecordBatch], fields: pa.Schema, time: str, end: str | None,
                 name: str) -> None:
        super().__init__(fields, time=time, end=end, arrival=None, reorder_latency=None, late=None, name=name,
                         rows=None, where="on_spark(...)")
        self._parts = parts

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        for part in self._parts:
            yield part.select(columns)


def _with(plan: Node, source: Source) -> Node:
    return plan.rewrite(lambda node: Node(source) if isinstance(node.op, Source) else node)


def _answering(pieces: Sequence[Piece], fields: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Any]:
    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from pieces[number].answer().cast(fields).to_batches(max_chunksize=_ROWS_A_TASK // 16)

    return run


def _exchanged(plan: Node, source: SparkSource, fields: pa.Schema, schema: Any) -> DataFrame:
    """Rows of a DataFrame, to tasks by ranges of time; or all to one, in order, where no range has a bound."""
    from pyspark.sql import functions as f

    runs = optimize(plan)
    needed = list(dict.fromkeys([source.time, *([source.end] if source.end else []), *runs.sources()[0].schema.names]))
    rows = source.frame.select(*needed, _ticks(source).alias(_TICKS))
    sent, given = pa.schema([source.fields.field(name) for name in needed]), source.fields
    travelling, time, end, name = _with(plan, Promised(source)), source.time, source.end, source.name
    if runs.reach is None:
        def stream(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            arriving = _Arriving(_whole(parts, sent, given), given, time, end, name)
            for batch in batches(_with(travelling, arriving)):
                yield from pa.Table.from_batches([batch]).cast(fields).to_batches()

        return rows.repartition(1).sortWithinPartitions(_TICKS).mapInArrow(stream, schema)

    ranges = _ranges(rows, source, runs.reach)
    back, ahead = runs.reach.back, runs.reach.ahead
    known = rows.sparkSession.createDataFrame(
        [(number, max(start - back, MIN_TIME), min(stop + ahead, INF)) for number, (start, stop) in enumerate(ranges)],
        f"{_RANGE} int, {_FROM} long, {_TO} long")
    inside = (f.col(_TICKS) >= f.col(_FROM)) & (f.col(_TICKS) < f.col(_TO))
    exchanged = rows.join(f.broadcast(known), inside).drop(_FROM, _TO)

    def answer(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        start, stop = ranges[key[0].as_py()]
        mine = pa.Table.from_batches(_whole(table.sort_by(_TICKS).to_batches(), sent, given), given)
        over = ArrowSource(mine, time=time, end=end, name=name)
        return Piece(_with(travelling, over), start, stop).answer().cast(fields)

    return exchanged.groupBy(_RANGE).applyInArrow(answer, schema)


def _whole(parts: Iterable[pa.RecordBatch], sent: pa.Schema, fields: pa.Schema) -> Iterator[pa.RecordBatch]:
    """With all columns of the source; those that the query does not read were not sent, and are not read."""
    for part in as_promised(parts, sent):
        columns = [part.column(field.name) if field.name in sent.names else pa.nulls(part.num_rows, field.type)
                   for field in fields]
        yield pa.RecordBatch.from_arrays(columns, schema=fields)


def _ranges(rows: DataFrame, source: SparkSource, reach: Reach) -> list[tuple[int, int]]:
    """As many ranges as rows are worth, of like size; found by one job."""
    from pyspark.sql import functions as f

    missing, count = rows.agg(f.sum(f.col(_TICKS).isNull().cast("long")), f.count(f.lit(1))).head() or (0, 0)
    if missing:
        raise SourceError(f"{missing:,} rows have no time: {source.time!r} is null.", where="on_spark(...)",
                          hint="drop rows without a time before")
    parts = max(2 * rows.sparkSession.sparkContext.defaultParallelism, -(-count // _ROWS_A_TASK))
    shares = [part / parts for part in range(1, parts)]
    times = rows.agg(f.percentile_approx(_TICKS, shares, 10_000)).head()
    cuts = sorted({_rounded(time, reach) for time in (times[0] if times and times[0] else [])})
    return list(pairwise([MIN_TIME, *cuts, INF]))


def _rounded(time: int, reach: Reach) -> int:
    return time if reach.beat is None else time - (time - reach.beat.offset) % reach.beat.hop


def _ticks(source: SparkSource) -> Column:
    """Time as the engine counts it."""
    from pyspark.sql import functions as f

    type_, name = source.fields.field(source.time).type, f"`{source.time}`"
    if pa.types.is_date(type_):
        return f.expr(f"cast(unix_date({name}) as long) * 86400")
    if pa.types.is_timestamp(type_):
        return f.expr(f"unix_micros({name})" if type_.tz else
                      f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {name})")
    return f.expr(f"cast({name} as long)")


# What is refused.


def _only_source(plan: Node, spark: SparkSession, where: str) -> Source:
    try:
        from pyspark.sql import SparkSession as Classic
    except ImportError:
        raise MissingExtraError("pyspark", "spark", where) from None
    if not isinstance(spark, Classic):
        raise PlanError(f"A {type(spark).__name__} is not a Spark session.", where=where,
                        hint="give the session itself")
    sources = plan.sources()
    if len(sources) != 1:
        raise PlanError(f"The query reads {len(sources)} sources: {', '.join(source.name for source in sources)}.",
                        where=where, hint="on Spark it reads one; put them together there before, or collect() here")
    source, = sources
    if source.live or source.edges:
        raise PlanError(f"{source.name} is no finished log of points or intervals.", where=where,
                        hint="Spark carries history")
    if source.disorder not in (Disorder(), Disorder(None)):
        raise PlanError(f"Which rows of {source.name} are late depends on their order, which Spark has not.",
                        where=where, hint="leave out reorder_latency= and late=: history is sorted")
    if isinstance(source, ArrowSource) and source.nbytes > _MOST_SHIPPED_BYTES:
        raise PlanError(f"{source.name} has {source.nbytes >> 20:,} MiB in memory here, too much to send along.",
                        where=where, hint="write it to Parquet and read that, or read it with Spark")
    return source


_FITTING = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64(), "uint64": pa.decimal128(20, 0),
            "large_string": pa.string(), "large_binary": pa.binary(), "date64[ms]": pa.timestamp("us"),
            "halffloat": pa.float32()}


def _fields(plan: Node, where: str) -> pa.Schema:
    """The columns of the answer, in types that Spark has."""
    return pa.schema([pa.field(field.name, _fitting(field.type, field.name, where))
                      for field in table_schema(plan.schema)])


def _fitting(type_: pa.DataType, name: str, where: str) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz and "UTC")
    if pa.types.is_duration(type_):
        return pa.duration("us")
    if pa.types.is_time(type_) or pa.types.is_fixed_size_binary(type_):
        raise SchemaError(f"Column {name!r} is {type_}, which Spark has not.", where=where,
                          hint="cast it, such as .cast('string')")
    return _FITTING.get(str(type_), type_)


def _struct(fields: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(fields, prefer_timestamp_ntz=True)

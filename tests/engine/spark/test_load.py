from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from tests.engine.connect.reading import Row, batches, rows
from whimbrel.connect import ParquetSource
from whimbrel.errors import PlanError, SchemaError, SourceError
from whimbrel.plan import OrderingSpec
from whimbrel.spark import SparkFeed, SparkSource, spark_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS = 3_000
COLUMNS = ("key", "x", "day", "name")


@pytest.fixture(scope="session")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table as Spark writes it: several files, 96-bit timestamps."""
    path = tmp_path_factory.mktemp("spark") / "a log"
    frame = spark.range(0, ROWS, 1, 4).selectExpr(
        "timestamp_millis(id * 1000) as t", "timestamp_millis(id * 1000 + 5) as until", "id as key",
        "if(id % 5 = 0, null, id / 2) as x", "cast(timestamp_millis(id * 1000) as date) as day",
        "concat('name ', id % 7) as name")
    frame.write.parquet(str(path))
    return path


@pytest.fixture
def frame(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder))


@pytest.fixture(scope="session")
def expected(folder: Path) -> list[Row]:
    """The same files through Arrow."""
    return sorted(rows(ParquetSource(folder, time="t", end="until"), COLUMNS))


def jobs(spark: SparkSession) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


def test_plain_files_are_read_directly(frame: DataFrame, expected: list[Row]) -> None:
    for plain in (frame, frame.select("t", "until", *COLUMNS)):
        source = SparkSource(plain, time="t", end="until")
        assert source.rows == ROWS
        assert (source.schema.unit, source.schema.zone, source.disorder) == ("us", "UTC", OrderingSpec(None))
        found = rows(source, COLUMNS)
        assert sorted(found) == expected
        assert rows(source, COLUMNS, 2_500) == found[2_500:]


def test_anything_else_is_made_by_a_job(frame: DataFrame, expected: list[Row]) -> None:
    everything = frame.where("key >= 0")
    source = SparkSource(everything, time="t", end="until", name="log", reorder_latency="1h", late="drop")
    assert (source.name, source.rows, source.disorder) == ("log", None, OrderingSpec(3_600_000_000, "drop"))
    for _ in range(2):
        assert sorted(rows(source, COLUMNS)) == expected
    assert next(batches(source, ["x", "t"])).schema.names == ("x", "t")


@pytest.mark.parametrize("step", (
    lambda frame: frame.where("key < 100"),
    lambda frame: frame.limit(100),
    lambda frame: frame.selectExpr("t", "key + 0 as key").where("key < 100"),
    lambda frame: frame.selectExpr("t", "key as x", "x as key").where("x < 100").selectExpr("t", "x as key"),
    lambda frame: frame.join(frame.sparkSession.range(100).withColumnRenamed("id", "key"), "key", "left_semi"),
    lambda frame: frame.where("key < 100").cache(),
    lambda frame: frame.groupBy("key").agg({"t": "max"}).where("key < 100").toDF("key", "t"),
), ids=["filter", "limit", "computed", "renamed", "join", "cached", "grouped"])
def test_no_step_of_a_plan_is_lost(frame: DataFrame, step: object) -> None:
    source = SparkSource(step(frame), time="t")  # type: ignore[operator]
    assert source.rows is None
    found = sorted(rows(source, ["key"]))
    assert len(found) == 100
    assert all(start == key * 1_000_000 for start, _, key in found)


def test_a_renamed_column_is_not_read_from_the_old_one(frame: DataFrame) -> None:
    source = SparkSource(frame.selectExpr("t", "x as key", "key as x"), time="t")
    assert sorted(rows(source, ["x"]))[7] == (7_000_000, 7_000_001, 7)


def test_files_of_other_types_are_spark_s_work(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1, 2], "n": pa.array([3, 4], pa.int32())}), tmp_path / "a.parquet")
    source = SparkSource(spark.read.schema("t bigint, n bigint, more string").parquet(str(tmp_path)), time="t")
    assert source.rows is None
    assert rows(source, ["n", "more"]) == [(1, 2, 3, None), (2, 3, 4, None)]


def two_files(folder: Path, one: pa.Array, other: pa.Array) -> Path:
    for name, array in (("a", one), ("b", other)):
        table = pa.table({"t": range(len(array)), "k": [1] * len(array), "x": array})
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize(("one", "other"), (
    (pa.array([2**40]), pa.array([1, None], pa.int32())), (pa.array(["a"]), pa.array(["b"], pa.large_string())),
    (pa.array([1], pa.timestamp("us", "UTC")), pa.array([2], pa.timestamp("ms", "UTC"))),
    (pa.array([0.1]), pa.array([0.5], pa.float32())), (pa.array([3], pa.int32()), pa.nulls(2))))
def test_files_whose_types_spark_makes_one_are_read_directly(
        spark: SparkSession, tmp_path: Path, one: pa.Array, other: pa.Array) -> None:
    source = SparkSource(spark.read.parquet(str(two_files(tmp_path, one, other))), time="t")
    assert source.rows == len(one) + len(other)
    assert rows(source, ["x"]) == rows(ParquetSource(tmp_path, time="t"), ["x"])


@pytest.mark.parametrize(("one", "other", "spark_type"), (
    (pa.array([1], pa.int8()), pa.array([300], pa.int32()), "int8"),  # of which Spark makes 44
    (pa.array([1], pa.int32()), pa.array([2**40]), "int32"), (pa.array([1.0], pa.float32()), pa.array([0.1]), "float"),
    (pa.nulls(1), pa.array([1]), "int32"), (pa.nulls(1), pa.array(["a"]), "int32")))
def test_files_of_which_spark_takes_one_for_all_are_refused_before_a_job(
        spark: SparkSession, tmp_path: Path, one: pa.Array, other: pa.Array, spark_type: str) -> None:
    frame = spark.read.parquet(str(two_files(tmp_path, one, other)))
    with pytest.raises(SchemaError) as caught:
        SparkSource(frame, time="t")
    assert caught.value.what == (f"Column 'x' is {one.type} in 'a.parquet' and {other.type} in 'b.parquet'; "
                                 f"Spark reads both as {spark_type}.")
    assert "spark.read.schema(...)" in caught.value.hint
    assert len(str(caught.value).splitlines()) <= 8
    assert rows(SparkSource(frame.select("t", "k"), time="t"), ["k"]) == [(0, 1, 1), (0, 1, 1)]
    wider = {"a": "string"}.get(other[0].as_py(), "double" if spark_type == "float" else "bigint")
    given = spark.read.schema(f"t bigint, k bigint, x {wider}").parquet(str(tmp_path))
    assert {row[2] for row in rows(SparkSource(given, time="t"), ["x"])} == {one[0].as_py(), other[0].as_py()}


def test_files_of_the_old_calendar_are_spark_s_work(spark: SparkSession, tmp_path: Path) -> None:
    """Spark moves days before 1582 that were written as its older versions did; Arrow does not."""
    old = "spark.sql.parquet.datetimeRebaseModeInWrite"
    spark.conf.set(old, "LEGACY")
    try:
        spark.sql("select 1 as t, date'0800-03-01' as day").write.parquet(str(tmp_path / "log"))
    finally:
        spark.conf.unset(old)
    source = SparkSource(spark.read.parquet(str(tmp_path / "log")), time="t")
    assert source.rows is None
    (batch,) = batches(source, ["day"])
    assert batch.column("day").to_arrow().to_pylist() == [date(800, 3, 1)]


def test_a_folder_that_is_named_twice_is_read_twice(spark: SparkSession, folder: Path) -> None:
    source = SparkSource(spark.read.parquet(str(folder), str(folder)), time="t")
    assert sum(1 for _ in rows(source, ["key"])) == 2 * ROWS


def test_types_come_as_arrow_has_them(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr(
        "timestamp_ntz '1970-01-01 00:00:01' as t", "timestamp '1970-01-01 00:00:02+01:00' as moment", "1Y as byte",
        "cast(1.5 as decimal(9, 2)) as amount", "interval '1' second as length", "array(1, 2) as list",
        "named_struct('a', 1, 'b', 'x') as pair", "map('k', 1) as map", "x'01' as bytes", "null as nothing",
        "2 as `a.b``c`")
    frame.sparkSession.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        source = SparkSource(frame, time="t")
        (batch,) = batches(source, source.schema.names)
    finally:
        frame.sparkSession.conf.set("spark.sql.session.timeZone", "UTC")
    assert (source.schema.unit, source.schema.zone) == ("us", None)
    assert batch.sync.tolist() == [1_000_000]
    assert batch.column("moment").values.tolist() == [(2 - 3_600) * 1_000_000]
    for field, column in zip(batch.schema, batch.columns, strict=True):
        assert column.to_arrow().type == field.type
    assert batch.column("pair").to_arrow().to_pylist() == [{"a": 1, "b": "x"}]
    assert batch.column("a.b`c").to_arrow().to_pylist() == [2]
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        (again,) = batches(source, source.schema.names)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    for one, other in zip(batch.columns, again.columns, strict=True):
        assert one.to_arrow().equals(other.to_arrow())


def test_what_is_set_for_sql_holds_in_the_job(spark: SparkSession) -> None:
    """Java's old parser of dates reads days of one digit, its new one does not."""
    frame = spark.range(1, 3).selectExpr("id", "to_date(concat('2024-01-', id), 'yyyy-MM-dd') as day")
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    try:
        (batch, *more) = batches(SparkSource(frame, time="id"), ["day"])
    finally:
        spark.conf.unset("spark.sql.legacy.timeParserPolicy")
    days = [day for part in (batch, *more) for day in part.column("day").to_arrow().to_pylist()]
    assert sorted(days) == [date(2024, 1, 1), date(2024, 1, 2)]


def test_a_type_without_counterpart_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SchemaError, match="Column 'age' has Spark's type interval year") as caught:
        SparkSource(spark.sql("select 1 as t, interval '1' year as age"), time="t")
    assert 'df.drop("age")' in caught.value.hint


def test_a_frame_that_cannot_be_read_is_refused(spark: SparkSession, frame: DataFrame) -> None:
    with pytest.raises(SourceError, match="Cannot read a Table"):
        spark_source(pa.table({"t": [1]}), time="t")  # type: ignore[arg-type]
    assert isinstance(spark_source(spark.readStream.format("rate").load(), time="timestamp"), SparkFeed)
    with pytest.raises(SchemaError, match="time must be the name of a column, got 'tt'") as caught:
        SparkSource(frame, time="tt")
    assert caught.value.where == "from_spark(..., time='tt')"
    with pytest.raises(PlanError, match="Cannot resume at row 5"):
        next(SparkSource(frame.limit(9), time="t").read(["key"], 5))


@pytest.mark.parametrize("fails", (
    "assert_true(key < 2000)",
    "cast(name as int)",
))
def test_a_failing_task_is_one_error_with_its_cause(spark: SparkSession, frame: DataFrame, fails: str) -> None:
    with pytest.raises(SourceError, match="Spark could not make the rows: ") as caught:
        rows(SparkSource(frame.selectExpr("t", f"{fails} as y"), time="t"), ["y"])
    assert ("is not true!" in caught.value.what) == ("assert" in fails)
    assert len(str(caught.value).splitlines()) == 3
    assert jobs(spark) == []


def test_a_failing_function_is_one_error_with_its_cause(frame: DataFrame) -> None:
    from pyspark.sql.functions import udf

    @udf("long")
    def picky(key):  # type: ignore[no-untyped-def]  # Spark reads type hints its own way
        if key == 2_999:
            raise ValueError("2999 is not for me")
        return key

    with pytest.raises(SourceError) as caught:
        rows(SparkSource(frame.select("t", picky("key").alias("y")), time="t"), ["y"])
    assert caught.value.what == "Spark could not make the rows: ValueError: 2999 is not for me"


def test_a_task_that_fails_and_is_tried_again_delivers_once(
        spark: SparkSession, frame: DataFrame, expected: list[Row]) -> None:
    def flaky(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()  # type: ignore[union-attr]
        for number, part in enumerate(parts):
            if number == 20 and attempt == 0:
                raise ConnectionResetError("the disk is gone")
            yield part

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    try:
        source = SparkSource(frame.mapInArrow(flaky, frame.schema), time="t", end="until")
        assert sorted(rows(source, COLUMNS)) == expected
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")


def test_a_stopped_session_is_said_so(frame: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = SparkSource(frame.selectExpr("t", "key + 1 as y"), time="t")
    monkeypatch.setattr(frame.sparkSession.sparkContext, "_jsc", None)
    with pytest.raises(SourceError, match="The Spark session has been stopped"):
        rows(computed, ["y"])
    for asked in (frame, "select 1 as t"):
        with pytest.raises(SourceError, match="The Spark session has been stopped"):
            spark_source(asked, time="t", spark=frame.sparkSession)


def test_the_first_rows_come_early_and_closing_cancels_the_job(spark: SparkSession) -> None:
    def slow(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(parts):
            if number == 20:
                time.sleep(600)
            yield part

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    try:
        reading = batches(SparkSource(spark.range(1_000_000).mapInArrow(slow, "id long"), time="id"), ["id"])
        assert len(next(reading)) == 10_000
        assert len(jobs(spark)) == 1
        reading.close()  # type: ignore[attr-defined]
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
    assert jobs(spark) == []


@pytest.mark.share(2)
@pytest.mark.parametrize(("first", "carried", "filtered"), [
    ("text", False, False), ("number", False, True), ("number", True, False), ("text", True, True)])
def test_a_column_that_is_text_in_one_file_and_a_number_in_another(spark: SparkSession, tmp_path: Path, first: str,
                                                                   carried: bool, filtered: bool) -> None:
    values = {"text": pa.array(["1"]), "number": pa.array([1])}
    for number, kind in enumerate((first, *(kind for kind in values if kind != first))):
        pq.write_table(pa.table({"at": [number], "x": values[kind]}), tmp_path / f"{number}-{kind}.parquet")
    frame = spark.read.parquet(str(tmp_path))

    log = wb.from_spark(frame.where("at >= 0") if filtered else frame, time="at")
    with pytest.raises(SchemaError, match=r"Column 'x' is .* in '0-.*parquet' and .* in '1-.*parquet'"):
        log.select("x").collect(on=spark if carried else None)
    counted = log.aggregate(n=wb.count()).collect(on=spark if carried else None)  # x is not read
    assert counted["n"].to_pylist() == [1, 1]

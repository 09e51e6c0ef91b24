"""Only the columns, rows and ranges of time that are asked for, of whatever Spark has; and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from tests.engine.connect.reading import batches, rows
from whimbrel import Stream, WhimbrelError, col
from whimbrel.plan import OrderingSpec
from whimbrel.spark import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS, STEP_S = 4_000, 60
BETWEEN = ("2024-01-02", datetime(2024, 1, 2, 12, tzinfo=UTC))


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Almost three days, a row a minute, in folders by day and kind, of several files each."""
    path = tmp_path_factory.mktemp("wanted") / "a log"
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    frame = spark.range(0, ROWS, 1, 8).selectExpr(
        f"timestamp_seconds(1704067200 + id * {STEP_S}) as t", "id as key", "if(id % 5 = 0, null, id / 2) as x",
        f"cast(timestamp_seconds(1704067200 + id * {STEP_S}) as date) as day",
        "if(id % 3 = 0, 'a b', 'c/d') as kind")
    frame.write.partitionBy("day", "kind").parquet(str(path))
    spark.sql(f"create table log_of_days using parquet location '{path}'")
    spark.sql("msck repair table log_of_days")
    return path


@pytest.fixture
def frame(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder))


def source(log: Stream) -> SparkSource:
    found, = log.sources
    assert isinstance(found, SparkSource)
    return found


def keys(log: Stream) -> list[int]:
    return sorted(log.select("key").collect()["key"].to_pylist())


def test_a_table_a_query_and_a_frame_are_the_same(spark: SparkSession, frame: DataFrame) -> None:
    for asked in (frame, "log_of_days", "select * from log_of_days", "from log_of_days select *", "table log_of_days"):
        log = wb.from_spark(asked, time="t", spark=spark)
        assert keys(log) == list(range(ROWS)), asked
    assert keys(wb.from_spark("with few as (select t, key from log_of_days limit 7) select * from few", time="t")
                ) != list(range(ROWS))


def test_a_command_is_not_run(spark: SparkSession, folder: Path) -> None:
    for text, message in (("drop table log_of_days", "neither as a table name nor as SQL"),
                          ("insert into log_of_days select * from log_of_days", "neither as a table name nor as SQL"),
                          ("no_such_table", "Spark cannot find the table.*no_such_table"),
                          ("select nothing from log_of_days", "Spark cannot find the table.*nothing")):
        with pytest.raises(WhimbrelError, match=message) as caught:
            wb.from_spark(text, time="t", spark=spark)
        assert len(str(caught.value).splitlines()) <= 8
    assert spark.table("log_of_days").count() == ROWS


def test_folders_that_name_columns_are_read_directly(frame: DataFrame) -> None:
    log = wb.from_spark(frame, time="t")
    assert source(log).rows == ROWS
    found = log.select("key", "day", "kind", "x").collect().sort_by("key").to_pylist()
    assert [(row["key"], row["day"], row["kind"]) for row in found[1438:1442]] == [
        (1438, date(2024, 1, 1), "c/d"), (1439, date(2024, 1, 1), "c/d"), (1440, date(2024, 1, 2), "a b"),
        (1441, date(2024, 1, 2), "c/d")]
    assert rows(source(log), ["key", "kind"], 3_990) == rows(source(log), ["key", "kind"])[3_990:]
    assert sorted(rows(source(log.select("kind")), ["kind"])) == sorted(
        (start, end, kind) for start, end, _, kind in rows(source(log), ["key", "kind"]))


def test_spark_chooses_the_folders(spark: SparkSession, frame: DataFrame) -> None:
    """A filter of its own on what folders name leaves files to read; any other one is Spark's work."""
    day = wb.from_spark(frame.where("day = '2024-01-02' and kind = 'a b'"), time="t")
    assert source(day).rows == 480
    assert keys(day) == [key for key in range(1440, 2880) if key % 3 == 0]
    assert source(wb.from_spark("select key, t from log_of_days where day > '2024-01-02'", time="t")).rows == 1120
    for spark_s in (frame.where("day = '2024-01-02' and key < 1500"),
                    frame.where("day = (select max(day) from log_of_days)"),
                    frame.selectExpr("t", "key", "kind as day").where("day = 'a b'").limit(60)):
        assert source(wb.from_spark(spark_s, time="t")).rows is None
        assert len(keys(wb.from_spark(spark_s, time="t"))) in (60, 1120)


def test_only_some_columns(frame: DataFrame) -> None:
    log = wb.from_spark(frame, time="t", columns=["key"], where=col.x > 1_000)
    assert log.schema.names == ("t", "x", "key")
    with pytest.raises(WhimbrelError, match="has no column 'keys'"):
        wb.from_spark(frame, time="t", columns=["keys"])


WANTED: dict[str, tuple[dict[str, Any], Any]] = {
    "SQL": ({"where": "key % 7 = 1 and kind = 'a b'"}, lambda key: key % 7 == 1 and key % 3 == 0),
    "an expression": ({"where": col.x > 1_000}, lambda key: key % 5 and key > 2_000),
    "of a folder": ({"where": [col.day == date(2024, 1, 1), col.kind == "c/d"]}, lambda key: key < 1440 and key % 3),
    "a range of time": ({"between": BETWEEN}, lambda key: 1440 <= key < 2160),
    "an open range": ({"between": (None, "2024-01-01T01:00")}, lambda key: key < 60),
    "all of them": ({"where": ["key % 2 = 0", col.kind == "a b"], "between": BETWEEN},
                    lambda key: 1440 <= key < 2160 and key % 6 == 0),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", WANTED)
@pytest.mark.parametrize("direct", [True, False], ids=["files", "a job"])
def test_only_some_rows(frame: DataFrame, name: str, *, direct: bool) -> None:
    options, meets = WANTED[name]
    expected = [key for key in range(ROWS) if meets(key)]
    log = wb.from_spark(frame if direct else frame.repartition(2), time="t", **options)
    assert keys(log) == expected
    assert source(log).frame.count() == len(expected)
    # And on Spark's tasks, and as the history of another query.
    counted = wb.from_spark(frame, time="t").tumbling_window("1h").aggregate(n=wb.count()).on(log)
    assert sum(counted.collect(on=frame.sparkSession)["n"].to_pylist()) == len(expected)


def test_files_without_such_rows_are_not_opened(frame: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    from whimbrel.connect.files.parquet_files import ParquetFiles

    opened: list[Path] = []
    decode = ParquetFiles._decode

    def recorded(self: ParquetFiles, file: Path, *rest: Any) -> Iterator[pa.RecordBatch]:
        opened.append(file)
        return decode(self, file, *rest)

    monkeypatch.setattr(ParquetFiles, "_decode", recorded)
    whole = wb.from_spark(frame, time="t")
    for log in (wb.from_spark(frame, time="t", between=BETWEEN, where=col.kind == "a b"),
                whole.where((col.t >= BETWEEN[1]) & (col.t < "2024-01-02T13:00:00+00:00") & (col.kind == "a b")),
                whole.where((col.day == date(2024, 1, 2)) & (col.kind == "a b"))):
        opened.clear()
        log.aggregate(n=wb.count()).collect()
        assert opened
        assert {(file.parts[-3], file.parts[-2]) for file in opened} == {("day=2024-01-02", "kind=a b")}


def test_filters_of_a_query_are_pushed_down_to_the_job(frame: DataFrame) -> None:
    query = wb.from_spark(frame.repartition(2), time="t", name="log").where((col.key > 3_000) & (col.x / 2 > 3))
    assert "filtered by Spark" in query.explain()
    assert keys(query) == [key for key in range(3_001, ROWS) if key % 5]


def test_what_cannot_be_wanted(spark: SparkSession, frame: DataFrame) -> None:
    stream = spark.readStream.format("rate").load()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"where": col.x / 2 > 3}, r"Spark may evaluate .* differently"),
        ({"where": col.x + 1}, "of type double"),
        ({"where": 7}, "got int"),
        ({"where": "key <<< 3"}, "Spark cannot read the condition: .PARSE_SYNTAX_ERROR"),
        ({"where": ["key > 3", "nothing = 1"]}, "Spark cannot read the condition: .*`nothing` cannot be resolved"),
        ({"where": "key + 1"}, "Spark cannot read the condition: .*not a boolean"),
        ({"between": "2024-01-01"}, "between must be two times"),
        ({"order": "oldest"}, "got 'oldest'"),
        ({"order": "time", "arrival": "t"}, "not read in arrival order"),
    ]
    for options, message in cases:
        with pytest.raises(WhimbrelError, match=message):
            wb.from_spark(frame, time="t", **options)
    with pytest.raises(WhimbrelError, match="Spark cannot distinguish columns 'key' and 'KEY'"):
        wb.from_spark(frame.selectExpr("t", "key", "x as KEY"), time="t")
    with pytest.raises(WhimbrelError, match="do not apply to a streaming DataFrame"):
        wb.from_spark(stream, time="timestamp", order="time")
    assert wb.from_spark(stream, time="timestamp", where=col.value > 3, columns=["value"]).schema.names == (
        "timestamp", "value")


@pytest.mark.parametrize("direct", [True, False], ids=["files", "a job"])
def test_orders(frame: DataFrame, *, direct: bool) -> None:
    frame = frame if direct else frame.repartition(5)
    came = {}
    for order in ("time", "newest", "random"):
        log = wb.from_spark(frame, time="t", order=order)  # type: ignore[arg-type]
        assert source(log).disorder == (OrderingSpec() if order == "time" else OrderingSpec(None))
        came[order] = [batch.column("key").values.tolist() for batch in batches(source(log), ["key"])]
        assert sorted(chain(*came[order])) == list(range(ROWS)), order
        counts = log.tumbling_window("1d").aggregate(n=wb.count())
        assert counts.collect()["n"].to_pylist() == [1440, 1440, 1120]
    assert list(chain(*came["time"])) == list(range(ROWS))
    assert min(came["newest"][0]) > max(came["newest"][-1])  # the newest range comes first, in pieces
    assert came["random"] != came["newest"]


def test_files_are_read_block_by_block_for_early_answers(frame: DataFrame) -> None:
    """Each answer is an estimate of the whole, the last one is exact."""
    log = wb.from_spark(frame, time="t").where(col.key >= 0)
    progress = log.group_by("kind").tumbling_window("1d").aggregate(n=wb.count()).progressive("20%")
    assert progress.fallback_reason == ""
    first, *_, last = progress
    assert sum(first.table["n"].to_pylist()) > 0
    assert sum(last.table["n"].to_pylist()) == ROWS


def test_in_the_order_of_time_a_failed_task_delivers_once(frame: DataFrame) -> None:
    """Also while the tasks after it wait for their turn."""
    def flaky(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for part in parts:
            yield part
            if context.attemptNumber() == 0 and context.partitionId() % 2 == 0:
                raise ConnectionResetError("the disk is gone")

    log = wb.from_spark(frame.select("t", "key").mapInArrow(flaky, "t timestamp, key long"), time="t", order="time")
    found = [key for batch in batches(source(log), ["key"]) for key in batch.column("key").values.tolist()]
    assert found == list(range(ROWS))


def test_an_index_that_pandas_wrote_is_no_column(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"t": [1, 2], "__index_level_0__": [7, 8]})
    noted = table.replace_schema_metadata({"pandas": '{"index_columns": ["__index_level_0__"]}'})
    pq.write_table(noted, tmp_path / "log.parquet")
    frame = spark.read.parquet(str(tmp_path))
    for asked in (frame, frame.where("t > 0")):  # read directly, and by a job
        assert wb.from_spark(asked, time="t").schema.names == ("t",)
        assert wb.from_spark(asked, time="t").distinct().collect()["t"].to_pylist() == [1, 2]
        for named in ({"columns": ["__index_level_0__"]}, {"end": "__index_level_0__"},
                      {"where": col("__index_level_0__") > 0}):
            log = wb.from_spark(asked, time="t", **named)
            assert log.collect()["__index_level_0__"].to_pylist() == [7, 8]

"""What Spark's tasks answer together is the answer of one thread here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 3_000
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)

Query = Callable[[Stream], Stream]

spread = wb.aggregate(init=(float("inf"), float("-inf")), accumulate=lambda s, x: (min(s[0], x), max(s[1], x)),
                      merge=lambda s, t: (min(s[0], t[0]), max(s[1], t[1])),
                      result=lambda s: s[1] - s[0] if s[1] >= s[0] else None, name="spread")

QUERIES: dict[str, Query] = {
    "tumbling": lambda log: log.group_by("k").tumbling_window("1m").aggregate(n=wb.count(), total=wb.sum(col.x)),
    "hopping": lambda log: log.group_by("k").hopping_window("3m", "1m").aggregate(most=wb.max(col.x)),
    "sliding": lambda log: log.sliding_window("40s").aggregate(n=wb.count()),
    "user's own": lambda log: log.group_by("k").hopping_window("3m", "1m").aggregate(s=spread(col.x)),
    "user's own, sliding": lambda log: log.group_by("k").sliding_window("90s").aggregate(s=spread(col.x)),
    "self-join": lambda log: log.set_duration("30s").join(log.where(col.x > 5).select("k", y=col.x), on="k"),
    "median": lambda log: log.tumbling_window("2m").aggregate(m=wb.median(col.x)),
    "sessions": lambda log: log.group_by("k").session_window("20s").aggregate(n=wb.count()),
    "pattern": lambda log: log.group_by("k").detect(wb.sequence(high=col.x > 7, low=col.x < 2), within="1m"),
    "rows": lambda log: log.where(col.x > 3).select("name", twice=col.x * 2, begun=wb.start_time()),
}


def table() -> pa.Table:
    random = np.random.default_rng(4)
    seconds = np.sort(random.integers(0, 4 * ROWS, ROWS))
    return pa.table({
        "at": pa.array([EPOCH + timedelta(seconds=int(second)) for second in seconds], pa.timestamp("us", "UTC")),
        "k": random.integers(0, 5, ROWS), "x": random.integers(0, 10, ROWS),
        "name": pa.array([None if number % 7 == 0 else f"n{number % 3}" for number in range(ROWS)]),
    })


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log")
    pq.write_table(table(), folder / "log.parquet", row_group_size=100)
    return folder / "log.parquet"


def rows(answer: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in answer.columns), strict=True), key=repr)


def of_spark(spark: SparkSession, path: Path) -> Stream:
    """Rows of a DataFrame that is no plain reading of files, in no order."""
    return wb.from_spark(spark.read.parquet(str(path)).repartition(3), time="at")


@pytest.mark.parametrize("name", QUERIES)
def test_a_dataframe_is_exchanged_by_ranges_of_time(spark: SparkSession, path: Path, name: str) -> None:
    here = QUERIES[name](wb.from_arrow(table(), time="at")).collect()
    there = QUERIES[name](of_spark(spark, path)).collect(on=spark)
    assert there.schema == here.schema
    assert rows(there) == rows(here)
    assert (np.diff(there["start"].cast(pa.int64()).to_numpy()) >= 0).all()


def test_how_the_work_is_shared_out(spark: SparkSession, path: Path) -> None:
    """By ranges where lifetimes are bounded: then no task holds all rows."""
    for name, by_ranges in (("tumbling", True), ("hopping", True), ("self-join", True), ("sessions", False)):
        frame = QUERIES[name](of_spark(spark, path)).on_spark(spark)
        plan = frame._jdf.queryExecution().toString()
        assert ("FlatMapGroupsInArrow" in plan) == by_ranges, name


@pytest.mark.parametrize("name", ["tumbling", "user's own", "sessions", "self-join"])
def test_files_and_small_tables_are_read_by_tasks(spark: SparkSession, path: Path, name: str) -> None:
    here = rows(QUERIES[name](wb.from_arrow(table(), time="at")).collect())
    assert rows(QUERIES[name](wb.read_parquet(path, time="at")).collect(on=spark)) == here
    assert rows(QUERIES[name](wb.from_arrow(table(), time="at")).collect(on=spark)) == here


def test_the_answer_is_a_dataframe(spark: SparkSession, path: Path) -> None:
    totals = QUERIES["tumbling"](of_spark(spark, path)).on_spark(spark)
    assert totals.columns == ["start", "end", "k", "n", "total"]
    assert totals.schema["start"].dataType.simpleString() == "timestamp"
    assert totals.groupBy().sum("n").head()[0] == ROWS


def test_other_times(spark: SparkSession) -> None:
    for type_ in (pa.int64(), pa.timestamp("us"), pa.date32()):
        days = pa.array(range(300), pa.int32() if pa.types.is_date(type_) else pa.int64()).cast(type_)
        whole = pa.table({"at": days, "x": list(range(300))})
        size: Any = {"int64": 7, "timestamp[us]": "3us", "date32[day]": "7d"}[str(type_)]
        query: Query = lambda log, size=size: log.tumbling_window(size).aggregate(t=wb.sum(col.x))  # noqa: E731
        frame = spark.createDataFrame(whole).repartition(3)
        answer = query(wb.from_spark(frame, time="at")).collect(on=spark)
        assert rows(answer) == rows(query(wb.from_spark(frame, time="at")).collect()), type_
        assert sum(answer["t"].to_pylist()) == sum(range(300))


def test_what_spark_cannot_carry(spark: SparkSession, path: Path) -> None:
    log = wb.read_parquet(path, time="at", name="log")
    other = wb.from_arrow(table(), time="at", name="other")
    for query, message in (
        (log.set_duration("1s").join(other.select("k"), on="k"), "reads 2 sources: log, other"),
        (wb.read_parquet(path, time="at", reorder_latency="1s", late="drop").where(col.x > 1), "late depends"),
        (wb.replay(log, speed=float("inf")).where(col.x > 1), "no finished log"),
    ):
        with pytest.raises(WhimbrelError, match=message):
            query.on_spark(spark)
    with pytest.raises(WhimbrelError, match="is not a Spark session"):
        log.on_spark("local")


def test_rows_without_a_time_are_an_error(spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"at": [1, None, 3], "x": [1, 2, 3]})).repartition(2)
    with pytest.raises(WhimbrelError, match="1 rows have no time"):
        wb.from_spark(frame, time="at").tumbling_window(2).aggregate(n=wb.count()).collect(on=spark)


def test_an_error_of_a_task_is_told_in_one_line(spark: SparkSession, path: Path) -> None:
    query = of_spark(spark, path).select(y=col.x * 2**62)
    with pytest.raises(WhimbrelError, match=r"Spark failed: .*integer overflow") as told:
        query.collect(on=spark)
    assert len(str(told.value).splitlines()) <= 8


def test_an_empty_log(spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"at": pa.array([], pa.int64()), "x": pa.array([], pa.int64())}))
    log = wb.from_spark(frame.repartition(2), time="at")
    assert log.tumbling_window(2).aggregate(n=wb.count()).collect(on=spark).num_rows == 0
    assert log.session_window(2).aggregate(n=wb.count()).collect(on=spark).num_rows == 0

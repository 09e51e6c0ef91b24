"""What Spark's tasks answer together is the answer of one thread here."""

from __future__ import annotations

import re
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
    "weeks": lambda log: log.shift("6d22h").group_by("k").hopping_window("2w", "1w").aggregate(n=wb.count()),
    "cut by weeks": lambda log: log.shift("6d22h").group_by("k").session_window("1h", "1w").aggregate(n=wb.count()),
    "median": lambda log: log.tumbling_window("2m").aggregate(m=wb.median(col.x)),
    "sessions": lambda log: log.group_by("k").session_window("20s").aggregate(n=wb.count()),
    "pattern": lambda log: log.group_by("k").detect(wb.sequence(high=col.x > 7, low=col.x < 2), within="1m"),
    "keys": lambda log: log.where(col.x > 3).group_by(h=(col.k % 2) / 2).session_window("20s").aggregate(n=wb.count()),
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


@pytest.mark.share(3)
@pytest.mark.parametrize("name", QUERIES)
def test_a_dataframe_is_exchanged_by_ranges_of_time(spark: SparkSession, path: Path, name: str) -> None:
    here = QUERIES[name](wb.from_arrow(table(), time="at")).collect()
    there = QUERIES[name](of_spark(spark, path)).collect(on=spark)
    assert there.schema == here.schema
    assert rows(there) == rows(here)
    assert (np.diff(there["start"].cast(pa.int64()).to_numpy()) >= 0).all()


ROUTES = {"key": ("hopping", "user's own", "self-join", "sessions"), "time": ("tumbling", "sliding", "self-join"),
          "order": ("user's own", "sessions")}


@pytest.mark.share(3)
@pytest.mark.parametrize(("exchange", "name"), [(route, name) for route, names in ROUTES.items() for name in names])
def test_every_route_gives_the_same(spark: SparkSession, path: Path, exchange: Any, name: str) -> None:
    here = QUERIES[name](wb.from_arrow(table(), time="at")).collect()
    there = QUERIES[name](of_spark(spark, path)).on_spark(spark, exchange=exchange).toArrow()
    assert rows(there.cast(here.schema)) == rows(here)


def test_a_route_that_there_is_not(spark: SparkSession, path: Path) -> None:
    with pytest.raises(WhimbrelError, match="Cannot exchange the rows of this query by time"):
        QUERIES["sessions"](of_spark(spark, path)).on_spark(spark, exchange="time")


def test_explain_shows_the_stages_on_spark(spark: SparkSession, path: Path) -> None:
    log = wb.from_spark(spark.read.parquet(str(path)).repartition(3), time="at", name="log")
    windows = log.where(col.x > 3).group_by("k").hopping_window("3m", "1m").aggregate(total=wb.sum(col.x))
    assert re.sub(r"   \[.*?\]", "", windows.top_k(1, by=col.total).explain(on=spark)) == """\
on Spark, in 3 stages
1. Spark SQL, where its rows are
   group_by(k).states(total=sum(col.x))
   └─ tumbling_window('1m')
      └─ where(col.x > 3)
         └─ log(at, k, x, name)
2. the engine's kernels, by key (k), each in the order of time
   finish(total=sum(col.x))
   └─ group_by(k).merge(total=sum(col.x))
      └─ set_duration('3m')
         └─ stage 1(k, total.0, total.1)
3. the engine's kernels, in one task, in the order of time
   top_k(1, by=col.total)
   └─ stage 2(k, total)"""
    own = log.group_by("k").tumbling_window("1m").aggregate(s=spread(col.x)).explain(on=spark)
    assert "1. the engine's kernels, where its rows are\n   group_by(k).states(s=spread(col.x))" in own
    computed = log.where(col.x > 3).group_by(odd=col.k % 2).session_window("20s").aggregate(n=wb.count())
    assert re.sub(r"   \[.*?\]", "", computed.explain(on=spark)) == """\
on Spark, in 2 stages
1. Spark SQL, where its rows are
   select(odd=col.k % 2)
   └─ where(col.x > 3)
      └─ log(at, k, x, name)
2. the engine's kernels, by key (odd), each in the order of time
   group_by(odd).aggregate(n=count())
   └─ group_by(odd).session_window('20s')
      └─ stage 1(odd)"""
    small = wb.from_arrow(table(), time="at").where(col.x > 3).explain(on=spark)
    assert small.startswith("on Spark, in one task, which reads its rows itself\nwhere(col.x > 3)")


def test_filters_are_pushed_down_to_spark(spark: SparkSession, path: Path) -> None:
    """Rows that nobody wants do not reach Python; conditions that Spark counts otherwise are the engine's alone."""
    log = of_spark(spark, path).where((col.x > 7) & (col.x / 2 > 3) & (col.at >= EPOCH + timedelta(hours=1)))
    for query in (log.group_by("k").session_window("20s").aggregate(n=wb.count()), log.select("x")):
        plan = query.on_spark(spark)._jdf.queryExecution().optimizedPlan().toString()
        assert "> 7" in plan
        assert "2024-01-01 01:00:00" in plan
        assert "/" not in plan.split("Relation")[0].replace("file:/", "")


def test_several_sources_meet(spark: SparkSession, path: Path) -> None:
    def query(log: Stream, other: Stream) -> Stream:
        return log.set_duration("30s").join(other.select("k", y=col.x).where(col.y > 5), on="k", how="left")

    def counted(log: Stream, other: Stream) -> Stream:
        n = log.group_by("k").tumbling_window("5m", label="end").aggregate(n=wb.count())
        return n.join(other.group_by("k").session_window("20s").aggregate(m=wb.max(col.x)), on="k")

    here = wb.from_arrow(table(), time="at", name="log"), wb.from_arrow(table().slice(500), time="at", name="other")
    there = of_spark(spark, path), wb.from_arrow(table().slice(500), time="at", name="other")
    for together in (query, counted):
        assert rows(together(*there).collect(on=spark)) == rows(together(*here).collect()), together
    by_time = query(*there).on_spark(spark, exchange="time").toArrow()
    assert rows(by_time.cast(query(*here).collect().schema)) == rows(query(*here).collect())


def test_several_stages(spark: SparkSession, path: Path) -> None:
    def query(log: Stream) -> Stream:
        sessions = log.group_by("k").session_window("20s", emit="close").aggregate(n=wb.count())
        return sessions.hopping_window("10m", "5m").aggregate(most=wb.max(col.n), s=spread(col.n)).where(col.most > 2)

    here = query(wb.from_arrow(table(), time="at")).collect()
    assert here.num_rows > 3
    assert rows(query(of_spark(spark, path)).collect(on=spark)) == rows(here)


def test_one_giant_key_and_one_crowded_moment(spark: SparkSession) -> None:
    """Tasks hold what a query remembers, not the rows of a key or of a range."""
    frame = spark.range(300_000).selectExpr("id div 1000 as at", "if(id % 100 = 0, id % 7, -1) as k", "id as x")
    log = wb.from_spark(frame.repartition(4), time="at")
    sessions = log.group_by("k").session_window(5, emit="close").aggregate(n=wb.count()).collect(on=spark)
    assert sum(sessions["n"].to_pylist()) == 300_000
    crowded = wb.from_spark(frame.selectExpr("least(at, 20) as at", "x"), time="at")
    last = crowded.sliding_window(3).aggregate(n=wb.count()).on_spark(spark, exchange="time").toArrow()
    assert max(last["n"].to_pylist()) == 300_000 - 18_000


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


def test_a_table_is_spelled_out_for_spark(spark: SparkSession, path: Path) -> None:
    """Dictionaries, as of categories of pandas; what Spark cannot hold is an error that names the column."""
    named = pa.table({"at": table()["at"], "k": table()["k"], "name": table()["name"].dictionary_encode()})
    joined = of_spark(spark, path).select("k", "x").join(wb.from_arrow(named, time="at", name="names"), on="k")
    here = wb.from_arrow(table(), time="at").select("k", "x").join(wb.from_arrow(named, time="at"), on="k")
    assert rows(joined.collect(on=spark)) == rows(here.collect())
    fine = wb.from_arrow(pa.table({"at": pa.array([1], pa.timestamp("ns")), "k": [1]}), time="at")
    with pytest.raises(WhimbrelError, match="Cannot send column 'at' to Spark"):
        fine.group_by("k").session_window("1s").aggregate(n=wb.count()).on_spark(spark, exchange="key")


def test_what_spark_cannot_carry(spark: SparkSession, path: Path) -> None:
    log = wb.read_parquet(path, time="at", name="log")
    for query, message in (
        (wb.read_parquet(path, time="at", reorder_latency="1s", late="drop").where(col.x > 1), "late depends"),
        (wb.replay(log, speed=float("inf")).where(col.x > 1), "is a feed, which is unbounded"),
    ):
        with pytest.raises(WhimbrelError, match=message):
            query.on_spark(spark)
    alike = of_spark(spark, path).group_by("k").tumbling_window("1m").aggregate(n=wb.count(), N=wb.max(col.x))
    with pytest.raises(WhimbrelError, match="cannot distinguish columns"):
        alike.collect(on=spark)
    with pytest.raises(WhimbrelError, match=r"exchange must be one of .*, got 'keys'"):
        log.on_spark(spark, exchange="keys")  # type: ignore[arg-type]
    with pytest.raises(WhimbrelError, match="must be a Spark session"):
        log.on_spark("local")


def test_rows_without_a_time_are_an_error(spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"at": [1, None, 3], "x": [1, 2, 3]})).repartition(2)
    with pytest.raises(WhimbrelError, match="A row has no time: 'at' is null"):
        wb.from_spark(frame, time="at").tumbling_window(2).aggregate(n=wb.count()).collect(on=spark)


def test_an_error_of_a_task_is_reported_in_one_line(spark: SparkSession, path: Path) -> None:
    query = of_spark(spark, path).select(y=col.x * 2**62)
    with pytest.raises(WhimbrelError, match=r"Spark failed: .*integer overflow") as caught:
        query.collect(on=spark)
    assert caught.value.where == "collect(on=spark), col.x * 4611686018427387904"
    assert len(str(caught.value).splitlines()) <= 8


def test_an_error_of_java_is_reported_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "log.parquet")
    log = wb.from_spark(spark.read.parquet(str(tmp_path)).where("x > 3"), time="at")
    (tmp_path / "log.parquet").unlink()
    for there in (spark, None):
        with pytest.raises(WhimbrelError, match=r"log\.parquet\. File does not exist") as caught:
            log.collect(on=there)
        assert len(str(caught.value).splitlines()) == 3


@pytest.mark.share(3)
@pytest.mark.parametrize(("one", "other"), (
    (pa.array([1], pa.int8()), pa.array([300], pa.int32())), (pa.array([1], pa.int32()), pa.array([2**40])),
    (pa.nulls(1), pa.array(["a"])), (pa.array(["a"]).dictionary_encode(), pa.array(["b"], pa.large_string())),
    (pa.array([1], pa.timestamp("ms", "UTC")), pa.array([1], pa.timestamp("us", "UTC")))))
def test_files_of_different_types_are_read_by_spark_as_here(
        spark: SparkSession, tmp_path: Path, one: pa.Array, other: pa.Array) -> None:
    for at, array in enumerate((one, other)):
        pq.write_table(pa.table({"at": [at], "k": [at], "x": array}), tmp_path / f"{at}.parquet")
    query = wb.read_parquet(tmp_path, time="at").group_by("k").session_window(10).aggregate(x=wb.max(col.x))
    here = query.collect()
    assert rows(query.on_spark(spark, exchange="key").toArrow()) == rows(here)
    assert rows(query.collect(on=spark)) == rows(here)


def test_files_that_spark_cannot_read_are_read_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"at": pa.array([0, 1], pa.timestamp("ns")), "k": [1, 1]})
    pq.write_table(table, tmp_path / "nanoseconds.parquet")
    log = wb.read_parquet(tmp_path / "nanoseconds.parquet", time="at")
    query = log.group_by("k").tumbling_window("1m").aggregate(n=wb.count())
    assert query.collect(on=spark)["n"].to_pylist() == [2]
    with pytest.raises(WhimbrelError, match=r"^Spark cannot read nanoseconds: .*\n.*on_spark.*\n.*Leave exchange= out"):
        query.on_spark(spark, exchange="key").collect()


def test_an_empty_log(spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"at": pa.array([], pa.int64()), "x": pa.array([], pa.int64())}))
    log = wb.from_spark(frame.repartition(2), time="at")
    assert log.tumbling_window(2).aggregate(n=wb.count()).collect(on=spark).num_rows == 0
    assert log.session_window(2).aggregate(n=wb.count()).collect(on=spark).num_rows == 0

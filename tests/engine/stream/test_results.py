"""Results as frames, the first rows, statistics, and functions of streams."""

import math
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import KernelError, MissingExtraError, PlanError

LOG = {"at": [1, 4, 12], "x": [10, None, 30], "k": ["a", "b", "a"]}


def _log():
    return wb.from_arrow(LOG, time="at").select("x", "k")


def test_each_form_has_the_same_rows():
    rows = _log().collect()
    assert isinstance(_log().collect(as_="arrow"), pa.Table)
    assert _log().collect(as_="polars").to_dicts() == _log().to_polars().to_dicts() == rows.to_pylist()
    assert _log().collect(as_="duckdb").fetchall() == [tuple(row.values()) for row in rows.to_pylist()]
    frame = _log().to_pandas()
    assert frame.equals(_log().collect(as_="pandas"))
    assert frame["k"].tolist() == LOG["k"]
    assert frame["x"].isna().tolist() == [False, True, False]


def test_an_unknown_form_and_a_missing_library_are_refused_before_anything_runs(monkeypatch):
    with pytest.raises(PlanError, match="as_ must be one of 'arrow'"):
        _log().collect(as_="polar")
    with pytest.raises(PlanError) as caught:
        _log().collect(as_="spark")
    assert caught.value.hint.startswith("Use one of the forms arrow, ")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match="frames"):
        _log().collect(as_="polars")
    with pytest.raises(MissingExtraError, match="Polars"):
        _log().to_polars()


def test_frames_hold_long_decimals_as_far_as_they_are_short_enough():
    log = wb.from_arrow({"at": [1, 2], "d": pa.array([Decimal("1.5"), None], pa.decimal256(60, 10))}, time="at")
    assert log.select("d").to_polars()["d"].to_list() == [Decimal("1.5"), None]
    assert log.select("d").collect(as_="duckdb").fetchall()[0][-1] == Decimal("1.5")
    long = wb.from_arrow({"at": [1], "d": pa.array([Decimal(10) ** 45], pa.decimal256(60, 10))}, time="at")
    with pytest.raises(KernelError, match="Polars cannot hold the decimals of column 'd'"):
        long.to_polars()
    nested = wb.from_arrow({"at": [1], "d": pa.array([[Decimal(1)]], pa.list_(pa.decimal256(60, 10)))}, time="at")
    with pytest.raises(KernelError, match="DuckDB has no type for column 'd'"):
        nested.collect(as_="duckdb")


def test_errors_of_a_library_name_it():
    zoned = wb.from_arrow({"at": pa.array([1], pa.timestamp("us", "+05:45"))}, time="at")
    with pytest.raises(KernelError, match="Polars cannot hold this result: unable to parse time zone"):
        zoned.to_polars()
    times = wb.from_arrow({"at": [1], "t": pa.array([1_001], pa.time64("ns"))}, time="at")
    with pytest.raises(KernelError, match="pandas cannot hold this result: Value 1001 has non-zero") as caught:
        times.to_pandas()
    assert caught.value.where == 'collect(as_="pandas")'


def test_head_stops_reading_at_the_first_settled_rows():
    read = []

    def endless():
        at = 0
        while True:
            read.append(at)
            yield {"at": at, "x": at}
            at += 1

    log = wb.feeds.iterator(endless(), time="at", schema={"at": "int64", "x": "int64"})
    assert log.select("x").head(3)["x"].to_pylist() == [0, 1, 2]


def test_head_of_fewer_rows_and_of_none():
    assert _log().head(2)["k"].to_pylist() == ["a", "b"]
    assert _log().head(100).equals(_log().collect())
    none = _log().where(wb.col.k == "z")
    assert none.head().schema == none.collect().schema
    assert none.head().num_rows == 0
    assert _log().head(0) == _log().collect().slice(0, 0)
    feed = wb.feeds.nats("nobody.listens", "nats://127.0.0.1:9", schema=pa.schema({"at": pa.int64()}), time="at")
    assert feed.tumbling_window(5).aggregate(n=wb.count()).head(0).schema.names == ["start", "end", "n"]
    with pytest.raises(PlanError, match="n must be an integer of at least 0, got -1"):
        _log().head(-1)


def test_describe_numbers_texts_and_empty_columns():
    found = {row["statistic"]: (row["x"], row["k"]) for row in _log().describe().to_pylist()}
    assert found == {"count": (2, "3"), "null_count": (1, "0"), "mean": (20, None), "std": (200 ** 0.5, None),
                     "min": (10, "a"), "25%": (15, None), "50%": (20, None), "75%": (25, None), "max": (30, "b")}
    none = {row["statistic"]: row["x"] for row in _log().where(wb.col.k == "z").describe().to_pylist()}
    assert none == {"count": 0, "null_count": 0, **dict.fromkeys(("mean", "std", "min", "25%", "50%", "75%", "max"))}


def test_describe_takes_nan_as_the_aggregates_do():
    for x in ([1.0, math.nan, 2.0], [math.inf, math.inf, -1.0, math.nan, None], [math.nan], [-0.5]):
        log = wb.from_arrow({"at": range(len(x)), "x": pa.array(x, pa.float64())}, time="at")
        of = wb.col.x
        row, = log.tumbling_window(wb.WHOLE).aggregate(
            count=wb.count(of), nulls=wb.n_null(of), mean=wb.mean(of), std=wb.std(of), min=wb.min(of),
            **{f"q{q}": wb.quantile(of, q) for q in (0.25, 0.5, 0.75)}, max=wb.max(of)).collect().to_pylist()
        np.testing.assert_array_equal(np.array(log.describe()["x"].to_pylist(), float),
                                      np.array(list(row.values())[2:], float))


def test_results_of_sql_have_its_order_and_limit():
    query = wb.sql("SELECT x, k FROM log ORDER BY k DESC, x LIMIT 2", log=_log())
    rows = query.collect().to_pylist()
    assert [row["k"] for row in rows] == ["b", "a"]
    assert query.to_polars().to_dicts() == query.head().to_pylist() == rows
    assert query.head(1).to_pylist() == rows[:1]
    assert query.describe()["k"].to_pylist()[:2] == ["2", "0"]
    assert query.to_pandas()["k"].tolist() == ["b", "a"]


def test_pipe_passes_the_stream_and_arguments():
    assert _log().pipe(lambda log, key, n: log.where(wb.col.k == key).head(n), "a", n=1)["x"].to_pylist() == [10]


def test_statistics_of_a_feed_are_refused() -> None:
    feed = wb.feeds.iterator(
        iter([{"at": 1, "x": 2}]), time="at", schema={"at": "int64", "x": "int64"}, name="meter")
    with pytest.raises(PlanError, match=r"describe\(\) needs a stream that ends, and 'meter' is live"):
        feed.describe()


def test_times_far_away_are_not_others() -> None:
    log = wb.from_arrow(pa.table({"at": [0], "t": pa.array([2**62]).cast(pa.timestamp("s"))}), time="at")
    with pytest.raises(KernelError, match="Column 't' has times that Polars cannot hold"):
        log.to_polars()
    assert log.to_pandas()["t"].astype("int64").tolist() == [2**62]
    assert log.describe()["t"].to_pylist() == ["1", "0", None, None, str(2**62), None, None, None, str(2**62)]


def test_describe_has_the_least_and_the_longest_duration():
    lasting = wb.from_arrow({"at": [0, 1], "d": pa.array([5, 2], pa.duration("s"))}, time="at")
    found = lasting.describe().to_pylist()
    assert (found[4]["d"], found[-1]["d"]) == ("0:00:02", "0:00:05")

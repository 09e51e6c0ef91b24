"""Queries of streams, equal to DuckDB's answer over the same rows."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.logs import rows, sql
from tests.engine.sql.test_random_queries import multiset
from tests.engine.sql.test_tables import duck

ALIKE = [
    "SELECT time, k, x + 1 AS y FROM log WHERE x > 1 OR k = 'a'",
    "SELECT time/10 AS tb, k, count(*) AS n, sum(x) AS s, avg(x) AS m FROM log GROUP BY time/10, k",
    "SELECT time/10*10 AS t, max(x) AS m FROM log GROUP BY time/10 HAVING count(x) > 1",
    "SELECT h, max(n) AS m FROM (SELECT time/5 AS tb, time/20 AS h, count(*) AS n FROM log GROUP BY 1, 2) GROUP BY h",
    "SELECT time, k, sum(x) OVER (PARTITION BY k ORDER BY time RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) s FROM log",
    "SELECT time, count(*) OVER (ORDER BY time RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM log",
    "SELECT time, count(*) OVER (PARTITION BY k ORDER BY time) AS n FROM log",
    "SELECT time, max(x) OVER (PARTITION BY time) AS m FROM log",
    "SELECT a.time, b.time AS t, a.x FROM log a JOIN log b ON a.time = b.time AND a.k = b.k",
    "SELECT a.time, b.time AS t FROM log a JOIN log b ON a.k = b.k AND b.time BETWEEN a.time - 3 AND a.time + 4",
    "SELECT a.time, b.time AS t FROM log a JOIN log b ON a.k = b.k AND b.time > a.time AND b.time < a.time + 5",
    "SELECT a.time, b.time AS t FROM log a, log b WHERE b.time >= a.time + 2 AND b.time <= a.time + 4",
    "SELECT a.time, b.x FROM log a JOIN log b ON a.time/10 = b.time/10 AND a.k = b.k",
    "SELECT a.time, b.x FROM log a LEFT JOIN log b ON a.time = b.time AND a.k = b.k AND b.x > 2",
    "SELECT a.time, b.x FROM log a FULL JOIN (SELECT * FROM log WHERE x > 2) b ON a.time/10 = b.time/10 AND a.x = b.x",
    "SELECT time FROM log WHERE EXISTS (SELECT 1 FROM log b WHERE b.time = log.time AND b.x > log.x)",
    "SELECT time, x FROM log WHERE NOT EXISTS (SELECT 1 FROM log b WHERE b.time = log.time AND b.x > log.x)",
    "SELECT time, name FROM log JOIN names USING (k)",
    "SELECT time, name FROM log LEFT JOIN names ON log.k = names.k AND x > 1",
    "SELECT time, x FROM log WHERE k IN (SELECT k FROM names WHERE name <> 'B')",
    "SELECT time, x FROM log WHERE x > (SELECT avg(value) FROM names)",
    "SELECT DISTINCT time, k FROM log",
    "SELECT time, k FROM log UNION SELECT time, k FROM log WHERE x > 2",
    ("SELECT time/10 AS tb, k, sum(x) AS s FROM log GROUP BY 1, 2 "
    "QUALIFY rank() OVER (PARTITION BY tb ORDER BY sum(x) DESC) <= 1"),
    ("SELECT a.tb, n, m FROM (SELECT time/10 AS tb, count(*) AS n FROM log GROUP BY 1) a "
    "LEFT JOIN (SELECT time/10 AS tb, max(x) AS m FROM log WHERE k = 'a' GROUP BY 1) b ON a.tb = b.tb"),
]
"""Texts that DuckDB reads alike, but for the division of integers."""


def log(seed: int) -> tuple[wb.Stream, pa.Table]:
    draw = random.Random(seed)
    times = sorted(draw.choice(range(60)) for _ in range(draw.choice([0, 5, 25])))
    table = pa.table({"time": pa.array(times, pa.int64()),
                      "k": pa.array([draw.choice(["a", "b", None]) for _ in times], pa.string()),
                      "x": pa.array([draw.choice([1, 2, 3, 4, None]) for _ in times], pa.int64())})
    return wb.from_arrow(table, time="time", name="log"), table


NAMES = pa.table({"k": ["a", "b", None], "name": ["A", "B", "none"], "value": [1, 2, 3]})


@pytest.mark.parametrize("text", ALIKE)
def test_the_answer_is_duckdbs(text: str) -> None:
    for seed in range(6):
        stream, table = log(seed)
        ours = wb.sql(text, log=stream, names=NAMES).collect().drop(["start", "end"]).to_pylist()
        theirs = duck(text.replace("time/", "time//"), {"log": table, "names": NAMES})
        assert multiset(ours) == multiset(theirs), seed


WINDOWS = {
    "HOP(log, time, 5, 20)": (5, 20), "TUMBLE(log, time, 10)": (10, 10),
    "TABLE(HOP(DATA => TABLE log, TIMECOL => DESCRIPTOR(time), SLIDE => 10, SIZE => 20))": (10, 20),
}


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_are_those_of_their_definition(window: str) -> None:
    slide, size = WINDOWS[window]
    for seed in range(6):
        stream, table = log(seed)
        ours = wb.sql(f"SELECT window_start AS a, window_end AS b, k, count(*) AS n, sum(x) AS s FROM {window} "
                      "GROUP BY ALL", log=stream).collect().drop(["start", "end"]).to_pylist()
        theirs = duck(f"SELECT w AS a, w + {size} AS b, k, count(*) AS n, sum(x) AS s FROM log JOIN "
                      f"(SELECT unnest(range(-{size}, 61, {slide})) AS w) ON time >= w AND time < w + {size} "
                      "GROUP BY ALL", {"log": table})
        assert multiset(ours) == multiset(theirs), seed


def test_partial_windows() -> None:
    for seed in range(6):
        stream, table = log(seed)
        ours = wb.sql("SELECT window_start AS a, window_end AS b, count(*) AS n FROM CUMULATE(log, time, 5, 20) "
                      "GROUP BY ALL", log=stream).collect().drop(["start", "end"]).to_pylist()
        theirs = duck("SELECT time//20*20 AS a, time//20*20 + e AS b, count(*) AS n FROM log JOIN "
                      "(SELECT unnest([5, 10, 15, 20]) AS e) ON time < time//20*20 + e GROUP BY ALL", {"log": table})
        assert multiset(ours) == multiset(theirs), seed


def test_sessions() -> None:
    rows = {"time": [1, 4, 9, 20, 21, 40], "k": ["a", "a", "b", "a", "b", "a"]}
    stream = wb.from_arrow(rows, time="time", name="log")
    found = wb.sql("SELECT k, window_start, window_end, count(*) AS n FROM SESSION(TABLE log PARTITION BY k, "
                   "DESCRIPTOR(time), 5) GROUP BY k, window_start, window_end", log=stream).collect()
    sessions = {(row["k"], row["window_start"], row["window_end"], row["n"]) for row in found.to_pylist()}
    assert sessions == {("a", 1, 9, 2), ("b", 9, 14, 1), ("a", 20, 25, 1), ("b", 21, 26, 1), ("a", 40, 45, 1)}


def test_the_latest_row_before() -> None:
    trades = wb.from_arrow({"ts": [3, 9, 12], "k": ["a", "a", "b"]}, time="ts", name="trades")
    quotes = wb.from_arrow({"ts": [1, 7, 9], "k": ["a", "a", "a"], "price": [1.0, 2.0, 3.0]}, time="ts", name="quotes")
    both = {"trades": trades, "quotes": quotes}
    inner = wb.sql("SELECT trades.ts, price FROM trades ASOF JOIN quotes USING (k, ts)", **both)
    left = wb.sql("SELECT t.ts, price FROM trades t ASOF LEFT JOIN quotes q ON t.k = q.k AND t.ts > q.ts", **both)
    version = wb.sql("SELECT t.ts, price FROM trades t JOIN quotes FOR SYSTEM_TIME AS OF t.ts q ON t.k = q.k", **both)
    near = wb.sql("SELECT t.ts, price FROM trades t ASOF JOIN quotes q ON t.k = q.k AND t.ts >= q.ts "
                  "AND q.ts >= t.ts - 1", **both)
    assert inner.collect()["price"].to_pylist() == version.collect()["price"].to_pylist() == [1.0, 3.0]
    assert left.collect()["price"].to_pylist() == [1.0, 2.0, None]
    assert near.collect()["price"].to_pylist() == [3.0]


def test_the_value_before() -> None:
    stream = wb.from_arrow({"ts": [1, 2, 5, 9], "k": ["a", "b", "a", "a"], "x": [1, 2, 3, 4]}, time="ts", name="log")
    found = wb.sql("SELECT ts, lag(x) OVER (PARTITION BY k ORDER BY ts) AS b, "
                   "x - lag(x, 1, 0) OVER (ORDER BY ts) AS d FROM log", log=stream).collect()
    assert found["b"].to_pylist() == [None, None, 1, 3]
    assert found["d"].to_pylist() == [1, 1, 1, 1]
    nulls = wb.from_arrow(pa.table({"ts": [1, 2, 3], "x": [None, 2, None]}), time="ts", name="log")
    found = wb.sql("SELECT lag(x, 1, 7) OVER (ORDER BY ts) AS b FROM log", log=nulls).collect()
    assert found["b"].to_pylist() == [7, None, 2]


@pytest.mark.parametrize("rows", [1, 2, 6])
def test_rows_of_one_time_do_not_multiply(rows: int) -> None:
    table = pa.table({"ts": [1, 1, 2, 2, 2, 3], "k": ["a"] * 6, "x": [5, 4, 3, 1, 2, 0]})
    chunks = pa.concat_tables([table.slice(at, rows) for at in range(0, 6, rows)])
    log = wb.from_arrow(chunks, time="ts", name="log")
    found = wb.sql("SELECT x, lag(x) OVER (PARTITION BY k ORDER BY ts) AS b FROM log", log=log).collect()
    assert found.sort_by([("x", "descending")])["b"].to_pylist() == [None, None, 4, 4, 4, 2]
    joined = wb.sql("SELECT a.x, b.x AS b FROM log a ASOF JOIN log b ON a.k = b.k AND a.ts >= b.ts", log=log).collect()
    assert joined.sort_by([("x", "descending")])["b"].to_pylist() == [4, 4, 2, 2, 2, 0]


def test_out_of_order_rows_give_the_same_answer() -> None:
    rows = {"time": [1, 70, 5, 61, 130], "k": ["a", "b", "a", "b", "a"]}
    late = wb.from_arrow(rows, time="time", reorder_latency=100, late="drop", name="log")
    text = "SELECT time/60 AS tb, count(*) AS n FROM log GROUP BY time/60"
    assert wb.sql(text, log=late).collect()["n"].to_pylist() == [2, 2, 1]


def test_merge_of_queries() -> None:
    found = rows("MERGE a.time : b.time FROM (SELECT time, len FROM TCP) a, (SELECT time, protocol FROM TCP) b")
    both = rows("SELECT time, len FROM TCP") + rows("SELECT time, protocol AS len FROM TCP")
    assert sorted(map(str, found)) == sorted(map(str, both))


def test_merge_of_windows_is_refused() -> None:
    with pytest.raises(wb.SqlError) as refused:
        sql("MERGE a.time : b.time FROM TUMBLE(TCP, 60) a, TCP b")
    assert str(refused.value).splitlines()[0] == (
        "MERGE needs streams, and TUMBLE, HOP, SESSION and CUMULATE need GROUP BY.")


def test_a_star_over_a_window_has_its_bounds() -> None:
    starred = rows("SELECT * FROM TUMBLE(TCP, 60)")
    named = rows("SELECT len, window_start, window_end FROM TUMBLE(TCP, 60)")
    picked = [{name: row[name] for name in named[0]} for row in starred]
    assert sorted(map(str, picked)) == sorted(map(str, named))
    assert len(starred) == len(rows("SELECT * FROM TCP"))
    assert all(row["window_end"] - row["window_start"] == 60 for row in starred)



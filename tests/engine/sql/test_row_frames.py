"""ROWS frames: the last rows of each key, with simultaneous rows together."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.logs import rows


def log(draw: random.Random) -> pa.Table:
    times = draw.sample(range(-40, 200), 60)
    return pa.table({"t": sorted(times), "k": [draw.choice(["a", "b", None]) for _ in times],
                     "x": pa.array([draw.choice([None, *range(-9, 9)]) for _ in times], pa.int64())})


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 30))])
def test_rows_with_times_of_their_own_are_duckdbs(seed: int) -> None:
    draw = random.Random(seed)
    table = log(draw)
    by = draw.choice(["PARTITION BY k ", ""])
    frame = draw.choice([f"ROWS {draw.randrange(5)} PRECEDING", "ROWS UNBOUNDED PRECEDING",
                         "ROWS BETWEEN CURRENT ROW AND CURRENT ROW",
                         f"ROWS BETWEEN {draw.randrange(5)} PRECEDING AND CURRENT ROW"])
    over = f"OVER ({by}ORDER BY t {frame})"
    text = f"SELECT t, k, x, sum(x) {over} AS s, count(*) {over} AS n FROM log"
    answer = wb.sql(text, log=wb.from_arrow(table, time="t")).collect().drop(["start", "end"]).to_pylist()
    with duckdb.connect() as connection:
        connection.register("log", table)
        expected = connection.execute(text).fetchall()
    assert Counter(tuple(row.values()) for row in answer) == Counter(expected)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 30))])
def test_rows_of_one_time_in_an_order_are_duckdbs(seed: int) -> None:
    draw = random.Random(seed)
    most, back = draw.choice([3, 20, 60]), draw.randrange(1, 4)
    times = sorted(draw.randrange(most) for _ in range(50))
    table = pa.table({"t": times, "k": [draw.choice(["a", "b", None]) for _ in times], "s": draw.sample(range(99), 50),
                      "x": pa.array([draw.choice([None, *range(-9, 9)]) for _ in times], pa.int64())})
    over = f"OVER ({draw.choice(['PARTITION BY k ', ''])}ORDER BY t, s{draw.choice(['', ' DESC'])}"
    text = (f"SELECT t, k, s, x, lag(x, {back}) {over}) AS a, lag(x, {back}, 99) {over}) AS b, "
            f"sum(x) {over} ROWS {back} PRECEDING) AS c, "
            f"max(s) {over} ROWS BETWEEN {back} PRECEDING AND CURRENT ROW) AS d FROM log")
    with duckdb.connect() as connection:
        connection.register("log", table)
        expected = connection.execute(text).fetchall()
    late = draw.sample(range(50), 50)
    log = wb.from_arrow(table.take(late), time="t", reorder_latency=most)
    answer = wb.sql(text, log=log).collect().drop(["start", "end"]).to_pylist()
    assert Counter(tuple(row.values()) for row in answer) == Counter(expected)


def test_simultaneous_rows_stay_together() -> None:
    log = wb.from_arrow({"at": [0, 1, 1, 2, 3], "x": [1, 2, 4, 8, 16]}, time="at")
    found = rows("SELECT at, x, sum(x) OVER (ORDER BY at ROWS 1 PRECEDING) AS s FROM log", log=log)
    assert sorted((row["at"], row["s"]) for row in found) == [(0, 1), (1, 6), (1, 6), (2, 14), (3, 24)]


def test_rows_of_epochs() -> None:
    text = ("SELECT srcIP, tb, n, sum(n) OVER (PARTITION BY srcIP ORDER BY tb ROWS 1 PRECEDING) AS both "
            "FROM (SELECT srcIP, tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP)")
    assert [(row["srcIP"], row["tb"], row["both"]) for row in rows(text)] == [
        ("a", 0, 1), ("a", 1, 3), ("b", 0, 1), ("b", 2, 2)]

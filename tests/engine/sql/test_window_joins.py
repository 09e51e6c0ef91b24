"""Rows and results of windows joined with each other and with tables, equal to DuckDB's answer."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.test_tables import duck, multiset

DRAW = random.Random(11)


def log(seed: int) -> pa.Table:
    draw = random.Random(seed)
    times = sorted(draw.sample(range(-60, 240), 25))
    return pa.table({"ts": pa.array(times, pa.timestamp("s")), "k": [draw.choice(["a", "b", "c", None]) for _ in times],
                     "x": [draw.randrange(9) for _ in times]})


TABLES = {"bids": log(1), "asks": log(2), "names": pa.table({"k": ["a", "b", None], "name": ["n", "m", "o"]})}
STREAMS = {name: wb.from_arrow(table, time="ts", name=name) if name != "names" else table
           for name, table in TABLES.items()}
BIDS, ASKS = (f"TABLE(TUMBLE(TABLE {name}, DESCRIPTOR(ts), INTERVAL '1' MINUTE))" for name in ("bids", "asks"))
SUMS = {name: f"(SELECT window_start, window_end, k, sum(x) AS s FROM {name} GROUP BY window_start, window_end, k)"
        for name in (BIDS, ASKS)}
MEET = "a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end"

TEXTS = [
    *(f"SELECT a.k, a.s, b.s AS t, coalesce(a.window_start, b.window_start) AS w FROM {SUMS[BIDS]} a {how}JOIN "
      f"{SUMS[ASKS]} b ON {MEET}" for how in ("", "LEFT ", "RIGHT ", "FULL ")),
    *(f"SELECT a.k, a.x, b.x AS y, a.window_end FROM {BIDS} a {how}JOIN {ASKS} b ON {MEET}" for how in ("", "LEFT ")),
    *(f"SELECT x, window_end FROM (SELECT * FROM {BIDS}) a WHERE {word}EXISTS (SELECT * FROM (SELECT * FROM {ASKS}) b "
      f"WHERE {MEET})" for word in ("", "NOT ")),
    *(f"SELECT a.k, a.s, name, window_start FROM {SUMS[BIDS]} a {how}JOIN names n ON a.k = n.k"
      for how in ("", "LEFT ")),
    f"SELECT x, name, window_start FROM {BIDS} a LEFT JOIN names USING (k)",
    (f"SELECT name, window_start, window_end, sum(x) AS s FROM {BIDS} b JOIN names n ON b.k = n.k "
     "GROUP BY name, window_start, window_end"),
    f"SELECT a.x, name, b.x AS y FROM {BIDS} a JOIN names n ON a.k = n.k JOIN {ASKS} b ON {MEET}",
    f"SELECT k, s FROM {SUMS[BIDS]} a WHERE k IN (SELECT k FROM names WHERE name > 'm')",
    f"SELECT k, s, (SELECT count(*) FROM names WHERE names.k = a.k) AS n FROM {SUMS[BIDS]} a",
    f"SELECT k, s, (SELECT count(*) FROM names) AS n FROM {SUMS[BIDS]} a",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_answer_is_duckdbs(text: str) -> None:
    stream = wb.sql(text, **STREAMS)
    theirs = text
    for window, name in ((BIDS, "bids"), (ASKS, "asks")):
        start = "time_bucket(INTERVAL '1' MINUTE, ts)"
        theirs = theirs.replace(window, f"(SELECT *, {start} AS window_start, {start} + INTERVAL '1' MINUTE AS "
                                        f"window_end FROM {name})")
    assert multiset(stream.collect().drop(["start", "end"]).to_pylist()) == multiset(duck(theirs, TABLES))
    if "one row" not in stream.explain():  # a table of its own, which a text does not name
        assert wb.sql(stream.sql(), **STREAMS).explain() == stream.explain()


HOPS = {name: f"TABLE(HOP(TABLE {name}, DESCRIPTOR(ts), INTERVAL '20' SECOND, INTERVAL '1' MINUTE))"
        for name in ("bids", "asks")}
HOPPING = [
    "SELECT * FROM {bids}", "SELECT k, window_end FROM {bids} WHERE x > 3",
    ("SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY ts DESC) AS rn "
     "FROM {bids}) WHERE rn <= 2"),
    "SELECT a.k, a.x, b.x AS y, a.window_start FROM {bids} a JOIN {asks} b ON " + MEET,
    "SELECT x, name, window_end FROM {bids} a JOIN names n ON a.k = n.k",
]


@pytest.mark.parametrize("text", HOPPING)
def test_rows_stand_in_each_of_their_windows(text: str) -> None:
    stream = wb.sql(text.format(**HOPS), **STREAMS)
    begins = "SELECT TIMESTAMP '1970-01-01' + to_seconds(unnest(range(-200, 400, 20))) AS w"
    theirs = {name: f"(SELECT t.*, w AS window_start, w + INTERVAL 60 SECOND AS window_end FROM {name} t "
                    f"JOIN ({begins}) ON ts >= w AND ts < w + INTERVAL 60 SECOND)" for name in HOPS}
    assert multiset(stream.collect().drop(["start", "end"]).to_pylist()) == multiset(
        duck(text.format(**theirs), TABLES))
    assert wb.sql(stream.sql(), **STREAMS).explain() == stream.explain()


def test_windows_of_two_grids_meet_only_where_they_are_equal() -> None:
    """Their lifetimes overlap where their bounds differ."""
    other = BIDS.replace("'1' MINUTE", "'1' MINUTE, INTERVAL '10' SECOND")
    found = wb.sql(f"SELECT a.x FROM {BIDS} a JOIN {other} b USING (k, window_start)", **STREAMS)
    assert found.collect().num_rows == 0


def test_arithmetic_of_another_column_in_a_condition_of_a_join() -> None:
    """It was an error of Python: the joined stream was asked before it was made."""
    s = wb.from_arrow({"time": [0, 8, 16], "v": [0, 9, 17]}, time="time", name="s")
    query = wb.sql("SELECT a.v FROM s a JOIN s b ON a.time = b.time AND a.v/8 = b.time/8", s=s)
    assert query.collect()["v"].to_pylist() == [0, 9, 17]

"""Epochs round down, and rows of one epoch are one set."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb

LOG = wb.from_arrow({"time": [-70, -40, -20, 5, 70], "k": ["a", "a", "a", "b", "a"]}, time="time", name="log")


def rows(text: str) -> list[tuple[Any, ...]]:
    found = wb.sql(text, log=LOG).collect().drop(["start", "end"])
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.mark.parametrize(("key", "expected"), [
    ("(time+30)/60", [(-1, 2), (0, 2), (1, 1)]),
    ("(30+time)/60", [(-1, 2), (0, 2), (1, 1)]),
    ("time*2/60", [(-3, 1), (-2, 1), (-1, 1), (0, 1), (2, 1)]),
    ("-time/60", [(-2, 1), (-1, 1), (0, 2), (1, 1)]),
    ("time + 30 - (time + 30) % 60", [(-60, 2), (0, 2), (60, 1)]),
    ("time/60/2", [(-1, 3), (0, 2)]),
])
def test_any_epoch_rounds_down(key: str, expected: list[tuple[int, int]]) -> None:
    assert rows(f"SELECT {key} AS g, count(*) AS n FROM log GROUP BY {key}") == expected
    assert sorted(row[0] for row in rows(f"SELECT {key} AS g FROM log")) == sorted(
        g for g, n in expected for _ in range(n))


def test_other_divisions_of_integers_truncate() -> None:
    assert rows("SELECT time % 60 AS a, (time % 60) / 7 AS b FROM log WHERE time < -30") == [(-40, -5), (-10, -1)]


def test_an_epoch_of_an_epoch() -> None:
    assert rows("SELECT tb/2 AS h, count(*) AS n FROM (SELECT time/60 AS tb FROM log) GROUP BY tb/2") == [
        (-1, 3), (0, 2)]
    assert rows("SELECT tb/2 AS h FROM (SELECT time/60 AS tb FROM log)") == [(-1,), (-1,), (-1,), (0,), (0,)]
    assert rows("SELECT time/60/2 AS h, (tb+1)/2 AS m, count(*) AS n FROM log GROUP BY time/60 AS tb") == [
        (-1, -1, 1), (-1, 0, 2), (0, 0, 1), (0, 1, 1)]


@pytest.mark.parametrize(("condition", "expected"), [
    ("(a.time+30)/60 = (b.time+30)/60 AND a.time < b.time", [(-70, -40), (-20, 5)]),
    ("a.time/60 = b.time/60 AND a.time < b.time", [(-40, -20)]),
    ("a.time/60 = b.time/60 AND a.time BETWEEN b.time + 5 AND b.time + 30", [(-20, -40)]),
    ("a.time/60 = b.time/60 AND a.time/90 = b.time/90 AND a.k = b.k AND a.time <> b.time", [(-40, -20), (-20, -40)]),
    ("a.time/60 = b.time/60 AND a.time = b.time AND a.k = 'b'", [(5, 5)]),
    ("a.time/20 = b.time/20 AND a.time/60 = b.time/60 AND a.time < 0", [(-70, -70), (-40, -40), (-20, -20)]),
    ("a.time/60 = b.time/60 AND a.time/40 = b.time/40 AND a.time < 0", [
        (-70, -70), (-40, -40), (-40, -20), (-20, -40), (-20, -20)]),
])
def test_rows_of_equal_epochs_meet_the_other_conditions(condition: str, expected: list[tuple[int, int]]) -> None:
    met = rows(f"SELECT a.time, b.time AS u FROM log a JOIN log b ON {condition}")
    assert met == sorted(expected)


def test_an_outer_join_by_epochs_keeps_rows_without_a_partner() -> None:
    text = "SELECT a.time, b.time AS u FROM log a LEFT JOIN log b ON a.time/60 = b.time/60 AND a.time < b.time"
    found = wb.sql(text, log=LOG).collect()
    assert {(row["time"], row["u"]) for row in found.to_pylist()} == {
        (-70, None), (-40, -20), (-20, None), (5, None), (70, None)}


def test_columns_of_using_are_one_column_each() -> None:
    other = wb.from_arrow({"time": [5, 6], "k": ["b", "c"], "y": [1, 2]}, time="time", name="other")
    full = wb.sql("SELECT *, time AS t FROM log FULL JOIN other USING (k, time)", log=LOG, other=other).collect()
    assert full.schema.names == ["start", "end", "time", "k", "y", "t"]
    assert {(row["time"], row["k"], row["y"], row["t"]) for row in full.to_pylist()} == {
        (-70, "a", None, -70), (-40, "a", None, -40), (-20, "a", None, -20), (5, "b", 1, 5), (6, "c", 2, 6),
        (70, "a", None, 70)}


@pytest.mark.parametrize(("text", "expected"), [
    ("SELECT DISTINCT time/60 AS tb, k FROM log", [(-2, "a"), (-1, "a"), (0, "b"), (1, "a")]),
    ("SELECT time/60 AS tb, k FROM log UNION SELECT time/60, k FROM log", [(-2, "a"), (-1, "a"), (0, "b"), (1, "a")]),
    ("SELECT time/60 AS tb FROM log EXCEPT SELECT time/60 FROM log WHERE time = -20", [(-2,), (0,), (1,)]),
    ("SELECT time/60 AS tb FROM log EXCEPT ALL SELECT time/60 FROM log WHERE time = -20", [(-2,), (-1,), (0,), (1,)]),
    ("SELECT time/60 AS tb FROM log INTERSECT SELECT time/60 FROM log WHERE time = -20", [(-1,)]),
    ("SELECT time/60 AS tb FROM log INTERSECT ALL SELECT time/60 FROM log WHERE time < 0", [(-2,), (-1,), (-1,)]),
    ("SELECT DISTINCT tb/2 AS h FROM (SELECT time/60 AS tb, count(*) AS n FROM log GROUP BY time/60)", [(-1,), (0,)]),
    ("SELECT DISTINCT time/60 AS tb, count(*) AS n FROM log GROUP BY GROUPING SETS ((time/60, k), (time/60))",
     [(-2, 1), (-1, 2), (0, 1), (1, 1)]),
])
def test_rows_of_one_epoch_are_one_set(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(text) == expected


def test_times_rounded_down_define_the_set_too() -> None:
    minute = 60_000_000
    times = pa.array([minute - 1, minute, 2 * minute - 1], pa.timestamp("us"))
    log = wb.from_arrow({"ts": times}, time="ts", name="log")
    found = wb.sql("SELECT DISTINCT date_trunc('minute', ts) AS m FROM log", log=log)
    assert found.collect().num_rows == 2

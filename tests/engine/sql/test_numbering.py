"""row_number and rank: of windows, of tables, of rows so far, and in the order of time."""

from __future__ import annotations

import math
import random
import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import whimbrel as wb
from tests.engine.sql.logs import rows, sql
from tests.engine.sql.test_tables import duck, multiset

DRAW = random.Random(7)
TIMES = sorted(DRAW.sample(range(-30, 200), 40))
BIDS = pa.table({"ts": pa.array(TIMES, pa.timestamp("s")), "k": [DRAW.choice(["a", "b", None]) for _ in TIMES],
                 "price": DRAW.sample(range(1000), len(TIMES)), "x": [DRAW.choice([1, 2, None]) for _ in TIMES]})
LOG = wb.from_arrow(BIDS, time="ts", name="bids")
WINDOW = "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
WINDOWED = ("(SELECT *, time_bucket(INTERVAL '1' MINUTE, ts) AS window_start, time_bucket(INTERVAL '1' MINUTE, ts) + "
            "INTERVAL '1' MINUTE AS window_end FROM bids)")

TEXTS = [
    (f"SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS rn "
     f"FROM {WINDOW}) WHERE rn <= 3"),
    f"SELECT k, price FROM {WINDOW} QUALIFY row_number() OVER (PARTITION BY window_start, k ORDER BY price) <= 2",
    f"SELECT price, rank() OVER (PARTITION BY window_start ORDER BY price) AS r, window_end FROM {WINDOW}",
    (f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY window_start, window_end, k ORDER BY ts DESC) AS rn "
     f"FROM {WINDOW}) WHERE rn = 1"),
    (f"SELECT k, s, rn FROM (SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY s DESC) AS rn "
     f"FROM (SELECT window_start, window_end, k, sum(price) AS s FROM {WINDOW} GROUP BY window_start, window_end, k)) "
     "WHERE rn < 3"),
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM bids) WHERE rn = 1",
    "SELECT k, price FROM bids QUALIFY row_number() OVER (PARTITION BY k ORDER BY ts ASC) <= 3",
    "SELECT *, row_number() OVER (ORDER BY ts) AS n FROM bids WHERE price > 300",
    "SELECT price, rank() OVER (PARTITION BY k ORDER BY ts) AS n FROM bids",
    ("SELECT n, count(*) AS c FROM (SELECT ts, row_number() OVER (PARTITION BY k ORDER BY ts) AS n FROM bids) "
     "GROUP BY n, date_trunc('minute', ts)"),
    ("SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY m ORDER BY price) AS n FROM ("
     "SELECT date_trunc('minute', ts) AS m, price FROM bids)) WHERE n <= 2"),
    "SELECT m, count(*) AS n FROM (SELECT date_trunc('minute', ts) AS m FROM bids) GROUP BY m",
    f"SELECT price, rank() OVER (PARTITION BY window_start ORDER BY k DESC, x) AS r, window_end FROM {WINDOW}",
    ("SELECT price, rank() OVER (PARTITION BY window_start ORDER BY k NULLS FIRST, x DESC NULLS FIRST) AS r "
     f"FROM {WINDOW}"),
    ("SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY x DESC, k, price) "
     f"AS rn FROM {WINDOW}) WHERE rn <= 2"),
    ("SELECT price, count(*) OVER (PARTITION BY window_start) AS n, window_start "
     f"FROM {WINDOW}"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_answer_is_duckdbs(text: str) -> None:
    stream = wb.sql(text, bids=LOG)
    ours = stream.collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(text.replace(WINDOW, WINDOWED), {"bids": BIDS}))
    assert wb.sql(stream.sql(), bids=LOG).explain() == stream.explain()


SO_FAR = [
    "SELECT k, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM bids) WHERE rn = 1",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY price DESC) AS rn FROM bids) WHERE rn <= 4",
    "SELECT price, rank() OVER (ORDER BY price) AS r FROM HOLD(bids) QUALIFY r <= 3",
    "SELECT k, price FROM (SELECT *, row_number() OVER (ORDER BY k DESC, x, price) AS rn FROM bids) WHERE rn <= 9",
    "SELECT DISTINCT ON (k) k, x, price FROM HOLD(bids) ORDER BY k, x DESC, price",
]


@pytest.mark.parametrize("text", SO_FAR)
def test_the_last_answer_of_all_rows_so_far_is_duckdbs(text: str) -> None:
    found = wb.sql(text, bids=LOG).collect()
    last = found.filter(pc.is_null(found["end"])).drop(["start", "end"])
    assert multiset(last.to_pylist()) == multiset(duck(re.sub(r"HOLD\((\w+)\)", r"\1", text), {"bids": BIDS}))


def test_each_answer_holds_until_the_next_row_of_its_key() -> None:
    log = wb.from_arrow({"at": [1, 2, 4], "k": ["a", "b", "a"], "x": [5, 6, 7]}, time="at", name="log")
    last = wb.sql("SELECT k, x FROM log QUALIFY row_number() OVER (PARTITION BY k ORDER BY at DESC) = 1", log=log)
    assert sorted(tuple(row.values()) for row in last.collect().to_pylist() if row["k"] == "a") == [
        (1, 4, "a", 5), (4, None, "a", 7)]


def test_rows_of_one_time_are_numbered_by_their_other_columns() -> None:
    log = wb.from_arrow({"at": [1, 1, 2, 2], "x": [9, 8, 7, 7]}, time="at", name="log")
    found = wb.sql("SELECT at, x, row_number() OVER (ORDER BY at) AS n FROM log", log=log).collect()
    assert sorted(zip(found["n"].to_pylist(), found["x"].to_pylist(), strict=True)) == [(1, 8), (2, 9), (3, 7), (4, 7)]
    ranks = wb.sql("SELECT rank() OVER (ORDER BY at) AS n FROM log", log=log).collect()
    assert sorted(ranks["n"].to_pylist()) == [1, 1, 3, 3]


@pytest.mark.parametrize("order", ["ts, x, price DESC", "ts, k DESC, x NULLS FIRST, price"])
def test_the_second_order_numbers_rows_of_one_time(order: str) -> None:
    table = BIDS.set_column(0, "ts", pc.floor_temporal(BIDS["ts"], 30, unit="second"))
    log = wb.from_arrow(table, time="ts", name="bids")
    for function in ("row_number", "rank"):
        text = f"SELECT price, {function}() OVER (PARTITION BY k ORDER BY {order}) AS n FROM bids"
        ours = wb.sql(text, bids=log).collect().drop(["start", "end"]).to_pylist()
        assert multiset(ours) == multiset(duck(text, {"bids": table}))


def test_equal_rows_of_a_table_have_different_numbers() -> None:
    assert [row["n"] for row in rows("SELECT row_number() OVER (ORDER BY x) AS n FROM t",
                                     t=pa.table({"x": [5, 5, 5]}))] == [1, 2, 3]


def test_numbers_are_a_table_of_the_outer_query() -> None:
    text = "SELECT ip, n FROM (SELECT *, row_number() OVER (ORDER BY rank) AS n FROM hosts) WHERE n > 1 AND n <= 3"
    assert rows(text) == [{"ip": None, "n": 3}, {"ip": "b", "n": 2}]


def test_windows_of_results_are_not_finer_than_their_epochs() -> None:
    """An hour of a minute's results was taken as the minute."""
    minutes = "SELECT date_trunc('minute', ts) AS m, k, count(*) AS n FROM bids GROUP BY m, k"
    hours = f"SELECT date_trunc('hour', m) AS h, n FROM ({minutes})"
    with pytest.raises(wb.SqlError, match="of rows of several windows"):
        sql(f"SELECT h, n FROM ({hours}) QUALIFY rank() OVER (PARTITION BY h ORDER BY n DESC) <= 1")
    with pytest.raises(wb.SqlError, match="no group is ever complete"):
        sql(f"SELECT h, sum(n) AS n FROM ({hours}) GROUP BY h")
    assert rows(f"SELECT date_trunc('hour', m) AS h, sum(n) AS n FROM ({minutes}) GROUP BY h")[0]["n"] == 5


def test_nulls_do_not_tie_with_the_extremes() -> None:
    table = pa.table({"f": pa.array([1.0, None, math.inf, -math.inf, math.nan]),
                      "i": pa.array([5, None, 2**63 - 1, -(2**63), 0], pa.int64())})
    ranks = wb.sql("SELECT f, rank() OVER (ORDER BY f) AS r FROM A", A=table).collect()
    assert dict(zip(map(str, ranks["f"].to_pylist()), ranks["r"].to_pylist(), strict=True)) == {
        "-inf": 1, "1.0": 2, "inf": 3, "nan": 4, "None": 5}
    first = wb.sql("SELECT i FROM A QUALIFY row_number() OVER (ORDER BY i DESC NULLS LAST) <= 4", A=table).collect()
    assert sorted(first["i"].to_pylist()) == [-(2**63), 0, 5, 2**63 - 1]


def test_bits_of_integers() -> None:
    found = wb.sql("SELECT i & 1 AS a, i | 2 AS b, xor(i, 3) AS c, ~i AS d, i << 2 AS e, i >> 1 AS f FROM A",
                   A=pa.table({"i": [5, None]})).collect()
    assert found.select(list("abcdef")).to_pylist() == [
        {"a": 1, "b": 7, "c": 6, "d": -6, "e": 20, "f": 2}, dict.fromkeys("abcdef")]


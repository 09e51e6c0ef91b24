"""Epochs on other grids: an increasing function of event time is the event time."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import whimbrel as wb
from tests.engine.sql.logs import BIDS, TCP, rows, sql
from whimbrel import col


def test_the_plan_is_that_of_python() -> None:
    text = "SELECT k, m, count(*) AS n FROM bids GROUP BY date_trunc('minute', ts - INTERVAL '10' SECOND) AS m, k"
    late = timedelta(seconds=10)
    python = BIDS.retime((wb.start_time() - late).dt.floor("1m")).group_by(
        m=(col.ts - late).dt.floor("1m"), k=col.k).aggregate(n=wb.count()).select("k", "m", "n")
    assert sql(text).explain() == python.explain()


def test_rows_of_one_value_are_one_group() -> None:
    assert rows("SELECT tb, count(*) AS n FROM TCP GROUP BY (time+30)/60 AS tb") == [
        {"tb": 0, "n": 2}, {"tb": 1, "n": 2}, {"tb": 2, "n": 1}]
    text = "SELECT m, count(*) AS n FROM bids GROUP BY date_trunc('minute', ts + INTERVAL '55' SECOND) AS m"
    assert rows(text) == [{"m": datetime(1970, 1, 1, 0, minute), "n": n}
                          for minute, n in ((0, 1), (1, 2), (2, 1), (3, 1))]


def test_a_function_of_time_of_another_type_is_a_time() -> None:
    assert rows("SELECT y, count(*) AS n FROM bids GROUP BY year(ts) * 2 AS y") == [{"y": 3940, "n": 5}]


def test_a_time_that_falls_is_its_negative_value() -> None:
    found = sql("SELECT s, count(*) AS n FROM TCP GROUP BY 5 - time AS s")
    assert found.explain() == TCP.retime(-(5 - wb.start_time())).group_by(s=5 - col.time).aggregate(
        n=wb.count()).explain()
    assert found.collect()["start"].to_pylist() == [-4, 0, 56, 65, 125]


NUMBERS = TCP.select("time", "srcIP", seq=col.time * 2, rest=-col.time).assume(
    increasing="seq", decreasing="rest", band=2)
REFUSED = {
    "no epoch": ("SELECT count(*) FROM (SELECT srcIP, time, seq FROM N) GROUP BY srcIP", """
Nothing in GROUP BY follows an ordered attribute, so no group is ever complete.
  where: line 1: *) FROM (SELECT srcIP, time, seq FROM N) GROUP BY srcIP
                                                                   ^^^^^
  hint:  Add an epoch, such as time/60 AS tb, or a window; ordered here: time (increasing), seq (increasing).
"""),
    "lost order": ("SELECT count(*) FROM N GROUP BY seq % 10", """
seq % 10 repeats, so it closes no group.
  where: line 1: SELECT count(*) FROM N GROUP BY seq % 10
                                                 ^^^^^^^^
  hint:  Group by time/60 AS tb too.
"""),
    "one ordered side": ("SELECT N.seq FROM N JOIN TCP ON N.seq = TCP.len", """
This join relates no times, so each row would wait for its partner without end.
  where: line 1: SELECT N.seq FROM N JOIN TCP ON N.seq = TCP.len
                                          ^^^^^^^^^^^^^^^^^^^^^^
  hint:  Relate the times, such as N.time = TCP.time or BETWEEN, or use ASOF JOIN, a table or HOLD(t).
"""),
    "one falling side": ("SELECT a.seq FROM N a JOIN N b ON a.seq = b.rest", """
This join relates no times, so each row would wait for its partner without end.
  where: line 1: SELECT a.seq FROM N a JOIN N b ON a.seq = b.rest
                                            ^^^^^^^^^^^^^^^^^^^^^
  hint:  Relate the times, such as a.time = b.time or BETWEEN, or use ASOF JOIN, a table or HOLD(t).
"""),
    "another order in merge": ("MERGE a.srcIP : b.srcIP FROM N a, N b", """
'srcIP' is not the event time of its stream.
  where: line 1: MERGE a.srcIP : b.srcIP FROM N a, N b
                       ^^^^^^^
  hint:  Use the ordered attribute: time.
"""),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=list(REFUSED))
def test_the_refusal(text: str, words: str) -> None:
    with pytest.raises(wb.SqlError) as refused:
        sql(text, N=NUMBERS)
    assert str(refused.value) == words.strip()

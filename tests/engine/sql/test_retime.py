"""Epochs on other grids: an increasing function of event time is the event time."""

from __future__ import annotations

from datetime import datetime, timedelta

import whimbrel as wb
from tests.engine.sql.logs import BIDS, rows, sql
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

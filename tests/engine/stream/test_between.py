"""A range of a result: the same rows, computed from a part of the sources."""

from __future__ import annotations

import random
import re
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.errors import WhimbrelError
from whimbrel.testing.oracle import differences
from whimbrel.testing.oracle import temporal as oracle
from whimbrel.testing.rows import facts_from_table

ROWS = 3_000


def table(rows: int = ROWS, *, lasting: bool = False) -> pa.Table:
    drawn = np.random.default_rng(7)
    at = drawn.integers(1, 4, rows).cumsum()
    columns = {"at": at, "x": drawn.normal(size=rows), "k": drawn.integers(0, 3, rows)}
    return pa.table(columns | ({"until": at + drawn.integers(1, 40, rows)} if lasting else {}))


def points() -> Stream:
    return wb.from_arrow(table(), time="at", name="log").select("x", "k")


def lasting() -> Stream:
    return wb.from_arrow(table(lasting=True), time="at", end="until", name="log").select("x", "k")


def read(query: Stream) -> int:
    """Rows of sources that a query reads."""
    plan = query.explain().split("runs as")[1]
    return sum(int(rows.replace(",", "")) for rows in re.findall(r"\(.*?([\d,]+) rows", plan))


QUERIES: dict[str, tuple[Any, bool]] = {
    "where": (lambda s: s.where(col.x > 0), True),
    "tumbling": (lambda s: s.tumbling_window(50).aggregate(n=wb.count(), t=wb.sum(col.x)), True),
    "sliding by key": (lambda s: s.group_by("k").sliding_window(30).aggregate(m=wb.mean(col.x)), True),
    "hopping": (lambda s: s.hopping_window(60, 20, label="end").aggregate(m=wb.max(col.x)), True),
    "shifted": (lambda s: s.shift(200).sliding_window(9).aggregate(t=wb.sum(col.x)), True),
    "joined": (lambda s: s.join(s.select("k", y=col.x).shift(7).set_duration(5), on="k"), True),
    "past": (lambda s: s.group_by("k").select("k", m=col.x - wb.mean(col.x).past(90, ahead=30)), True),
    "trend": (lambda s: s.assume(non_overlapping=True).where(wb.mean(col.x).past(5) > wb.mean(col.x).past(20)), True),
    "ago": (lambda s: s.set_duration(1).select(d=col.x - col.x.ago(3), e=col.x.ahead(50)), True),
    "resampled": (lambda s: s.set_duration(1).resample(7, how="linear", limit=20), True),
    "over time": (lambda s: s.set_duration(1).over_time(m=wb.max(col.x).past(40)), True),
    "so far": (lambda s: s.set_duration(1).select(t=wb.sum(col.x).so_far()), False),
    "sessions": (lambda s: s.group_by("k").session_window(3).aggregate(n=wb.count()), False),
    "filled": (lambda s: s.tumbling_window(50).aggregate(n=wb.count(), fill=True), False),
    "snapshots": (lambda s: s.group_by("k").aggregate(n=wb.count(), hi=wb.max(col.x)), True),
    "two ranges": (lambda s: s.between(500, 5_000).sliding_window(20).aggregate(n=wb.count()), True),
}


ONE_AT_A_TIME = ("past", "trend")
"""Queries of events that must not overlap."""


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in QUERIES for kind in ("points", "lasting")
                                            if kind == "points" or name not in ONE_AT_A_TIME])
def test_a_range_is_a_slice_of_the_result(name: str, kind: str) -> None:
    build, cut = QUERIES[name]
    query = build(points() if kind == "points" else lasting())
    whole = facts_from_table(query.collect())
    drawn = random.Random(name)
    for start, width in ((2_000, 90), (drawn.randint(1, 5_800), 1), (-50, 60), (5_900, 9_000)):
        part = query.between(start, start + width)
        expected = oracle.between(whole, start, start + width)
        assert differences(expected, facts_from_table(part.collect())) == ([], [])
    if cut:
        assert read(query.between(2_000, 2_060)) < ROWS * 0.15


def test_values_at_multiples_are_those_of_the_result() -> None:
    for query in (lasting().group_by("k").aggregate(n=wb.count(), hi=wb.max(col.x)), lasting().where(col.x > 0.5),
                  points().tumbling_window(50).aggregate(n=wb.count()), lasting().set_duration(None)):
        whole = facts_from_table(query.collect())
        for start, end, every in ((1_000, 1_100, 10), (1_003, 1_006, 2), (-100, 20, 25), (1_001, 1_002, 5)):
            part = query.between(start, end, every=every)
            assert differences(oracle.between(whole, start, end, every), facts_from_table(part.collect())) == ([], [])


def test_further_steps_and_threads_see_the_range_only() -> None:
    query = points().sliding_window(20).aggregate(m=wb.mean(col.x)).between(1_000, 1_100)
    alone = query.collect()
    assert query.collect(threads=2).equals(alone)
    assert query.where(col.m > 0).collect().num_rows == sum(m > 0 for m in alone["m"].to_pylist())
    log = wb.from_arrow(table(), time="at", name="log")
    for other in (log, wb.replay(log, speed=float("inf"))):
        assert query.on(other).collect().equals(alone)
    found = query.lineage(start=alone["start"][5].as_py())
    assert found.rerun()["m"].to_pylist()[0] == alone["m"][5].as_py()


def test_only_the_row_groups_of_a_range_are_read(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "log.parquet", row_group_size=100)
    query = wb.read_parquet(tmp_path / "log.parquet", time="at").sliding_window(50).aggregate(n=wb.count())
    assert read(query.between(2_000, 2_060)) == 200
    assert "part of 3,000 rows" in query.between(2_000, 2_060).explain()
    whole = oracle.between(facts_from_table(query.collect()), 2_000, 2_060)
    assert differences(whole, facts_from_table(query.between(2_000, 2_060).collect())) == ([], [])


def test_explain_says_why_all_rows_are_read() -> None:
    unsorted = wb.from_arrow({"at": [3, 1, 2], "x": [1, 2, 3]}, time="at", name="log", reorder_latency=5)
    assert "note: reads all rows of log: they are not known to be in the order of time" in (
        unsorted.between(1, 2).explain())
    assert unsorted.between(1, 3).collect()["x"].to_pylist() == [2, 3]
    assert "note: reads all rows of log: the range depends on all times" in (
        points().group_by("k").session_window(3, emit="close").aggregate(n=wb.count()).between(1, 9).explain())


def test_lifetimes_of_a_log_in_memory_are_measured() -> None:
    ends = {"at": [0, 1, 2, 50], "x": [1, 2, 3, 4]}
    bounded = wb.from_arrow({**ends, "until": [9, 3, 7, 51]}, time="at", end="until", name="log")
    assert "part of 4 rows" in bounded.between(50, 51).explain()
    assert bounded.between(8, 51).collect()["x"].to_pylist() == [1, 4]
    unbounded = wb.from_arrow({**ends, "until": [9, None, 7, 51]}, time="at", end="until", name="log")
    assert unbounded.between(50, 51).collect()["x"].to_pylist() == [2, 4]
    wrong = wb.from_arrow({**ends, "until": [9, 0, 7, 51]}, time="at", end="until", name="log")
    with pytest.raises(WhimbrelError, match="Row 1 must end after it starts"):
        wrong.between(50, 51).collect()


def test_rows_out_of_order_are_refused_outside_of_the_range_too() -> None:
    wrong = wb.from_arrow({"at": [5, 1, 2, 9], "x": [1, 2, 3, 4]}, time="at", name="log")
    with pytest.raises(WhimbrelError, match="log"):
        wrong.between(9, 10).collect()


def day(*times: str, zone: str | None = None) -> Stream:
    at = pa.array([datetime.fromisoformat(time) for time in times]).cast(pa.timestamp("s"))
    if zone is not None:
        at = at.cast(pa.timestamp("s", zone))
    return wb.from_arrow(pa.table({"at": at, "x": range(len(times))}), time="at", name="log").select("x")


def test_instants() -> None:
    log = day("2024-05-06T08:59:59", "2024-05-06T09:00:00", "2024-05-06T09:04:59", "2024-05-06T09:05:00")
    for start, end in (("09:00", "09:05"), ("2024-05-06T09:00", "2024-05-06 09:05"), ("09:00:00", "09:05:00"),
                       (datetime(2024, 5, 6, 9), datetime(2024, 5, 6, 9, 5))):
        assert log.between(start, end).collect()["x"].to_pylist() == [1, 2]
    assert "between('2024-05-06T09:00:00', '2024-05-06T09:05:00')" in log.between("09:00", "09:05").explain()
    held = log.hold(limit="1h").between("09:00", "09:00:03", every="1s").collect()
    assert held["x"].to_pylist() == [1, 1, 1]
    ticks = wb.from_arrow({"t_us": [9 * 3_600_000_000, 10 * 3_600_000_000], "x": [1, 2]}, time="t_us")
    assert ticks.assume(rate=Fraction(1, 3600)).between("09:00", "09:05").collect()["x"].to_pylist() == [1]
    berlin = day("2024-05-06T22:30", "2024-05-06T23:30", zone="Europe/Berlin")
    assert berlin.between("2024-05-07T01:00", "2024-05-07T03:00").collect()["x"].to_pylist() == [1]
    assert berlin.between("01:00", "03:00").collect()["x"].to_pylist() == [1]


WRONG: dict[str, tuple[Any, str, str]] = {
    "the wrong way around": (lambda: points().between(5, 5), "must end after its start, got 5 to 5", "later end"),
    "text in integer time": (lambda: points().between("09:00", "09:05"), "are integers", "ticks"),
    "no time": (lambda: day("2024-05-06").between("nine", "09:05"), "Cannot read 'nine' as a time", ""),
    "two days": (lambda: day("2024-05-06", "2024-05-08").between("09:00", "09:05"),
                 "'09:00' has no date, and the log is from 2024-05-06 to 2024-05-08", '"2024-05-06T09:00"'),
    "a feed": (lambda: wb.feeds.iterator(lambda: iter([{"at": datetime(2024, 5, 6), "x": 1}]),
                                         time="at").between("09:00", "09:05"),
               "'09:00' has no date, and the days of the log are not known", "T09:00"),
    "every 0": (lambda: points().between(1, 5, every=0), "every must be positive, got 0", ""),
    "a zone": (lambda: day("2024-05-06").between("2024-05-06T09:00Z", "09:05"), "has a time zone", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_range_is_refused_before_any_row(name: str) -> None:
    build, words, hint = WRONG[name]
    with pytest.raises(WhimbrelError) as failed:
        build()
    assert words in str(failed.value)
    assert hint in str(failed.value)


def test_groups_stay() -> None:
    query = points().group_by("k").between(100, 200)
    assert [name for name, _ in query.keys] == ["k"]
    assert set(query.aggregate(n=wb.count()).collect()["k"].to_pylist()) == {0, 1, 2}


def test_every_of_weeks_begins_on_mondays() -> None:
    days = pa.array(np.arange(19_000, 19_030) * 86_400, pa.timestamp("s"))
    log = wb.from_arrow(pa.table({"at": days, "x": range(30)}), time="at", name="log").select("x").hold(limit="1d")
    for weeks in (log.between("2022-01-08", "2022-02-01", every="1w"), log.over_time(every="1w", x=col.x)):
        found = weeks.collect()["start"].to_pylist()
        assert len(found) >= 3
        assert all(start.weekday() == 0 for start in found)


def test_many_ranges_of_one_query_are_planned_once() -> None:
    query = points().sliding_window(20).aggregate(m=wb.mean(col.x))
    plans = [query.between(start, start + 10).explain().split("runs as")[1] for start in (100, 1_000)]
    one, other = (re.sub(r"between\(.*?\)|[\d,]+ rows", "", plan) for plan in plans)
    assert one == other
    whole = facts_from_table(query.collect())
    for start in (100, 1_000):
        part = facts_from_table(query.between(start, start + 10).collect())
        assert differences(oracle.between(whole, start, start + 10), part) == ([], [])

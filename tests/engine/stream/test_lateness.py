"""What a log says of its own lateness is what runs that promise less lose."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.conftest import SHARED_DATA
from whimbrel import col
from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.plan import Node
from whimbrel.stream import Stream
from whimbrel.testing import BatchedRows

CATALOG = ("flights_nyc_2013", "trace_spans_train", "app_logs_train", "market_feed_usdm", "git_commits",
           "quakes_2015_08", "bike_trips_jc_2021_09", "net_dns_zeek")


def log(seed: int, rows: int = 300) -> wb.Stream:
    chance = random.Random(seed)
    times = [at + chance.choice([0, 0, -3, -40]) for at in range(rows)]
    return wb.from_arrow({"at": times, "seen": list(range(rows)), "x": [chance.randrange(9) for _ in range(rows)]},
                         time="at", arrival="seen", name="log")


@pytest.mark.parametrize("seed", range(3))
def test_what_is_lost_is_what_runs_lose(seed: int) -> None:
    source = log(seed)
    query = source.tumbling_window(20).aggregate(n=wb.count(), total=wb.sum(col.x))
    whole = query.collect().to_pylist()
    table = wb.lateness(source).at(0, 2, 3, 39, 40, 50, query=query).to_pylist()
    for row in table:
        feed = wb.replay(source, speed=float("inf"), reorder_latency=int(row["latency"]), late="drop")
        final = list(query.on(feed).progressive(every=1000))[-1]
        assert final.metrics.late_dropped == row["rows_lost"]
        assert sum(one not in final.table.to_pylist() for one in whole) == row["results_changed"]
        assert row["results"] == len(whole)
    assert table[0]["rows_lost"] > table[-1]["rows_lost"] == 0


def test_lateness_against_a_loop() -> None:
    times = [5, 9, 3, 9, 1, 12, 11]
    late = wb.lateness(wb.from_arrow({"at": times, "seen": list(range(7))}, time="at", arrival="seen"))
    newest = [max(times[: at + 1]) for at in range(len(times))]
    assert late.late_by.tolist() == [high - time for high, time in zip(newest, times, strict=True)]
    assert late.late_rows == 3
    assert late.quantiles(0.5, 1.0).to_pydict() == {"fraction": [0.5, 1.0], "late_by": [0, 8], "shown": ["0", "8"]}
    histogram = late.histogram(4)
    assert sum(histogram["rows"].to_pylist()) == 7
    assert histogram.to_pylist()[0] == {"above": -1, "up_to": 0, "rows": 4}


def test_partitions_are_late_each_on_its_own() -> None:
    rows = {"at": [1, 50, 2, 51, 1], "who": ["a", "b", "a", "b", "a"]}
    source = wb.from_arrow(rows, time="at", partition="who", name="log")
    late = wb.lateness(source)
    assert late.late_by.tolist() == [0, 0, 0, 0, 1]
    assert late.at(0, 1)["rows_lost"].to_pylist() == [1, 0]


def test_nothing_at_all() -> None:
    empty = wb.from_arrow(pa.table({"at": pa.array([], pa.int64())}), time="at", name="log")
    late = wb.lateness(empty)
    assert late.at(0)["rows_lost"].to_pylist() == [0]
    assert late.measures.interleaved == 0
    assert repr(late).startswith("log: 0 rows, 0 late; lateness 50%: 0")


def test_a_replay_is_as_late_as_its_part_of_the_log_and_is_not_waited_for() -> None:
    source = log(2)
    replayed = wb.replay(source, speed=0.1, start=50, end=250, reorder_latency=40)
    late = wb.lateness(replayed)
    assert late.rows == 200
    query = replayed.tumbling_window(20).aggregate(n=wb.count())
    assert late.at(0, query=query)["results_changed"].to_pylist()[0] > 0


def test_a_feed_without_an_end_has_no_lateness() -> None:
    feed = BatchedRows([[(0, 1, {"time": 0, "key": "a", "k2": 1, "x": 4, "y": None, "flag": True})]], name="feed")
    feed.live = True
    with pytest.raises(PlanError, match="feed is a feed, which is unbounded"):
        wb.lateness(Stream(Node(feed)))


def test_misuse_is_reported_in_words() -> None:
    source = log(1)
    with pytest.raises(PlanError, match="needs a source"):
        wb.lateness(source.where(col.x > 1))
    with pytest.raises(PlanError, match="A latency must be at least 0, got -1"):
        wb.lateness(source).at(-1)
    with pytest.raises(PlanError, match="needs a latency"):
        wb.lateness(source).at()


@pytest.mark.data
@pytest.mark.parametrize("name", CATALOG)
def test_catalogued_files(name: str) -> None:
    text = (SHARED_DATA / "CATALOG.md").read_text(encoding="utf-8")
    known = next(fact for fact in map(json.loads, re.findall(r"```json\n(.*?)```", text, re.DOTALL))
                 if fact["name"] == name)
    source = wb.read_parquet(Path(SHARED_DATA) / f"{name}.parquet", time=known["event_time"], reorder_latency=0)
    late = wb.lateness(source)
    measured = {name: getattr(late.measures, name) for name in ("inversions", "distance", "runs", "interleaved")}
    assert measured.items() <= known["disorder"].items()
    assert 100 * late.late_rows / late.rows == pytest.approx(known["disorder"]["late_percent"], abs=0.001)


def test_the_effect_is_on_the_query_over_this_source_whatever_the_others_are_called() -> None:
    late = wb.from_arrow({"at": [1, 5, 3, 9, 2], "x": [1] * 5}, time="at", reorder_latency=100)
    other = wb.from_arrow({"at": [1, 2, 30], "x": [10] * 3}, time="at")
    query = late.union(other).tumbling_window(4).aggregate(s=wb.sum(col.x))
    assert wb.lateness(late).at(0, query=query).select(["results", "results_changed"]).to_pylist() == [
        {"results": 4, "results_changed": 1}]
    with pytest.raises(WhimbrelError, match="2 sources named 'table'"):
        query.on({"table": other})


def test_rows_that_a_loss_brings_about_are_changes_too() -> None:
    log = wb.from_arrow({"at": [5, 9, 2], "k": ["a", "b", "a"], "ok": [False, True, True]}, time="at",
                        reorder_latency=100)
    query = log.where(~col.ok).set_duration(4).anti_join(log.where(col.ok).set_duration(9), on="k")
    assert wb.lateness(log).at(0, query=query)["results_changed"].to_pylist() == [1]


def test_what_lateness_cannot_be_asked() -> None:
    log = wb.from_arrow({"at": [1, 2]}, time="at", name="log")
    late, other = wb.lateness(log), wb.from_arrow({"at": [1]}, time="at", name="other")
    for asked, message in (
        (lambda: late.at(0, query="q"), "query must be a stream, got str"),
        (lambda: late.at(0, query=other), "does not read log"),
        (lambda: late.at(0, query=log.at_latencies(0, 1)), "query must be a stream, got LatencyBands"),
        (lambda: late.at(0, query=log.at_latencies(0, 1)[0]), "has latency bands"),
        (lambda: late.at(5, 2), r"in increasing order, got 5, 2\.\n.*lateness\(log\)\.at\(5, 2\)\n.*: at\(2, 5\)\."),
        (lambda: late.at([2, 5]), r"one by one, not in a list\.\n.*\n.*Use at\(2, 5\)"),
        (lambda: late.quantiles(2), "A quantile must be between 0 and 1"),
        (lambda: late.quantiles("a"), "A quantile must be between 0 and 1"),
        (lambda: late.histogram(-1), "bins must be an integer"),
    ):
        with pytest.raises(WhimbrelError, match=message):
            asked()

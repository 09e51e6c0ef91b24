"""The lineage of a result row holds the events that it is made of: those, no fewer, and mostly no more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.batch import Batch
from whimbrel.plan import Node, Source

ROWS = 600
Row = dict[str, Any]
Query = Callable[[Stream], Stream]


def log(rows: int = ROWS, name: str = "log", seed: int = 5) -> Stream:
    random = np.random.default_rng(seed)
    columns = {"at": np.sort(random.integers(-200, 2 * rows, rows)), "k": random.integers(0, 5, rows),
               "x": random.integers(0, 10, rows)}
    return wb.from_arrow(pa.table(columns), time="at", name=name)


def within(start: int, end: int, key: int | None = None) -> Callable[[Row, Row], bool]:
    """Events from so long after the start of a row to so long after its end, of its key."""
    def counts(event: Row, row: Row) -> bool:
        return row["start"] + start <= event["at"] < row["end"] + end and (key is None or event["k"] == row["k"])
    return counts


def of_key(event: Row, row: Row) -> bool:
    return event["k"] == row["k"]


EXACTLY: dict[str, tuple[Query, Callable[[Row, Row], bool]]] = {
    "the row itself": (lambda s: s.where(col.x > 3).select("k", y=col.x * 2),
                       lambda e, row: e["at"] == row["start"] and e["k"] == row["k"] and e["x"] * 2 == row["y"]),
    "tumbling": (lambda s: s.group_by("k").tumbling_window(50).aggregate(n=wb.count()), within(0, 0, 1)),
    "offset": (lambda s: s.tumbling_window(50, offset=7).aggregate(n=wb.count()), within(0, 0)),
    "label end": (lambda s: s.tumbling_window(50, label="end").aggregate(n=wb.count()), within(-49, -49)),
    "hopping": (lambda s: s.group_by("k").hopping_window(60, 20).aggregate(most=wb.max(col.x), emit="close"),
                within(-40, 0, 1)),
    "sliding": (lambda s: s.group_by("k").sliding_window(30).aggregate(n=wb.count()),
                lambda e, row: of_key(e, row) and e["at"] <= row["start"] < e["at"] + 30),
    "filtered": (lambda s: s.where(col.x > 3).group_by("k").tumbling_window(50).aggregate(n=wb.count()),
                 lambda e, row: within(0, 0, 1)(e, row) and e["x"] > 3),
    "filtered aggregate": (lambda s: s.group_by("k").tumbling_window(50).aggregate(n=wb.count().where(col.x > 3)),
                           within(0, 0, 1)),
    "computed key": (lambda s: s.group_by(third=col.x % 3).tumbling_window(50).aggregate(n=wb.count()),
                     lambda e, row: within(0, 0)(e, row) and e["x"] % 3 == row["third"]),
    "of aggregates": (lambda s: s.group_by("k").tumbling_window(20).aggregate(n=wb.count())
                      .hopping_window(60, 20).aggregate(most=wb.max(col.n), emit="close"), within(-40, 0)),
    "of aggregates, by key": (lambda s: s.group_by("k").tumbling_window(10).aggregate(n=wb.count())
                              .group_by("k").tumbling_window(50).aggregate(total=wb.sum(col.n)), within(0, 0, 1)),
    "computed result": (lambda s: s.group_by("k").tumbling_window(50).aggregate(
        m=wb.sum(col.x) / wb.count(), since=wb.window_start()), within(0, 0, 1)),
    "sessions": (lambda s: s.group_by("k").session_window(9, emit="close").aggregate(n=wb.count(), a=wb.first(col.x)),
                 within(0, -9 + 1, 1)),
    "top": (lambda s: s.group_by("k").tumbling_window(50).top_k(1, by=col.x).select("k", best=col.x), within(0, 0, 1)),
    "shifted": (lambda s: s.group_by("k").tumbling_window(50).aggregate(n=wb.count()).shift(13), within(-13, -13, 1)),
    "groups": (lambda s: s.group_by("k").group_apply(lambda g: g.tumbling_window(50).aggregate(n=wb.count())),
               within(0, 0, 1)),
}
AT_LEAST: dict[str, Query] = {
    "changing sessions": lambda s: s.group_by("k").session_window(9).aggregate(n=wb.count()),
    "cut sessions": lambda s: s.group_by("k").session_window(9, max_duration=20).aggregate(n=wb.count()),
    "hopping, uneven": lambda s: s.hopping_window(50, 20).aggregate(n=wb.count()),
    "gaps": lambda s: s.hopping_window(20, 50).aggregate(n=wb.count()),
    "pattern": lambda s: s.group_by("k").detect(wb.sequence(a=col.x > 5, b=col.x < 3), within=60),
    "pattern, once": lambda s: s.detect(wb.sequence(a=col.x > 5, b=col.x < 3), within=60, overlapping=False),
    "first and last": lambda s: s.sliding_window(30).aggregate(a=wb.first(col.x), z=wb.last(col.x)),
    "stitched": lambda s: s.group_by("k").tumbling_window(20).aggregate(n=wb.count()).stitch(),
    "stitched, again": lambda s: s.tumbling_window(20).aggregate(n=wb.count()).stitch().aggregate(m=wb.max(col.n)),
    "clipped": lambda s: s.select("k", "x").set_duration(None).clip_at(s.select("k"), on="k"),
    "unpivot": lambda s: s.select("k", a=col.x, b=col.x + 1).unpivot("k").group_by("attribute").tumbling_window(40)
    .aggregate(n=wb.sum(col.value)),
    "pivot": lambda s: s.with_columns(name=col.k.cast(str)).tumbling_window(40).pivot(
        attribute="name", value="x", values=["1", "2"], aggregate=wb.max),
    "lifetimes": lambda s: s.set_duration(col.x + 1).extend(3).select("k", t=wb.end_time() - wb.start_time())
    .group_by("k").aggregate(t=wb.sum(col.t)),
    "quantized": lambda s: s.set_duration(15).quantize(20, 10).aggregate(n=wb.count()),
    "union": lambda s: s.where(col.x > 5).union(s.where(col.x < 2)).group_by("k").tumbling_window(40)
    .aggregate(n=wb.count()),
    "joined with itself": lambda s: s.set_duration(20).join(s.where(col.x > 7).select("k", z=col.x), on="k"),
    "left join": lambda s: s.set_duration(9).join(s.where(col.x > 7).select("k", z=col.x), on="k", how="left"),
    "semi join": lambda s: s.set_duration(9).semi_join(s.where(col.x > 7).select("k"), on="k"),
    "anti join": lambda s: s.set_duration(9).anti_join(s.where(col.x > 7).select("k"), on="k"),
    "aggregates joined": lambda s: s.group_by("k").tumbling_window(20).aggregate(n=wb.count()).join(
        s.group_by("k").tumbling_window(40).aggregate(m=wb.mean(col.x)), on="k", allow_lookahead=True),
    "value before": lambda s: s.select("k", "x").asof_join(s.where(col.x > 7).select("k", z=col.x), on="k"),
    "of values before": lambda s: s.select("k", "x").asof_join(s.where(col.x > 7).select("k", z=col.x), on="k")
    .group_by("k").tumbling_window(40).aggregate(m=wb.mean(col.z)),
    "value near": lambda s: s.select("k", "x").asof_join(s.where(col.x > 7).select("k", z=col.x), on="k",
                                                        tolerance=9, direction="nearest"),
}


def says(table: pa.Table, row: Row) -> bool:
    """Whether a table holds the values of a row for as long as the row lasts."""
    facts = table.to_pylist()
    start, end = row["start"], math.inf if row["end"] is None else row["end"]
    times = [start, *(time for fact in facts for time in (fact["start"], fact["end"])
                      if time is not None and start < time < end)]
    return all(any(fact["start"] <= time < (math.inf if fact["end"] is None else fact["end"]) and all(
        fact[name] == (pytest.approx(value) if isinstance(value, float) else value)
        for name, value in row.items() if name not in ("start", "end")) for fact in facts) for time in times)


def some(table: pa.Table, most: int = 6) -> Iterator[Row]:
    yield from table.take(np.linspace(0, len(table) - 1, min(most, len(table))).astype(int)).to_pylist()


@pytest.mark.parametrize("name", EXACTLY)
def test_the_lineage_of_a_row_is_exact_and_gives_it_again(name: str) -> None:
    query, counts = EXACTLY[name]
    answer, events = query(log()), log().collect().to_pylist()
    for row in some(answer.collect()):
        found = answer.lineage(row)
        assert found.events["log"].to_pylist() == [event for event in events if counts(event, row)], row
        assert says(found.rerun(), row), row


@pytest.mark.parametrize("name", AT_LEAST)
def test_the_lineage_of_a_row_gives_it_again(name: str) -> None:
    answer = AT_LEAST[name](log())
    for row in some(answer.collect()):
        assert says(answer.lineage(row).rerun(), row), row


def test_another_source_is_looked_through_too() -> None:
    quotes = log(300, "quotes", seed=6).select("k", p=col.x)
    answer = log(name="trades").select("k", "x").asof_join(quotes, on="k")
    row = answer.collect().slice(400, 1).to_pylist()[0]
    found = answer.lineage(row)
    trade, = found.events["trades"].to_pylist()
    assert (trade["at"], trade["k"], trade["x"]) == (row["start"], row["k"], row["x"])
    before = [quote["at"] for quote in log(300, seed=6).collect().to_pylist()
              if quote["k"] == row["k"] and quote["at"] <= row["start"]]
    assert [quote["at"] for quote in found.events["quotes"].to_pylist()] == [max(before)]
    assert found.paths == (("trades", "select(k, x)", "asof_join(on=['k'])"),
                           ("quotes", "select(k, p=col.x)", "asof_join(on=['k'])"))
    assert says(found.rerun(), row)


def test_the_newest_are_shown_and_all_are_counted() -> None:
    answer = log().tumbling_window(5_000).aggregate(n=wb.count())
    row = answer.collect().to_pylist()[-1]
    found = answer.lineage(row, limit=7)
    origin, = found.origins
    assert origin.rows == row["n"]
    assert found.events["log"]["at"].to_pylist() == log().collect()["at"].to_pylist()[-7:]
    assert not found.complete
    with pytest.raises(WhimbrelError, match="more events than its limit"):
        found.rerun()


def test_lifetimes_are_those_in_which_events_count() -> None:
    answer = log().hopping_window(60, 20).aggregate(n=wb.count())
    row = answer.collect().slice(9, 1).to_pylist()[0]
    origin, = answer.lineage(row).origins
    assert set(origin.lifetimes["start"].to_pylist()) == {row["start"] - 40, row["start"] - 20, row["start"]}
    assert {life["end"] - life["start"] for life in origin.lifetimes.to_pylist()} == {60}


def test_a_time_and_a_key_are_enough() -> None:
    answer = log().group_by("k").tumbling_window(50).aggregate(n=wb.count())
    row = answer.collect().slice(30, 1).to_pylist()[0]
    assert answer.lineage(start=row["start"] + 20, k=row["k"]).events["log"].equals(answer.lineage(row).events["log"])
    both = answer.lineage(start=row["start"])
    assert both.origins[0].rows == sum(each["n"] for each in answer.collect().to_pylist()
                                       if each["start"] == row["start"])


def test_times_may_be_said_in_many_ways() -> None:
    times = pa.array([0, 1_700_000, 3_600_001_000], pa.timestamp("us", "UTC"))
    answer = wb.from_arrow(pa.table({"at": times}), time="at").tumbling_window("1h").aggregate(n=wb.count())
    last = answer.collect().slice(1, 1)
    row = last.to_pylist()[0]
    for start in (row["start"], "1970-01-01T01:00", 3_600_000_000, last["start"][0], np.datetime64("1970-01-01T01")):
        assert answer.lineage(start=start).origins[0].rows == 1, start
    assert answer.lineage(row).rerun().to_pylist() == [row]


def test_a_log_in_order_is_read_in_that_range_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = log(600_000).collect().drop_columns(["start", "end"])
    pq.write_table(rows, tmp_path / "log.parquet", row_group_size=9_000)
    answer = wb.read_parquet(tmp_path / "log.parquet", time="at").group_by("k").hopping_window(60, 20).aggregate(
        n=wb.count())
    row = answer.collect().slice(50_000, 1).to_pylist()[0]
    read: list[tuple[int, int]] = []
    whole = type(answer.sources[0]).read

    def counted(self: Source, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        for batch in whole(self, columns, offset):
            read.append((offset, 0 if batch is None else len(batch)))
            yield batch

    monkeypatch.setattr(type(answer.sources[0]), "read", counted)
    found = answer.lineage(row)
    assert found.origins[0].rows > 0
    (first, count), = read
    assert first % 9_000 == 0 < first
    assert count <= 262_144
    assert says(found.rerun(), row)


LATE = {"at": [1, 5, 3, 9, 2, 14, 20, 12], "seen": [1, 5, 6, 9, 9, 14, 20, 21], "x": list(range(8))}


def late(**promise: Any) -> Stream:
    return wb.from_arrow(LATE, time="at", arrival="seen", name="log", **promise)


def test_late_rows_are_in_no_lineage() -> None:
    dropped = late(reorder_latency=2, late="drop").tumbling_window(10).aggregate(n=wb.count())
    row = dropped.collect().to_pylist()[0]
    found = dropped.lineage(row)
    assert found.events["log"]["at"].to_pylist() == [1, 3, 5, 9]
    assert found.rerun().to_pylist() == [row]


def test_adjusted_rows_are_shown_as_they_counted() -> None:
    moved = late(reorder_latency=2, late="adjust").tumbling_window(10).aggregate(n=wb.count(), x=wb.sum(col.x))
    for row in moved.collect().to_pylist():
        found = moved.lineage(row)
        assert found.rerun().to_pylist() == [row]
        assert found.events["log"].num_rows == row["n"]


def test_each_latency_has_its_own_events() -> None:
    early, settled = late().tumbling_window(10).aggregate(n=wb.count()).at_latencies(2, 10)
    assert early.lineage(start=0).events["log"]["at"].to_pylist() == [1, 3, 5, 9]
    assert settled.lineage(start=0).events["log"]["at"].to_pylist() == [1, 2, 3, 5, 9]


def test_edges_are_events() -> None:
    edges = {"sync": [1, 2, 8, 11], "other": [None, 9, 1, 12], "k": ["a", "b", "a", "a"]}
    answer = wb.from_edges(edges, sync="sync", other="other", name="log").group_by("k").aggregate(n=wb.count())
    for row in answer.collect().to_pylist():
        found = answer.lineage(row)
        assert found.events["log"].select(["start", "end"]).to_pylist() == [{"start": row["start"], "end": row["end"]}]
        assert found.rerun().to_pylist() == [row]


def test_the_lineage_of_a_run_is_of_the_rows_it_has_read_so_far() -> None:
    parked = wb.replay(late(), speed=0.001, reorder_latency=10).tumbling_window(10).aggregate(n=wb.count())
    run = parked.start()
    try:
        while run.metrics.rows < 1:
            time.sleep(0.01)
        row = run.snapshot().table.to_pylist()[0]
        assert run.lineage(row).events["log"]["at"].to_pylist() == [1]
        assert parked.lineage(row).events["log"]["at"].to_pylist() == [1, 2, 3, 5, 9]
    finally:
        run.stop()
    assert run.lineage(start=0).rerun()["n"].to_pylist() == [1]


def test_a_run_of_several_latencies_answers_for_each() -> None:
    early, settled = late().tumbling_window(10).aggregate(n=wb.count()).at_latencies(2, 10).start()
    assert early.wait(60)
    assert settled.wait(60)
    assert early.lineage(start=0).events["log"]["at"].to_pylist() == [1, 3, 5, 9]
    assert settled.lineage(start=0).events["log"]["at"].to_pylist() == [1, 2, 3, 5, 9]
    with pytest.raises(WhimbrelError, match="depends on all rows"):
        settled.lineage(start=0).rerun()


class Once(Source):
    """A feed that can be read once."""

    live = True
    name, time = "feed", "at"
    schema = log().schema

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        yield None


def test_a_feed_that_cannot_be_read_again_says_so() -> None:
    with pytest.raises(WhimbrelError, match="feed, so its rows cannot be read again") as caught:
        Stream(Node(Once())).tumbling_window(10).aggregate(n=wb.count()).lineage(start=0)
    assert "query.on(log)" in str(caught.value)


@pytest.mark.parametrize(("asked", "words"), [
    ({}, "needs the start"), ({"start": 5, "end": 5}, "end must be after start"), ({"start": "noon"}, "are integers"),
    ({"start": 0, "kk": 1}, "no column 'kk'"), ({"start": 0, "k": "one"}, "never equals 'one'"),
    ({"start": 0, "limit": 0}, "limit must be"),
])
def test_what_is_no_row(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(WhimbrelError, match=words):
        log().group_by("k").tumbling_window(10).aggregate(n=wb.count()).lineage(**asked)


def test_a_column_that_is_called_as_a_lifetimes_end_is_among_the_events() -> None:
    trips = wb.from_arrow({"start": [1, 4, 12], "end": [40, 50, 60]}, time="start", name="trips")
    ends = trips.tumbling_window(10).aggregate(last=wb.max(col.end))
    found = ends.lineage(start=0)
    assert found.events["trips"].to_pylist() == [{"start": 1, "end": 2, "trips.end": 40},
                                                 {"start": 4, "end": 5, "trips.end": 50}]
    assert max(found.events["trips"]["trips.end"].to_pylist()) == found.rerun()["last"][0].as_py() == 50

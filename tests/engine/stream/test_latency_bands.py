"""at_latencies: what each band answers, what it revises, how it is planned and counted, and how it is refused."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from tests.conftest import SHARED_DATA
from whimbrel import col
from whimbrel.errors import CheckpointError, PlanError, SchemaError, UnknownNameError, WhimbrelError
from whimbrel.plan import Node, OrderingSpec, WithOrdering

LOG: dict[str, list[Any]] = {"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9], "k": ["a", "b", "a", "a", "b"]}
"""Late by 0, 0, 2, 0 and 7."""


def log(**columns: Any) -> wb.Stream:
    return wb.from_arrow(LOG | columns, time="at", arrival="seen", name="log")


def counts(stream: wb.Stream) -> wb.Stream:
    return stream.tumbling_window(4).aggregate(n=wb.count())


def dropping(query: wb.Stream, latency: int) -> wb.Stream:
    """The query alone, at one latency."""
    source = query.node.sources()[0]
    return query.on(wb.Stream(Node(WithOrdering(source, OrderingSpec(latency, "drop")))))


def rows(table: pa.Table) -> Counter[str]:
    return Counter(map(str, table.to_pylist()))


def test_each_row_says_what_it_is_to_the_band_before() -> None:
    table = counts(log()).at_latencies(0, 2, 10).collect()
    assert table.schema.names == ["start", "end", "n", "band", "change", "n_before"]
    assert [tuple(row.values())[2:] for row in table.slice(0, 3).to_pylist()] == [
        (1, "0", "insert", None), (2, "2", "update", 1), (3, "10", "update", 2)]
    assert table["change"].to_pylist()[3:] == ["insert", "unchanged", "unchanged"] * 2


def test_groups_are_revised_each_for_itself() -> None:
    table = log().group_by("k").tumbling_window(4).aggregate(n=wb.count()).at_latencies(0, 10).collect()
    late = {(row["start"], row["k"]): (row["n"], row["change"], row["n_before"])
            for row in table.to_pylist() if row["band"] == "10"}
    assert late == {(0, "a"): (2, "update", 1), (0, "b"): (1, "insert", None), (4, "b"): (1, "unchanged", 1),
                    (8, "a"): (1, "unchanged", 1)}


def test_a_row_that_the_later_answer_has_not_is_gone() -> None:
    lonely = counts(log()).where(col.n < 2)
    gone = [row for row in lonely.at_latencies(0, 10).collect().to_pylist() if row["change"] == "delete"]
    assert gone == [{"start": 0, "end": 4, "n": None, "band": "10", "change": "delete", "n_before": 1}]


def test_rows_without_keys_come_and_go() -> None:
    table = log().select("k").at_latencies(0, 10).collect()
    assert [(row["start"], row["band"], row["change"]) for row in table.to_pylist()] == [
        (1, "0", "insert"), (1, "10", "unchanged"), (2, "10", "insert"), (3, "10", "insert"), (5, "0", "insert"), (5,
            "10", "unchanged"),
        (9, "0", "insert"), (9, "10", "unchanged")]


def test_rows_that_are_alike_are_distinguished_by_their_number() -> None:
    twice = wb.from_arrow({"at": [1, 1, 9, 1], "seen": [1, 2, 3, 4]}, time="at", arrival="seen").select(x=col.at * 0)
    table = twice.at_latencies(0, 10).collect()
    assert Counter(zip(table["start"].to_pylist(), table["band"].to_pylist(), table["change"].to_pylist(),
                       strict=True)) == Counter({(1, "0", "insert"): 2, (1, "10", "unchanged"): 2, (1, "10",
                                                                                                    "insert"): 1,
                                                 (9, "0", "insert"): 1, (9, "10", "unchanged"): 1})


def test_lists_are_compared_too() -> None:
    table = log().tumbling_window(4).aggregate(who=wb.collect(col.k)).at_latencies(0, 10).collect()
    assert table.filter(pa.compute.equal(table["change"], "update"))["who_before"].to_pylist() == [["a"]]


def test_an_aggregate_of_any_order_runs_once_for_all_bands() -> None:
    plan = log().where(col.k != "z").tumbling_window(4).aggregate(n=wb.count(), m=wb.mean(col.at)).where(col.n > 0) \
        .at_latencies(0, 2, 10).explain()
    assert plan.count("log(") == 1
    assert plan.count("m=mean(col.at)) where col.k != 'z' in windows of 4 at latencies 0, 2, 10") == 1
    assert [plan.count(f"latency {latency} ") for latency in (0, 2, 10)] == [1, 1, 1]
    assert "sort()" not in plan


def test_an_aggregate_that_merges_in_order_runs_once_per_band() -> None:
    plan = log().where(col.k != "z").tumbling_window(4).aggregate(n=wb.count(), m=wb.mean(col.at * 0.5)).where(
        col.n > 0).at_latencies(0, 2, 10).explain()
    assert plan.count("log(") == 1
    assert plan.count("states(n=count(), m=mean(col.at * 0.5))") == plan.count("sort()") == 3
    assert plan.count("merge(") == 2
    assert plan.count("finish(") == 3
    numbers = list(dict.fromkeys(re.findall(r"#\d+", plan)))
    assert numbers == [f"#{number}" for number in range(1, len(numbers) + 1)] != []


def test_one_that_does_not_merge_is_given_all_rows() -> None:
    plan = log().tumbling_window(4).aggregate(m=wb.median(col.at)).at_latencies(0, 10).explain()
    assert "states(" not in plan
    assert plan.count("log(") == 1
    assert plan.count("sort()") == 2


def test_one_answer_alone_needs_one_band() -> None:
    _, _, last = counts(log()).at_latencies(0, 2, 10)
    assert last.explain().split("runs as")[1].count("band(") == 1
    assert last.collect()["n"].to_pylist() == [3, 1, 1]


def test_latency_bands_can_be_joined() -> None:
    early, late = counts(log()).at_latencies(0, 10)
    both = early.join(late, on={"n": "n"}, how="full", suffix="_late", allow_lookahead=True)
    assert both.collect()["n"].to_pylist() == [1, 3, 1, 1]
    assert both.explain().split("runs as")[1].count("log(") == 1


def test_the_users_own_split() -> None:
    def partial(band: wb.Stream) -> wb.Stream:
        return band.tumbling_window(4).aggregate(part=wb.count())

    bands = log().at_latencies(0, 2, 10, partial=partial, merge=lambda parts: parts.aggregate(n=wb.sum(col.part)))
    assert [answer.collect()["n"].to_pylist() for answer in bands] == [[1, 1, 1], [2, 1, 1], [3, 1, 1]]
    assert bands.explain().count("aggregate(part=count())") == 3


def test_rows_of_each_latency_reconcile() -> None:
    runs = counts(log()).at_latencies(0, 2, 6).start()
    assert all(run.wait(10) for run in runs)
    assert [run.metrics.late_dropped for run in runs] == [2, 1, 1]
    assert [sum(run.snapshot().table["n"].to_pylist()) for run in runs] == [3, 4, 4]
    assert {run.metrics.rows for run in runs} == {5}


def test_history_and_feed_are_asked_alike() -> None:
    history = counts(log()).at_latencies(0, 2, 10)
    feed = history.on(wb.replay(log(), speed=1e9, reorder_latency=0))
    assert feed.explain().count("log(") == 1
    runs = feed.start()
    assert all(run.wait(10) for run in runs)
    live = pa.concat_tables([run.snapshot().table for run in runs])
    assert rows(live) == rows(history.collect())


def test_early_answers_settle_before_late_ones() -> None:
    seen = list(range(0, 400, 2))
    feed = wb.replay(wb.from_arrow({"at": seen, "seen": seen}, time="at", arrival="seen"), speed=100, reorder_latency=0)
    runs = counts(feed).at_latencies(0, 100).start()
    try:
        settled = [0, 0]
        while settled[0] < 10:
            settled = [run.snapshot().settled for run in runs]
            time.sleep(0.01)
        assert settled[1] < settled[0]
    finally:
        for run in runs:
            run.stop()


def test_a_restored_run_resumes_in_every_band(tmp_path: Path) -> None:
    times = [time for at in range(0, 3000, 2) for time in ([at, at - 60] if at % 100 == 98 else [at])]
    source = wb.from_arrow({"at": times, "seen": list(range(len(times)))}, time="at", arrival="seen", name="log")
    bands = source.hopping_window(40, 20).aggregate(n=wb.count(), m=wb.mean(col.at)).at_latencies(0, 100)
    feed = bands.on(wb.replay(source, speed=1500, reorder_latency=0))
    runs = feed.start()
    while runs[1].metrics.settled_rows < 10:
        time.sleep(0.01)
    runs[0].pause()
    runs[0].checkpoint(tmp_path / "checkpoint")
    before = [shot.table.slice(0, shot.settled) for shot in (run.snapshot() for run in runs)]
    for run in runs:
        run.stop()
    again = wb.restore(tmp_path / "checkpoint", *feed.revisions)
    assert all(run.wait(30) for run in again)
    assert rows(pa.concat_tables([*before, *(run.snapshot().table for run in again)])) == rows(bands.collect())


def test_every_user_aggregate_that_merges_is_split() -> None:
    span = wb.aggregate(init=(0, 0), accumulate=lambda s, x: (s[0] + x, s[1] + 1), result=lambda s: s[0] * 10 + s[1],
                        merge=lambda a, b: (a[0] + b[0], a[1] + b[1]), name="span")
    query = log().hopping_window(8, 4).aggregate(v=span(col.at))
    bands = query.at_latencies(0, 2, 10)
    assert "states(v=span(col.at))" in bands.explain()
    for answer, latency in zip(bands, (0, 2, 10), strict=True):
        assert answer.collect().equals(dropping(query, latency).collect())


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_any_cut_equals_a_run_at_that_latency_alone(seed: int) -> None:
    chance = random.Random(seed)
    times = [row + chance.choice([0, 0, 0, -3, -40, -300]) for row in range(3000)]
    source = log(at=times, seen=list(range(3000)), k=[chance.choice("abcd") for _ in times])
    latencies = sorted(chance.sample([0, 1, 2, 5, 20, 50, 200, 400], 4))
    queries = [source.group_by("k").tumbling_window(10).aggregate(n=wb.count(), v=wb.var(col.at), f=wb.first(col.seen)),
               source.group_by("k").hopping_window(40, 10).aggregate(hi=wb.max(col.seen), s=wb.sum(col.at)),
               source.where(col.k != "a").sliding_window(7).aggregate(n=wb.count(), lo=wb.min(col.seen)),
               source.group_by("k").session_window(5).aggregate(n=wb.count()),
               source.tumbling_window(10).group_by("k").aggregate(n=wb.count()).top_k(2, by=col.n)]
    for query in queries:
        for answer, latency in zip(query.at_latencies(*latencies), latencies, strict=True):
            assert rows(answer.collect()) == rows(dropping(query, latency).collect())


@pytest.mark.parametrize(("ask", "message"), [
    (lambda q: q.at_latencies(), "needs a latency"),
    (lambda q: q.at_latencies([1, 2]), "one by one, not in a list"),
    (lambda q: q.at_latencies(5, 5), "in increasing order"),
    (lambda q: q.at_latencies(-1), "must be at least 0"),
    (lambda q: q.at_latencies(1)[0].at_latencies(2), "has latency bands already"),
    (lambda q: q.at_latencies(1, partial=lambda s: s), "must be given together"),
    (lambda q: q.at_latencies(1, partial=3, merge=lambda s: s), "must be a function"),
    (lambda q: wb.start(q.at_latencies(1, 2)), "needs streams, got LatencyBands"),
])
def test_what_makes_no_sense_is_refused(ask: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        ask(counts(log()))


def test_a_column_that_bands_make_too_is_named() -> None:
    with pytest.raises(SchemaError, match="add a column 'band', which the result already has"):
        log().tumbling_window(4).aggregate(band=wb.count()).at_latencies(1).collect()


def test_edges_are_refused() -> None:
    edges = wb.from_edges({"at": [1, 5], "other": [2**63 - 1, 1]}, sync="at", other="other")
    with pytest.raises(PlanError, match="start and end edges"):
        edges.at_latencies(1)


@pytest.mark.data
@pytest.mark.parametrize("name", ("flights_nyc_2013", "trace_spans_train", "trace_spans_shop", "app_logs_train",
                                  "market_feed_usdm", "git_commits", "quakes_2015_08", "net_dns_zeek"))
def test_real_logs_give_what_had_arrived_within_each_latency(name: str) -> None:
    file = SHARED_DATA / f"{name}.parquet"
    catalog = (SHARED_DATA / "CATALOG.md").read_text(encoding="utf-8")
    facts = map(json.loads, re.findall(r"```json\n(.*?)```", catalog, re.DOTALL))
    event_time = next(fact["event_time"] for fact in facts if fact["name"] == name)
    times = pq.read_table(file, columns=[event_time]).column(0).combine_chunks().cast("int64").to_numpy()
    late_by = np.maximum.accumulate(times) - times
    latencies = np.unique(np.quantile(late_by, [0.5, 0.9, 0.99, 1.0], method="inverted_cdf")).tolist()
    size = max(int(times.max() - times.min()) // 200, 1)
    source = wb.read_parquet(file, time=event_time, reorder_latency=0, late="side_output")
    per_window = source.tumbling_window(size).aggregate(n=wb.count())
    bands = per_window.at_latencies(*latencies)
    *runs, outside = wb.start(*bands, wb.late_rows(source))
    for run, latency in zip(runs, latencies, strict=True):
        assert run.wait(60)
        starts, counts = np.unique(times[late_by <= latency] // size * size, return_counts=True)
        table = run.snapshot().table
        assert table["start"].cast("int64").to_pylist() == starts.tolist()
        assert table["n"].to_pylist() == counts.tolist()
        assert run.metrics.late_dropped == int((late_by > latency).sum())
    assert outside.wait(60)
    assert outside.metrics.settled_rows == int((late_by > 0).sum())


def test_a_split_must_be_made_of_streams() -> None:
    log = wb.from_arrow({"at": [1, 2]}, time="at", reorder_latency=1)
    for partial, merge, message in (
        (lambda _: None, lambda parts: parts, "partial must return a stream, got NoneType"),
        (lambda rows: rows, lambda _: None, "merge must return a stream, got NoneType"),
        (lambda _: log, lambda parts: parts, "builds from its argument"),
    ):
        with pytest.raises(WhimbrelError, match=message):
            log.at_latencies(1, 2, partial=partial, merge=merge)


def test_bands_are_found_by_number_and_by_latency() -> None:
    bands = log().tumbling_window(4).aggregate(n=wb.count()).at_latencies(0, 2, 10)
    assert bands["2"] is bands[1]
    assert bands[-1] is bands["10"]
    timed = wb.from_arrow({"at": pa.array([1, 2], pa.timestamp("s"))}, time="at").tumbling_window("1m").aggregate(
        n=wb.count()).at_latencies("60s", "1h30m")
    assert timed["60s"] is timed["1m"] is timed[0]
    assert timed["1h30m"] is timed[timed.latencies[1]] is timed[1]
    assert bands[:2] == bands.streams[:2]
    assert bands.count(bands[1]) == 1
    with pytest.raises(UnknownNameError, match=re.escape("Use aggregate(n=wb.count()) before at_latencies(...)")):
        bands.count()
    for wrong in (3, "1", 1.5):
        with pytest.raises(PlanError, match="There is no band"):
            bands[wrong]
    with pytest.raises(PlanError, match="A slice of bands is by number"):
        bands["0":"2"]  # type: ignore[misc]
    with pytest.raises(WhimbrelError, match=re.escape("Use bands[0].where(...).")) as refused:
        _ = bands.where
    assert refused.value.where == "bands.where"
    with pytest.raises(WhimbrelError, match=re.escape("Use one at_latencies(...) with all latencies.")):
        _ = bands.at_latencies


def test_bands_resume_together_from_checkpoints(tmp_path: Path) -> None:
    bands = log().tumbling_window(4).aggregate(n=wb.count()).at_latencies(0, 2, 10)
    for rows in (3, 0):  # the second time all were given before
        runs = bands.start(checkpoints=wb.Checkpoints(tmp_path))
        assert all(run.wait(30) for run in runs)
        assert [run.snapshot().table.num_rows for run in runs] == [rows] * 3


def test_a_checkpoint_names_the_latencies_that_it_has(tmp_path: Path) -> None:
    timed = wb.from_arrow({"at": pa.array([1, 2], pa.timestamp("s"))}, time="at").tumbling_window("1m").aggregate(
        m=wb.median(col.at.cast("int64")))
    for latencies, other, message in (
        (("0s", "30s"), timed.at_latencies("0s", "1m"), "at_latencies('0s', '30s'), not at_latencies('0s', '1m')."),
        (("0s", "30s"), [timed, timed.where(col.m > 0)], "at_latencies('0s', '30s'), not one latency."),
        ((), timed.at_latencies("0s", "30s"), "one latency, not at_latencies('0s', '30s')."),
    ):
        runs = wb.start(*(timed.at_latencies(*latencies) if latencies else [timed, timed.where(col.m > 0)]))
        assert all(run.wait(30) for run in runs)
        runs[0].checkpoint(tmp_path / "checkpoint")
        with pytest.raises(CheckpointError, match=re.escape(f"another query: it has {message}")):
            wb.restore(tmp_path / "checkpoint", *other)


def test_latencies_below_nothing_are_named() -> None:
    with pytest.raises(WhimbrelError, match="A latency must be at least 0, got -1"):
        wb.from_arrow({"at": [1]}, time="at").at_latencies(-1, 2)


def test_late_rows_have_no_bands() -> None:
    log = wb.from_arrow({"at": [1, 5, 3]}, time="at", reorder_latency=1, late="drop")
    with pytest.raises(WhimbrelError, match="depend on one reorder latency"):
        wb.late_rows(log).at_latencies(0, 2)


@pytest.mark.parametrize("further", [
    lambda counts: counts.rename(kk="k"),
    lambda counts: counts.point_at_end(),
    lambda counts: counts.top_k(1, by=col.n),
])
def test_the_old_value_is_kept_after_steps_that_keep_the_keys(further: Callable[[wb.Stream], wb.Stream]) -> None:
    log = wb.from_arrow({"at": [0, 9, 3], "k": ["a"] * 3, "seen": [0, 1, 2]}, time="at", arrival="seen")
    counts = further(log.group_by("k").tumbling_window(4).aggregate(n=wb.count()))
    updates = counts.at_latencies(0, 100).collect().filter(pc.field("change") == "update")
    assert updates.select(["n", "n_before"]).to_pylist() == [{"n": 2, "n_before": 1}]


def test_a_replay_needs_no_reorder_latency_for_several_latencies() -> None:
    replayed = wb.replay(log(), speed=float("inf"))
    asked, alone = counts(replayed).at_latencies(0, 2, 10), counts(log()).at_latencies(0, 2, 10)
    assert asked.collect().equals(alone.collect())
    assert asked.late_rows().collect().equals(alone.late_rows().collect())
    early, _, _ = asked
    assert early.collect().equals(dropping(counts(log()), 0).collect())
    assert "at latencies 0, 2, 10" in asked.explain()
    merged = replayed.at_latencies(0, 10, partial=counts, merge=lambda rows: rows.aggregate(n=wb.sum(col.n)))
    assert merged.collect().num_rows
    later = wb.replay(log(), speed=float("inf"), reorder_latency=1)
    assert counts(later).at_latencies(0, 2, 10).collect().equals(alone.collect())


@pytest.mark.parametrize("ask", [
    lambda query: query.collect(), lambda query: query.start(), lambda query: query.explain(),
    lambda query: list(query.progressive()), lambda query: wb.start(query, query.at_latencies(0, 2)[0]),
    lambda query: counts(log()).union(query).collect(),
    lambda query: query.union(wb.replay(log()).at_latencies(0, 2)[0].tumbling_window(4).aggregate(
        n=wb.count())).collect()])
def test_a_replay_without_a_reorder_latency_is_refused_where_nothing_else_says_one(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(PlanError, match="needs a reorder latency") as refused:
        ask(counts(wb.replay(log(), speed=float("inf"))))
    assert refused.value.where == "replay(log, speed=inf)"
    assert "at_latencies" in str(refused.value)


@pytest.mark.parametrize("scale", (1, 0.5))
def test_measured_plans_have_the_cost_of_what_latencies_share(scale: float) -> None:
    """Means of integers run in one step for all latencies; those of floats have steps of their own."""
    bands = log().tumbling_window(4).aggregate(m=wb.mean(col.at * scale)).at_latencies(0, 2, 10)
    plain, measured = bands.explain(), bands.explain(measure=True)
    steps, costs = measured.rsplit("\n\n", 1)
    assert [line for line in steps.splitlines() if "measured: " not in line] == plain.splitlines()
    assert steps.count("measured: ") == len(plain.replace("\n\n", "\n").splitlines()) - 3 - plain.count(", as above")
    rows = bands.query.node.sources()[0].rows
    assert f"measured: {rows} rows in, " in steps
    names = [line.split(":")[0] for line in costs.splitlines()]
    assert names == ["all latencies", "shared by all", *["shared by some"] * (scale == 0.5), "only 0", "only 2",
                     "only 10"]
    held = [int(text.replace(",", "")) for text in re.findall(r"at most ([\d,]+) bytes", costs)]
    assert held[0] == sum(held[1:]) > 0


def test_a_feed_is_not_read_to_measure() -> None:
    feed = wb.feeds.iterator(lambda: iter([{"at": 1}]), time="at", schema={"at": "int64"})
    with pytest.raises(PlanError, match="cannot read a feed"):
        feed.tumbling_window(4).aggregate(n=wb.count()).at_latencies(0, 10).explain(measure=True)

"""Latency bands of partitioned sources: lateness counts from the newest row of the partition."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.operators import LatencyAggregate, LatenessBand
from whimbrel.plan import Source
from whimbrel.run import Execution, collect_together
from whimbrel.run.checkpoint import load, save

Row = tuple[int, str | None]
LATENCIES = (0, 4, 11)

ROWS = st.lists(st.tuples(st.integers(-20, 60), st.sampled_from(("a", "b", "c", None))), max_size=25)
PARTS = {"lag": st.none() | st.integers(0, 25), "every": st.integers(1, 9),
         "cuts": st.lists(st.integers(0, 25), max_size=4)}


def stream(rows: list[Row], lag: int | None, every: int, cuts: list[int]) -> wb.Stream:
    table = pa.table({"at": pa.array([at for at, _ in rows], pa.int64()),
                      "part": pa.array([part for _, part in rows], pa.string())})
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    cut = pa.concat_tables([table.slice(start, stop - start) for start, stop in pairwise(edges)])
    partition = wb.PartitionWatermarks("part", max_lag=lag, every=None if lag is None else every)
    return wb.from_arrow(cut, time="at", partition=partition, reorder_latency=0, late="drop", name="log")


def within(rows: list[Row], latency: int, lag: int | None, every: int) -> list[Row]:
    """Rows whose lateness in their partition is at most this; a partition is never older than the low watermark."""
    found, newest, low = [], dict[str | None, float](), float("-inf")
    for at, part in rows:
        low = low if lag is None else max(low, (at - lag) // every * every)
        newest[part] = max(newest.get(part, at), at)
        if max(newest[part], low) - at <= latency:
            found.append((at, part))
    return found


def together(bands: wb.LatencyBands) -> list[pa.Table]:
    return collect_together([band.node for band in bands])


@settings(deadline=None)
@given(rows=ROWS, **PARTS)
def test_bands_have_the_rows_within_their_latency(rows: list[Row], lag: int | None, every: int,
                                                  cuts: list[int]) -> None:
    bands = stream(rows, lag, every, cuts).at_latencies(*LATENCIES)
    expected = [Counter(within(rows, latency, lag, every)) for latency in LATENCIES]
    for table, counted in zip(together(bands), expected, strict=True):
        assert Counter(zip(table["start"].to_pylist(), table["part"].to_pylist(), strict=True)) == counted
        assert table["start"].to_pylist() == sorted(table["start"].to_pylist())
    late = bands.late_rows().collect()
    assert Counter(zip(late["at"].to_pylist(), late["part"].to_pylist(), strict=True)) == Counter(rows) - expected[-1]


@pytest.mark.long
@pytest.mark.share(2)
@pytest.mark.parametrize("shared", [True, False])
@settings(deadline=None)
@given(rows=ROWS, at=st.integers(0, 6), **PARTS)
def test_windows_count_them_and_resume_from_a_checkpoint(shared: bool, rows: list[Row], at: int, lag: int | None,
                                                         every: int, cuts: list[int]) -> None:
    value = col.at if shared else col.at * 0.5  # sums of floats depend on order, so bands keep their rows
    query = stream(rows, lag, every, cuts).group_by("part").tumbling_window(8).aggregate(
        n=wb.count(), total=wb.sum(value)).at_latencies(*LATENCIES)
    plans = [band.node for band in query]
    with TemporaryDirectory() as folder:
        with closing(Execution(*plans)) as session:
            kind = LatencyAggregate if shared else LatenessBand
            assert any(isinstance(node.op, kind) for node in session.pipeline.nodes)
            for _ in range(at):
                session.step()
            save(session, Path(folder) / "run")
            before = [answer.settled() for answer in session.answers]
        with closing(Execution(*plans)) as session:
            load(session, Path(folder) / "run")
            while not session.finished:
                session.step()
            answers = [pa.concat_tables([first, answer.settled()])
                       for first, answer in zip(before, session.answers, strict=True)]
            metrics = [answer.metrics() for answer in session.answers]
    for latency, table, counted in zip(LATENCIES, answers, metrics, strict=True):
        kept = within(rows, latency, lag, every)
        windows = Counter((start // 8 * 8, part) for start, part in kept)
        assert {(row["start"], row["part"]): row["n"] for row in table.to_pylist()} == windows
        assert table.num_rows == len(windows)
        assert sum(table["total"].to_pylist()) == sum(start for start, _ in kept) * (1 if shared else 0.5)
        late = Counter(part for _, part in rows) - Counter(part for _, part in kept)
        assert counted.late_dropped == late.total()
        assert counted.late_by_partition == {"log": late}


def test_partitions_do_not_make_rows_of_others_late() -> None:
    rows: list[Row] = [(60, "a"), (10, "b"), (70, "a"), (20, "b"), (15, "b")]
    early, late = together(stream(rows, 100, 1, []).at_latencies(0, 10))
    assert early["start"].to_pylist() == [10, 20, 60, 70]
    assert late["start"].to_pylist() == [10, 15, 20, 60, 70]


@pytest.mark.parametrize("total", [wb.sum(col.at), wb.sum(col.at * 0.5)])
def test_smaller_latencies_settle_first(total: Any) -> None:
    rows: list[Row] = [(at, "ab"[at % 2]) for at in range(100)]
    query = stream(rows, 5, 1, list(range(0, 100, 5))).tumbling_window(10).aggregate(t=total).at_latencies(0, 20, 50)
    with closing(Execution(*(band.node for band in query))) as session:
        while session.reader.rows < len(rows):
            session.step()
        assert [answer.settled_rows for answer in session.answers] == [9, 7, 4]
        assert [answer.metrics().watermark for answer in session.answers] == [94, 74, 44]


def test_explain_names_the_partition() -> None:
    counts = stream([(1, "a")], 5, 1, []).tumbling_window(10)
    assert "at latencies 0, 9 by part" in counts.aggregate(n=wb.count()).at_latencies(0, 9).explain()
    assert "band(late <= 9 by part)" in counts.aggregate(n=wb.median(col.at)).at_latencies(9).explain()


def test_functions_of_time_are_computed_again_near_late_rows_of_a_partition() -> None:
    chance = random.Random(3)
    rows: list[Row] = list(dict.fromkeys((at + 15 * (part == "a") - chance.choice((0, 0, 0, 3, 9)), part)
                                         for at in range(200) for part in [chance.choice("ab")]))
    counts = stream(rows, 30, 1, [50, 100]).group_by("part").select("part", n=wb.count().past(10))
    query = counts.at_latencies(*LATENCIES)
    assert "recompute_rows(" in query.explain()
    for latency, table in zip(LATENCIES, together(query), strict=True):
        kept = within(rows, latency, 30, 1)
        assert Counter(zip(table["start"].to_pylist(), table["part"].to_pylist(), table["n"].to_pylist(),
                           strict=True)) == Counter(
            (at, part, sum(part == other and at - 10 < before <= at for before, other in kept)) for at, part in kept)


def replayed(**options: Any) -> tuple[list[Row], wb.Stream]:
    rows: list[Row] = [(at - 40 * (at % 100 == 98) + 20 * (at % 4), "abcd"[at % 4]) for at in range(3_000)]
    log = wb.from_arrow({"at": [at for at, _ in rows], "seen": list(range(3_000)), "part": [part for _, part in rows]},
                        time="at", arrival="seen", name="log")
    return rows, wb.replay(log, partition=wb.PartitionWatermarks("part", max_lag=100, every=10), **options)


@pytest.mark.parametrize("shared", [True, False])
def test_a_replay_pauses_and_resumes_in_every_band(shared: bool, tmp_path: Path) -> None:
    rows, log = replayed(speed=2_000, reorder_latency=0)
    assert isinstance(log.node.op, Source)
    bands = log.group_by("part").hopping_window(40, 20).aggregate(
        n=wb.count(), m=wb.mean(col.at * (1 if shared else 0.5))).at_latencies(0, 60)
    runs = bands.start()
    while runs[1].metrics.settled_rows < 10:
        time.sleep(0.01)
    runs[0].pause()
    runs[0].checkpoint(tmp_path / "checkpoint")
    before = [shot.table.slice(0, shot.settled) for shot in (run.snapshot() for run in runs)]
    for run in runs:
        run.stop()
    again = wb.restore(tmp_path / "checkpoint", *bands.revisions)
    assert all(run.wait(30) for run in again)
    whole = pa.concat_tables([*before, *(run.snapshot().table for run in again)])
    for latency in (0, 60):
        counted = Counter((hop, part) for at, part in within(rows, latency, 100, 10)
                          for hop in (at // 20 * 20, at // 20 * 20 + 20))
        found = {(start, row["part"]): row["n"] for row in whole.to_pylist() if row["band"] == str(latency)
                 for start in range(row["start"], row["end"], 20)}
        assert found == counted


def test_bands_over_a_feed_with_partitions_count_by_partition() -> None:
    rows, feed = replayed(speed=float("inf"), reorder_latency=0)
    whole = wb.from_arrow({"at": [at for at, _ in rows], "part": [part for _, part in rows]}, time="at",
                          reorder_latency=0, late="drop", name="log")
    bands = whole.tumbling_window(50).aggregate(n=wb.count()).at_latencies(0, 60).on(feed)
    for latency, table in zip((0, 60), together(bands), strict=True):
        assert sum(table["n"].to_pylist()) == len(within(rows, latency, 100, 10))

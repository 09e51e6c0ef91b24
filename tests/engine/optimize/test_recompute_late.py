"""Late rows of a latency band change its result within their reach, and nothing else is computed again."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.stream.test_latency_bands import dropping
from tests.engine.stream.test_latency_bands import rows as counted
from whimbrel import col
from whimbrel.batch import Field, Schema
from whimbrel.operators import PeriodicLoop, Recompute
from whimbrel.operators.temporal import recompute_kernel
from whimbrel.operators.temporal.recompute_kernel import RecomputeKernel
from whimbrel.operators.temporal.recompute_rows_kernel import RecomputeRowsKernel
from whimbrel.optimize import optimize_together
from whimbrel.plan import Node, walk
from whimbrel.run import Execution, collect_together
from whimbrel.run.checkpoint import load, save
from whimbrel.testing.rows import BatchedRows

LATENCIES = (0, 5, 40)

QUERIES: dict[str, Callable[[wb.Stream], wb.Stream]] = {
    "window": lambda log: log.select(m=wb.mean(col.x).past(6)),
    "lookahead": lambda log: log.select("x", m=wb.sum(col.x).past(3, ahead=4)),
    "offset": lambda log: log.select(d=col.x - col.x.ago(2), e=col.x.ahead(3)),
    "cell": lambda log: log.select(m=wb.max(col.x).cell(8)),
    "filter": lambda log: log.where(wb.sum(col.x).past(4) > 5),
    "by key": lambda log: log.group_by("k").select("x", m=wb.sum(col.x).past(9)),
    "where by key": lambda log: log.group_by("k").where(wb.mean(col.x).past(5) > col.x.ago(1)),
    "one after the other": lambda log: log.select("x", m=wb.sum(col.x).past(3)).select(d=wb.sum(col.m).past(3)),
    "changes": lambda log: log.select("x").over_time(m=wb.sum(col.x).past(4)),
    "changes with lookahead": lambda log: log.select("x").over_time(m=wb.sum(col.x).past(2, ahead=3), x=col.x),
    "changes by key": lambda log: log.group_by("k").over_time(m=wb.sum(col.x).past(4)),
    "multiples": lambda log: log.select("x").over_time(every=3, m=wb.sum(col.x).past(7)),
    "loop": lambda log: sampled(log).select(d=wb.mean(col.x).past(6) - wb.sum(col.x).past(3)),
    "loop with lookahead": lambda log: sampled(log).select(d=col.x - col.x.ahead(3), m=wb.max(col.x).past(4, ahead=2)),
    "windows of a loop": lambda log: sampled(log).sliding_window(5).aggregate(n=wb.count(), m=wb.max(col.x)),
    "two loops": lambda log: sampled(log).select(m=wb.mean(col.x).past(3)).select(d=wb.sum(col.m).past(3)),
    "samples filtered": lambda log: sampled(log).select(y=wb.fir(col.x, [0.5, 0.25, 0.25])),
    "centered filter of keys": lambda log: log.select("k", "x").group_by("k").assume(
        periodic=1, gaps=True, phase=0, per="k").select("k", y=wb.fir(col.x, [1, 0, -1], align="center", settle=None)),
    "line": lambda log: log.select("x").resample(2, how="linear", limit=9),
    "held": lambda log: log.select("x").resample(4, how="hold", limit=5),
    "nearest by key": lambda log: log.select("k", "x").group_by("k").resample(3, how="nearest", limit=5),
    "so far": lambda log: log.select("x", s=newest(col.x).so_far()),
    "changes of changes": lambda log: log.select("x").over_time(m=wb.sum(col.x).past(2)).over_time(
        n=wb.max(col.m).past(3)),
}


newest = wb.aggregate(init=(0, -99), accumulate=lambda s, x, start: (x, start) if x > 6 or start - s[1] >= 9 else s,
                      result=lambda s: s[0], name="newest", forgets=30)


def sampled(log: wb.Stream) -> wb.Stream:
    """Samples, of which many are missing."""
    return log.select("x").set_duration(1).assume(periodic=1, gaps=True, phase=0)


def a_log(seed: int, lasting: int = 1, count: int = 60) -> wb.Stream:
    """Events one at a time per key and in all, a third of them late."""
    chance = random.Random(seed)
    at = sorted(chance.sample(range(0, 5 * count, lasting), count))
    arrived = sorted((when + chance.choice((0, 0, 0, 3, 4, 12, 38)), when) for when in at)
    columns: dict[str, Any] = {"at": [when for _, when in arrived], "seen": list(range(count)),
                               "x": [chance.randint(-4, 9) for _ in at], "k": [chance.choice("ab") for _ in at]}
    log = wb.from_arrow(columns, time="at", arrival="seen", name="log")
    return log if lasting == 1 else log.set_duration(lasting)


def rows_again(bands: wb.LatencyBands) -> list[int]:
    """How many rows each band but the first one computes itself."""
    with closing(Execution(*(band.node for band in bands))) as session:
        while not session.finished:
            session.step()
        return [kernel.recomputed_rows for kernel in session.pipeline.kernels
                if isinstance(kernel, RecomputeKernel | RecomputeRowsKernel)]


@pytest.fixture(autouse=True)
def _short_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two changed ranges stay two, however near they are."""
    monkeypatch.setattr(recompute_kernel, "_NEAR_ROWS", 0)


@pytest.mark.share(6)
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("lasting", (1, 3))
@pytest.mark.parametrize("near", (0, 3, 4_096))
def test_each_band_is_as_if_it_were_asked_alone(name: str, lasting: int, near: int, monkeypatch: pytest.MonkeyPatch
                                                ) -> None:
    monkeypatch.setattr(recompute_kernel, "_NEAR_ROWS", near)
    for seed in range(6):
        query = QUERIES[name](a_log(seed, lasting))
        bands = query.at_latencies(*LATENCIES)
        assert "recompute" in bands.explain()
        for latency, band, table in zip(LATENCIES, bands, collect_together([band.node for band in bands]), strict=True):
            assert counted(table) == counted(dropping(query, latency).collect()), (seed, latency)
            assert counted(band.collect()) == counted(table)


def in_steps(name: str, seed: int) -> wb.LatencyBands:
    """The query over a log of which each batch has one row."""
    table = a_log(seed).collect().drop_columns(["start", "end"]).to_pylist()
    arrived = sorted(table, key=lambda row: row["seen"])
    facts = [(row["at"], row["at"] + 1, {"time": row["at"], "x": row["x"], "k": row["k"]}) for row in arrived]
    schema = Schema((Field("time", pa.int64()), Field("x", pa.int64()), Field("k", pa.string())))
    log = wb.Stream(Node(BatchedRows([[fact] for fact in facts], schema=schema))).set_duration(1)
    return QUERIES[name](log).at_latencies(*LATENCIES)


@pytest.mark.parametrize("name", QUERIES)
def test_batches_checkpoints_and_early_answers_change_nothing(name: str, tmp_path: Path) -> None:
    for seed in (1, 2):
        bands = in_steps(name, seed)
        plans = [band.node for band in bands]
        expected = [counted(table) for table in collect_together(plans)]
        for at in (7, 23, 41):
            with closing(Execution(*plans)) as session:
                for _ in range(at):
                    session.step()
                assert len(session.snapshots(range(len(plans)))) == len(plans)
                save(session, tmp_path / f"{seed} {at}")
                before = [answer.settled() for answer in session.answers]
            with closing(Execution(*plans)) as session:
                load(session, tmp_path / f"{seed} {at}")
                while not session.finished:
                    session.step()
                after = [answer.settled() for answer in session.answers]
            assert [counted(one) + counted(other) for one, other in zip(before, after, strict=True)] == expected


@pytest.mark.parametrize(("query", "most"), [
    (lambda log: log.select(s=wb.sum(col.x).past(20)), 45),
    (lambda log: log.select(s=wb.sum(col.x).past(5, ahead=15)), 30),
    (lambda log: log.select("x").over_time(s=wb.sum(col.x).past(20)), 90),
    (lambda log: log.select("x").over_time(every=5, s=wb.sum(col.x).past(20)), 12),
    (lambda log: sampled(log).select(s=wb.sum(col.x).past(20)), 130),
    (lambda log: sampled(log).select(y=wb.fir(col.x, [0.5, 0.5])), 8),
    (lambda log: log.select("x").resample(5, how="hold", limit=20), 24)])
def test_one_late_row_computes_its_reach_again(query: Callable[[wb.Stream], wb.Stream], most: int) -> None:
    """Of 10,000 rows at most those within reach, and those that fill their windows."""
    at = [*range(5_000), *range(5_001, 10_000), 5_000]
    log = wb.from_arrow({"at": at, "seen": range(10_000), "x": [when % 7 for when in at]}, time="at", arrival="seen")
    bands = query(log).at_latencies(0, 10_000)
    again, = rows_again(bands)
    assert 0 < again <= most
    changed = [row for row in bands.collect().to_pylist() if row["band"] == "10000" and row["change"] != "unchanged"]
    assert 0 < len(changed) <= again


def test_the_loops_of_two_bands_are_one() -> None:
    """Then the later band knows that it differs near late rows only."""
    bands = QUERIES["loop"](a_log(1)).at_latencies(*LATENCIES)
    assert bands.explain().count("recompute(periodic_loop(") == 2
    loops = {id(op.op if isinstance(op := node.op, Recompute) else op) for node in walk(optimize_together(
        [band.node for band in bands])) if isinstance(node.op, PeriodicLoop | Recompute)}
    assert len(loops) == 1


def test_ranges_with_few_rows_between_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    late = [1_000, 1_100]
    at = np.delete(np.arange(2_000), late).tolist() + late
    log = wb.from_arrow({"at": at, "seen": range(2_000), "x": at}, time="at", arrival="seen")
    bands = log.select(s=wb.sum(col.x).past(20, ahead=1)).at_latencies(0, 2_000)
    assert rows_again(bands)[0] == 2 * 45
    monkeypatch.setattr(recompute_kernel, "_NEAR_ROWS", 100)
    assert rows_again(bands)[0] == 45 + 100


def test_no_late_row_computes_nothing_again() -> None:
    log = wb.from_arrow({"at": range(1_000), "seen": range(1_000), "x": range(1_000)}, time="at", arrival="seen")
    assert rows_again(log.select(s=wb.sum(col.x).past(20)).at_latencies(0, 50, 100)) == [0, 0]


@pytest.mark.parametrize("query", [
    lambda log: log.group_by("k").over_time(d=col.x - col.x.previous()),
    lambda log: log.select(s=wb.sum(col.x).so_far())])
def test_what_reads_any_time_before_is_computed_by_each_band(query: Callable[[wb.Stream], wb.Stream]) -> None:
    assert "recompute" not in query(a_log(1)).at_latencies(*LATENCIES).explain()


def test_a_band_that_is_read_alone_has_no_earlier_result() -> None:
    bands = QUERIES["window"](a_log(1)).at_latencies(*LATENCIES)
    assert "recompute" not in bands[2].explain()

"""What runs on a beat of each key answers as the same steps do with a timeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.kernels import Tier, tier
from whimbrel.optimize import optimize
from whimbrel.plan import Node
from whimbrel.run import Pipeline, time_partitions
from whimbrel.run.time_partitions import in_ranges
from whimbrel.temporal import keyed_periodic_kernel
from whimbrel.testing.conformance.restart import Halting

EVERY = 20
ROWS = 600


def before(log: Stream, width: int = 5) -> Stream:
    return log.group_by("k").sliding_window(width * EVERY).aggregate(m=wb.mean(col.x), n=wb.count()).shift(EVERY)


def changes(log: Stream) -> Stream:
    return log.join(log.select("k", then=col.x).shift(EVERY), on="k").select("k", d=col.x - col.then)


QUERIES: dict[str, Callable[[Stream], Stream]] = {
    "above the mean": lambda log: log.join(before(log), on="k", where=col.x > col.m),
    "with the window": lambda log: log.join(log.group_by("k").sliding_window(3 * EVERY).aggregate(
        s=wb.sum(col.v), high=wb.max(col.x), f=wb.first(col.v)), on="k"),
    "changes": changes,
    "window of changes": lambda log: changes(log).join(changes(log).group_by("k").sliding_window(4 * EVERY).aggregate(
        up=wb.sum(col.d).where(col.d > 0)), on="k"),
    "some of them": lambda log: log.where(col.v > 4).join(before(log.where(col.v < 6)), on="k"),
    "two windows": lambda log: log.join(before(log, 2).join(before(log, 7), on="k", where=col.m > col.m_right), on="k"),
    "at two rows": lambda log: log.join(before(log), on="k").join(
        log.join(before(log), on="k").select("k", then=col.m).shift(2 * EVERY), on="k"),
    "computed": lambda log: log.join(log.group_by("k").sliding_window(3 * EVERY).aggregate(
        share=wb.sum(col.x) / wb.count()), on="k").select(z=col.x - col.share),
    "one row": lambda log: log.join(log.group_by("k").sliding_window(EVERY).aggregate(n=wb.count(col.x)), on="k"),
    "another name": lambda log: log.join(log.group_by(who=col.k).sliding_window(40).aggregate(s=wb.sum(col.v)),
                                         on={"k": "who"}),
}


def table(keys: int = 7) -> pa.Table:
    """Keys begin and end when they like, each at ticks of its own; the events of one follow each other at 20 ticks."""
    random = np.random.default_rng(keys)
    times, names = [], []
    for key in range(keys):
        own = random.integers(-200, 200) + EVERY * np.arange(random.integers(1, 2 * ROWS // keys))
        times.append(own)
        names.append(np.full(len(own), key * 10**12))
    at, name = np.concatenate(times), np.concatenate(names)
    order = np.argsort(at, kind="stable")
    return pa.table({
        "at": at[order], "k": pa.array(name[order], mask=name[order] == 10**12),
        "x": pa.array(random.normal(size=len(at)).round(3), mask=random.random(len(at)) < 0.1),
        "v": random.integers(0, 10, len(at))})


def stream(rows: pa.Table, *, known: bool, size: int = ROWS) -> Stream:
    pieces = pa.Table.from_batches(rows.to_batches(max_chunksize=size))
    log = wb.from_arrow(pieces, time="at", name="log").select("k", "x", "v")
    return log.assume(periodic=EVERY, per="k") if known else log


def both(name: str, rows: pa.Table) -> tuple[Stream, Stream]:
    return tuple(QUERIES[name](stream(rows, known=known)) for known in (True, False))  # type: ignore[return-value]


def answers(answer: pa.Table) -> list[tuple[Any, ...]]:
    exact = zip(*(column.to_pylist() for column in answer.columns), strict=True)
    return sorted((tuple(round(value, 9) if isinstance(value, float) else value for value in row) for row in exact),
                  key=repr)


@pytest.mark.parametrize("keys", [1, 7, 200])
@pytest.mark.parametrize("name", QUERIES)
def test_the_answer_is_the_same(name: str, keys: int) -> None:
    fused, plain = both(name, table(keys))
    assert "periodic_loop(20 per k:" in fused.explain()
    assert "periodic_loop" not in plain.explain()
    assert answers(fused.collect()) == answers(plain.collect())


QUICKLY_COMPILED = {"one row", "some of them", "at two rows"}
"""What is tried on all tiers by every run of the tests: each takes its loops seconds to compile."""


@pytest.mark.parametrize("by", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICKLY_COMPILED else pytest.mark.long)
                                  for name in QUERIES])
def test_on_all_tiers(name: str, by: Tier) -> None:
    fused, plain = both(name, table())
    with tier(by):
        assert answers(fused.collect()) == answers(plain.collect())


@pytest.mark.parametrize("size", [1, 13, 200])
@pytest.mark.parametrize("name", QUERIES)
def test_batches_change_nothing_to_the_last_bit(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = QUERIES[name](stream(table(), known=True)).collect()
    assert QUERIES[name](stream(table(), known=True, size=size)).collect().equals(whole)
    monkeypatch.setattr(keyed_periodic_kernel, "_MAX_ROWS", size)
    assert QUERIES[name](stream(table(), known=True)).collect().equals(whole)


@pytest.mark.parametrize("name", QUERIES)
def test_early_answers_are_those_of_a_stream_that_ends(name: str) -> None:
    fused, plain = ({shot.metrics.rows: answers(shot.table) for shot in QUERIES[name](
        stream(table(), known=known, size=50)).progressive(every=50, order="time")} for known in (True, False))
    both_times = fused.keys() & plain.keys()  # a slow machine looks less often
    assert len(both_times) > 2
    assert all(fused[rows] == plain[rows] for rows in both_times)


@pytest.mark.parametrize("latency", [30, 200])
def test_out_of_order(latency: int) -> None:
    rows = table()
    mixed = rows.take(np.argsort(rows["at"].to_numpy() + np.random.default_rng(1).integers(0, latency, len(rows))))
    late = wb.from_arrow(mixed, time="at", name="log", reorder_latency=latency).select("k", "x", "v")
    for query in QUERIES.values():
        assert answers(query(late.assume(periodic=EVERY, per="k")).collect()) == answers(
            query(stream(rows, known=False)).collect())


@pytest.mark.parametrize("name", QUERIES)
def test_two_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 40)
    monkeypatch.setattr(time_partitions, "_HALO_SHARE", 3.0)
    fused, _ = both(name, table())
    assert len(in_ranges(fused.node, 2)) > 1
    assert answers(fused.collect(threads=2)) == answers(fused.collect())


@pytest.mark.parametrize("rows_before", [1, 150, 350])
@pytest.mark.parametrize("name", ["above the mean", "changes", "two windows"])
def test_before_and_after_a_checkpoint(name: str, rows_before: int, tmp_path: Path) -> None:
    fused, _ = both(name, table())
    halting = Stream(Node(Halting(fused.sources[0], rows_before))).select("k", "x", "v").assume(periodic=EVERY, per="k")
    run = QUERIES[name](halting).start()
    while run.snapshot().metrics.rows < rows_before:
        pass
    run.pause()
    run.checkpoint(tmp_path / "run")
    later = wb.restore(tmp_path / "run", fused)
    assert later.wait(30)
    shot = run.snapshot()
    whole = pa.concat_tables([shot.table.slice(0, shot.settled), later.snapshot().table])
    assert answers(whole) == answers(fused.collect())
    run.stop()


def test_keys_of_two_columns() -> None:
    at = np.arange(400)
    rows = pa.table({"at": at, "k": at % 4, "l": at % 5, "x": np.random.default_rng(1).normal(size=400).round(3)})
    log = wb.from_arrow(rows, time="at", name="log").select("k", "l", "x")

    def query(log: Stream) -> Stream:
        return log.join(log.group_by("l", "k").sliding_window(60).aggregate(s=wb.sum(col.x)), on=["k", "l"])

    fused = query(log.assume(periodic=20, per=["l", "k"]))
    assert "periodic_loop(20 per k, l:" in fused.explain()
    assert answers(fused.collect()) == answers(query(log).collect())
    with pytest.raises(WhimbrelError, match="of k = 0 at 20 comes 20 after the one before it, not 40"):
        query(log.where(col.l == 0).assume(periodic=40, per="k")).collect()


@pytest.mark.parametrize("query", [
    before,  # results without a row
    lambda log: log.join(before(log, 100), on="k"),
    lambda log: log.cross_join(log.select(y=col.x).shift(7)),
    lambda log: log.join(log.select("k", y=col.x).shift(-EVERY), on="k", allow_lookahead=True),
    lambda log: log.join(before(log), on="k", how="left"),
    lambda log: log.join(log.group_by("v").sliding_window(EVERY).aggregate(n=wb.count()), on="v"),
    lambda log: log.join(log.group_by("k").sliding_window(EVERY + 1).aggregate(n=wb.count()), on="k"),
    lambda log: log.join(log.group_by("k").tumbling_window(EVERY).aggregate(n=wb.count()), on="k",
                         allow_lookahead=True),
    lambda log: log.select("x").cross_join(log.sliding_window(EVERY).aggregate(n=wb.count())),
])
def test_what_needs_a_timeline_keeps_it(query: Callable[[Stream], Stream]) -> None:
    fused, plain = (query(stream(table(), known=known)) for known in (True, False))
    assert answers(fused.collect()) == answers(plain.collect())
    assert "periodic_loop" not in fused.explain()


def test_an_overflow_is_reported_as_elsewhere() -> None:
    log = wb.from_arrow({"at": [1, 2, 3, 4], "k": [1, 2, 1, 2], "x": [2**62, 1, 2**62, 1]}, time="at").assume(
        periodic=2, per="k")
    with pytest.raises(WhimbrelError, match="leaves int64"):
        log.join(log.group_by("k").sliding_window(4).aggregate(t=wb.sum(col.x)), on="k").collect()


def test_a_few_rows_of_each_key_are_remembered() -> None:
    rows = pa.table({"at": np.arange(20_000), "k": np.arange(20_000) % EVERY, "x": np.arange(20_000.0),
                     "v": np.arange(20_000)})
    pipeline = Pipeline(optimize(QUERIES["above the mean"](stream(rows, known=True)).node))
    source, = pipeline.sources
    for batch in source.read(source.schema.names):
        assert batch is not None
        pipeline.push(0, batch)
    assert 0 < sum(kernel.buffered_rows for kernel in pipeline.kernels) < 12 * EVERY

"""Runs that follow a clock: where it is set they are, and in the end they have the answer of a run that was let be."""

from __future__ import annotations

import gc
import threading
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whimbrel as wb
from tests.engine.run.test_run import eventually
from whimbrel import col
from whimbrel.run.rewind_points import Marks, RewindPoint

INFINITE = float("inf")
ROWS = 30_000


def made(seed: int, rows: int = ROWS) -> pa.Table:
    draw = np.random.default_rng(seed)
    seen = np.sort(draw.integers(0, rows, rows))
    return pa.table({"at": seen - draw.integers(0, 60, rows), "seen": seen, "k": draw.integers(0, 5, rows),
                     "x": draw.integers(0, 100, rows)})


LOG, OTHER = made(1), made(2, rows=3_000)


def source(table: pa.Table = LOG, name: str = "log") -> wb.Stream:
    return wb.from_arrow(table, time="at", arrival="seen", name=name)


def sums(rows: wb.Stream) -> wb.Stream:
    return rows.group_by("k").tumbling_window(500).aggregate(n=wb.count(), x=wb.sum(col.x))


def joined(rows: wb.Stream, others: wb.Stream) -> wb.Stream:
    met = rows.where(col.x < 4).tumbling_window(50).join(others.tumbling_window(50).select("k", y=col.x), on="k")
    return met.group_by("k").tumbling_window(500).aggregate(n=wb.count(), y=wb.sum(col.y))


def upto(table: pa.Table, instant: int) -> pa.Table:
    return table.slice(0, int(np.searchsorted(table.column("seen").to_numpy(), instant, "right")))


def same(one: pa.Table, other: pa.Table) -> bool:
    order = [(name, "ascending") for name in one.column_names]
    return one.sort_by(order).equals(other.sort_by(order))


INSTANTS = st.lists(st.integers(-10, LOG["seen"][-1].as_py()), min_size=1, max_size=4)


@settings(max_examples=6)
@given(INSTANTS, st.sampled_from(["drop", "adjust"]))
def test_where_the_clock_is_set_there_the_answer_is_and_the_end_is_the_same(instants: list[int], late: str) -> None:
    clock = wb.ReplayClock(INFINITE)
    promised = {"reorder_latency": 20, "late": late}
    run = sums(wb.replay(source(), clock=clock, **promised)).start()
    assert run.wait(60)
    whole = run.snapshot()
    assert whole.metrics.late_dropped + whole.metrics.late_adjusted > 1_000
    clock.pause()
    for instant in instants:
        clock.seek(instant)
        assert clock.wait(60)
        shown = run.snapshot()
        there = upto(LOG, max(instant, int(LOG["seen"][0].as_py())))
        expected = sums(wb.from_arrow(there, time="at", arrival="seen", **promised))
        assert shown.metrics.rows == len(there)
        assert same(shown.table, expected.collect())
    clock.resume()
    assert run.wait(60)
    last = run.snapshot()
    assert last.final
    assert same(last.table, whole.table)
    assert (last.metrics.late_dropped, last.metrics.late_adjusted) == (
        whole.metrics.late_dropped, whole.metrics.late_adjusted)


def test_metrics_are_those_of_where_the_clock_was_set() -> None:
    clock = wb.ReplayClock(INFINITE)
    run = sums(wb.replay(source(), clock=clock, reorder_latency=60)).start()
    assert run.wait(60)
    clock.pause()
    for instant in (20_000, 100, 29_000, 5_000, 5_001, 15_000):
        clock.seek(instant)
        assert clock.wait(60)
        metrics = run.metrics
        assert metrics.rows == len(upto(LOG, instant))
        assert [(step.rows_in, step.rows_out) for step in metrics.steps[:1]] == [
            (metrics.rows, metrics.rows - metrics.late_dropped - metrics.buffered[metrics.steps[0].name])]
        assert metrics.age_s == instant - metrics.newest
    run.stop()


def test_metrics_of_a_run_that_was_paused_are_those_of_where_it_stands() -> None:
    run = sums(wb.replay(source(), speed=10_000, reorder_latency=60)).start()
    for share in range(1, 6):
        eventually(lambda share=share: run.metrics.rows > share * 2_000)  # type: ignore[misc]
        run.pause()
        eventually(lambda: run.metrics.rows == run._loop.session.reader.rows, timeout_s=5)
        run.resume()
    run.stop()


@settings(max_examples=4)
@given(INSTANTS)
def test_joined_replays_are_set_together(instants: list[int]) -> None:
    clock = wb.ReplayClock(INFINITE)
    promised = {"reorder_latency": 60}
    query = joined(source(), source(OTHER, "other"))
    run = query.on({"log": wb.replay(source(), clock=clock, **promised),
                    "other": wb.replay(source(OTHER), clock=clock, **promised)}).start()
    clock.pause()
    for instant in instants:
        clock.seek(instant)
        assert clock.wait(60)
        there = {name: source(upto(table, max(instant, 0)), name) for name, table in (("log", LOG), ("other", OTHER))}
        assert same(run.snapshot().table, query.on(there).collect())
    clock.resume()
    assert run.wait(60)
    assert same(run.snapshot().table, query.collect())


def test_bands_are_set_together_and_revise_the_same_in_the_end() -> None:
    bands = sums(source()).at_latencies(0, 20, 60)
    whole = bands.collect()
    clock = wb.ReplayClock(INFINITE)
    runs = bands.on(wb.replay(source(), clock=clock, reorder_latency=60)).start()
    assert all(run.wait(60) for run in runs)
    for instant in (20_000, 3, 29_000, 10_000):
        clock.pause()
        clock.seek(instant)
        assert clock.wait(60)
        assert {run.snapshot().metrics.rows for run in runs} == {len(upto(LOG, instant))}
    clock.resume()
    assert all(run.wait(60) for run in runs)
    assert same(pa.concat_tables([run.snapshot().table for run in runs]), whole)


def test_runs_on_one_clock_see_the_same_instant() -> None:
    clock = wb.ReplayClock(20_000)
    feed = wb.replay(source(), clock=clock, reorder_latency=60)
    runs = [sums(feed).start(), feed.tumbling_window(1_000).aggregate(n=wb.count()).start()]
    eventually(lambda: min(run.metrics.rows for run in runs) > 5_000)
    clock.pause()
    assert clock.wait(30)
    assert len({run.snapshot().metrics.rows for run in runs}) == 1
    assert runs[0].snapshot().metrics.rows == len(upto(LOG, clock.now))
    clock.seek(100)
    assert clock.wait(30)
    assert {run.snapshot().metrics.rows for run in runs} == {len(upto(LOG, 100))}
    late = feed.tumbling_window(5).aggregate(n=wb.count()).start()
    assert clock.wait(30)
    assert late.snapshot().metrics.rows == len(upto(LOG, 100)), "a run that begins later comes to the same instant"
    for run in (*runs, late):
        run.stop()


def test_a_clock_of_its_own_is_that_of_the_run() -> None:
    feed = wb.replay(source(), speed=100, reorder_latency=60)
    run, again = sums(feed).start(), sums(feed).start()
    assert run.clock is not again.clock
    run.clock.speed = INFINITE
    assert run.wait(60)
    assert again.clock.now < 1_000
    again.stop()
    assert sums(source()).start().clock is None


def test_a_run_that_ended_continues_where_the_clock_is_set_and_one_that_was_stopped_does_not() -> None:
    clock = wb.ReplayClock(INFINITE)
    feed = wb.replay(source(), clock=clock, reorder_latency=60)
    run, stopped = sums(feed).start(), sums(feed).start()
    assert run.wait(60)
    assert stopped.wait(60)
    stopped.stop()
    version = run.version
    clock.pause()
    clock.seek(500)
    assert (run.state, stopped.state) == ("running", "finished")
    assert clock.wait(60)
    assert run.snapshot().metrics.rows == len(upto(LOG, 500))
    assert not run.snapshot().final
    assert run.version > version
    run.stop()
    assert run.wait(60)
    clock.seek(100)
    assert run.state == "stopped"


def test_a_paused_run_goes_back_when_it_is_resumed() -> None:
    clock = wb.ReplayClock(INFINITE, paused=True)
    run = sums(wb.replay(source(), clock=clock, reorder_latency=60)).start()
    clock.seek(20_000)
    assert clock.wait(60)
    run.pause()
    clock.seek(50)
    assert run.snapshot().metrics.rows == len(upto(LOG, 20_000))
    run.resume()
    assert clock.wait(60)
    assert run.snapshot().metrics.rows == len(upto(LOG, 50))
    run.stop()


def test_one_query_of_several_that_ended_continues_with_the_others() -> None:
    clock = wb.ReplayClock(INFINITE)
    first, second = wb.start(
        sums(wb.replay(source(), clock=clock, reorder_latency=60)),
        sums(wb.replay(source(OTHER), clock=clock, reorder_latency=60)))
    assert first.wait(60)
    clock.pause()
    clock.seek(10_000)
    assert clock.wait(60)
    assert (first.state, second.state) == ("running", "finished")
    clock.seek(1_000)
    assert clock.wait(60)
    eventually(lambda: second.state == "running")
    assert second.snapshot().metrics.rows == len(upto(OTHER, 1_000))
    first.stop()
    assert first.wait(60)
    clock.seek(500)
    assert clock.wait(60)
    assert second.snapshot().metrics.rows == len(upto(OTHER, 500))
    clock.resume()
    assert second.wait(60)
    assert same(second.snapshot().table, sums(source(OTHER)).collect())


def test_rows_that_were_forgotten_stay_so() -> None:
    clock = wb.ReplayClock(INFINITE)
    run = wb.replay(source(), clock=clock, reorder_latency=60).tumbling_window(10).aggregate(n=wb.count()).start(
        keep_rows=500)
    assert run.wait(60)
    clock.pause()
    clock.seek(15_000)
    assert clock.wait(60)
    shown = run.snapshot()
    assert shown.metrics.evicted_rows <= shown.metrics.settled_rows
    assert shown.table.num_rows - shown.settled <= 7  # windows that are open, of 60 late ticks
    clock.resume()
    assert run.wait(60)
    last = run.snapshot()
    assert last.metrics.settled_rows == 3_006
    assert last.table["start"].to_pylist()[-1] == 29_990


def test_a_run_that_was_written_down_can_go_back_to_before_that(tmp_path: object) -> None:
    clock = wb.ReplayClock(INFINITE, paused=True)
    query = sums(wb.replay(source(), clock=clock, reorder_latency=60))
    run = query.start()
    clock.seek(20_000)
    assert clock.wait(60)
    run.checkpoint(tmp_path / "halfway")
    run.stop()
    assert run.wait(30)
    again = wb.restore(tmp_path / "halfway", query)
    assert clock.wait(60)
    assert again.snapshot().metrics.rows == len(upto(LOG, 20_000))
    clock.seek(10_000)
    assert clock.wait(60)
    assert same(again.snapshot().table, sums(source(upto(LOG, 10_000))).collect())
    again.stop()


def test_runs_that_are_let_go_leave_no_thread_and_no_follower() -> None:
    clock = wb.ReplayClock(INFINITE)
    run = sums(wb.replay(source(), clock=clock, reorder_latency=60)).start()
    assert run.wait(60)
    clock.pause()
    clock.seek(500)
    assert clock.wait(60)
    del run
    gc.collect()
    eventually(lambda: "whimbrel-run" not in [thread.name for thread in threading.enumerate()])
    assert not list(clock.followers)


def test_marks_need_bounded_memory_and_keep_the_first() -> None:
    query = sums(wb.replay(source(), speed=INFINITE, reorder_latency=60)).start()
    assert query.wait(60)
    session = query._loop.session
    first = RewindPoint(-1, 0, session.mark().pipeline, (0,))
    one = Marks(first, max_bytes=0)
    one.worked(1, 10_000, session.mark)
    assert (len(one), one.nbytes) == (1, 0)
    several = Marks(first, max_bytes=10**6)
    for number in range(1, 200):
        several.worked(60.0 * 2**20, number * 5_000, lambda number=number: RewindPoint(number, number * 5_000,
                                                                                         first.pipeline, (0,)))
    assert several.nbytes <= 10**6
    assert several.back_to(150).arrival_ns <= 150
    assert several.back_to(0) is first


def test_age_is_that_of_the_newest_row_and_fraction_is_that_of_time() -> None:
    clock = wb.ReplayClock(paused=True)
    table = pa.table({"at": pa.array([0, 60, 30], pa.timestamp("s")), "seen": pa.array([5, 70, 90], pa.timestamp("s"))})
    log = wb.from_arrow(table, time="at", arrival="seen")
    run = wb.replay(log, clock=clock, start=datetime(1970, 1, 1), reorder_latency="1m").start()
    clock.seek(75)
    assert clock.wait(30)
    metrics = run.snapshot().metrics
    assert metrics.age_s == 15
    assert metrics.fraction_read == pytest.approx(70 / 85)
    run.stop()

"""A query on a thread of its own: its states, what it shows, and how it ends."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.ended import ended
from whimbrel import col
from whimbrel.errors import WhimbrelError

LOG = pa.table({"at": range(2_000), "x": [number % 7 for number in range(2_000)]})


def feed(speed: float = 500) -> wb.Stream:
    """Integer ticks, `speed` of them a second."""
    return wb.replay(wb.from_arrow(LOG, time="at"), speed=speed)


def query(source: wb.Stream) -> wb.Stream:
    return source.tumbling_window(100).aggregate(n=wb.count(), total=wb.sum(col.x))


def eventually(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def test_a_run_ends_with_the_answer_that_collect_gives() -> None:
    run = query(wb.from_arrow(LOG, time="at")).start()
    assert run.wait(60)
    assert (run.state, run.error) == ("finished", None)
    last = run.snapshot()
    assert last.final
    assert last.settled == last.table.num_rows
    assert last.table.equals(query(wb.from_arrow(LOG, time="at")).collect())
    assert last.metrics.fraction_read == 1.0
    assert last.metrics.rows == 2_000


def test_early_values_follow_settled_ones_and_reading_them_changes_nothing() -> None:
    run = query(feed()).start()
    eventually(lambda: run.snapshot().settled >= 3)
    snapshot = run.snapshot()
    assert snapshot.table.num_rows == snapshot.settled + 1  # the open window
    assert snapshot.table["n"].to_pylist()[: snapshot.settled] == [100] * snapshot.settled
    assert 0 < snapshot.table["n"].to_pylist()[-1] <= 100
    assert run.version > 0
    run.stop()
    assert run.wait(20)


def test_pausing_holds_the_source_and_resuming_continues() -> None:
    run = query(feed()).start()
    eventually(lambda: run.metrics.rows > 10)
    run.pause()
    assert run.state == "paused"
    time.sleep(0.2)  # a step may be under way, and what was read last is counted then
    rows = run.metrics.rows
    time.sleep(0.2)
    assert run.metrics.rows == rows
    run.resume()
    eventually(lambda: run.metrics.rows > rows)
    run.stop()
    assert run.wait(20)
    assert run.state == "stopped"


@pytest.mark.parametrize("keep", [True, False])
def test_stopping_keeps_what_is_settled_or_drops_it(keep: bool) -> None:
    run = query(feed()).start()
    eventually(lambda: run.snapshot().settled >= 2)
    run.stop(keep=keep)
    assert run.wait(20)
    assert run.state == "stopped"
    last = run.snapshot()
    assert not last.final
    assert (last.settled >= 2) == keep
    assert run.snapshot().table.equals(last.table)


def test_a_failing_run_keeps_its_error_and_what_was_settled() -> None:
    broken = pa.table({"at": [*range(1_000), 5], "x": [1] * 1_001})
    run = query(wb.from_arrow(broken, time="at", name="log")).start()
    assert ended(run, 60)
    assert run.state == "failed"
    assert run.error is not None
    assert "Row 1,000 of log is late" in run.error.what
    assert not run.snapshot().final


def test_a_failure_is_raised_by_whoever_waits_for_the_end() -> None:
    """A service whose query failed ended in silence, as if all was well."""
    broken = wb.from_arrow(pa.table({"at": [*range(1_000), 5], "x": [1] * 1_001}), time="at", name="log")
    run = query(broken).start()
    for waited in (lambda: run.wait(60), lambda: run.stop(drain=True)):
        with pytest.raises(WhimbrelError, match="Row 1,000 of log is late"):
            waited()
    with pytest.raises(WhimbrelError, match="Row 1,000 of log is late"), query(broken).start() as unwatched:
        assert ended(unwatched, 60)
    with pytest.raises(WhimbrelError, match="Row 1,000 of log is late") as caught, query(broken).start() as waiting:
        waiting.wait(60)
    assert caught.value is waiting.error
    assert repr(run).startswith("<Run failed: Row 1,000 of log is late")


def test_letting_go_of_a_run_ends_its_thread() -> None:
    before = threading.active_count()
    runs = [query(feed()).start() for _ in range(5)]
    assert threading.active_count() >= before + 5
    del runs
    gc.collect()
    eventually(lambda: sum(thread.name == "whimbrel-run" for thread in threading.enumerate()) == 0)


def test_results_beyond_what_is_kept_are_forgotten_and_counted() -> None:
    run = wb.from_arrow(LOG, time="at").start(keep_rows=300)
    assert run.wait(60)
    metrics = run.metrics
    table = run.snapshot().table
    assert metrics.settled_rows == 2_000
    assert metrics.evicted_rows == 2_000 - table.num_rows
    assert 300 <= table.num_rows < 2_000
    assert table["at"].to_pylist()[-1] == 1_999


def test_a_run_that_keeps_nothing_counts_what_went_out() -> None:
    run = wb.from_arrow(LOG, time="at").where(col.x > 0).start(keep_rows=0)  # rows that are filtered out are marked
    assert run.wait(60)
    assert (run.metrics.settled_rows, run.metrics.evicted_rows, run.snapshot().table.num_rows) == (1_714, 1_714, 0)


def test_waiting_for_something_newer_ends_after_the_step_that_brought_it() -> None:
    clock = wb.ReplayClock(paused=True)
    run = query(wb.replay(wb.from_arrow(LOG, time="at"), clock=clock)).start()
    first = run.snapshot()
    assert run.snapshot(0.2, after=first.version).version == first.version, "nothing came, so it gave up"
    got = []
    waiting = threading.Thread(target=lambda: got.append(run.snapshot(60, after=first.version)))
    waiting.start()
    clock.step()
    waiting.join(60)
    [newer] = got
    assert newer.version > first.version
    assert newer.table["n"].to_pylist() == [1]
    run.stop()
    assert run.snapshot(60, after=newer.version).version > newer.version, "its end is something new"

"""The lateness panel: what it counts is what a run at that latency loses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import param
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel_workbench.details.lateness import LatenessPanel
from whimbrel_workbench.frames import Options
from whimbrel_workbench.frames.lateness import MAX_STEPS, late_rows
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.sessions.lateness import LatenessStudy
from whimbrel_workbench.views.lateness import lateness_html

TIMES = [*range(0, 200, 2), *range(1, 61, 6), 300, 90]
LOG = wb.from_arrow({"at": TIMES, "seen": list(range(len(TIMES))), "k": [time % 2 for time in TIMES]}, time="at",
                    arrival="seen", name="log")
COUNTS = LOG.tumbling_window(20).aggregate(n=wb.count())


@pytest.fixture
def started() -> Iterator[list[LiveSession]]:
    feeds: list[LiveSession] = []
    yield feeds
    for feed in feeds:
        feed.close()


def begun(query: wb.Stream | wb.LatencyBands, feeds: list[LiveSession]) -> LiveSession:
    feed = LiveSession(query, Options(), lambda _frame: True)
    feeds.append(feed)
    feed.start()
    assert feed.run is not None
    assert feed.run.wait(60)
    return feed


def test_what_a_step_loses_is_what_a_run_with_that_promise_drops() -> None:
    study = LatenessStudy(COUNTS)
    study.measure()
    study.compare([])
    [source] = study.shown(None, [])
    whole = COUNTS.collect()
    for step in source.steps:
        replay = wb.replay(LOG, speed=float("inf"), reorder_latency=step.ticks, late="drop")
        run = COUNTS.on(replay).start()
        assert run.wait(60)
        assert run.metrics.late_dropped == step.lost
        assert (step.changed == "none") == run.snapshot().table.equals(whole)
    assert source.steps[0].lost > 0
    assert source.steps[-1].lost == 0
    assert sum(step.rows for step in source.steps) == len(TIMES) == source.rows


def test_a_long_tail_has_few_steps_and_the_latencies_that_are_asked() -> None:
    source = late_rows("log", "", dict.fromkeys(range(100), 1), None, asked=[7])
    assert len(source.steps) <= MAX_STEPS + 1
    assert {0, 7, 99} <= {step.ticks for step in source.steps}
    assert source.steps[-1].lost == 0


def test_a_feed_shows_what_its_run_has_counted(started: list[LiveSession]) -> None:
    rows = [{"at": each} for each in (1, 5, 3, 9, 2)]
    live = wb.feeds.iterator(iter(rows), schema=pa.schema({"at": pa.int64()}), time="at", reorder_latency=3,
                             late="drop", name="feed")
    feed = begun(live.tumbling_window(5).aggregate(n=wb.count()), started)
    assert feed.run is not None
    study = LatenessStudy(feed.written)
    study.measure()
    [source] = study.shown(feed.run.metrics, feed.asked)
    assert source.of == "so far"
    steps = [(step.ticks, step.rows, step.lost) for step in source.steps]
    assert steps == [(0, 3, 2), (2, 1, 1), (3, 0, 1), (10, 1, 0)]
    assert 'aria-current="true"' in lateness_html([source], feed.asked)


def test_a_query_is_asked_at_another_latency(started: list[LiveSession]) -> None:
    feed = begun(COUNTS.on(wb.replay(LOG, speed=float("inf"), reorder_latency=500)), started)
    assert feed.asked == (500,)
    whole = feed.run.snapshot().table
    feed.ask([0])
    assert feed.run.wait(60)
    assert feed.asked == (0,)
    lossy = feed.run.snapshot()
    assert lossy.metrics.late_dropped == 11
    assert not lossy.table.equals(whole)
    feed.ask([500])
    assert feed.run.wait(60)
    assert feed.run.snapshot().table.equals(whole)


def test_several_latencies_can_be_changed(started: list[LiveSession]) -> None:
    feed = begun(COUNTS.at_latencies(0, 500).on(wb.replay(LOG, speed=float("inf"), reorder_latency=500)), started)
    assert feed.asked == (0, 500)
    feed.ask([50, 200])
    assert feed.run.wait(60)
    assert feed.asked == (50, 200)


def test_the_fold_measures_once_and_its_slider_asks(started: list[LiveSession]) -> None:
    feed = begun(COUNTS, started)
    asked: list[list[int]] = []
    page = threading.Lock()  # a page is changed by one thread at a time

    def change(to: Callable[[], None]) -> None:
        with page:
            to()

    fold = LatenessPanel(feed, change, asked.append)
    change(fold.draw)
    deadline = time.monotonic() + 60
    while "results" not in str(fold.panel[1].object) or "none" not in str(fold.panel[1].object):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    measuring = fold._measuring
    assert measuring is not None
    measuring.join(60)
    shown = fold.panel[1].object
    assert "11 of 112 events arrived out of order" in shown
    assert "events are late" in shown
    slider = fold.panel[0][0][1]
    with param.edit_constant(slider):  # as a page lets go of it
        slider.param.update(value=0, value_throttled=0)
    assert asked == [[0]]

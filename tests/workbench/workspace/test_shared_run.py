"""However many pages show a run, a source is read once and a frame is made once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.connect import Replay
from whimbrel_workbench.frames import Frame
from whimbrel_workbench.frames.frame_builder import FrameBuilder
from whimbrel_workbench.workspace import Dashboard, SharedRun

ROWS = 40_000
TABLE = pa.table({"at": list(range(ROWS)), "k": ["a", "b"] * (ROWS // 2)})
LOG = wb.from_arrow(TABLE, time="at", arrival="at", name="log")
COUNTS = LOG.group_by("k").tumbling_window(100).aggregate(n=wb.count())
SLOW = wb.replay(LOG, speed=1000, reorder_latency=0)
DASHBOARD = Dashboard("Counts", {"lines": COUNTS.on(SLOW), "sum": COUNTS.tumbling_window(1000).aggregate(
    n=wb.sum(col.n)).on(SLOW), "table": COUNTS.on(SLOW).view(kind="table")}, redraws_per_s=10)


NAMES = ("whimbrel-run", "whimbrel-view", "whimbrel-steering")


class Page:
    """Keeps the frames that a viewer is offered."""

    def __init__(self) -> None:
        self.frames: dict[str, list[Frame]] = {}
        self._news = threading.Condition()

    def offer(self, name: str, frame: Frame) -> None:
        with self._news:
            self.frames.setdefault(name, []).append(frame)
            self._news.notify_all()

    def wait_for(self, seen: Callable[[dict[str, list[Frame]]], bool], timeout_s: float = 30) -> None:
        with self._news:
            assert self._news.wait_for(lambda: seen(self.frames), timeout_s)

    def wait_for_pictures(self) -> None:
        self.wait_for(lambda frames: len(frames) == len(DASHBOARD.views)
                      and all(some[-1].picture is not None for some in frames.values()))


@contextmanager
def shared(**settings: bool) -> Iterator[SharedRun]:
    before = set(threading.enumerate())
    there = DASHBOARD.shared_run(**settings)
    try:
        yield there
    finally:
        there.close()
    running = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith(NAMES)]
    for thread in running:
        thread.join(10)
    assert [thread.name for thread in running if thread.is_alive()] == []


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often sources are read and pictures are made."""
    made: Counter[str] = Counter()
    others = set(threading.enumerate())  # views of other tests may still be visible
    picture, read = FrameBuilder.picture, Replay.read

    def counted_picture(self: FrameBuilder, *given: object, **named: object) -> object:
        drawn = picture(self, *given, **named)
        if drawn is not None and threading.current_thread() not in others:
            made["pictures"] += 1
        return drawn

    def counted_read(self: Replay, *given: object) -> object:
        made["readings"] += 1
        return read(self, *given)

    monkeypatch.setattr(FrameBuilder, "picture", counted_picture)
    monkeypatch.setattr(Replay, "read", counted_read)
    return made


def wait_until(true: Callable[[], bool], timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_ten_pages_cost_what_one_costs(count: Counter[str]) -> None:
    with shared() as there:
        pages = [Page() for _ in range(10)]
        for page in pages:
            there.join(page)
        for page in pages:
            page.wait_for_pictures()
            page.wait_for(lambda frames: len(frames["lines"]) >= 5)
        there.control("keep").result(10)
        assert count["readings"] == 1
        # Once the last picture that was made is handed on, there was one for each frame, and all pages have the same.
        wait_until(lambda: count["pictures"] <= sum(len(pages[0].frames[name]) for name in DASHBOARD.views))
        assert {id(page.frames["table"][-1]) for page in pages} == {id(pages[0].frames["table"][-1])}


def test_nothing_runs_before_somebody_looks(count: Counter[str]) -> None:
    with shared() as there:
        time.sleep(0.3)
        assert not count
        there.join(Page())
        wait_until(lambda: count["readings"] == 1)


def test_a_page_that_comes_later_gets_what_is_there_at_once() -> None:
    with shared() as there:
        first, later = Page(), Page()
        there.join(first)
        first.wait_for_pictures()
        there.join(later)
        assert set(later.frames) == set(DASHBOARD.views)


def test_while_nobody_looks_the_run_continues_and_no_picture_is_made(count: Counter[str]) -> None:
    with shared() as there:
        page = Page()
        there.join(page)
        page.wait_for_pictures()
        there.leave(page)
        there.leave(page)
        wait_until(lambda: not any(feed.watched for feed in there.feeds.values()))
        time.sleep(0.3)
        made, [rows] = count["pictures"], {feed.run.metrics.rows for feed in [there.feeds["lines"]]}
        wait_until(lambda: there.feeds["lines"].run.metrics.rows > rows)
        assert count["pictures"] == made
        assert there.feeds["lines"].run.state == "running"
        again = Page()
        there.join(again)
        shown = len(again.frames["lines"])
        again.wait_for(lambda frames: len(frames["lines"]) > shown + 1)
        assert count["readings"] == 1


def test_a_run_that_waits_while_nobody_looks_resumes_when_somebody_does() -> None:
    with shared(pause_unwatched=True) as there:
        page = Page()
        there.join(page)
        page.wait_for_pictures()
        run = there.feeds["lines"].run
        there.leave(page)
        wait_until(lambda: run.state == "paused")
        there.join(page)
        wait_until(lambda: run.state == "running")
        there.control("pause").result(10)
        there.leave(page)
        there.join(page)
        time.sleep(0.3)
        assert run.state == "paused", "what a reader paused stays paused"


def test_gestures_are_of_all_views() -> None:
    with shared() as there:
        page = Page()
        there.join(page)
        page.wait_for_pictures()
        there.control("pause")
        page.wait_for(lambda frames: {some[-1].status.state for some in frames.values()} == {"paused"})
        there.control("resume")
        page.wait_for(lambda frames: {some[-1].status.state for some in frames.values()} == {"running"})
        there.control("drop")
        page.wait_for(lambda frames: {some[-1].status.state for some in frames.values()} == {"stopped"})
        assert all(some[-1].picture is None for some in page.frames.values())
        there.control("restart")
        page.wait_for(lambda frames: {some[-1].status.state for some in frames.values()} == {"running"})
        page.wait_for_pictures()


def test_a_view_that_fails_says_so_and_its_neighbours_continue() -> None:
    unsorted = wb.from_arrow({"at": [2, 1]}, time="at", name="other")
    there = Dashboard("Broken", {"good": COUNTS.on(SLOW), "bad": unsorted}).shared_run()
    page = Page()
    there.join(page)
    page.wait_for(lambda frames: {name: some[-1].status.state for name, some in frames.items()}
                  == {"good": "running", "bad": "failed"})
    assert "other" in str(page.frames["bad"][-1].status.failure)
    there.close()


def test_queries_that_cannot_be_planned_together_say_so(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    pq.write_table(pa.table({"at": [1, 2]}), file)
    gone = wb.read_parquet(file, time="at")
    there = Dashboard("Gone", [gone]).shared_run()
    file.unlink()
    page = Page()
    there.join(page)
    page.wait_for(lambda frames: [some[-1].status.state for some in frames.values()] == ["failed"])
    assert "log.parquet" in str(page.frames["at"][-1].status.failure)
    there.close()


def test_several_latencies_are_shown_with_other_views() -> None:
    there = Dashboard("Bands", {"bands": COUNTS.at_latencies(0, 500), "plain": COUNTS}).shared_run()
    page = Page()
    there.join(page)
    page.wait_for(lambda frames: [some[-1].status.state for some in frames.values()] == ["finished", "finished"])
    assert page.frames["bands"][-1].picture.settled_rows == page.frames["plain"][-1].picture.settled_rows == ROWS // 50
    there.close()


def test_another_latency_is_asked_of_all_views_together() -> None:
    rows = {"at": [1, 5, 3, 9, 2, 30], "seen": [1, 5, 6, 9, 9, 30]}
    late = wb.from_arrow(rows, time="at", arrival="seen", name="late")
    replay = wb.replay(late, speed=float("inf"), reorder_latency=10, late="drop")
    counts = late.tumbling_window(4).aggregate(n=wb.count())
    there = Dashboard("Late", {"one": counts.on(replay), "several": counts.at_latencies(0, 10).on(replay)}).shared_run()
    try:
        page = Page()
        there.join(page)
        page.wait_for(lambda frames: len(frames) == 2)
        there.ask([0, 2]).result(30)
        assert [feed.asked for feed in there.feeds.values()] == [(2,), (0, 2)]
        runs = [feed.run for feed in there.feeds.values()]
        assert all(run is not None and run.wait(30) for run in runs)
        assert runs[0].snapshot().metrics.late_dropped == 1
        there.player.hold()
        there.control("fit").result(30)  # done after it, on the same thread
        assert runs[0].clock.paused
    finally:
        there.close()


def test_estimates_are_shown_as_such_with_a_run() -> None:
    """A served view of them was run to its end: no interval, no word of how good it is, and no rule to stop."""
    history = wb.from_arrow(TABLE, time="at", name="log").group_by("k").tumbling_window(ROWS).aggregate(n=wb.count())
    early = history.progressive(every="10%", seed=1).until(seconds=1e-9)
    board = Dashboard("Both", {"early": early.view(kind="bar"), "plain": early.restart(), "run": COUNTS})
    there = board.shared_run()
    page = Page()
    try:
        there.join(page)
        page.wait_for(lambda frames: {"early", "plain", "run"} <= set(frames) and all(
            frames[name][-1].status.state in ("paused", "finished") for name in frames))
        early_frame, plain, run = (page.frames[name][-1] for name in ("early", "plain", "run"))
        assert (early_frame.status.state, plain.status.state, run.status.state) == ("paused", "finished", "finished")
        assert early_frame.quality is not None
        assert not early_frame.quality.final
        assert plain.quality is not None
        assert plain.quality.final
        assert run.quality is None
        there.control("resume").result()
        page.wait_for(lambda frames: frames["early"][-1].status.state == "finished")
    finally:
        there.close()

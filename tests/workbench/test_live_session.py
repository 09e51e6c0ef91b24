"""A feed turns a real run into frames, steers it, and ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import panel as pn
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.ended import ended
from whimbrel import col
from whimbrel.errors import SchemaError
from whimbrel_workbench.controls import Transport
from whimbrel_workbench.frames import Bars, BigNumbers, Frame, Lines, Options
from whimbrel_workbench.sessions import LiveSession

ROWS = 20_000
CYCLE = {"origin": ["JFK", "LGA", "EWR", "JFK"], "x": [1, 2, 3, 0]}
LOG = pa.table({"at": list(range(ROWS)), **{name: values * (ROWS // 4) for name, values in CYCLE.items()}})
COUNTS = wb.from_arrow(LOG, time="at").group_by("origin").tumbling_window(100).aggregate(n=wb.count())
SLOW = COUNTS.on(wb.replay(wb.from_arrow(LOG, time="at", arrival="at"), speed=200, reorder_latency=0))


class Screen:
    """Collects frames, and can wait for one that is wanted."""

    def __init__(self, reachable: bool = True) -> None:
        self.frames: list[Frame] = []
        self.reachable = reachable
        self._news = threading.Condition()

    def show(self, frame: Frame) -> bool:
        with self._news:
            self.frames.append(frame)
            self._news.notify_all()
        return self.reachable

    def wait_for(self, state: str, timeout: float = 60.0) -> Frame:
        with self._news:
            assert self._news.wait_for(lambda: self.frames and self.frames[-1].status.state == state, timeout)
            return self.frames[-1]

    def wait_for_picture(self, timeout: float = 60.0) -> Frame:
        with self._news:
            assert self._news.wait_for(lambda: self.frames and self.frames[-1].picture is not None, timeout)
            return self.frames[-1]

    def wait_for_fact(self, name: str, begins: str, timeout: float = 60.0) -> None:
        with self._news:
            assert self._news.wait_for(
                lambda: dict(self.frames[-1].status.facts).get(name, "").startswith(begins), timeout)


@pytest.fixture
def screen() -> Screen:
    return Screen()


def test_a_query_on_history_ends_in_its_exact_settled_picture(screen: Screen) -> None:
    feed = LiveSession(COUNTS, Options(), screen.show, redraws_per_s=20)
    feed.start()
    last = screen.wait_for("finished")
    assert isinstance(last.picture, Lines)
    assert {line.label: line.y.sum() for line in last.picture} == {"JFK": ROWS / 2, "LGA": ROWS / 4, "EWR": ROWS / 4}
    assert all(line.settled.all() for line in last.picture)
    assert last.status.fraction_summary == "100% read"
    assert ("rows", f"{ROWS:,}") in last.status.facts
    assert "tumbling_window" in last.query


def test_pause_holds_the_picture_and_stop_keeps_or_drops_it(screen: Screen) -> None:
    feed = LiveSession(SLOW, Options(), screen.show, redraws_per_s=20)
    feed.start()
    screen.wait_for_picture()
    feed.pause()
    assert screen.wait_for("paused").status.fraction_read < 1
    feed.resume()
    screen.wait_for("running")
    feed.stop(keep=True)
    assert screen.wait_for("stopped").picture is not None
    feed.restart()
    screen.wait_for("running")
    feed.stop(keep=False)
    assert screen.wait_for("stopped").picture is None


def test_a_bar_that_would_move_nothing_is_off(screen: Screen) -> None:
    log = wb.from_arrow(LOG, time="at", arrival="at")
    slow = COUNTS.on(wb.replay(log, clock=wb.ReplayClock(200), reorder_latency=0))
    feed, other = (LiveSession(slow, Options(), shown, redraws_per_s=20) for shown in (screen.show,
                                                                                       lambda _frame: True))
    bar = Transport(feed.player)
    for each in (feed, other):
        each.start()
    screen.wait_for_picture()
    feed.stop(keep=True)
    bar.draw(screen.wait_for("stopped").status.playback)
    buttons = [each for each in bar.panel if isinstance(each, pn.widgets.Button)]
    assert [button.disabled for button in buttons] == [False, False]  # another view goes by the same clock
    other.stop(keep=True)
    feed.refresh()
    bar.draw(screen.frames[-1].status.playback)
    assert [button.disabled for button in buttons] == [True, True]


@pytest.mark.parametrize(("window", "keys", "kind"),
                         [(2_000, "origin", Lines), (ROWS, "origin", Bars), (2_000, "", Lines), (ROWS, "", BigNumbers)])
def test_a_view_is_of_one_kind_from_its_first_picture_on(screen: Screen, window: int, keys: str, kind: type) -> None:
    """A replay's view began with the bars of its first window, and became lines with the second."""
    log = wb.from_arrow(LOG, time="at", arrival="at")
    grouped = log.group_by(keys) if keys else log
    query = grouped.tumbling_window(window).aggregate(n=wb.count()).on(wb.replay(log, speed=5_000, reorder_latency=0))
    feed = LiveSession(query, Options(), screen.show, redraws_per_s=20)
    feed.start()
    screen.wait_for("finished")
    feed.close()
    pictures = [frame.picture for frame in screen.frames if frame.picture is not None]
    assert len(pictures) > 3
    assert {type(picture) for picture in pictures} == {kind}


def test_rows_that_wait_for_their_kind_are_not_called_undrawable(screen: Screen) -> None:
    feed = LiveSession(SLOW, Options(), screen.show, redraws_per_s=20)
    feed.start()
    while screen.frames[-1].picture is None:
        feed.refresh()
        time.sleep(0.01)
    feed.close()
    assert {frame.undrawn for frame in screen.frames} == {0}


def test_a_first_picture_is_waited_for_unless_there_will_be_none(screen: Screen) -> None:
    feed = LiveSession(COUNTS, Options(), screen.show, redraws_per_s=20)
    feed.start()
    feed.await_picture(60)
    assert feed.picture is not None
    feed.close()
    empty = LiveSession(COUNTS.where(col.n < 0), Options(), screen.show, redraws_per_s=20)
    empty.start()
    empty.await_picture(1e9)  # returns with the run
    assert empty.run.state == "finished"


def test_looking_ends_with_the_run(screen: Screen) -> None:
    feed = LiveSession(SLOW, Options(), screen.show, redraws_per_s=20)
    feed.start()
    screen.wait_for_picture()
    feed.close()
    assert feed.run.wait(10)
    looking = [thread for thread in threading.enumerate() if thread.name == "whimbrel-view"]
    for thread in looking:
        thread.join(10)
    assert [thread for thread in looking if thread.is_alive()] == []


def test_marks_of_what_changed_fade_when_the_run_has_ended(screen: Screen) -> None:
    log = wb.from_arrow(LOG, time="at", arrival="at")
    totals = log.group_by("origin").tumbling_window(ROWS).aggregate(n=wb.count())
    feed = LiveSession(totals.on(wb.replay(log, speed=10_000, reorder_latency=0)), Options(kind="bar"), screen.show,
                redraws_per_s=20)
    feed.start()

    def marked() -> list[bool]:
        assert isinstance(screen.frames[-1].picture, Bars)
        return [bar.changed for bar in screen.frames[-1].picture.bars]

    screen.wait_for("finished")
    assert marked() == [True] * 3
    deadline = time.monotonic() + 30
    while any(marked()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert marked() == [False] * 3
    feed.close()


def test_a_frame_that_nobody_saw_is_offered_again() -> None:
    screen = Screen(reachable=False)
    feed = LiveSession(COUNTS, Options(), screen.show, redraws_per_s=50)
    feed.start()
    screen.wait_for("finished")
    offered = len(screen.frames)
    deadline = time.monotonic() + 30
    while len(screen.frames) < offered + 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(screen.frames) >= offered + 2
    feed.close()


def test_a_query_that_fails_says_what_and_where(screen: Screen) -> None:
    huge = pa.table({"at": [0, 1, 2], "x": [2**62, 2**62, 2**62]})
    total = wb.from_arrow(huge, time="at").tumbling_window(10).aggregate(total=wb.sum(col.x))
    LiveSession(total, Options(), screen.show).start()
    failure = screen.wait_for("failed").status.failure
    assert failure is not None
    assert "leaves int64" in failure.what
    assert failure.where == "aggregate(total=sum(col.x))"


def test_what_a_source_gave_before_it_failed_is_drawn_with_its_error(screen: Screen) -> None:
    def burnt() -> Iterator[dict[str, int]]:
        yield from ({"at": at} for at in range(30))
        raise RuntimeError("the sensor burnt")

    rows = wb.feeds.iterator(burnt(), schema={"at": pa.int64()}, time="at", reorder_latency=3, name="sensor")
    feed = LiveSession(rows.tumbling_window(10).aggregate(n=wb.count()), Options(), screen.show)
    feed.start()
    assert ended(feed.run, 30)
    last = feed.present()
    assert "the sensor burnt" in last.status.failure.what
    assert ("rows", "30") in last.status.facts
    assert feed.run.snapshot().table["n"].to_pylist() == [10, 10, 10]
    [line] = last.picture
    assert line.settled.tolist() == [True, True, False]


def test_a_picture_that_cannot_be_drawn_is_a_failure_on_the_page_and_the_run_continues(screen: Screen) -> None:
    def show(frame: Frame) -> bool:
        if isinstance(frame.picture, Lines):
            raise TypeError("no such brush")
        return screen.show(frame)

    feed = LiveSession(SLOW, Options(kind="lines"), show, redraws_per_s=20)
    feed.start()
    failure = screen.wait_for("failed").status.failure
    assert "no such brush" in failure.what
    assert feed.run.state == "running"
    feed.close()


def test_another_value_is_drawn_at_once_even_after_the_end(screen: Screen) -> None:
    both = COUNTS.with_columns(double=col.n * 2).tumbling_window(ROWS).group_by("origin").aggregate(
        a=wb.sum(col.n), b=wb.sum(col.double))
    feed = LiveSession(both, Options(), screen.show, redraws_per_s=20)
    feed.start()
    first = screen.wait_for("finished").picture
    assert isinstance(first, Bars)
    feed.choose_value("b")
    second = screen.frames[-1].picture
    assert second.value == "b"
    assert {bar.name: bar.length for bar in second.bars} == {bar.name: 2 * bar.length for bar in first.bars}


def test_a_numeric_key_of_the_query_is_a_key_of_the_picture(screen: Screen) -> None:
    by_x = wb.from_arrow(LOG, time="at").group_by("x").tumbling_window(ROWS).aggregate(n=wb.count())
    LiveSession(by_x, Options(), screen.show).start()
    assert screen.wait_for("finished").picture.keys == ("x",)


def test_a_wrong_option_is_an_error_where_it_was_typed() -> None:
    with pytest.raises(SchemaError, match="no column 'm'"):
        LiveSession(COUNTS, Options(y="m"), lambda _frame: True)


def test_what_cannot_be_drawn_for_a_while_does_not_end_the_looking(caplog: pytest.LogCaptureFixture) -> None:
    screen, failing = Screen(), threading.Event()
    failing.set()

    def show(frame: Frame) -> bool:
        if failing.is_set():
            raise RuntimeError("no such document")
        return screen.show(frame)

    feed = LiveSession(SLOW, Options(), show, redraws_per_s=20)
    feed.start()
    time.sleep(1)
    failing.clear()
    screen.wait_for_picture()
    feed.close()
    assert [record.exc_info[1].args for record in caplog.records if record.exc_info] == [("no such document",)]


def test_a_feed_that_is_lost_says_so_without_a_row(screen: Screen) -> None:
    """A view was notified of new rows only, and called a feed live for as long as it was away."""
    lost = threading.Event()

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"at": [1]})
        assert lost.wait(60)
        raise ConnectionError("refused")

    sensor = wb.feeds.iterator(rows, schema={"at": pa.int64()}, time="at", reorder_latency=0, name="sensor",
                               retry_backoff_s=(0.01, 0.01))
    feed = LiveSession(sensor.tumbling_window(10).aggregate(n=wb.count()), Options(kind="table"), screen.show)
    feed.start()
    screen.wait_for_picture()
    screen.wait_for_fact("feed sensor", "live")
    lost.set()
    screen.wait_for_fact("feed sensor", "reconnecting in 0 s (attempt")
    feed.close()

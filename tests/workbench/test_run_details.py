"""The details of a picture: the lineage of a mark, and the plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel_workbench.details import RunDetails
from whimbrel_workbench.details.plan import PlanPanel
from whimbrel_workbench.frames import Frame, Options
from whimbrel_workbench.frames.events import MAX_EVENTS, LineageEvents
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.sessions.lineage import MAX_RUN_AGAIN
from whimbrel_workbench.views.events import events_html
from whimbrel_workbench.views.plan import PlanTable

ROWS = {"at": [1, 4, 3, 12, 14, 31], "seen": [1, 4, 5, 12, 14, 31], "k": ["a", "b", "a", "a", "b", "a"],
        "x": [1.5, 2.0, 0.25, 4.0, 5.0, 6.0]}
LOG = wb.from_arrow(ROWS, time="at", arrival="seen", name="log")
SUMS = LOG.group_by("k").tumbling_window(10).aggregate(total=wb.sum(col.x), n=wb.count())


Ended = Callable[..., LiveSession]


@pytest.fixture
def ended() -> Iterator[Ended]:
    """Makes feeds whose runs have ended, with their last pictures drawn."""
    feeds = []

    def made(query: wb.Stream | wb.LatencyBands, **options: object) -> LiveSession:
        feed = LiveSession(query, Options.of(**options), lambda _frame: True)
        feeds.append(feed)
        feed.start()
        assert feed.run is not None
        assert feed.run.wait(60)
        feed.refresh()
        return feed

    yield made
    for feed in feeds:
        feed.close()


def lineage_of(feed: LiveSession, **mark: object) -> LineageEvents:
    row = feed.row_of(Mark(**mark))
    assert row is not None
    return feed.lineage(row)


def at_once(change: Callable[[], None]) -> None:
    change()


def test_the_lineage_of_a_mark_gives_its_value_again(ended: Ended) -> None:
    found = lineage_of(ended(SUMS), key="a", at=0.0)
    assert dict(found.row) == {"start": "0", "end": "10", "k": "a", "total": "1.75", "n": "2"}
    assert (found.state, found.same) == ("found", True)
    assert found.paths == (("log", "tumbling_window(10)", "group_by(k).aggregate(total=sum(col.x), n=count())"),)
    [origin] = found.origins
    assert (origin.rows, origin.names) == (2, ("start", "seen", "k", "x", "valid from", "valid to"))
    assert origin.table == (("3", "5", "a", "0.25", "0", "10"), ("1", "1", "a", "1.5", "0", "10"))


def test_rows_that_a_run_dropped_are_not_in_the_lineage_of_its_values(ended: Ended) -> None:
    live = SUMS.on(wb.replay(LOG, speed=float("inf"), reorder_latency=0, late="drop"))
    found = lineage_of(ended(live), key="a", at=0.0)
    assert (dict(found.row)["n"], found.same, found.origins[0].rows) == ("1", True, 1)


def test_of_several_latencies_the_query_itself_is_run_again(ended: Ended) -> None:
    live = SUMS.at_latencies(0, 2).on(wb.replay(LOG, speed=float("inf"), reorder_latency=2))
    found = lineage_of(ended(live), key="a", at=0.0)
    assert (found.same, found.origins[0].rows) == (True, 2)


def test_a_raw_event_is_made_of_itself(ended: Ended) -> None:
    feed = ended(LOG.where(col.x > 1), kind="scatter", y="x")
    found = lineage_of(feed, at=12.0, value=4.0)
    assert (found.same, [origin.table[0][:2] for origin in found.origins]) == (True, [("12", "12")])


def test_the_newest_bar_of_a_key_and_no_row_for_an_unknown_one(ended: Ended) -> None:
    feed = ended(SUMS, kind="bars")
    assert dict(lineage_of(feed, key="a").row)["start"] == "30"
    assert feed.row_of(Mark(key="nobody")) is None


def test_a_column_that_is_called_as_a_lifetimes_end_is_shown(ended: Ended) -> None:
    trips = wb.from_arrow({"start": [1, 4, 12], "end": [40, 50, 60]}, time="start", name="trips")
    found = lineage_of(ended(trips.tumbling_window(10).aggregate(last=wb.max(col.end))), at=0.0)
    assert found.origins[0].names == ("start", "trips.end", "valid from", "valid to")
    assert [row[1] for row in found.origins[0].table] == ["50", "40"]


def test_tables_are_short_and_everything_is_counted(ended: Ended) -> None:
    rows = MAX_RUN_AGAIN + 5
    log = wb.from_arrow({"at": np.zeros(rows, np.int64), "x": np.arange(rows)}, time="at", name="log")
    found = lineage_of(ended(log.tumbling_window(10).aggregate(n=wb.count())), at=0.0)
    assert found.origins[0].rows == rows
    assert len(found.origins[0].table) == MAX_EVENTS
    assert found.same is None
    assert "Not verified" in found.again
    assert f"{rows:,} events of log, the newest {MAX_EVENTS} of them" in events_html(found)


def test_a_feed_whose_rows_are_gone_says_so(ended: Ended) -> None:
    schema = pa.schema({"at": pa.int64(), "x": pa.int64()})
    feed = wb.feeds.iterator(iter([{"at": 1, "x": 1}]), schema=schema, time="at", reorder_latency=0, name="gone")
    found = lineage_of(ended(feed.tumbling_window(10).aggregate(n=wb.count())), at=0.0)
    assert found.state == "failed"
    assert found.failure is not None
    assert "rows cannot be read again" in events_html(found)


def test_what_comes_from_a_log_is_no_markup(ended: Ended) -> None:
    log = wb.from_arrow({"at": [1], "k": ["<b onclick=x>"]}, time="at", name="<log>")
    text = events_html(lineage_of(ended(log.group_by("k").tumbling_window(10).aggregate(n=wb.count())), at=0.0))
    assert "<b onclick" not in text
    assert "<log>" not in text


@pytest.mark.parametrize("said", ("", "[]", "7", '{"at": "x"}', '{"value": []}', "{"))
def test_a_page_may_say_what_it_likes(said: str) -> None:
    assert Mark.read(said) is None


def test_a_click_opens_the_events_and_the_newest_question_wins(ended: Ended) -> None:
    inside = RunDetails(ended(SUMS), at_once)
    inside.pick(Mark(key="b", at=0.0))
    inside.pick(Mark(key="a", at=0.0))
    deadline = time.monotonic() + 30
    while "gives the same" not in str(inside.panel[0][1].object):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "2 events of log" in inside.panel[0][1].object
    assert "k a" in inside.panel[0][0][0].labels[0]
    assert inside.panel[0][0][0].value == 0
    inside.toggle(inside.events)
    assert len(inside.panel) == 0


def test_events_of_rows_that_are_gone_go_too(ended: Ended) -> None:
    feed = ended(SUMS)
    inside = RunDetails(feed, at_once)
    inside.pick(Mark(key="b", at=0.0))
    feed.restart()
    assert feed.run is not None
    assert feed.run.wait(60)
    feed.refresh()
    inside.draw()
    assert "Source events of" not in inside.panel[0][1].object
    assert len(inside.panel[0][0][0].options) == 5
    inside.pick(Mark(key="b", at=0.0))
    feed.follow(SUMS.on(wb.replay(LOG, speed=0.001, reorder_latency=2)).start())
    feed.stop(keep=False)
    inside.draw()
    assert "Source events of" not in inside.panel[0][1].object
    assert not inside.panel[0][0][0].options


def test_folds_keep_their_order_whichever_is_opened_first(ended: Ended) -> None:
    inside = RunDetails(ended(SUMS), at_once)
    inside.toggle(inside.plan)
    inside.toggle(inside.events)
    assert list(inside.panel) == [inside.events.panel, inside.plan.panel]
    assert [button.label for button in inside.buttons] == ["▾ Source events", "▸ Lateness", "▾ Plan"]


def test_the_plan_of_a_view_reads_as_text_and_as_a_table(ended: Ended) -> None:
    plan = PlanTable(PlanPanel(ended(SUMS)).plan)
    assert repr(plan).splitlines()[1].split()[:3] == ["log", "6", "6"]
    assert "tumbling_window(10)" in plan._repr_html_()
    assert "def step(" in "".join(plan.kernels.values())


def test_several_latencies_have_one_plan(ended: Ended) -> None:
    live = SUMS.at_latencies(0, 2).on(wb.replay(LOG, speed=float("inf"), reorder_latency=2))
    steps = {step.name for step in PlanPanel(ended(live)).plan.steps}
    assert {"band(late <= 0)", "band(0 < late <= 2)", "changelog(band='2', keys=[k])"} <= steps


def test_frames_carry_marks_of_table_rows() -> None:
    frames: list[Frame] = []
    feed = LiveSession(SUMS, Options(kind="table"), lambda frame: frames.append(frame) is None)
    feed.start()
    assert feed.run is not None
    assert feed.run.wait(60)
    feed.refresh()
    for row in frames[-1].picture.table:
        mark = Mark.read(row.mark)
        assert mark is not None
        found = feed.row_of(mark)
        assert (str(found["start"][0]), found["k"][0].as_py()) == (row.cells[0], row.cells[2])

"""The view of a desk: its words, what a reader chooses, and what it costs the desk."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.workbench.lab import START_S, Open
from whimbrel import display
from whimbrel_workbench.desk_view import DeskView
from whimbrel_workbench.frames.desk import MAX_QUERIES, DeskFrame
from whimbrel_workbench.sessions.desk_updates import DeskUpdates
from whimbrel_workbench.views.desk import desk_html, still_desk_html

col = wb.col
ROWS = 4_000


def desk_of_six() -> wb.Desk:
    events = wb.from_arrow({"at": range(ROWS), "x": [number % 97 for number in range(ROWS)]}, time="at", name="events")
    desk = wb.desk(events)
    desk.add("sums", events.tumbling_window(100).aggregate(total=wb.sum(col.x)))
    desk.add("large", desk.stream("sums").where(col.total > wb.parameter("least", 4_800)))
    desk.add("<b>rows", "SELECT x FROM events WHERE x > 90", budget=wb.Budget(rows=1_000))
    desk.add("wide", events.set_duration(1_000), budget=wb.Budget(bytes=10_000))
    desk.add("bad", events.select(y=(col.at - 900).cast("uint64")))
    desk.add("never", events.where(col.x > 1_000))
    return desk


def frame_of(desk: wb.Desk, chosen: str | None = None) -> DeskFrame:
    updates = DeskUpdates(desk, lambda _frame: None, rows=3)
    if chosen is not None:
        updates.choose(chosen)
    return updates.present()


def test_each_query_has_a_line_with_its_cost() -> None:
    desk = desk_of_six()
    before = frame_of(desk)
    assert (before.state, [line.rows for line in before.lines]) == ("running", ["0"] * 6)
    desk.run()
    frame = frame_of(desk, "sums")
    lines = {line.name: line for line in frame.lines}
    assert {name: line.state for name, line in lines.items()} == {
        "sums": "finished", "large": "finished", "<b>rows": "finished", "wide": "stopped", "bad": "failed",
        "never": "finished"}
    assert (lines["sums"].rows_in, lines["sums"].rows, lines["large"].rows_in) == ("4,000", "40", "40")
    assert lines["large"].reads == ("sums",)
    assert lines["large"].parameters == "least = 4,800"
    assert lines["<b>rows"].budget == 0.0
    assert "budget is 10,000" in lines["wide"].error
    assert lines["bad"].error
    assert lines["never"].newest == ""
    assert lines["sums"].newest == f"3,900 · total {sum(number % 97 for number in range(3_900, 4_000)):,}"
    assert abs(sum(line.fraction for line in frame.lines) - 1) < 1e-9
    assert dict(frame.facts)["rows read"] == "4,000"
    assert frame.chosen is not None
    assert [cells[0] for _, cells in frame.chosen.cells] == ["3,900", "3,800", "3,700"]
    assert all(settled for settled, _ in frame.chosen.cells)
    html = desk_html(frame, picked=True)
    assert "<b>rows" not in html
    assert "&lt;b&gt;rows" in html
    assert "failed: " in html


def test_provisional_rows_of_the_chosen_query_are_marked() -> None:
    desk = desk_of_six()
    desk.run(rows=1_950)
    frame = frame_of(desk, "sums")
    assert frame.chosen is not None
    assert [settled for settled, _ in frame.chosen.cells][:2] == [False, True]
    assert "○ provisional" in still_desk_html(frame)


def test_a_choice_ends_with_the_query_and_a_desk_without_queries_is_shown() -> None:
    desk = desk_of_six()
    updates = DeskUpdates(desk, lambda _frame: None)
    updates.choose("never")
    assert updates.present().chosen is not None
    desk.remove("never")
    frame = updates.present()
    assert frame.chosen is None
    assert len(frame.lines) == 5
    for name in ("large", "sums", "<b>rows", "wide", "bad"):
        desk.remove(name)
    assert "No queries yet" in desk_html(updates.present())


def test_the_state_of_each_feed_is_shown() -> None:
    rows = iter([{"at": 1}, {"at": 2}])
    feed = wb.feeds.iterator(rows, schema=pa.schema({"at": pa.int64()}), time="at", name="ticks")
    desk = wb.desk(feed)
    desk.add("all", feed)
    desk.run()
    assert dict(frame_of(desk).facts)["ticks"] == str(desk.cost.feeds["ticks"])
    assert "ended" in desk_html(frame_of(desk))


def test_of_many_queries_those_that_cost_most_have_lines() -> None:
    events = wb.from_arrow({"at": range(100), "x": range(100)}, time="at", name="events")
    desk = wb.desk(events)
    for number in range(MAX_QUERIES + 20):
        desk.add(f"q{number}", events.where(col.x > number))
    desk.add("bad", events.select(y=(col.at - 10**6).cast("uint64")))
    desk.run()
    frame = frame_of(desk)
    assert (len(frame.lines), frame.hidden) == (MAX_QUERIES, 21)
    assert "bad" in {line.name for line in frame.lines}


def test_frames_come_while_the_desk_reads_on_another_thread() -> None:
    events = wb.from_arrow({"at": range(400_000), "x": range(400_000)}, time="at", name="events")
    desk = wb.desk(events)
    desk.add("sums", events.tumbling_window(100).aggregate(total=wb.sum(col.x)))
    frames: list[DeskFrame] = []
    updates = DeskUpdates(desk, frames.append, redraws_per_s=200)
    updates.start()
    reading = threading.Thread(target=lambda: [desk.run(rows=4_000) for _ in range(50)])
    reading.start()
    reading.join()
    desk.run()
    deadline = time.monotonic() + 60
    while not (frames and frames[-1].state == "finished") and time.monotonic() < deadline:
        time.sleep(0.01)
    updates.close()
    assert frames[-1].lines[0].rows == "4,000"
    assert len({frame.lines[0].rows_in for frame in frames}) > 1


def test_a_desk_is_shown_by_its_view_and_exported(tmp_path: Path) -> None:
    desk = desk_of_six()
    desk.run()
    view = desk.view(rows=4)
    assert isinstance(view, DeskView)
    assert display.mimebundle(desk)[0] == {"text/plain": repr(desk)}  # without a notebook
    html = view.choose("sums").save(tmp_path / "desk.html").read_text(encoding="utf-8")
    assert "newest first" in html
    assert "<script" not in html


CELL = """
feed = wb.feeds.synthetic(rate=20_000, speed=1.0, seed=3)
desk = wb.desk(feed)
desk.add("counts", feed.tumbling_window("1s").aggregate(n=wb.count()))
desk.add("busy", desk.stream("counts").where(col.n > wb.parameter("least", 10)))
desk.add("wide", feed.set_duration("10s"), budget=wb.Budget(bytes=2_000_000))
desk.start()
""".strip()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.long
def test_a_desk_in_a_notebook(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook(CELL, "desk.set('busy', least=11)", "desk.stop()")
    notebook.page.evaluate("jupyterapp.shell.collapseLeft()")
    notebook.run(1)
    notebook.wait_for_text(1, "speed|rows read")
    notebook.cell(1).get_by_role("button", name="Newest rows of counts").click()
    notebook.wait_for_text(1, "rows settled, newest first")
    notebook.wait_for_text(1, "○ provisional")
    notebook.wait_for_text(1, "budget is 2,000,000")
    notebook.run(2)
    notebook.wait_for_text(1, "least = 11")
    for theme in ("Light", "Dark"):
        notebook.theme(theme)
        notebook.picture(f"desk-{theme}", tmp_path)
    notebook.page.set_viewport_size({"width": 420, "height": 1_500})
    output = notebook.cell(1).locator(".jp-OutputArea")
    output.locator("th.wide").first.wait_for(state="hidden", timeout=START_S * 1000)
    reach = output.locator(".desk, .newest").evaluate_all(
        "all => Math.max(...all.map(each => each.getBoundingClientRect().right))")
    assert reach < 420
    notebook.picture("desk-narrow", tmp_path)
    notebook.run(3)
    notebook.wait_for_text(1, "stopped|running")
    assert notebook.problems == []

"""Streams end, or wait, when nobody sees them: what a page tells the kernel, in JupyterLab."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.workbench.lab import Notebook, Open

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STATE = "print('it is', view.run.state, view.run.metrics.rows)"
STATE_OF_FEED = STATE.replace("view", "read")
FEED = """
import itertools, time
beats = ({"at": time.sleep(0.01) or beat} for beat in itertools.count())
sensor = wb.feeds.iterator(beats, schema={"at": pa.int64()}, time="at", reorder_latency=0, name="sensor")
counts = sensor.tumbling_window(100).aggregate(beats=wb.count())
""".strip()
DEAF = "jupyterapp.shell.currentWidget.sessionContext.session.kernel.commsOverSubshells = 'disabled'"
DEAF_UNTIL = "import pathlib, time\nwhile not pathlib.Path('released').exists(): time.sleep(0.1)"
TWICE = "view = live.where(col.flights > 0).view()\ndisplay(view)\nview"
ALIVE = """
import gc
from whimbrel_workbench.live_view import LiveView
gc.collect()
print("alive:", sum(isinstance(each, LiveView) for each in gc.get_objects()))
""".strip()
LEFT = "[Bokeh.documents.length, document.querySelectorAll('style').length]"


def command(notebook: Notebook, name: str) -> None:
    notebook.page.evaluate("name => jupyterapp.commands.execute(name)", name)


def select(notebook: Notebook, number: int) -> None:
    notebook.page.keyboard.press("Escape")
    notebook.cell(number).locator(".jp-InputArea-prompt").click()


def state(notebook: Notebook, number: int) -> tuple[str, int]:
    """What the run of the view is doing, and the rows it has read."""
    notebook.run(number)
    found = re.search(r"it is (\w+) (\d+)", notebook.output(number))
    assert found is not None
    return found[1], int(found[2])


def wait_for_state(notebook: Notebook, number: int, *wanted: str, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while (now := state(notebook, number)[0]) not in wanted:
        assert time.monotonic() < deadline, f"still {now}"
        time.sleep(1)


@pytest.mark.long
def test_a_folded_output_waits_and_resumes_until_it_is_cleared(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("view = live.view()\nview", STATE)
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    select(notebook, 1)
    command(notebook, "notebook:hide-cell-outputs")
    chart.wait_for(state="hidden")
    wait_for_state(notebook, 2, "paused")
    rows = state(notebook, 2)[1]
    time.sleep(3)
    assert state(notebook, 2)[1] == rows
    notebook.picture("folded", tmp_path)
    select(notebook, 1)
    command(notebook, "notebook:show-cell-outputs")
    chart.wait_for()
    wait_for_state(notebook, 2, "running")
    notebook.wait_for_text(1, "running")
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    select(notebook, 1)
    command(notebook, "notebook:clear-cell-output")
    wait_for_state(notebook, 2, "paused", "stopped")


@pytest.mark.long
def test_a_view_out_of_sight_is_not_drawn_and_is_up_to_date_when_it_comes_back(open_notebook: Open) -> None:
    notebook = open_notebook("view = live.view()\nview", STATE, "\n".join(["print(1)"] * 120))
    notebook.run(1)
    notebook.wait_for_chart(1)
    box = notebook.page.locator(".jp-WindowedPanel-outer").first
    box.evaluate("place => place.scrollTo(0, place.scrollHeight)")
    drawn = """() => Bokeh.documents.flatMap(each => [...each._all_models.values()])
        .filter(each => each.type === 'panel.models.markup.HTML').map(each => each.text).join()"""
    before, deadline = "", time.monotonic() + 30
    while (now := notebook.page.evaluate(drawn)) != before:
        assert time.monotonic() < deadline, "it is still drawn"
        before = now
        time.sleep(3)
    box.evaluate("place => place.scrollTo(0, 0)")
    notebook.page.wait_for_function(f"before => ({drawn})() !== before", arg=before, timeout=10_000)
    assert state(notebook, 2)[0] == "running"


def open_in_a_new_window(notebook: Notebook) -> None:
    """Close the tab as a reader does, and open what was saved."""
    again = notebook.page.context.browser.new_page(viewport={"width": 1280, "height": 1500})
    with notebook.page.expect_event("close"):  # a page that is not asked first has half a second to say that it ends
        notebook.page.close(run_before_unload=True)
    notebook.page = again
    notebook.open()


@pytest.mark.long
def test_the_streams_of_a_closed_tab_end(open_notebook: Open) -> None:
    """Its goodbye was put off until the kernel had answered to what it had said before, and was never sent."""
    notebook = open_notebook("view = live.view()\nview", f"{FEED}\nread = counts.view()\nread", STATE, STATE_OF_FEED)
    for number in (1, 2):
        notebook.run(number)
        notebook.wait_for_chart(number)
    notebook.save()
    open_in_a_new_window(notebook)
    for number in (3, 4):
        wait_for_state(notebook, number, "stopped", timeout_s=15)


@pytest.mark.long
def test_a_page_that_the_kernel_does_not_hear_shows_the_last_frame_and_so_when_opened_again(
        open_notebook: Open, tmp_path: Path) -> None:
    """Saved before the kernel knows of it, a notebook holds the scripts; opened again, it showed nothing at all."""
    notebook = open_notebook(f"view = live.view()\ndisplay(view)\n{DEAF_UNTIL}")
    notebook.page.evaluate(DEAF)
    notebook.cell(1).locator(".jp-InputArea-editor").click()
    notebook.page.keyboard.press("Shift+Enter")
    chart, last = notebook.cell(1).locator(".bk-Figure").first, notebook.cell(1).get_by_text("Last frame, running")
    last.wait_for()
    chart.wait_for(state="hidden")  # it may have been seen for two seconds
    notebook.picture("unknown-to-the-kernel", tmp_path)
    assert "application/vnd.holoviews_load.v0+json" in str(notebook.save())
    (notebook.lab.folder / "released").touch()
    chart.wait_for()
    last.wait_for(state="hidden")
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    open_in_a_new_window(notebook)
    last = notebook.cell(1).get_by_text("Last frame, running")
    last.wait_for()
    notebook.picture("again", tmp_path)
    assert not notebook.cell(1).locator(".bk-Figure").is_visible()


@pytest.mark.long
def test_a_view_whose_kernel_was_restarted_is_the_last_frame(open_notebook: Open, tmp_path: Path) -> None:
    """It said "running", and its buttons could be pressed."""
    notebook = open_notebook("live")
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    cell = notebook.cell(1)
    cell.locator(".state", has_text="running").wait_for()
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))  # the kernel knows that it is drawn
    assert not cell.get_by_role("alert").is_visible()
    notebook.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    cell.get_by_role("alert").get_by_text("the kernel was restarted").wait_for()
    notebook.picture("restarted", tmp_path)
    assert chart.is_visible()
    assert not cell.locator(".state").is_visible()
    assert cell.locator("button", has_text="Stop run").evaluate("each => each.inert")
    assert notebook.problems == []


@pytest.mark.long
def test_a_view_whose_kernel_is_silent_is_the_last_frame_for_so_long(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("live", "import os\nprint('kernel', os.getpid())")
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    notebook.run(2)
    kernel = int(notebook.output(2).split()[-1])
    cell = notebook.cell(1)
    said, state_shown = cell.get_by_role("alert"), cell.locator(".state", has_text="running")
    stop = cell.locator("button", has_text="Stop run")
    os.kill(kernel, signal.SIGSTOP)
    try:
        said.get_by_text("the kernel does not answer").wait_for()
        notebook.picture("silent", tmp_path)
        assert (state_shown.is_visible(), stop.evaluate("each => each.inert")) == (False, True)
    finally:
        os.kill(kernel, signal.SIGCONT)
    state_shown.wait_for()
    assert (said.is_visible(), stop.evaluate("each => each.inert")) == (False, False)
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    assert notebook.problems == []


@pytest.mark.long
def test_a_view_whose_cell_was_run_in_another_window_says_so(open_notebook: Open, tmp_path: Path) -> None:
    """It said that the kernel does not answer."""
    notebook = open_notebook("live")
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    cell = notebook.cell(1)
    page = notebook.page.context.browser.new_page(viewport={"width": 1280, "height": 1500})
    other = Notebook(notebook.lab, page, notebook.name)
    other.run(1)
    moving = other.wait_for_chart(1)
    said = cell.get_by_role("alert")
    said.get_by_text("run again").wait_for()
    time.sleep(4)
    notebook.picture("run-elsewhere", tmp_path)
    assert said.inner_text() == "Last frame: the cell was run again, or its output removed, in another window."
    assert (chart.is_visible(), cell.locator(".state").is_visible()) == (True, False)
    other.wait_for_change(moving, since=other.screenshot(moving))
    assert (notebook.problems, other.problems) == ([], [])
    page.close()


@pytest.mark.long
def test_a_second_output_of_a_cell_is_the_last_frame_and_takes_nothing_with_it(
        open_notebook: Open, tmp_path: Path) -> None:
    """It was blank, and when it was closed the view in the notebook was gone, too."""
    notebook = open_notebook("live")
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    select(notebook, 1)
    command(notebook, "notebook:create-output-view")
    notebook.page.locator(".jp-LinkedOutputView").get_by_text("Last frame, running").wait_for()
    assert not notebook.cell(1).get_by_text("Last frame, running").is_visible()
    notebook.picture("second-output", tmp_path)
    command(notebook, "application:close")
    notebook.page.locator(".jp-LinkedOutputView").wait_for(state="detached")
    notebook.cell(1).scroll_into_view_if_needed()
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    time.sleep(4)
    assert not notebook.cell(1).get_by_role("alert").is_visible()
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    notebook.run(1)
    notebook.wait_for_chart(1)
    notebook.cell(1).get_by_text("Last frame, running").wait_for(state="hidden")
    assert notebook.problems == []


@pytest.mark.long
def test_two_views_move_and_runs_leave_the_tab_as_it_was(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("live", TWICE, ALIVE)
    for number in (1, 2):
        notebook.run(number)
    charts = [notebook.wait_for_chart(1), notebook.wait_for_chart(2), notebook.cell(2).locator(".bk-Figure").nth(1)]
    charts[2].wait_for()
    notebook.picture("two", tmp_path)
    for chart, seen in [(chart, notebook.screenshot(chart)) for chart in charts]:
        notebook.wait_for_change(chart, since=seen)
    notebook.press(1, "Fit axes")
    time.sleep(4)
    before = notebook.page.evaluate(LEFT)
    for _ in range(6):
        notebook.run(1)
    notebook.wait_for_chart(1)
    time.sleep(4)
    documents, styles = notebook.page.evaluate(LEFT)
    assert documents == before[0]
    assert styles <= before[1] + 2
    chart = notebook.wait_for_chart(2)
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    notebook.run(3)
    notebook.wait_for_text(3, r"alive: 2\b")  # the newest of the first cell, and the one that is shown twice
    assert notebook.problems == []

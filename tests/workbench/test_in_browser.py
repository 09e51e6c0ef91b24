"""What a reader sees in JupyterLab, without internet."""

from __future__ import annotations

import re
import statistics
import time
from pathlib import Path

import jupytext
import nbformat
import pytest
from playwright.sync_api import Browser

from tests.workbench.lab import Lab, Notebook, Open
from whimbrel_workbench.frames.change_tracking import LINGER_S

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WINDOWS = Path(__file__).parents[2] / "notebooks" / "02_windows_and_lifetimes.py"
ANSWER = "asked = globals().get('asked', -1) + 1\nprint('answer', asked)"
FAILING = """
big = pa.table({"at": [0, 1, 2], "x": [2**62, 2**62, 2**62]})
wb.from_arrow(big, time="at").tumbling_window(10).aggregate(total=wb.sum(col.x))
""".strip()
LISTEN = """() => {
    const send = WebSocket.prototype.send
    window.said = []
    WebSocket.prototype.send = function (data) {
        window.said.push(typeof data === "string" ? data : new TextDecoder().decode(data))
        return send.call(this, data)
    }
}"""


def test_a_live_chart_moves_while_cells_answer(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("live", ANSWER)
    idle_s = statistics.median(notebook.run(2) for _ in range(5))
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    notebook.page.evaluate(LISTEN)
    time.sleep(2)
    first = notebook.screenshot(chart)
    notebook.picture("live-1", tmp_path)
    answers_s = []
    for number in range(12):
        answers_s.append(notebook.run(2))
        notebook.wait_for_text(2, rf"answer {number + 5}\b", timeout_s=10)
    live_s = statistics.median(answers_s)
    time.sleep(3)
    second = notebook.screenshot(chart)
    notebook.picture("live-2", tmp_path)
    print(f"\na cell answers after {idle_s * 1000:.0f} ms when idle, {live_s * 1000:.0f} ms with a live view")
    assert first != second
    notebook.wait_for_text(1, "running")
    assert live_s < idle_s + 1
    said = [each for each in notebook.page.evaluate("window.said") if "PATCH-DOC" in each]
    assert said  # what was painted; not what the kernel has sent, back to it
    assert not [each for each in said if '"attr":"data"' in each or '"attr":"text"' in each]
    assert notebook.problems == []


def test_buttons_steer_the_run(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("view = live.view()\nview", "print(view.run.state)")
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    time.sleep(1)
    notebook.cell(1).get_by_role("button", name="Pause", exact=True).focus()
    notebook.page.keyboard.press("Enter")
    notebook.wait_for_text(1, "paused")
    time.sleep(LINGER_S + 1)  # until marks of what changed have faded
    still = notebook.screenshot(chart)
    time.sleep(2)
    assert notebook.screenshot(chart) == still
    notebook.picture("paused", tmp_path)
    notebook.page.keyboard.press("Enter")  # the button is called Resume now, and has kept the focus
    notebook.wait_for_text(1, "running")
    notebook.wait_for_change(chart, since=still)
    notebook.press(1, "Stop run")
    notebook.wait_for_text(1, "stopped")
    notebook.run(2)
    notebook.wait_for_text(2, "stopped")
    time.sleep(LINGER_S + 1)
    kept = notebook.screenshot(chart)
    time.sleep(2)
    assert notebook.screenshot(chart) == kept
    notebook.press(1, "Restart run")
    notebook.wait_for_text(1, "running")
    notebook.press(1, "Discard result")
    notebook.wait_for_text(1, "The result was discarded")
    notebook.picture("dropped", tmp_path)
    assert notebook.problems == []


def test_a_failing_query_shows_what_and_where(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook(FAILING)
    notebook.run(1)
    notebook.wait_for_text(1, "leaves int64")
    notebook.wait_for_text(1, "^failed|✕failed|failed$")
    shown = notebook.output(1)
    notebook.picture("failed", tmp_path)
    assert "aggregate(total=sum(col.x))" in shown
    assert "failed" in shown
    assert "Traceback" not in shown


@pytest.mark.long
def test_running_a_cell_again_ends_what_it_ran_before(open_notebook: Open) -> None:
    count = "import threading; print([thread.name for thread in threading.enumerate()].count('whimbrel-run'), 'runs')"
    notebook = open_notebook("live", count)
    for _ in range(3):
        notebook.run(1)
        notebook.wait_for_chart(1)
    time.sleep(1)
    notebook.run(2)
    notebook.wait_for_text(2, "^1 runs")


@pytest.mark.long
def test_a_saved_notebook_shows_its_last_frame(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("per_hour")
    notebook.run(1)
    notebook.wait_for_text(1, "finished")
    notebook.wait_for_chart(1)
    notebook.cell(1).get_by_text("Last frame, finished").wait_for(state="hidden")
    time.sleep(3)  # a page that draws slowly shows the last frame until it has drawn
    assert notebook.cell(1).get_by_text("Last frame, finished").count() == 1
    assert not notebook.cell(1).get_by_text("Last frame, finished").is_visible()
    notebook.picture("finished", tmp_path)
    saved = notebook.save()
    assert len(str(saved)) < 500_000
    notebook.lab.end_kernels()
    notebook.open()
    notebook.cell(1).get_by_text("Last frame, finished").wait_for()
    notebook.cell(1).locator("img").first.wait_for()
    assert notebook.cell(1).locator(".bk-Figure").count() == 0
    notebook.picture("saved", tmp_path)


@pytest.mark.long
def test_a_view_moves_while_the_cells_after_it_run_and_after_them(open_notebook: Open, tmp_path: Path) -> None:
    """When all cells ran again, the view's first message waited for them: it showed its last frame until they ended."""
    notebook = open_notebook("live", "import pathlib, time\nwhile not pathlib.Path('over').exists(): time.sleep(0.1)")
    notebook.page.evaluate("void jupyterapp.commands.execute('notebook:restart-run-all')")
    notebook.page.locator(".jp-Dialog .jp-mod-accept").click()
    chart = notebook.wait_for_chart(1)
    notebook.page.mouse.move(5, 5)  # a chart that is pointed at stands still
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    notebook.picture("busy", tmp_path)
    prompt = notebook.cell(2).locator(".jp-InputArea-prompt")
    assert "[*]" in prompt.inner_text()
    (notebook.lab.folder / "over").touch()
    prompt.get_by_text(re.compile(r"\d")).wait_for()
    time.sleep(2)  # the messages after the cells have come to the page by then
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    assert "[*]" not in prompt.inner_text()
    assert notebook.problems == []


@pytest.mark.long
@pytest.mark.share(2)
@pytest.mark.parametrize(
    "before", ("import holoviews as hv; hv.extension('bokeh')", "import panel as pn; pn.extension()")
)
def test_scripts_that_were_asked_from_the_internet_before_blank_nothing(open_notebook: Open, before: str) -> None:
    notebook = open_notebook(before, "live")
    notebook.run(1)
    notebook.run(2)
    notebook.wait_for_chart(2)


@pytest.mark.long
def test_holoviews_overlays_move_with_the_run(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("view = live.view()\nview", "import holoviews as hv\nhv.extension('bokeh', inline=True)\n"
                             "view.hv * hv.HLine(120).opts(color='black')")
    notebook.run(1)
    notebook.wait_for_chart(1)
    notebook.run(2)
    chart = notebook.wait_for_chart(2)
    time.sleep(2)
    notebook.wait_for_change(chart, since=notebook.screenshot(chart))
    notebook.picture("holoviews", tmp_path)


@pytest.mark.long
def test_the_notebook_of_windows_is_drawn_without_the_internet(lab: Lab, chromium: Browser) -> None:
    """Its drawings were blank: HoloViews loads its scripts from the internet unless they are embedded."""
    nbformat.write(jupytext.read(WINDOWS), lab.folder / WINDOWS.with_suffix(".ipynb").name)
    notebook = Notebook(lab, chromium.new_page(), WINDOWS.with_suffix(".ipynb").name)
    for number in range(3):
        notebook.run(number)
    notebook.wait_for_chart(1)
    notebook.cell(2).locator(".bk-Figure").nth(3).wait_for()
    notebook.page.close()
    lab.end_kernels()


@pytest.mark.long
def test_a_page_loaded_again_shows_the_last_frame_and_new_views_move(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("live", "live")
    notebook.run(1)
    notebook.wait_for_chart(1)
    share = re.compile(r"Last frame, running: ([\d.]+)% read")
    first = float(share.search(notebook.output(1))[1])
    time.sleep(6)
    assert float(share.search(str(notebook.save()))[1]) > first  # renewed while it runs
    notebook.open()
    notebook.cell(1).get_by_text("Last frame, running").wait_for()
    notebook.picture("loaded-again", tmp_path)
    notebook.run(2)
    notebook.wait_for_chart(2)


@pytest.mark.long
def test_zoom_survives_new_data(open_notebook: Open) -> None:
    notebook = open_notebook("view = live.view()\nview")
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    ranges = """() => {
        const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
        const drawn = models.find(model => model.type === "Figure" && model.below[0]?.type === "DatetimeAxis")
        return drawn && [drawn.x_range.start, drawn.x_range.end]
    }"""
    notebook.page.wait_for_function(ranges)
    time.sleep(1)
    box = chart.bounding_box()
    notebook.page.mouse.move(box["x"] + 400, box["y"] + 100)
    following = notebook.page.evaluate(ranges)
    follow = notebook.cell(1).get_by_role("button", name="Follow data")
    while not follow.is_visible():  # the axis would be longer by now
        notebook.page.mouse.move(box["x"] + 400 + time.time() % 5, box["y"] + 100)
        time.sleep(0.2)
    assert notebook.page.evaluate(ranges) == following
    notebook.page.mouse.move(box["x"] + 400, box["y"] + 100)
    notebook.page.mouse.down()
    notebook.page.mouse.move(box["x"] + 300, box["y"] + 100, steps=5)
    notebook.page.mouse.up()
    held = notebook.page.evaluate(ranges)
    assert held != following
    time.sleep(8)
    assert notebook.page.evaluate(ranges) == held


@pytest.mark.long
def test_several_latencies_are_one_picture(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook('per_hour.at_latencies("15m", "1h", "2h").on(wb.replay(history, speed=20_000, '
                             'reorder_latency="2h"))')
    notebook.run(1)
    notebook.wait_for_chart(1)
    notebook.wait_for_text(1, r"settled after.*15m", timeout_s=20)
    notebook.wait_for_text(1, r"[1-9][\d,]* updated", timeout_s=20)
    time.sleep(5)
    notebook.picture("bands", tmp_path)
    assert notebook.problems == []

"""Early answers in JupyterLab: they refine by themselves, and a reader stops, steers and remembers."""

from __future__ import annotations

import re
import time
from math import isnan
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from tests.workbench.lab import Notebook, Open

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EARLY = """
many = 4_000_000
chance = np.random.default_rng(3)
place = chance.integers(0, 5, many)
flights = wb.from_arrow(pa.table({
    "at": (1_704_067_200 + np.arange(many) * 8).astype("datetime64[s]"),
    "airport": np.array(["JFK", "LGA", "EWR", "BOS", "ORD"])[place],
    "delay": chance.exponential(9, many) * (1 + 0.2 * place) * (1 + 0.3 * np.sin(np.arange(many) / many * 20)),
}), time="at", name="flights")
early = flights.group_by("airport").tumbling_window("3660d").aggregate(
    delay=wb.mean(col.delay), worst=wb.max(col.delay))
weekly = flights.tumbling_window("7d").aggregate(delay=wb.mean(col.delay))
progress = early.progressive(every="0.1%", block_rows=250, seed=1).until(error="5%", value="delay")
weeks = weekly.progressive(every="0.5%", block_rows=25, seed=1).until(seconds=1)
""".strip()
MISLED = """
import tempfile
import pyarrow.parquet as pq
from whimbrel.progressive.sampling import all_blocks
all_blocks._FEW_VALUES = 1_000  # as a file that is too large to evaluate all of its blocks first
many = 400_000
chance = np.random.default_rng(4)
place = np.arange(many) % 3
delay = chance.exponential(20 + 2.0 * place)
delay[127_902] = 3e6  # a flight to JFK that no estimate knows of: no footer says which row group holds it
table = pa.table({"at": np.arange(many), "airport": np.array(["JFK", "LGA", "EWR"])[place], "delay": delay})
file = tempfile.mkdtemp() + "/flights.parquet"
pq.write_table(table, file, row_group_size=100, write_statistics=["at", "airport"])
flights = wb.read_parquet(file, time="at", name="flights")
early = flights.group_by("airport").tumbling_window(many).aggregate(n=wb.count(), delay=wb.mean(col.delay))
misled = early.progressive(every="0.1%", block_rows=100, seed=1).until(ranking_stable=3, value="delay")
""".strip()
WORDS = """() => Bokeh.documents.flatMap(each => [...each._all_models.values()])
    .filter(each => each.type === "ColumnDataSource" && each.columns().includes("before"))
    .map(each => each.get_column("key").map((key, at) => [key, each.get_column("words")[at],
        each.get_column("before")[at], each.get_column("reach")[at]]))[0]"""
FOCUSED = """() => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at.labels?.[0]?.innerText.trim() || at.innerText.trim()
}"""
SOME_TIME = r"(about \d+ (s|min)|less than 1 s)"
PRINT_STATE = "print('so far', progress.latest.fraction_read < 1, [str(each) for each in progress.claims])"


def wait_for_said(notebook: Notebook, cell: int, part: str, text: str) -> None:
    """Wait until a part of a view, by its name, says so."""
    said = notebook.cell(cell).get_by_label(part).get_by_text(re.compile(text))
    said.locator("visible=true").first.wait_for()


@pytest.mark.long
def test_early_answers_are_stopped_remembered_finished_and_steered(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook(EARLY, 'progress.view(kind="bar")', PRINT_STATE, "weeks.view()")
    notebook.run(1)
    notebook.run(2)
    notebook.wait_for_chart(2)
    notebook.wait_for_text(2, "error at most 5%, reached")  # it read by itself until then
    wait_for_said(notebook, 2, "Error of delay", r"^error at most [45][\d.]*% \(95% confidence\)")
    notebook.cell(2).get_by_label("The error bound fell from").locator("visible=true").first.wait_for()
    notebook.wait_for_text(2, "to exact")
    notebook.picture("progress-bars", tmp_path)
    box = notebook.wait_for_chart(2).bounding_box()
    notebook.page.mouse.click(box["x"] + 100, box["y"] + 20)
    notebook.wait_for_text(2, "(ORD|BOS|EWR|LGA|JFK) is in all remaining blocks")
    notebook.press(2, "Pin estimate")
    wait_for_said(notebook, 2, "Pinned", "estimate at")
    notebook.press(2, "▸ Priorities")
    notebook.cell(2).get_by_label("row").select_option("ORD")
    notebook.cell(2).get_by_label("compared with").select_option("JFK")
    notebook.press(2, "Add claim")
    wait_for_said(notebook, 2, "Pinned", r"ORD > JFK \(delay\)")
    notebook.press(2, "Reset priority")
    notebook.cell(2).get_by_text("in all remaining blocks").locator("visible=true").wait_for(state="hidden")
    notebook.press(2, "Prioritize row")
    notebook.wait_for_text(2, "ORD is in all remaining blocks")
    notebook.run(3)
    notebook.wait_for_text(3, r"so far True \['ORD > JFK")
    notebook.press(2, "Resume")
    notebook.press(2, "Pause")
    notebook.wait_for_text(2, "^paused|❚❚paused|paused$")
    notebook.press(2, "Stop here")
    notebook.wait_for_text(2, "stopped")
    notebook.press(2, "Finish query")
    notebook.wait_for_text(2, "finished", timeout_s=240)  # four million rows, on a machine that may be busy
    wait_for_said(notebook, 2, "Error of delay", "^exact")
    wait_for_said(notebook, 2, "Pinned", "● confirmed")
    notebook.picture("progress-bars-final", tmp_path)
    notebook.cell(2).get_by_label("Shown value").locator("select").select_option("worst")
    wait_for_said(notebook, 2, "Error of worst", "^exact")
    a_stretch_of_time_that_is_dragged_over_is_read_first(notebook, 4, tmp_path)
    assert notebook.problems == []


def a_stretch_of_time_that_is_dragged_over_is_read_first(notebook: Notebook, cell: int, tmp_path: Path) -> None:
    notebook.run(cell)
    chart = notebook.wait_for_chart(cell)
    notebook.wait_for_text(cell, "Drag over a time range")
    notebook.wait_for_text(cell, "1 s, reached")
    chart.scroll_into_view_if_needed()
    notebook.picture("progress-lines", tmp_path)
    first = notebook.cell(cell).get_by_text(re.compile(r"prioritized: 2024-\d\d-\d\d.* blocks left"))
    deadline = time.monotonic() + 60
    while not first.locator("visible=true").count():
        assert time.monotonic() < deadline, "nothing is read first"
        drag(notebook, chart)
        time.sleep(3)  # once more, if the page was laid out again meanwhile
    notebook.press(cell, "Resume")
    notebook.wait_for_text(cell, r"^([2-9]|\d\d+) of \d+ rows exact")
    notebook.press(cell, "Pause")
    notebook.picture("progress-steered", tmp_path)
    notebook.press(cell, "Discard result")
    notebook.wait_for_text(cell, "The result was discarded")
    notebook.press(cell, "Restart run")
    notebook.wait_for_text(cell, r"^0 of \d+ rows exact")


def drag(notebook: Notebook, chart: Locator) -> None:
    """Over a tenth of a chart, as a hand would."""
    box, mouse = chart.bounding_box(), notebook.page.mouse
    middle = box["y"] + box["height"] / 2
    mouse.move(box["x"] + 0.5 * box["width"], middle)
    mouse.down()
    for share in (0.52, 0.55, 0.58, 0.6):
        mouse.move(box["x"] + share * box["width"], middle)
        time.sleep(0.1)
    mouse.up()


@pytest.mark.long
def test_what_an_early_answer_claimed_by_keyboard_is_flagged_when_it_was_wrong(
        open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook(MISLED, 'misled.view(kind="bar", y="delay")')
    notebook.run(1)
    notebook.run(2)
    notebook.wait_for_chart(2)
    notebook.wait_for_text(2, ", reached")
    notebook.wait_for_text(2, rf"^{SOME_TIME} to [\d.]+%, {SOME_TIME} to exact$")
    assert all(isnan(before) for _, _, before, _ in notebook.page.evaluate(WORDS))
    notebook.cell(2).get_by_role("button", name="Finish query", exact=True).focus()
    press_by_keyboard(notebook, "Pin estimate")
    wait_for_said(notebook, 2, "Pinned", "estimate at")
    press_by_keyboard(notebook, "▸ Priorities")
    notebook.cell(2).get_by_label("row", exact=True).wait_for()
    choose_by_keyboard(notebook, "row", "EWR")
    press_by_keyboard(notebook, "Prioritize row")
    notebook.wait_for_text(2, "EWR is in all remaining blocks")
    press_by_keyboard(notebook, "Reset priority")
    choose_by_keyboard(notebook, "compared with", "JFK")
    press_by_keyboard(notebook, "Add claim")
    wait_for_said(notebook, 2, "Pinned", r"EWR > JFK \(delay\)")
    notebook.picture("progress-claimed", tmp_path)
    notebook.press(2, "Finish query")
    notebook.wait_for_text(2, "finished", timeout_s=240)
    wait_for_said(notebook, 2, "Error of delay", "^exact")
    wait_for_said(notebook, 2, "Pinned", r"now: EWR < JFK \(delay\), exactly")
    wait_for_said(notebook, 2, "Pinned", "2 of 3 exact values are within their intervals, except JFK")
    assert notebook.cell(2).get_by_text("⚑ proved wrong").locator("visible=true").count() == 2
    said = notebook.page.evaluate(WORDS)
    assert {key for key, words, _, _ in said if words.endswith("⚑ proved wrong")} == {"JFK", "EWR"}
    assert all(" from " in words and 15 < before < 30 and before <= reach for _, words, before, reach in said)
    notebook.picture("progress-overturned", tmp_path)
    assert notebook.problems == []


def press_by_keyboard(notebook: Notebook, name: str) -> None:
    """Go on to a button, and press it."""
    go_on_to(notebook, name)
    notebook.page.keyboard.press("Enter")


def choose_by_keyboard(notebook: Notebook, label: str, row: str) -> None:
    """Go on to a choice, and down to a row."""
    go_on_to(notebook, label)
    choice = notebook.cell(2).get_by_label(label, exact=True)
    for _ in range(3):
        if choice.input_value() == row:
            return
        notebook.page.keyboard.press("ArrowDown")
    assert choice.input_value() == row


def go_on_to(notebook: Notebook, name: str) -> None:
    for _ in range(30):
        if notebook.page.evaluate(FOCUSED) == name:
            return
        notebook.page.keyboard.press("Tab")
    raise AssertionError(f"no key leads to {name}")

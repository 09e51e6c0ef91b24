"""The bars above a view steer the run and its replay, by mouse and by keyboard alone."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from tests.workbench.lab import Notebook, Open

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SHARED = """
clock = wb.ReplayClock(speed=20_000)
feed = wb.replay(history, clock=clock, reorder_latency="2h", late="drop")
""".strip()
SEEN = "seen = globals().get('seen', 0) + 1; print(seen, 'seen:', clock.state, clock.now, clock.speed)"
DAILY = 'feed.group_by("origin").tumbling_window("1d").aggregate(n=wb.count()).view(transport=False)'
FOCUS = """() => {
  let here = document.activeElement
  while (here?.shadowRoot?.activeElement) here = here.shadowRoot.activeElement
  const shown = getComputedStyle(here)
  return [here.className.includes("noUi-handle") ? "slider" : (here.innerText || here.tagName).trim().split("\\n")[0],
          shown.outlineStyle !== "none" && parseFloat(shown.outlineWidth) >= 1]
}"""


def instant(notebook: Notebook, cell: int) -> datetime:
    """What a view's simulated clock shows."""
    shown = notebook.cell(cell).get_by_role("timer").locator("b").inner_text()
    return datetime.fromisoformat(shown)


def held(notebook: Notebook, cell: int) -> datetime:
    """Where a view's clock stands, once it does."""
    notebook.cell(cell).get_by_role("timer").get_by_text("paused").wait_for()
    before, now = None, instant(notebook, cell)
    while before != now:
        time.sleep(0.7)
        before, now = now, instant(notebook, cell)
    return now


def wait_for(notebook: Notebook, cell: int, low: str, high: str, timeout_s: float = 20) -> None:
    """Wait until a view's clock shows an instant between two."""
    deadline = time.monotonic() + timeout_s
    while not low <= instant(notebook, cell).isoformat(" ") <= high:
        assert time.monotonic() < deadline, f"it shows {instant(notebook, cell)}"
        time.sleep(0.1)


def slider(notebook: Notebook, cell: int) -> Locator:
    return notebook.cell(cell).locator(".noUi-target")


def click_at(notebook: Notebook, cell: int, share: float) -> None:
    box = slider(notebook, cell).bounding_box()
    notebook.page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


def press_tab_to(notebook: Notebook, wanted: str) -> None:
    """Go on to what is called so, by keyboard; where the focus is can be seen."""
    for _ in range(60):
        notebook.page.keyboard.press("Tab")
        name, visible = notebook.page.evaluate(FOCUS)
        if wanted in name:
            assert visible, f"the focus on {name!r} cannot be seen"
            return
    raise AssertionError(f"no way to {wanted!r} by the Tab key")


def test_one_bar_steers_all_views_of_a_page(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook(SHARED, "per_hour.on(feed)", SEEN, DAILY)
    for number in (1, 2, 4):
        notebook.run(number)
    notebook.wait_for_chart(2)
    second = notebook.wait_for_chart(4)
    assert notebook.cell(4).get_by_role("timer").count() == 0
    notebook.press(2, "❚❚ Pause time")
    notebook.wait_for_text(4, "paused")
    here, still = held(notebook, 2), second.screenshot()
    time.sleep(1)
    assert (instant(notebook, 2), second.screenshot()) == (here, still)
    notebook.press(2, "Step")
    wait_for(notebook, 2, (here + timedelta(seconds=1)).isoformat(" "), "2014")
    click_at(notebook, 2, 0.5)
    wait_for(notebook, 2, "2013-12-16 00", "2013-12-17 12")
    notebook.wait_for_change(second, since=still)
    notebook.picture("transport-seek", tmp_path)
    click_at(notebook, 2, 0.1)
    wait_for(notebook, 2, "2013-12-04 00", "2013-12-04 12")
    notebook.run(3)
    notebook.wait_for_text(3, "1 seen: paused 2013-12-04")
    notebook.cell(2).get_by_label("speed").select_option("\N{MULTIPLICATION SIGN}100,000")
    notebook.press(2, "▶ Play")
    notebook.wait_for_text(2, "finished", timeout_s=90)
    notebook.wait_for_text(4, "finished")
    notebook.run(3)
    notebook.wait_for_text(3, "2 seen: ended 2014-01-01.* 100000.0")
    notebook.picture("transport-ended", tmp_path)
    notebook.press(2, "▶ Play")
    notebook.wait_for_text(2, "running")
    notebook.wait_for_text(4, "running")
    wait_for(notebook, 2, "2013-12-01", "2013-12-31")
    assert notebook.problems == []


def test_runs_are_steered_by_keyboard(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook("view = live.view()\nview", "print('state:', view.run.state, view.run.clock.state)")
    notebook.run(1)
    notebook.wait_for_chart(1)
    keys = notebook.page.keyboard
    keys.press("Escape")
    press_tab_to(notebook, "Pause")
    keys.press("Space")
    notebook.wait_for_text(1, "paused")
    time.sleep(0.5)
    assert notebook.page.evaluate(FOCUS)[0] == "Resume", "a button that changes keeps the focus"
    keys.press("Enter")
    notebook.wait_for_text(1, "running")
    time.sleep(0.5)
    assert notebook.page.evaluate(FOCUS)[0] == "Pause", "JupyterLab has other plans with Enter"
    press_tab_to(notebook, "Pause time")
    notebook.picture("keyboard-focus", tmp_path)
    keys.press("Enter")
    before = held(notebook, 1)
    press_tab_to(notebook, "Step")
    keys.press("Space")
    wait_for(notebook, 1, (before + timedelta(seconds=1)).isoformat(" "), "2014")
    press_tab_to(notebook, "slider")
    assert notebook.problems == []


@pytest.mark.parametrize("theme", ("Light", "Dark"))
def test_bars_fit_wide_and_narrow_pages(open_notebook: Open, theme: str, tmp_path: Path) -> None:
    notebook = open_notebook("live")
    notebook.theme(theme)
    notebook.run(1)
    notebook.wait_for_chart(1)
    for width in (1280, 700):
        notebook.page.set_viewport_size({"width": width, "height": 1100})
        if width == 700:
            notebook.page.keyboard.press("Escape")
            notebook.page.keyboard.press("Control+b")
        time.sleep(2)
        notebook.picture(f"transport-{width}-{theme.lower()}", tmp_path)
        output = notebook.cell(1).locator(".jp-OutputArea-output").last.bounding_box()
        for button in notebook.cell(1).get_by_role("button").all():
            box = button.bounding_box()
            assert box is None or (output["x"] <= box["x"] and box["x"] + box["width"] <= output["x"] + output["width"])
        shown = notebook.output(1)
        assert re.search(r"age\s+-?\d", shown)
        assert re.search(r"late\s+0 dropped, 0 adjusted", shown)

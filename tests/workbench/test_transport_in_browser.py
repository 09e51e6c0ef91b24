"""The bars above a view steer the run and its replay."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from tests.workbench.lab import Notebook, Open
from whimbrel_workbench.frames.change_tracking import LINGER_S

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SHARED = """
clock = wb.ReplayClock(speed=20_000)
feed = wb.replay(history, clock=clock, reorder_latency="2h", late="drop")
""".strip()
SEEN = "seen = globals().get('seen', 0) + 1; print(seen, 'seen:', clock.state, clock.now, clock.speed)"
DAILY = 'feed.group_by("origin").tumbling_window("1d").aggregate(n=wb.count()).view(transport=False)'


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


@pytest.mark.long
def test_one_bar_steers_all_views_of_a_page(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook(SHARED, "per_hour.on(feed)", SEEN, DAILY)
    for number in (1, 2, 4):
        notebook.run(number)
    notebook.wait_for_chart(2)
    second = notebook.wait_for_chart(4)
    assert notebook.cell(4).get_by_role("timer").count() == 0
    notebook.press(2, "❚❚ Pause replay")
    notebook.wait_for_text(4, "paused")
    here = held(notebook, 2)
    time.sleep(LINGER_S + 1)  # until marks of what changed have faded
    still = second.screenshot()
    time.sleep(1)
    assert (instant(notebook, 2), second.screenshot()) == (here, still)
    notebook.press(2, "Step replay")
    wait_for(notebook, 2, (here + timedelta(seconds=1)).isoformat(" "), "2014")
    here = held(notebook, 2)
    notebook.cell(2).get_by_label("by").select_option("1 day")
    notebook.press(2, "Step replay")  # at once: the choice and the click come in one message
    wait_for(notebook, 2, *((here + timedelta(days=days)).isoformat(" ") for days in (1, 1.5)))
    click_at(notebook, 2, 0.5)
    wait_for(notebook, 2, "2013-12-16 00", "2013-12-17 12")
    notebook.wait_for_change(second, since=still)
    notebook.picture("transport-seek", tmp_path)
    click_at(notebook, 2, 0.1)
    wait_for(notebook, 2, "2013-12-04 00", "2013-12-04 12")
    notebook.run(3)
    notebook.wait_for_text(3, "1 seen: paused 2013-12-04")
    notebook.cell(2).get_by_label("speed").select_option("\N{MULTIPLICATION SIGN}100,000")
    notebook.press(2, "▶ Start replay")
    notebook.wait_for_text(2, "finished", timeout_s=90)
    notebook.wait_for_text(4, "finished")
    notebook.run(3)
    notebook.wait_for_text(3, "2 seen: ended 2014-01-01.* 100000.0")
    notebook.picture("transport-ended", tmp_path)
    notebook.press(2, "▶ Start replay")
    notebook.wait_for_text(2, "running")
    notebook.wait_for_text(4, "running")
    wait_for(notebook, 2, "2013-12-01", "2013-12-31")
    assert notebook.problems == []


@pytest.mark.long
def test_views_of_one_replay_go_by_one_clock(open_notebook: Open) -> None:
    """Two cells of a replay that was given no clock had two bars and two simulated times."""
    notebook = open_notebook("live", 'live.view(kind="bars")')
    for number in (1, 2):
        notebook.run(number)
        notebook.wait_for_chart(number)
    notebook.press(2, "❚❚ Pause replay")
    notebook.wait_for_text(1, "paused")
    here = held(notebook, 2)
    assert held(notebook, 1) == here > datetime(2013, 12, 1)
    notebook.run(1)
    notebook.wait_for_chart(1)
    assert held(notebook, 1) == here, "together with the other view it continues at the time of that view"
    notebook.press(1, "▶ Start replay")
    notebook.wait_for_text(2, "running")
    assert notebook.problems == []


@pytest.mark.long
def test_clicks_and_keys_seek_while_time_advances(open_notebook: Open) -> None:
    """The first click did nothing, and neither did Home where the slider had been let go before."""
    notebook = open_notebook(SHARED.replace("20_000", "2_000, paused=True"),
                             DAILY.replace("view(transport=False)", "view()"))
    notebook.run(1)
    notebook.run(2)
    slider(notebook, 2).wait_for()
    click_at(notebook, 2, 0.3)
    notebook.cell(2).get_by_role("timer").get_by_text("2013-12-10").wait_for()
    notebook.press(2, "▶ Start replay")
    notebook.wait_for_chart(2)
    handle = notebook.cell(2).get_by_label("Seek in the replay").locator(".noUi-handle")
    for _ in range(2):
        click_at(notebook, 2, 0.5)
        wait_for(notebook, 2, "2013-12-16", "2013-12-19")
        handle.focus()
        notebook.page.keyboard.press("Home")
        wait_for(notebook, 2, "2013-12-01", "2013-12-03")
    assert notebook.cell(2).get_by_role("button", name="❚❚ Pause replay").is_visible()
    assert notebook.problems == []


@pytest.mark.long
def test_panels_below_a_view_open_by_click_and_by_keyboard(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook('few = history.where(col.delay > 75).group_by("origin").tumbling_window("52w")\n'
                             'few.aggregate(n=wb.count()).view(kind="bars")')
    notebook.run(1)
    box = notebook.wait_for_chart(1).bounding_box()
    notebook.wait_for_text(1, "finished")
    notebook.page.mouse.click(box["x"] + 160, box["y"] + box["height"] / 2 - 15)
    notebook.wait_for_text(1, "Verified: the query gives the same row")
    plan = notebook.cell(1).get_by_role("button", name="▸ Plan")
    plan.focus()
    notebook.page.keyboard.press("Enter")
    notebook.cell(1).get_by_label("plan").wait_for()
    notebook.press(1, "▸ Lateness")
    notebook.wait_for_text(1, "3 of 3", timeout_s=30)
    handle = notebook.cell(1).get_by_label("Reorder latency").locator(".noUi-handle")
    handle.focus()
    notebook.page.keyboard.press("ArrowLeft")
    notebook.wait_for_text(1, "At a reorder latency of 2h", timeout_s=30)
    notebook.theme("Dark")
    notebook.picture("panels-dark", tmp_path)
    ink = notebook.cell(1).get_by_label("plan").evaluate("plan => getComputedStyle(plan).color")
    assert min(map(int, re.findall(r"\d+", ink)[:3])) > 180
    notebook.theme("Light")
    assert notebook.problems == []

"""Heat maps, points, bars and what folds out below them, on one served page: hovered, clicked, and by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Locator, Page

import whimbrel as wb
from tests.workbench.app.serving import served
from tests.workbench.app.test_served_in_browser import picture, wait_for_chart, wait_until
from tests.workbench.lab import ALL_TEXT, browser
from whimbrel import col
from whimbrel_workbench.app.server import Server
from whimbrel_workbench.workspace import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROWS = 3_000
DRAW = np.random.default_rng(7)
AT = np.datetime64("2013-12-01", "us") + np.sort(DRAW.integers(0, 2 * 86_400, ROWS)) * np.timedelta64(1, "s")
DELAY = DRAW.gamma(2.0, 9.0, ROWS)
# On the first day most flights leave from EWR, on the second from LGA: so the order of the bars becomes stale.
ORIGIN = np.where(np.arange(ROWS) < ROWS // 4, "EWR", DRAW.choice(["JFK", "LGA", "LGA"], ROWS))
FLIGHTS = {"at": AT, "landed": AT + (DELAY * 60).astype("timedelta64[s]"), "origin": ORIGIN, "delay": DELAY}
LOG = wb.from_arrow(pa.table(FLIGHTS).sort_by("landed"), time="at", arrival="landed", name="flights")
CLOCK = wb.ReplayClock(speed=60_000, paused=True)
LIVE = wb.replay(LOG, clock=CLOCK, reorder_latency="2h", late="drop")
HOURLY = LOG.group_by("origin").tumbling_window("1h").aggregate(flights=wb.count(), delay=wb.mean(col.delay)).on(LIVE)
TOTAL = LOG.group_by("origin").tumbling_window("52w").aggregate(flights=wb.count()).on(LIVE)
BOARD = Dashboard("RunDetails", {
    "Lines": HOURLY.view(kind="line"), "Heat": HOURLY.view(kind="heatmap"),
    "Points": LOG.on(LIVE).view(kind="scatter", y="delay"), "Bars": TOTAL.view(kind="bars"),
    "Table": HOURLY.view(kind="table")}, rows=[["Lines"], ["Heat", "Points"], ["Bars"], ["Table"]])

MARK = """([glyph, column, share]) => {
    const figures = []
    const look = (view) => {
        if (view.model.type === "Figure") figures.push(view)
        for (const child of view.child_views ?? []) look(child)
    }
    for (const root of Object.values(Bokeh.index.roots ?? Bokeh.index)) look(root)
    for (const view of figures) {
        for (const renderer of view.model.renderers) {
            const data = renderer.data_source.data, many = data[column]?.length
            if (renderer.glyph.type !== glyph || !many) continue
            view.el.scrollIntoView({block: "center"})
            const at = Math.floor(share * many), box = view.el.getBoundingClientRect()
            const middle = (low, high) => data[low] && data[high] ? (data[low][at] + data[high][at]) / 2 : null
            const x = middle("left", "right") ?? (data.x ?? data.start ?? data.value)?.[at]
            const y = middle("top", "bottom") ?? (glyph === "HBar" ? data.key : data.y ?? data.value)?.[at]
            if (x == null || y == null || !data.key) return null  // a frame is being put in its place
            return {x: box.x + view.frame.x_scale.compute(glyph === "HBar" ? data.value[at] / 2 : x),
                    y: box.y + view.frame.y_scale.compute(y), key: data.key[at], value: data.value?.[at] ?? null}
        }
    }
    return null
}"""
"""Where a mark stands on the page, and what it says."""

IN_SIGHT = """() => {
    const counts = []
    const look = (view) => {  // models alone tell of figures that were replaced, too
        for (const renderer of view.model.type === "Figure" ? view.model.renderers : []) {
            const data = renderer.data_source.data
            if (renderer.glyph.type === "Scatter" && data.fullness && data.x) counts.push(data.x.length)
        }
        for (const child of view.child_views ?? []) look(child)
    }
    for (const root of Object.values(Bokeh.index.roots ?? Bokeh.index)) look(root)
    return Math.max(...counts)
}"""
"""How many points are drawn."""

STEADY = f"""() => {{
    const before = window.inSight
    window.inSight = ({IN_SIGHT})()
    return window.inSight === before
}}"""
"""Whether it was sent no other number since the last question."""

FOCUSED = """() => {
    let on = document.activeElement, host = null, named = ""
    while (on?.shadowRoot?.activeElement) {
        named = on.getAttribute("aria-label") || named
        host = on
        on = on.shadowRoot.activeElement
    }
    const label = on?.getRootNode().querySelector?.("label")?.innerText
    return [on?.tagName, on?.getAttribute("aria-label") || named || on?.innerText || label || ""]
}"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served(BOARD, control=True) as there:
        yield there


@pytest.fixture(scope="module")
def page(server: Server) -> Iterator[Page]:
    with browser() as chromium:
        opened = opened_page(chromium, server.exposure.url, to="2013-12-01T20:00")
        opened.locator("[role=timer]").get_by_text("2013-12-01 20:00").wait_for()
        yield opened
        assert opened.problems == []


def opened_page(chromium: Browser, url: str, width: int = 1280, scheme: str = "light", to: str | None = None) -> Page:
    page = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(f"{error}\n{error.stack}"))
    page.goto(url)
    if to is not None:
        page.locator("[role=timer]").get_by_text("paused").wait_for()
        CLOCK.seek(to)
    wait_for_chart(page)
    return page


def card(page: Page, name: str) -> Locator:
    return page.locator(".card", has=page.get_by_role("heading", name=name, exact=True))


def fold(page: Page, name: str, what: str) -> Locator:
    return card(page, name).get_by_role("button", name=what, exact=True)


def mark(page: Page, glyph: str, column: str, share: float = 0.4) -> dict:
    return page.wait_for_function(MARK, arg=[glyph, column, share]).json_value()


def hover(page: Page, found: dict) -> str:
    page.mouse.move(found["x"] + 40, found["y"] + 40)
    page.mouse.move(found["x"], found["y"], steps=3)
    shown = page.locator(".bk-Tooltip").locator("visible=true").first
    shown.wait_for()
    return shown.evaluate(ALL_TEXT)


def events(page: Page, name: str, wanted: Callable[[str], bool]) -> str:
    """The text of a card, once its events are there."""
    wait_until(lambda: wanted(card(page, name).evaluate(ALL_TEXT)), page)
    return card(page, name).evaluate(ALL_TEXT)


@pytest.mark.share(4)
@pytest.mark.parametrize(("name", "glyph", "column"), (
    ("Heat", "Quad", "state"), ("Points", "Scatter", "x"), ("Bars", "HBar", "words"), ("Lines", "Scatter", "words")))
def test_a_mark_says_what_it_is_and_a_click_shows_what_it_is_made_of(page: Page, tmp_path: Path, name: str, glyph: str,
                                                                     column: str) -> None:
    found = mark(page, glyph, column)
    tooltip = hover(page, found)
    assert found["key"] in tooltip
    assert "settled" in tooltip or "provisional" in tooltip
    page.mouse.click(found["x"], found["y"])
    shown = events(page, name, lambda text: "the query gives" in text or "Not verified" in text)
    assert "the query gives the same" in shown
    assert "valid from" in shown
    assert "flights" in shown
    picture(page, f"inside-{name.lower()}", tmp_path)
    fold(page, name, "▾ Source events").click()
    card(page, name).get_by_text("valid from").wait_for(state="detached")


@pytest.mark.long
def test_rows_of_a_table_are_reached_by_keyboard(page: Page) -> None:
    row = card(page, "Table").locator("tr[data-mark] button").nth(2)
    row.focus()
    page.keyboard.press("Enter")
    assert "the query gives the same" in events(page, "Table", lambda text: "the query gives" in text)
    choice = card(page, "Table").get_by_label("row", exact=True)
    choice.focus()
    page.keyboard.press("ArrowDown")
    fold(page, "Table", "Show events").focus()
    page.keyboard.press("Enter")
    events(page, "Table", lambda text: "the query gives the same" in text)
    fold(page, "Table", "▾ Source events").click()


@pytest.mark.long
def test_the_plan_folds_out_by_keyboard_and_moves(page: Page, tmp_path: Path) -> None:
    fold(page, "Lines", "▸ Plan").focus()
    page.keyboard.press("Enter")
    shut = fold(page, "Lines", "▾ Plan")
    shut.wait_for()
    plan = card(page, "Lines").get_by_label("plan")
    wait_until(lambda: "in windows of 1h" in plan.inner_text(), page)
    kernel = card(page, "Lines").get_by_text("def step(")
    kernel.first.wait_for(state="attached")
    assert kernel.count() == 1
    before = plan.inner_text()
    page.get_by_role("button", name="Step replay", exact=True).click()
    wait_until(lambda: plan.inner_text() != before, page)
    page.wait_for_function(f"({FOCUSED})()[1] !== ''")
    picture(page, "inside-plan", tmp_path)
    shut.click()
    plan.wait_for(state="detached")


def test_every_control_is_reached_with_tab_and_has_a_name(page: Page) -> None:
    page.get_by_role("button", name="Switch theme").focus()
    reached = []
    for _ in range(45):
        page.keyboard.press("Tab")
        tag, name = page.evaluate(FOCUSED)
        reached.append((tag, name.strip()))
    assert all(name for tag, name in reached if tag in ("BUTTON", "SELECT", "INPUT")), reached
    names = {name for _, name in reached}
    assert {"Resume", "Restart run", "Fit axes", "▶ Start replay", "Step replay", "▸ Source events", "▸ Lateness",
            "▸ Plan", "Seek in the replay", "Reorder latency"} <= names


@pytest.mark.long
def test_the_latency_is_moved_with_arrows_for_all_views(page: Page, server: Server, tmp_path: Path) -> None:
    fold(page, "Lines", "▸ Lateness").click()
    events(page, "Lines", lambda text: "events are late" in text and "none" in text)
    slider = card(page, "Lines").get_by_label("Reorder latency").locator(".noUi-handle")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    wait_until(lambda: server.shared.feeds["Bars"].asked == (3_600_000_000,), page)
    page.locator("aside").get_by_text("reorder latency 1h").wait_for()
    events(page, "Lines", lambda text: "At a reorder latency of 1h" in text)
    picture(page, "inside-lateness", tmp_path)
    fold(page, "Lines", "▾ Lateness").click()


def test_chips_lead_back_to_the_newest_and_to_the_right_order(page: Page, server: Server) -> None:
    page.evaluate("scrollTo(0, 0)")
    box = card(page, "Lines").locator(".bk-Figure").first.bounding_box()
    page.mouse.move(box["x"] + 500, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 350, box["y"] + 100, steps=5)
    page.mouse.up()
    follow = fold(page, "Lines", "Follow data")
    follow.click()
    follow.wait_for(state="hidden")
    resort = fold(page, "Bars", "Sort keys")
    assert not resort.is_visible()
    CLOCK.seek("2013-12-02T23:00")
    resort.wait_for()
    stale = [bar.name for bar in server.shared.feeds["Bars"].picture.bars]
    resort.click()
    resort.wait_for(state="hidden")
    assert [bar.name for bar in server.shared.feeds["Bars"].picture.bars] != stale


@pytest.mark.long
def test_points_are_drawn_again_where_the_reader_moves_to(page: Page) -> None:
    mark(page, "Scatter", "x")
    page.wait_for_function(STEADY, polling=1000)  # the first frames have a part of the points
    box = card(page, "Points").locator(".bk-Figure").first.bounding_box()
    before = page.evaluate(IN_SIGHT)
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 250, box["y"] + 100, steps=5)
    page.mouse.up()
    page.wait_for_function(f"({IN_SIGHT})() < {before}")
    fold(page, "Points", "Follow data").click()
    page.wait_for_function(f"({IN_SIGHT})() >= {before}")


@pytest.mark.long
def test_panels_fit_narrow_pages_in_the_dark(page: Page, server: Server, tmp_path: Path) -> None:
    narrow = opened_page(page.context.browser, server.exposure.url, 390, "dark")
    for what in ("Source events", "Lateness", "Plan"):
        fold(narrow, "Heat", f"▸ {what}").click()
    events(narrow, "Heat", lambda text: "events are late" in text and "operator" in text)
    narrow.wait_for_timeout(500)
    picture(narrow, "inside-390-dark", tmp_path)
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 390
    ink = card(narrow, "Heat").get_by_label("plan").evaluate("plan => getComputedStyle(plan).color")
    assert min(map(int, ink.removeprefix("rgb(").removesuffix(")").split(", "))) > 180
    assert narrow.problems == []
    narrow.context.close()

"""What readers of a served dashboard see, without internet, on wide and narrow pages, in light and dark."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page

import whimbrel as wb
from tests.workbench.app.serving import command, served
from tests.workbench.lab import ALL_TEXT, browser
from whimbrel import col
from whimbrel_workbench.app.server import Server
from whimbrel_workbench.workspace import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROWS = 50_000
DRAW = np.random.default_rng(7)
AT = np.datetime64("2013-12-01", "us") + np.sort(DRAW.integers(0, 31 * 86_400, ROWS)) * np.timedelta64(1, "s")
DELAY = DRAW.gamma(2.0, 9.0, ROWS)
LOG = wb.from_arrow(pa.table({
    "at": AT, "landed": AT + (DELAY * 60).astype("timedelta64[s]"), "origin": DRAW.choice(["EWR", "JFK", "LGA"], ROWS),
    "delay": DELAY}).sort_by("landed"), time="at", arrival="landed", name="flights")
LIVE = wb.replay(LOG, speed=20_000, reorder_latency="2h", late="drop")
HOURLY = LOG.group_by("origin").tumbling_window("1h").aggregate(flights=wb.count(), delay=wb.mean(col.delay)).on(LIVE)
DAILY = LOG.group_by("origin").tumbling_window("1d").aggregate(flights=wb.count()).on(LIVE)
MONTH = LOG.group_by("origin").tumbling_window("52w").aggregate(flights=wb.count()).on(LIVE)
SUMS = LOG.tumbling_window("52w").aggregate(flights=wb.count(), delay=wb.mean(col.delay)).on(LIVE)
BOARD = Dashboard("Departures of a made-up month", {
    "Mean delay per hour": HOURLY.view(kind="lines", y="delay"), "Flights per day": DAILY.view(kind="lines"),
    "All flights": MONTH.view(kind="bars"), "Newest hours": HOURLY.view(kind="table"),
    "In numbers": SUMS.view(kind="number"),
}, rows=[["Mean delay per hour"], ["Flights per day", "All flights"], ["In numbers"], ["Newest hours"]])
RANGES = """() => {
    const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
    return models.filter(model => model.type === "Figure" && model.below[0]?.type === "DatetimeAxis")
                 .map(model => [model.x_range.start, model.x_range.end])
}"""
LINES = """() => {
    const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
    const figures = models.filter(model => model.type === "Figure" && model.below[0]?.type === "DatetimeAxis")
    return figures.map(figure => Math.max(...figure.renderers.map(each => (each.data_source.data.xs ?? []).length)))
}"""
CELLS = """() => {
    const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
    const figure = models.find(model => model.type === "Figure")
    const {image, x, y, dw, dh} = models.find(model => model.type === "ColumnDataSource" && model.data.dw?.length).data
    const {x_range, y_range} = figure
    return {cells: [x[0], y[0], dw[0], dh[0], [...image[0]]],
            sight: [x_range.start, y_range.start, x_range.end, y_range.end]}
}"""
BUTTONS = ("() => Bokeh.documents.flatMap(document => [...document._all_models.values()]"
           ".filter(model => model.type == 'Button').map(model => model.label))")
TYPES = "() => Bokeh.documents.flatMap(document => [...document._all_models.values()].map(model => model.type))"

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    contexts = []

    def opened(url: str, width: int = 1280, scheme: str = "light") -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.outside, page.problems = [], []
        own = urlsplit(url).netloc
        page.on("request", lambda asked: page.outside.append(asked.url)
                if urlsplit(asked.url).netloc != own and not asked.url.startswith(("data:", "blob:")) else None)
        page.on("websocket", lambda socket: page.outside.append(socket.url)
                if urlsplit(socket.url).netloc != own else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with served(BOARD) as server:
        yield server


def wait_for_chart(page: Page) -> None:
    page.locator("main .bk-Figure").first.wait_for(timeout=60_000)


def picture(page: Page, name: str, folder: Path) -> None:
    kept = Path(os.environ.get("WHIMBREL_SCREENSHOTS", folder))
    kept.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=kept / f"{name}.png", full_page=True)


def wait_until(true: Callable[[], bool], page: Page, timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


def cells(page: Page) -> list:
    """Where the cells of a density lie, and how many points are in each."""
    return page.evaluate(CELLS)["cells"]


def covers(page: Page) -> bool:
    """Whether the cells are those of what is in sight."""
    found = page.evaluate(CELLS)
    (x, y, dw, dh, _), (left, bottom, right, top) = found["cells"], found["sight"]
    wide, high = 0.02 * (right - left), 0.05 * (top - bottom)
    return (left - wide < x < left + 1 and right - 1 < x + dw < right + wide and bottom - high < y < bottom + 1e-6
            and top - 1e-6 < y + dh < top + high)


def test_pages_wide_and_narrow_light_and_dark_move_and_ask_nobody_else(server: Server, open_page: Open,
                                                                       tmp_path: Path) -> None:
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        page = open_page(server.exposure.url, width, scheme)
        wait_for_chart(page)
        chart = page.locator("main .bk-Figure").first
        first = chart.screenshot()
        wait_until(lambda chart=chart, first=first: chart.screenshot() != first, page)
        page.wait_for_timeout(2000)
        picture(page, f"served-{width}-{scheme}", tmp_path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.outside == []
        assert page.problems == []
        assert "token" not in page.url
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(20, 23, 27)") is (scheme == "dark")
        page.get_by_role("button", name="Switch theme").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
        page.context.close()


def test_readers_have_nothing_to_press_and_chosen_keys_are_their_own(server: Server, open_page: Open,
                                                                     tmp_path: Path) -> None:
    page, other = open_page(server.exposure.url), open_page(server.exposure.url)
    wait_for_chart(page)
    wait_for_chart(other)
    page.wait_for_function(f"Math.min(...({LINES})()) === 3")
    assert not {"Toggle", "Select"} & set(page.evaluate(TYPES))
    assert set(page.evaluate(BUTTONS)) <= {"Follow data", "Sort keys"}  # they leave the run alone
    assert page.get_by_role("button", name="Stop").count() == 0
    page.get_by_role("button", name="JFK").click()
    page.wait_for_function(f"Math.max(...({LINES})()) === 1")
    page.wait_for_timeout(1500)
    picture(page, "served-chosen", tmp_path)
    assert max(page.evaluate(LINES)) == 1
    table = page.locator(".card").last.evaluate(ALL_TEXT)
    assert "JFK" in table
    assert "EWR" not in table
    other.wait_for_timeout(500)
    assert min(other.evaluate(LINES)) == 3
    assert server.shared.viewers == 2


def test_charts_over_time_pan_together_and_stay_while_data_comes(server: Server, open_page: Open) -> None:
    page = open_page(server.exposure.url)
    wait_for_chart(page)
    page.wait_for_function(f"({RANGES})().length === 2")
    page.wait_for_timeout(2000)
    first, second = page.evaluate(RANGES)
    assert first == second
    box = page.locator("main .bk-Figure").first.bounding_box()
    page.mouse.move(box["x"] + 500, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 350, box["y"] + 100, steps=5)
    page.mouse.up()
    wait_until(lambda: page.evaluate(RANGES)[0] != first, page)
    held = page.evaluate(RANGES)
    assert held[0] == held[1]
    page.wait_for_timeout(3000)
    assert page.evaluate(RANGES) == held


@pytest.mark.long
def test_a_short_chart_has_a_range_of_its_own_until_it_fills_a_quarter_of_the_longer_one(open_page: Open) -> None:
    """The first hours of a replay were drawn at the left edge of a range that another chart of a month shared."""
    hourly = LOG.group_by("origin").tumbling_window("1h").aggregate(flights=wb.count())
    replayed = hourly.on(wb.replay(LOG, speed=150_000, reorder_latency="2h", late="drop"))
    with served(Dashboard("Spans", {"month": hourly.view(kind="lines"), "now": replayed.view(kind="lines")})) as server:
        page = open_page(server.exposure.url)
        # The newest chart is the last model: Bokeh keeps the old model of a rebuilt chart for a while.
        alike = f"(all => all.length > 1 && all[0].join() === all.at(-1).join())(({RANGES})())"
        page.wait_for_function(f"({RANGES})().length === 2")
        page.wait_for_function("!" + alike)
        page.wait_for_function(alike)
        box = page.locator("main .bk-Figure").first.bounding_box()
        before = page.evaluate(RANGES)
        page.mouse.move(box["x"] + 300, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 250, box["y"] + 100, steps=5)
        page.mouse.up()
        page.wait_for_function(f"before => JSON.stringify(({RANGES})()) !== JSON.stringify(before)", arg=before)
        assert page.evaluate(alike)


@pytest.mark.long
def test_points_are_counted_again_where_a_reader_moves(open_page: Open, tmp_path: Path) -> None:
    with served(Dashboard("Points", {"delays": LOG.view(kind="density", y="delay")})) as server:
        page = open_page(server.exposure.url)
        wait_for_chart(page)
        page.get_by_text("finished").locator("visible=true").first.wait_for()
        wait_until(lambda: sum(cells(page)[4]) == ROWS, page)
        box = page.locator("main .bk-Figure").first.bounding_box()
        for right, up in ((-350, 0), (-60, 90), (100, -40)):
            x, y, *_ = before = cells(page)
            page.mouse.move(box["x"] + 500, box["y"] + 150)
            page.mouse.down()
            page.mouse.move(box["x"] + 500 + right, box["y"] + 150 + up, steps=8)
            page.mouse.up()
            wait_until(lambda before=before: cells(page) != before, page)
            wait_until(lambda: covers(page), page)
            x, y, dw, dh, counts = cells(page)
            at = AT.astype(np.int64) / 1e3
            inside = (at >= x) & (at < x + dw) & (y <= DELAY) & (y + dh > DELAY)
            assert sum(counts) == inside.sum() > 0
        picture(page, "served-panned", tmp_path)
        assert page.problems == []


@pytest.mark.long
def test_a_drag_that_begins_slowly_pans_and_points_are_counted_while_it_lasts(open_page: Open) -> None:
    """Bokeh took it for a press, and sent the range of the chart only when the button was released."""
    with served(Dashboard("Points", {"delays": LOG.view(kind="density", y="delay")})) as server:
        page = open_page(server.exposure.url)
        wait_for_chart(page)
        page.get_by_text("finished").locator("visible=true").first.wait_for()
        wait_until(lambda: sum(cells(page)[4]) == ROWS and covers(page), page)
        box = page.locator("main .bk-Figure").first.bounding_box()
        before = cells(page)
        page.mouse.move(box["x"] + 500, box["y"] + 150)
        page.mouse.down()
        page.wait_for_timeout(500)
        page.mouse.move(box["x"] + 492, box["y"] + 150, steps=4)
        wait_until(lambda: cells(page) != before and covers(page), page, timeout_s=10)
        page.mouse.up()
        assert page.problems == []


@pytest.mark.long
def test_who_may_steer_steers_for_all(open_page: Open, tmp_path: Path) -> None:
    with served(BOARD, control=True) as server:
        page, other = open_page(server.exposure.url), open_page(server.exposure.url)
        wait_for_chart(other)
        page.get_by_role("button", name="Pause", exact=True).click()
        for each in (page, other):
            each.get_by_text("paused").locator("visible=true").first.wait_for()
        picture(page, "served-paused", tmp_path)
        page.get_by_role("button", name="Resume", exact=True).click()
        other.get_by_text("running").locator("visible=true").first.wait_for()
        other.get_by_role("button", name="Stop run").click()
        page.get_by_text("stopped").locator("visible=true").first.wait_for()
        page.get_by_role("button", name="Restart run").click()
        other.get_by_text("running").locator("visible=true").first.wait_for()


PAINT_AGAIN = """() => {
    const [view] = [...Bokeh.index.query(each => each.model.type === "Figure")]
    const sheets = [...view.views.all_views()].map(each => each.position?.el).filter(each => each instanceof Element)
    const paint = () => {
        view.invalidate_painters()
        view.paint()
    }
    paint()
    const eyes = new MutationObserver(() => {})
    for (const each of sheets) eyes.observe(each, {childList: true})
    paint()
    return [sheets.length, eyes.takeRecords().length]
}"""


@pytest.mark.long
def test_a_redraw_writes_down_nothing_that_is_as_it_was(server: Server, open_page: Open) -> None:
    """The position of each part of a chart was written again, and the style of the whole page recomputed for it."""
    page = open_page(server.exposure.url)
    wait_for_chart(page)
    sheets, written = page.evaluate(PAINT_AGAIN)
    assert sheets > 10
    assert written == 0


@pytest.mark.long
def test_pages_that_are_closed_free_everything(server: Server, open_page: Open) -> None:
    pages = [open_page(server.exposure.url) for _ in range(3)]
    for page in pages:
        wait_for_chart(page)
    wait_until(lambda: server.shared.viewers == 3, pages[0])  # the charts are part of a page as it comes
    for page in pages[1:]:
        page.context.close()
    wait_until(lambda: server.shared.viewers == 1, pages[0])
    [run] = {feed.run for feed in [server.shared.feeds["Flights per day"]]}
    pages[0].goto("about:blank")
    wait_until(lambda: server.shared.viewers == 0, pages[0])
    assert run.state == "running"
    assert not any(feed.watched for feed in server.shared.feeds.values())
    pages[0].goto(f"http://127.0.0.1:{server.exposure.port}/")
    wait_for_chart(pages[0])
    assert server.shared.feeds["Flights per day"].run is run


def test_without_the_token_a_page_says_what_it_needs(server: Server, open_page: Open, tmp_path: Path) -> None:
    page = open_page(server.exposure.url.partition("?")[0], 390)
    page.get_by_role("heading", name="This dashboard needs its token.").wait_for()
    picture(page, "served-refused", tmp_path)


@pytest.mark.long
def test_the_command_serves_a_script_and_a_page_says_when_it_has_ended(open_page: Open, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text('''
# %% [markdown]
# # A small page
# ## Counts of two windows

# %%
import whimbrel as wb
log = wb.from_arrow({"at": [1, 4, 12], "k": ["a", "b", "a"]}, time="at", name="log")
log.group_by("k").tumbling_window(10).aggregate(n=wb.count())
''', encoding="utf-8")
    with command("serve", "app.py", "--allow-control", folder=tmp_path) as url:
        page = open_page(url)
        wait_for_chart(page)
        page.get_by_role("heading", name="A small page").wait_for()
        page.get_by_role("heading", name="Counts of two windows").wait_for()
        page.get_by_text("finished").locator("visible=true").first.wait_for()
        restart = page.locator("button", has_text="Restart run")
        assert not restart.evaluate("each => each.inert")
        assert page.get_by_text("Last frame").count() == 1
        assert not page.get_by_text("Last frame").is_visible()
    page.get_by_role("alert").get_by_text("connection to the server is lost").wait_for()
    page.get_by_text("Last frame").wait_for()
    picture(page, "served-lost", tmp_path)
    assert not page.get_by_text("finished").is_visible()
    assert restart.evaluate("each => each.inert")
    assert page.problems == []


@pytest.mark.long
def test_the_demo_is_served(open_page: Open, tmp_path: Path) -> None:
    with command("demo", folder=tmp_path) as url:
        page = open_page(url)
        wait_for_chart(page)
        page.context.close()  # while it moves; the page sends no message about that
        page = open_page(url, 390)
        wait_for_chart(page)
        chart = page.locator("main .bk-Figure").first
        first = chart.screenshot()
        wait_until(lambda: chart.screenshot() != first, page)
        page.get_by_text("Controls and filters").click()
        page.get_by_role("button", name="❚❚ Pause replay").click()
        page.get_by_role("timer").get_by_text("paused").wait_for()
        picture(page, "served-demo", tmp_path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.outside == []
        assert page.problems == []

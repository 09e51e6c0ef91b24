"""A triggered scope on a served page: it moves, is zoomed, paused, and shows its events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page

import whimbrel as wb
from tests.workbench.app.serving import served
from tests.workbench.app.test_served_in_browser import picture, wait_until
from tests.workbench.app.test_signals_in_browser import opened, turn_wheel
from tests.workbench.lab import ALL_TEXT, browser
from whimbrel import col
from whimbrel_workbench.workspace import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RATE, SECONDS = 2_000, 600
DRAW = np.random.default_rng(11)
PLACE = np.arange(RATE * SECONDS)
AT = np.datetime64("2024-05-01", "us") + PLACE * np.timedelta64(500, "us")
SINCE = PLACE % 1_500
RING = np.where(SINCE < 900, np.exp(-SINCE / 180.0) * np.sin(SINCE / 9.0), 0.0) * (1 + 0.3 * np.sin(PLACE / 90_000))
LOG = wb.from_arrow(pa.table({
    "at": AT, "landed": AT + np.timedelta64(400, "ms"), "left": (RING + DRAW.normal(0, 0.04, len(PLACE))).astype("f4"),
    "right": (0.6 * np.roll(RING, 30) + DRAW.normal(0, 0.04, len(PLACE))).astype("f4")}),
    time="at", arrival="landed", name="bench")

DRAWN = """() => {
    const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
    const figure = models.find(model => model.type === "Figure")
    const {x_range, renderers} = figure
    const image = renderers.find(each => each.glyph.type === "Image").data_source.data
    const lines = renderers.filter(each => each.glyph.type === "MultiLine").map(each => each.data_source.data)
    const most = Math.max(0, ...[...image.image].map(each => Math.max(...each)))
    return {x: [x_range.start, x_range.end], cells: [image.x[0], image.dw[0]], images: image.image.length, most,
            newest: lines.at(-1).instant[0] ?? "", provisional: lines[1].xs.length,
            chip: models.find(model => model.type === "Button" && model.label === "Follow data").visible}
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def board(speed: float) -> Dashboard:
    live = wb.replay(LOG, speed=speed, reorder_latency="1s", late="drop")
    bench = live.select("left", "right").assume(rate=RATE, phase="2024-05-01")
    rings = bench.above(col.left, on=0.5, off=0.3, hold=100)
    return Dashboard("Bench", {"rings": bench.view(trigger=rings, before="50ms", after="450ms")})


def seen(page: Page) -> dict[str, Any]:
    return page.evaluate(DRAWN)


@pytest.mark.share(4)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "dark")])
def test_windows_are_counted_and_provisional_ones_dashed(chromium: Browser, width: int, scheme: str,
                                                         tmp_path: Path) -> None:
    with served(board(8), control=True) as server:
        page = opened(chromium, server.exposure.url, width, scheme)
        wait_until(lambda: seen(page)["most"] > 15 and seen(page)["provisional"] > 0, page)
        assert seen(page)["images"] == 2
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        words = page.evaluate(f"({ALL_TEXT})(document.body)")
        assert "lighter: more windows" in words
        assert "settled windows counted" in words
        picture(page, f"trigger-{scheme}-{width}", tmp_path)
        if width > 1_000:
            box = page.locator("main .bk-Figure").first.bounding_box()
            page.mouse.move(box["x"] + 0.85 * box["width"], box["y"] + 0.13 * box["height"])
            wait_until(lambda: "no windows" in page.evaluate(f"({ALL_TEXT})(document.body)"), page)
        assert page.problems == []


@pytest.mark.long
def test_a_triggered_scope_is_zoomed_while_it_streams_and_paused(chromium: Browser, tmp_path: Path) -> None:
    with served(board(8), control=True) as server:
        page = opened(chromium, server.exposure.url)
        wait_until(lambda: seen(page)["most"] > 5, page)
        whole = seen(page)["x"]
        turn_wheel(page, 4, 0.2)
        wait_until(lambda: seen(page)["x"] == [*seen(page)["cells"][:1], sum(seen(page)["cells"])], page)
        held = seen(page)
        assert held["chip"]
        assert held["x"][1] - held["x"][0] < (whole[1] - whole[0]) / 4
        wait_until(lambda: seen(page)["newest"] != held["newest"], page)  # it streams
        assert seen(page)["x"] == held["x"]
        picture(page, "trigger-zoomed", tmp_path)
        page.get_by_text("Follow data").first.click()
        wait_until(lambda: seen(page)["x"] == whole, page)
        page.get_by_role("button", name="Pause").first.click()
        page.wait_for_timeout(1_000)
        paused = seen(page)
        page.wait_for_timeout(1_500)
        assert seen(page) == paused
        assert page.problems == []


@pytest.mark.long
def test_a_click_on_a_window_shows_the_source_events_of_its_trigger(chromium: Browser) -> None:
    short = LOG.between("2024-05-01", "2024-05-01T00:00:20").select("left", "right").assume(
        rate=RATE, phase="2024-05-01")
    rings = short.above(col.left, on=0.5, off=0.3, hold=100)
    with served(Dashboard("Bench", {"rings": short.view(trigger=rings, before="50ms")}), control=True) as server:
        page = opened(chromium, server.exposure.url)
        page.get_by_text("finished").locator("visible=true").first.wait_for()
        wait_until(lambda: seen(page)["newest"] != "", page)
        place = page.evaluate("""() => {
            const figures = []
            const look = view => {
                if (view.model.type === "Figure") figures.push(view)
                for (const child of view.child_views ?? []) look(child)
            }
            for (const root of Object.values(Bokeh.index.roots ?? Bokeh.index)) look(root)
            const [view] = figures
            const lines = view.model.renderers.filter(each => each.glyph.type === "MultiLine")
            const {xs, ys} = lines.at(-1).data_source.data
            const box = view.el.getBoundingClientRect()
            return [box.x + view.frame.x_scale.compute(xs[0][600]), box.y + view.frame.y_scale.compute(ys[0][600])]
        }""")
        page.mouse.click(*place)
        page.get_by_text("Source events of").first.wait_for()
        assert "samples 236" in page.evaluate(f"({ALL_TEXT})(document.body)").replace("\n", " ")
        assert page.problems == []

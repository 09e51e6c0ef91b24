"""What a reader's hand waits for: from each event to the frame that answers it, by the page's own clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import pyarrow as pa
from playwright.sync_api import Browser, Page

import whimbrel as wb
from bench.figure import Figure
from tests.workbench.app.serving import served
from whimbrel import Stream
from whimbrel_workbench import Dashboard
from whimbrel_workbench.live_view import LiveView

WORKLOAD: Final = "I served"
ROWS, QUICK_ROWS, STEPS = 10_000_000, 1_000_000, 120
GESTURE_MS: Final = 100
COUNTED_MS: Final = 150
SLIDER_MS: Final = 1_000  # no promise of the views says how long the query may take: as long as a first picture

LISTEN: Final = """kind => {
    // An event is answered by the first frame with other ranges, and counted again by the first with cells all over
    // these, or over those of an event after it.
    const view = [...Bokeh.index.query(each => each.model.type === "Figure")][0]
    const {x_range, y_range, renderers} = view.model
    const image = renderers.find(each => each.glyph.type === "Image")?.data_source
    const waits = window.waits = {seen: [], counted: []}
    const asked = []
    const uncounted = []
    const covered = ({left, right}) => {
        const {x: [x], dw: [dw]} = image.data
        const cells = 0.004 * (right - left)
        return Math.abs(x - left) < cells && Math.abs(x + dw - right) < cells
    }
    window.addEventListener(kind, event => {
        if (kind === "wheel" || event.buttons) asked.push({at: event.timeStamp, before: x_range.start})
    }, true)
    view.repainted.connect(() => {
        const {start: left, end: right} = x_range
        const seen = []
        while (asked.length && asked[0].before !== left) seen.push(asked.shift().at)
        if (image) uncounted.push(...seen.map(at => ({at, left, right})))
        const counted = uncounted.splice(0, uncounted.findLastIndex(covered) + 1)
        setTimeout(() => {
            const now = performance.now()
            waits.seen.push(...seen.map(at => now - at))
            waits.counted.push(...counted.map(({at}) => now - at))
        })
    })
}"""


HOVER: Final = """async points => {
    // From a move onto a mark, as the chart hears it, to the frame in which its words stand there.
    const view = [...Bokeh.index.query(each => each.model.type === "Figure")][0]
    const words = () => [...view.views.all_views()].filter(each => each.model.type === "Tooltip" && each.model.visible)
        .map(each => each.model.position).join()
    window.waits = {seen: []}
    let asked = null
    window.addEventListener("pointermove", event => asked ??= {at: event.timeStamp, before: words()}, true)
    const look = () => {
        if (asked && words() !== asked.before) {
            const {at} = asked
            asked = null
            setTimeout(() => waits.seen.push(performance.now() - at))
        }
        requestAnimationFrame(look)
    }
    look()
}"""

SLIDE: Final = """() => {
    // From the key to the first frame with other lines.
    const view = [...Bokeh.index.query(each => each.model.type === "Figure")][0]
    const lines = view.model.renderers.map(each => each.data_source).find(each => each.data.xs)
    window.waits = {seen: []}
    let asked = null
    window.addEventListener("keydown", event => asked = {at: event.timeStamp, before: lines.data}, true)
    view.repainted.connect(() => {
        if (!asked || lines.data === asked.before) return
        const {at} = asked
        asked = null
        setTimeout(() => waits.seen.push(performance.now() - at))
    })
}"""

MARKS: Final = """() => {
    const view = [...Bokeh.index.query(each => each.model.type === "Figure")][0]
    const {data} = view.model.renderers.map(each => each.data_source).find(each => each.data.words?.length)
    const box = view.el.getBoundingClientRect()
    return [...data.start].map((x, place) => [box.x + view.frame.x_scale.compute(x),
                                              box.y + view.frame.y_scale.compute(data.value[place])])
}"""


def run(chromium: Browser, *, quick: bool) -> Iterator[Figure]:
    """Figures of pages of their own: many points, lines over a day, and a query at several latencies."""
    rows = QUICK_ROWS if quick else ROWS
    points = cloud(rows)
    hourly = points.tumbling_window("1h").aggregate(delay=wb.mean(wb.col.delay))
    with opened(chromium, points.view(kind="density", y="delay")) as page:
        yield from pan(page, rows)
    with opened(chromium, hourly.view(kind="lines")) as page:
        yield from hover(page)
    with opened(chromium, late_rows().view(kind="lines")) as page:
        yield from slide(page)


@contextmanager
def opened(chromium: Browser, view: LiveView) -> Iterator[Page]:
    """A page that shows a finished run."""
    with served(Dashboard("Bench", {"view": view}), control=True) as server:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        page.goto(server.exposure.url)
        page.get_by_text("finished").locator("visible=true").first.wait_for(timeout=120_000)
        page.locator(".bk-Figure").first.wait_for()
        page.wait_for_timeout(5_000)  # Datashader is compiled
        yield page
        page.close()


def late_rows() -> Stream:
    """Rows of a month, minutes late, counted in windows."""
    draw = np.random.default_rng(7)
    at = np.datetime64("2013-12-01", "us") + np.sort(draw.integers(0, 31 * 86_400, 200_000)) * np.timedelta64(1, "s")
    landed = at + (draw.gamma(2.0, 540.0, len(at))).astype("timedelta64[s]")
    log = pa.table({"at": at, "landed": landed, "origin": draw.choice(["EWR", "JFK", "LGA"], len(at))})
    history = wb.from_arrow(log.sort_by("landed"), time="at", arrival="landed", reorder_latency="2h", late="drop")
    return history.group_by("origin").tumbling_window("3h").aggregate(flights=wb.count())


def cloud(rows: int) -> Stream:
    """So many points over a day."""
    draw = np.random.default_rng(7)
    at = np.datetime64("2013-12-01", "us") + np.sort(draw.integers(0, 86_400_000_000, rows)).astype("timedelta64[us]")
    return wb.from_arrow(pa.table({"at": at, "delay": draw.gamma(2.0, 9.0, rows)}), time="at", name="cloud")


def wheel(page: Page, what: str) -> Iterator[Figure]:
    """Zooming a chart that moves, notch by notch, in and out."""
    x, y = _inside(page)
    page.mouse.move(x, y)
    page.locator("[title*='Wheel Zoom']").first.click()
    page.mouse.move(x, y)
    page.evaluate(LISTEN, "wheel")
    for step in range(STEPS):
        page.mouse.wheel(0, 40 if step // 10 % 2 else -40)
        page.wait_for_timeout(90)
    yield from _figures(f"wheel -> zoomed, {what}", page, "seen", GESTURE_MS)


def pan(page: Page, rows: int) -> Iterator[Figure]:
    """Dragging a picture of many points to and fro, as a hand does; it is counted again while it is held."""
    page.evaluate(LISTEN, "pointermove")
    x, y = _inside(page)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(STEPS):
        x += 12 if step // 20 % 2 else -12
        page.mouse.move(x, y)
        page.wait_for_timeout(16)
    page.mouse.up()
    page.wait_for_timeout(1_000)
    of = f"{rows // 1_000_000}M points"
    yield from _figures(f"pan -> moved, {of}", page, "seen", GESTURE_MS)
    yield from _figures(f"pan -> counted, {of}", page, "counted", COUNTED_MS)


def hover(page: Page) -> Iterator[Figure]:
    """Pointing at one mark after the other."""
    marks = page.evaluate(MARKS)
    page.evaluate(HOVER)
    for x, y in marks:
        page.mouse.move(x, y)
        page.wait_for_timeout(150)
    yield from _figures("hover -> words", page, "seen", GESTURE_MS)


def slide(page: Page) -> Iterator[Figure]:
    """Asking the query at another reorder latency, to and fro."""
    page.get_by_role("button", name="▸ Lateness").first.click()
    page.get_by_text("events are late").first.wait_for()
    page.get_by_label("Reorder latency").locator(".noUi-handle").first.focus()
    page.evaluate(SLIDE)
    for step in range(STEPS // 10):
        page.keyboard.press("ArrowRight" if step % 2 else "ArrowLeft")
        page.wait_for_timeout(1_500)
    yield from _figures("latency -> picture", page, "seen", SLIDER_MS)


def _inside(page: Page) -> tuple[float, float]:
    """A point inside of the chart."""
    box = page.locator(".bk-Figure").first.bounding_box()
    assert box is not None
    return box["x"] + 500, box["y"] + 150


def _figures(case: str, page: Page, what: str, limit_ms: int) -> Iterator[Figure]:
    waits_ms = sorted(page.evaluate(f"waits.{what}"))
    for share in (0.5, 0.9):
        at = waits_ms[min(int(share * len(waits_ms)), len(waits_ms) - 1)]
        yield Figure(WORKLOAD, f"{case}, p{100 * share:.0f}", "ms", at, f"at most {limit_ms}")

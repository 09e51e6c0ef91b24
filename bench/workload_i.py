"""I. What a reader waits for: a picture, a mark for an event, another cell, a gesture; in JupyterLab and a dashboard.

In Chromium without a graphics card, on the same machine as the kernel, without internet.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page

from bench import gestures, signal_gestures
from bench.figure import Figure
from bench.ticker import ticker
from tests.workbench.app.serving import served
from tests.workbench.lab import Lab, Notebook, browser
from whimbrel_workbench import Dashboard

ROOT = Path(__file__).parents[1]
REPEATS, SECONDS, QUICK_SECONDS = 5, 30, 10
EVENTS_PER_S, REDRAWS_PER_S, BUSY_EVENTS_PER_S = 10, 20, 100
WINDOW_MS = 1_000
"""A browser's new window loads pages of its own, and a reader has one: half a second of both cores, not the page's."""

SETUP = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nimport whimbrel as wb\nfrom bench.ticker import ticker"
FEED = "ticker({per_s}).view(kind='lines', y='born', redraws_per_s={redraws})"
ANSWER = "asked = globals().get('asked', -1) + 1\nprint('answer', asked)"

WATCH = """() => {
    // When the page first shows an event: the frame after the one in which its mark is there.
    const marks = window.marks = []
    let newest = 0, drawn = 0
    const look = () => {
        const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
        const sources = models.filter(model => model.type === "ColumnDataSource" && model.data.value !== undefined)
        const born = Math.max(0, ...sources.flatMap(source => [...source.data.value].slice(-1)))
        if (born > newest) {
            newest = born
            requestAnimationFrame(() => setTimeout(() => marks.push([born, Date.now()])))
        }
        requestAnimationFrame(look)
    }
    look()
}"""


def run(*, quick: bool) -> Iterator[Figure]:
    """Figures of a notebook, then of a dashboard."""
    seconds = QUICK_SECONDS if quick else SECONDS
    with browser() as chromium:
        with tempfile.TemporaryDirectory() as folder:
            lab = Lab(Path(folder))
            try:
                lab.write("bench.ipynb", [SETUP, *[FEED.format(per_s=EVENTS_PER_S, redraws=REDRAWS_PER_S)] * 2,
                                          FEED.format(per_s=BUSY_EVENTS_PER_S, redraws=REDRAWS_PER_S), ANSWER])
                page = chromium.new_page(viewport={"width": 1280, "height": 2000})
                yield from _notebook(Notebook(lab, page, "bench.ipynb"), seconds)
                page.close()
            finally:
                lab.close()
        feed = ticker(EVENTS_PER_S).view(kind="lines", y="born")
        with served(Dashboard("Bench", {"events": feed}, redraws_per_s=REDRAWS_PER_S)) as server:
            firsts = []
            for _ in range(REPEATS):
                page = chromium.new_page(viewport={"width": 1280, "height": 900})
                page.wait_for_timeout(WINDOW_MS)
                began = time.perf_counter()
                page.goto(server.exposure.url)
                firsts.append(_until_drawn(page.locator(".bk-Figure"), began))
                if len(firsts) < REPEATS:
                    page.close()
            yield Figure("I served", "open -> first picture, cold", "s", firsts[0], "at most 2")
            yield Figure("I served", "open -> first picture, warm", "s", statistics.median(firsts[1:]), "at most 1")
            yield from _latencies("I served", page, seconds)
            yield from gestures.wheel(page, f"{EVENTS_PER_S} Hz")
            page.close()
        yield from gestures.run(chromium, quick=quick)
        yield from signal_gestures.run(chromium, quick=quick)


def _notebook(notebook: Notebook, seconds: float) -> Iterator[Figure]:
    notebook.run(0)
    idle_s = statistics.median(notebook.run(4) for _ in range(2 * REPEATS))
    yield Figure("I notebook", "run -> first picture, cold", "s", _first_picture(notebook, 1), "at most 2")
    with_another_s = statistics.median(_first_picture(notebook, 2) for _ in range(REPEATS))
    yield Figure("I notebook", "the same, warm, with another", "s", with_another_s, "")
    _interrupt(notebook, 1)
    warm_s = statistics.median(_first_picture(notebook, 2) for _ in range(REPEATS))
    yield Figure("I notebook", "run -> first picture, warm", "s", warm_s, "at most 1")
    yield from _latencies("I notebook", notebook.page, seconds)
    live_s = statistics.median(notebook.run(4) for _ in range(2 * REPEATS))
    yield Figure("I notebook", "another cell, later than idle by", "ms", 1e3 * (live_s - idle_s), "at most 100")
    _interrupt(notebook, 2)
    _first_picture(notebook, 3)
    marks = _marks(notebook.page, seconds)
    yield Figure("I notebook", f"painted at {REDRAWS_PER_S} Hz", "frames/s", len(marks) / seconds, "")


def _first_picture(notebook: Notebook, number: int) -> float:
    cell = notebook.cell(number)
    cell.locator(".jp-InputArea-editor").click()
    before = cell.locator(".bk-Figure").element_handles()
    began = time.perf_counter()
    notebook.page.keyboard.press("Shift+Enter")
    for old in before:
        old.wait_for_element_state("hidden")
    return _until_drawn(cell.locator(".bk-Figure"), began)


def _until_drawn(chart: Locator, began: float) -> float:
    chart.first.wait_for(timeout=60_000)
    chart.first.evaluate("() => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))")
    return time.perf_counter() - began


def _interrupt(notebook: Notebook, number: int) -> None:
    """End the view of a cell, so that it costs nothing any more."""
    notebook.press(number, "Stop run")
    notebook.wait_for_text(number, "stopped")


def _marks(page: Page, seconds: float) -> list[tuple[float, float]]:
    page.evaluate(WATCH)
    page.wait_for_timeout(1000 * seconds)
    return page.evaluate("window.marks")


def _latencies(workload: str, page: Page, seconds: float) -> Iterator[Figure]:
    waits_ms = sorted(shown - born for born, shown in _marks(page, seconds)[1:])
    for share, limit_ms in ((0.5, 50), (0.99, 200)):
        at = waits_ms[min(int(share * len(waits_ms)), len(waits_ms) - 1)]
        yield Figure(workload, f"event -> mark, p{100 * share:.0f}, {EVENTS_PER_S} Hz", "ms", at, f"at most {limit_ms}")

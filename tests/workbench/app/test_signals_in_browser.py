"""Signals on a served page: zoomed while samples come, with events, in light and dark, wide and narrow."""

from __future__ import annotations

import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page

import whimbrel as wb
from tests.workbench.app.serving import served
from tests.workbench.app.test_served_in_browser import picture, wait_for_chart, wait_until
from tests.workbench.lab import ALL_TEXT, browser
from whimbrel import col
from whimbrel_workbench.workspace import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SAMPLES = 2_000_000
DRAW = np.random.default_rng(7)
AT = np.datetime64("2024-05-01", "us") + np.arange(SAMPLES) * np.timedelta64(1_000, "us")
LOUD = np.sin(np.arange(SAMPLES) / 5_000)
THERE = np.ones(SAMPLES, np.bool_)
THERE[20_000:25_000] = False
LOG = wb.from_arrow(pa.table({
    "at": AT, "landed": AT + np.timedelta64(1, "s"),
    "left": (LOUD * DRAW.normal(size=SAMPLES) * 1_000).astype(np.int16),
    "right": (LOUD * 300 + DRAW.normal(size=SAMPLES)).astype(np.float32)}).filter(pa.array(THERE)),
    time="at", arrival="landed", name="talk")


def talk(speed: float) -> wb.Stream:
    live = wb.replay(LOG, speed=speed, reorder_latency="2s", late="drop")
    return live.select("left", "right").assume(rate=1_000, gaps=True, phase="2024-05-01")


DRAWN = """() => {
    const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
    const figure = models.find(model => model.type === "Figure")
    const {x_range, y_range, renderers} = figure
    const data = kind => renderers.filter(each => each.glyph.type === kind).map(each => each.data_source.data)
    const ends = data("Patches").flatMap(each => [...each.xs].map(xs => [Math.min(...xs), Math.max(...xs)]))
    return {x: [x_range.start, x_range.end], fills: ends, single: data("MultiLine").map(each => each.xs.length),
            samples: data("MultiLine").flatMap(each => [...each.xs].map(xs => xs.length)),
            marks: data("Quad").map(each => each.left.length), chip: models.find(model => model.type === "Button"
            && model.label === "Follow data").visible}
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def opened(chromium: Browser, url: str, width: int = 1280, scheme: str = "light") -> Page:
    page = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(url)
    wait_for_chart(page)
    return page


def turn_wheel(page: Page, turns: int, share: float = 0.5) -> None:
    """Zoom in where the mouse is, with the tool that a reader switches on."""
    page.evaluate("""() => {
        const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
        const figure = models.find(model => model.type === "Figure")
        const wheel = figure.toolbar.tools.find(each => each.type === "WheelZoomTool")
        figure.toolbar.active_scroll = wheel
        wheel.active = true
    }""")
    box = page.locator("main .bk-Figure").first.bounding_box()
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    for _ in range(turns):
        page.mouse.wheel(0, -400)
        page.wait_for_timeout(20)


def test_a_reader_zooms_and_pans_while_samples_come(chromium: Browser, tmp_path: Path) -> None:
    with served(Dashboard("Signal", {"talk": talk(20).view()})) as server:
        page = opened(chromium, server.exposure.url)
        wait_until(lambda: len(page.evaluate(DRAWN)["fills"]) >= 4, page)
        for _ in range(20):
            turn_wheel(page, 1, 0.2)
            page.wait_for_timeout(700)
            if page.evaluate(DRAWN)["single"][0]:
                break
        wait_until(lambda: page.evaluate(DRAWN)["single"][0] > 0, page)
        page.wait_for_timeout(1_000)
        held = page.evaluate(DRAWN)
        assert held["chip"]
        page.wait_for_timeout(2_500)
        after = page.evaluate(DRAWN)
        assert (after["x"], after["samples"]) == (held["x"], held["samples"])
        box = page.locator("main .bk-Figure").first.bounding_box()
        page.mouse.move(box["x"] + 500, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 350, box["y"] + 100, steps=5)
        page.mouse.up()
        wait_until(lambda: page.evaluate(DRAWN)["x"] != held["x"], page)
        panned = page.evaluate(DRAWN)["x"]
        assert panned[1] - panned[0] == pytest.approx(held["x"][1] - held["x"][0])
        picture(page, "scope-zoomed", tmp_path)
        page.get_by_text("Follow data").first.click()
        wait_until(lambda: page.evaluate(DRAWN)["x"][1] > panned[1] + 10_000, page)
        assert page.problems == []


@pytest.mark.long
def test_a_dragged_stretch_is_heard_saved_and_shows_its_events(chromium: Browser, tmp_path: Path) -> None:
    stream = talk(20)
    hits = stream.where(col.left > 2_500).tumbling_window("1s").aggregate(n=wb.count())
    with served(Dashboard("Signal", {"talk": stream.view(marks=hits)}), control=True) as server:
        page = opened(chromium, server.exposure.url)
        wait_until(lambda: max(page.evaluate(DRAWN)["marks"]) > 8, page)
        page.evaluate("""() => {
            const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
            const figure = models.find(model => model.type === "Figure")
            figure.toolbar.tools.find(each => each.type === "BoxSelectTool").active = true
        }""")
        box = page.locator("main .bk-Figure").first.bounding_box()
        page.mouse.move(box["x"] + 200, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 330, box["y"] + 100, steps=6)
        page.mouse.up()
        page.get_by_text("in this stretch").first.wait_for()
        sound = page.locator("audio").first
        slow = sound.get_attribute("src")
        page.get_by_label("speed", exact=True).last.select_option("x1,000")
        wait_until(lambda: sound.get_attribute("src") != slow, page)  # the player is another one then
        sound.evaluate("each => each.play()")
        wait_until(lambda: sound.evaluate("each => each.currentTime > 0 || each.ended"), page)
        assert sound.evaluate("each => each.error") is None
        with page.expect_download() as saving:
            page.get_by_text("Save stretch").first.click()
        assert saving.value.suggested_filename == "left.wav"
        with wave.open(str(saving.value.path())) as file:
            assert file.getnframes() > 10
        picture(page, "scope-listen", tmp_path)
        page.get_by_label("speed", exact=True).last.select_option("x0.01")
        page.get_by_text("Playback must last at most 60 s").first.wait_for()
        assert page.problems == []


@pytest.mark.share(2)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_spectrogram_shows_a_sample_of_frames_and_then_all(chromium: Browser, width: int, scheme: str,
                                                             tmp_path: Path) -> None:
    swept = np.sin(np.cumsum(np.linspace(0.05, 2.5, 2_000_000))) * 9_000
    signal = wb.from_samples({"left": swept.astype(np.int16)}, rate=48_000, start="2024-05-01", unit="ns")
    with served(Dashboard("Signal", {"talk": signal.view(kind="spectrogram")})) as server:
        page = opened(chromium, server.exposure.url, width, scheme)
        page.get_by_text("finished").locator("visible=true").first.wait_for()
        note = page.get_by_text("frames").locator("visible=true")
        wait_until(lambda: note.first.inner_text().startswith("All ") and "1,024" in note.first.inner_text(), page)
        picture(page, f"spectrogram-{scheme}-{width}", tmp_path)
        turn_wheel(page, 8)  # the mouse is over the middle then
        if width > 1_000:
            wait_until(lambda: " dB" in page.evaluate(f"({ALL_TEXT})(document.body)"), page)
        wait_until(lambda: "1,024" not in note.first.inner_text(), page)
        picture(page, f"spectrogram-zoomed-{scheme}-{width}", tmp_path)
        assert page.problems == []


@pytest.mark.share(2)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_signal_has_its_gap_its_provisional_end_and_its_events(chromium: Browser, width: int, scheme: str,
                                                                 tmp_path: Path) -> None:
    stream = talk(20)
    hits = stream.where(col.left > 2_500).tumbling_window("1s").aggregate(n=wb.count())
    with served(Dashboard("Signal", {"talk": stream.view(marks=hits)}), control=True) as server:
        page = opened(chromium, server.exposure.url, width, scheme)
        wait_until(lambda: max(page.evaluate(DRAWN)["marks"]) > 8, page)
        # Two channels, each before the gap, after it, and its provisional end.
        wait_until(lambda: len(page.evaluate(DRAWN)["fills"]) == 6, page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        words = page.evaluate(f"({ALL_TEXT})(document.body)")
        assert "hatched, dashed: provisional" in words
        assert "10,000 samples are missing" in words
        picture(page, f"scope-{scheme}-{width}", tmp_path)
        place = page.evaluate("""() => {
            const figures = []
            const look = view => {
                if (view.model.type === "Figure") figures.push(view)
                for (const child of view.child_views ?? []) look(child)
            }
            for (const root of Object.values(Bokeh.index.roots ?? Bokeh.index)) look(root)
            const [view] = figures
            const marks = view.model.renderers.filter(each => each.glyph.type === "Quad").at(-1).data_source.data
            const box = view.el.getBoundingClientRect()
            return [box.x + view.frame.x_scale.compute((marks.left[2] + marks.right[2]) / 2),
                    box.y + view.frame.y_scale.compute(1)]
        }""")
        page.mouse.click(*place)
        page.get_by_text("Verified: the query gives the same row from these events alone.").first.wait_for()
        assert page.problems == []

"""Signals on a page: zoom and pan over 100 million samples, and from a datagram to its mark."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from socket import AF_INET, SOCK_DGRAM, socket
from typing import Final

import numpy as np
from playwright.sync_api import Browser, Page

import whimbrel as wb
from bench.figure import Figure
from tests.workbench.app.serving import served
from tests.workbench.lab import ALL_TEXT
from whimbrel_workbench import Dashboard
from whimbrel_workbench.frames.sample_trace import SampleTrace

WORKLOAD: Final = "I signals"
SAMPLES, QUICK_SAMPLES, STEPS = 100_000_000, 10_000_000, 120
GESTURE_MS: Final = 100
RATE, BLOCK = 1_000, 10
REDRAWS_PER_S: Final = 20

LISTEN: Final = """kind => {
    // A gesture is answered by the first frame with other ranges, and drawn by the first with samples of just these.
    const view = [...Bokeh.index.query(each => each.model.type === "Figure")][0]
    const {x_range, renderers} = view.model
    const sources = renderers.filter(each => ["Patches", "MultiLine"].includes(each.glyph.type))
                             .map(each => each.data_source)
    const waits = window.waits = {seen: [], drawn: []}
    const asked = []
    const undrawn = []
    const drawn = ({left, right}) => {
        const paths = sources.flatMap(each => [...each.data.xs])
        const xs = paths.flatMap(each => [each[0], each.at(-1), each[each.length >> 1]])
        const near = 0.01 * (right - left)
        return Math.abs(Math.min(...xs) - left) < near && Math.abs(Math.max(...xs) - right) < near
    }
    window.addEventListener(kind, event => {
        if (kind === "wheel" || event.buttons) asked.push({at: event.timeStamp, before: x_range.start})
    }, true)
    view.repainted.connect(() => {
        const {start: left, end: right} = x_range
        const seen = []
        while (asked.length && asked[0].before !== left) seen.push(asked.shift().at)
        undrawn.push(...seen.map(at => ({at, left, right})))
        const done = undrawn.splice(0, undrawn.findLastIndex(drawn) + 1)
        setTimeout(() => {
            const now = performance.now()
            waits.seen.push(...seen.map(at => now - at))
            waits.drawn.push(...done.map(({at}) => now - at))
        })
    })
}"""

WATCH: Final = """() => {
    // A sample is as large as the milliseconds since the begin when it was sent: the newest is the greatest.
    const marks = window.marks = []
    let newest = 0
    const look = () => {
        const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
        const highs = models.filter(each => each.type === "ColumnDataSource" && each.data.high_0?.length)
        const born = Math.max(0, ...highs.flatMap(each => [...each.data.high_0]))
        if (born > newest) {
            newest = born
            requestAnimationFrame(() => setTimeout(() => marks.push([born, Date.now()])))
        }
        requestAnimationFrame(look)
    }
    look()
}"""


def run(chromium: Browser, *, quick: bool) -> Iterator[Figure]:
    """Figures of a scope of a long recording, and of one of a device."""
    samples = QUICK_SAMPLES if quick else SAMPLES
    yield from _zoom_and_pan(chromium, samples)
    yield from _datagrams(chromium, 10 if quick else 30)
    yield from _memory(samples)


def _zoom_and_pan(chromium: Browser, samples: int) -> Iterator[Figure]:
    x = np.tile((1_000 * np.random.default_rng(7).normal(size=1_000_000)).astype(np.int16), samples // 1_000_000)
    signal = wb.from_samples({"x": x}, rate=48_000, start="2024-05-01", unit="us")
    with served(Dashboard("Bench", {"scope": signal.view()})) as server:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        page.goto(server.exposure.url)
        page.get_by_text("finished").locator("visible=true").first.wait_for(timeout=300_000)
        page.wait_for_function(
            f"({ALL_TEXT})(document.body).replaceAll('\\n', ' ').includes('{samples:,} samples')",
            timeout=300_000)
        page.wait_for_timeout(3_000)
        box = page.locator(".bk-Figure").first.bounding_box()
        assert box is not None
        at = box["x"] + 500, box["y"] + 100
        page.mouse.move(*at)
        page.locator("[title*='Wheel Zoom']").first.click()
        page.mouse.move(*at)
        page.evaluate(LISTEN, "wheel")
        for step in range(STEPS):  # in to single samples, and out
            page.mouse.wheel(0, 100 if step % 60 >= 30 else -100)
            page.wait_for_timeout(150)
        page.wait_for_timeout(1_000)
        of = f"{samples // 1_000_000}M samples"
        yield from _figures(f"zoom -> drawn, {of}", page)
        for _ in range(20):
            page.mouse.wheel(0, -100)
            page.wait_for_timeout(150)
        page.evaluate(LISTEN, "pointermove")
        page.mouse.down()
        place = at[0]
        for step in range(STEPS):
            place += 12 if step // 20 % 2 else -12
            page.mouse.move(place, at[1])
            page.wait_for_timeout(40)
        page.mouse.up()
        page.wait_for_timeout(1_000)
        yield from _figures(f"pan -> drawn, {of}", page)
        page.close()


def _datagrams(chromium: Browser, seconds: int) -> Iterator[Figure]:
    with _device() as (port, began_ms):
        feed = wb.feeds.udp(port, rate=RATE, samples=BLOCK, channels=["sent"], dtype="<f8", unit="us",
                            reorder_latency="1ms")
        board = Dashboard("Bench", {"scope": feed.view()}, redraws_per_s=REDRAWS_PER_S)
        with served(board) as server:
            page = chromium.new_page(viewport={"width": 1280, "height": 900})
            page.goto(server.exposure.url)
            page.locator(".bk-Figure").first.wait_for(timeout=60_000)
            page.wait_for_timeout(3_000)
            page.evaluate(WATCH)
            page.wait_for_timeout(1_000 * seconds)
            waits_ms = sorted(shown - began_ms - born for born, shown in page.evaluate("window.marks")[1:])
            page.close()
    for share, limit_ms in ((0.5, 60), (0.99, 200)):
        at = waits_ms[min(int(share * len(waits_ms)), len(waits_ms) - 1)]
        yield Figure(WORKLOAD, f"datagram -> mark, p{100 * share:.0f}", "ms", at, f"at most {limit_ms}")


@contextmanager
def _device() -> Iterator[tuple[int, float]]:
    """Sends datagrams to a free port; their samples are the milliseconds since a begin, which is the other result."""
    began_ms = 1_000 * time.time()
    with socket(AF_INET, SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ended = threading.Event()

    def send() -> None:
        with socket(AF_INET, SOCK_DGRAM) as sender:
            number, next_s = 0, time.monotonic()
            while not ended.is_set():
                sender.sendto(struct.pack("<I", number) + np.full(BLOCK, 1_000 * time.time() - began_ms).tobytes(),
                              ("127.0.0.1", port))
                number, next_s = number + 1, next_s + BLOCK / RATE
                time.sleep(max(0.0, next_s - time.monotonic()))

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    try:
        yield port, began_ms
    finally:
        ended.set()
        sending.join()


def _memory(samples: int) -> Iterator[Figure]:
    """Bytes of the values in memory and of all extremes, by the bytes of the samples."""
    for kind in (np.int16, np.float32):
        trace = SampleTrace(np.dtype(kind))
        block = np.arange(262_144).astype(kind)
        for first in range(0, samples, len(block)):
            trace.add(first, block)
        yield Figure(WORKLOAD, f"memory of samples, {np.dtype(kind).name}", "x", trace.nbytes / (
            trace.samples * trace.dtype.itemsize), "at most 1.05")


def _figures(case: str, page: Page) -> Iterator[Figure]:
    for what in ("seen", "drawn"):
        waits_ms = sorted(page.evaluate(f"waits.{what}"))
        for share in (0.5, 0.95):
            at = waits_ms[min(int(share * len(waits_ms)), len(waits_ms) - 1)]
            words = case if what == "drawn" else case.replace("drawn", "moved")
            yield Figure(WORKLOAD, f"{words}, p{100 * share:.0f}", "ms", at, f"at most {GESTURE_MS}")

"""Zoom into a line of a served page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

import whimbrel as wb
from tests.workbench.app.serving import served
from tests.workbench.app.test_served_in_browser import picture, wait_until
from tests.workbench.app.test_signals_in_browser import opened, turn_wheel
from tests.workbench.lab import browser
from tests.workbench.test_zoom_in_browser import LINE
from whimbrel import col
from whimbrel_workbench.workspace import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROWS = 200_000
AT = np.datetime64("2024-01-01", "ms") + np.arange(ROWS) * np.timedelta64(1_000, "ms")
X = np.sin(np.arange(ROWS) / 20_000) + np.where(np.arange(ROWS) % 500 < 5, 1.0, 0.0)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.mark.share(4)
@pytest.mark.parametrize(("width", "scheme", "control"), [(1280, "light", False), (390, "dark", True)])
def test_a_zoomed_line_of_a_dashboard_has_a_value_for_each_pixel(chromium: Browser, tmp_path: Path, width: int,
                                                                 scheme: str, control: bool) -> None:
    signal = wb.from_arrow({"at": AT, "x": X}, time="at", name="signal").select("x")
    smooth = signal.over_time(every="1s", x=wb.mean(col.x).past("5s"))
    with served(Dashboard("Zoom", {"smooth": smooth.view(kind="line")}), control=control) as server:
        page = opened(chromium, server.exposure.url, width, scheme)
        page.get_by_text("finished").locator("visible=true").first.wait_for()
        wait_until(lambda: page.evaluate(LINE)["all"] > 1_000, page)
        whole = page.evaluate(LINE)
        turn_wheel(page, 3)
        length = (whole["end"] - whole["start"]) / 20

        def closer() -> bool:
            now = page.evaluate(LINE)
            return now["end"] - now["start"] < length and now["visible"] > 0.4 * width

        wait_until(closer, page)
        zoomed = page.evaluate(LINE)
        few = whole["all"] * (zoomed["end"] - zoomed["start"]) / (whole["end"] - whole["start"])
        assert 2.5 * few < zoomed["visible"] < 3_000
        page.wait_for_timeout(1_000)  # the last precision is drawn
        picture(page, f"zoom-served-{scheme}-{width}", tmp_path)
        page.get_by_text("Follow data").first.click()
        wait_until(lambda: page.evaluate(LINE)["all"] <= 2_100, page)
        assert page.problems == []

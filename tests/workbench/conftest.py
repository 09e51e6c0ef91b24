"""One JupyterLab for all tests, and a browser in front of it for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.workbench.lab import Lab, Notebook, Open, browser

LOG = """
import pyarrow as pa, numpy as np, whimbrel as wb
from whimbrel import col
rows = 200_000
draw = np.random.default_rng(7)
at = np.datetime64("2013-12-01", "us") + np.sort(draw.integers(0, 31 * 86_400, rows)) * np.timedelta64(1, "s")
delay = draw.gamma(2.0, 9.0, rows)
landed = at + (delay * 60).astype("timedelta64[s]")
log = pa.table({"at": at, "landed": landed, "origin": draw.choice(["EWR", "JFK", "LGA"], rows), "delay": delay})
log = log.sort_by("landed")
history = wb.from_arrow(log, time="at", arrival="landed")
per_hour = history.group_by("origin").hopping_window("3h", "1h").aggregate(flights=wb.count(), delay=wb.mean(col.delay))
live = per_hour.on(wb.replay(history, speed=20_000, reorder_latency="2h", late="drop"))
""".strip()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def open_notebook(lab: Lab, chromium: Browser, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    notebooks = []

    def opened(*cells: str, width: int = 1280, height: int = 1500) -> Notebook:
        name = f"{request.node.name}.ipynb"
        lab.write(name, [LOG, *cells])
        notebook = Notebook(lab, chromium.new_page(viewport={"width": width, "height": height}), name)
        notebooks.append(notebook)
        notebook.run(0)
        return notebook

    yield opened
    for notebook in notebooks:
        notebook.picture(f"{request.node.name}-end", tmp_path)
        notebook.page.close()
    lab.end_kernels()

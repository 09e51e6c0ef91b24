"""A reader zooms into a line of many values: the view asks the query for the visible range only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workbench.lab import Notebook, Open

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SIGNAL = """
import numpy as np
rows = 200_000
at = np.datetime64("2024-01-01", "ms") + np.arange(rows) * np.timedelta64(1_000, "ms")
x = np.sin(np.arange(rows) / 20_000) + np.where(np.arange(rows) % 500 < 5, 1.0, 0.0)
signal = wb.from_arrow({"at": at, "x": x}, time="at", name="signal").select("x")
view = signal.over_time(every="1s", x=wb.mean(col.x).past("5s")).view()
view
""".strip()

LINE = """() => {
    const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
    const figure = models.find(model => model.type === "Figure" && model.below[0]?.type === "DatetimeAxis")
    if (!figure) return null
    const {start, end} = figure.x_range
    const paths = figure.renderers.filter(each => each.glyph.type === "MultiLine")
    const xs = paths.flatMap(each => [...each.data_source.data.xs]).flatMap(each => [...each])
    return {start, end, visible: xs.filter(each => each >= start && each <= end).length, all: xs.length}
}"""

WHEEL = """() => {
    const models = Bokeh.documents.flatMap(document => [...document._all_models.values()])
    for (const each of models) if (each.type === "WheelZoomTool") each.active = true
}"""


def line(notebook: Notebook) -> dict[str, Any]:
    return notebook.page.evaluate(LINE)


@pytest.mark.long
def test_a_zoomed_line_has_a_value_for_each_pixel(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook(SIGNAL)
    notebook.run(1)
    chart = notebook.wait_for_chart(1)
    notebook.wait_for_text(1, "finished", timeout_s=60)
    notebook.page.wait_for_function(f"() => (({LINE})()?.all ?? 0) > 1000")
    whole = line(notebook)
    assert whole["all"] <= 2_100  # 200,000 values, of which a wide picture has two for each pixel
    notebook.picture("zoom-before", tmp_path)
    box = chart.bounding_box()
    assert box is not None
    notebook.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    notebook.page.evaluate(WHEEL)
    for _ in range(3):
        notebook.page.mouse.wheel(0, -400)
        notebook.page.wait_for_timeout(50)
    notebook.page.wait_for_function(
        f"before => {{ const now = ({LINE})(); return now.end - now.start < before / 20 && now.visible > 500 }}",
        arg=whole["end"] - whole["start"], timeout=30_000)
    zoomed = line(notebook)
    notebook.picture("zoom-after", tmp_path)
    assert zoomed["visible"] < 3_000  # and not all that there are
    few = whole["all"] * (zoomed["end"] - zoomed["start"]) / (whole["end"] - whole["start"])
    assert zoomed["visible"] > 5 * few
    notebook.cell(1).get_by_role("button", name="Follow data").click()
    notebook.page.wait_for_function(f"() => ({LINE})().all <= 2100", timeout=30_000)
    assert notebook.problems == []

"""Views in a narrow JupyterLab, in light and in dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.workbench.lab import ALL_TEXT, START_S, Open

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]

WIDTH_PX = 390
KINDS = """
total = history.group_by("origin").tumbling_window("52w").aggregate(flights=wb.count())
display(live.view(), per_hour.view(kind="heatmap"), total.view(kind="bars"))
""".strip()
REACHES = "all => Math.max(...all.filter(each => each.offsetWidth).map(each => each.getBoundingClientRect().right))"
"""How far to the right anything is shown."""


def test_views_fit_a_narrow_page_in_light_and_in_dark(open_notebook: Open, tmp_path: Path) -> None:
    notebook = open_notebook(KINDS, width=WIDTH_PX, height=2_000)
    notebook.page.evaluate("jupyterapp.shell.collapseLeft()")
    notebook.run(1)
    output = notebook.cell(1).locator(".jp-OutputArea")
    output.locator(".bk-Figure").nth(2).wait_for(timeout=START_S * 1000)
    for theme in ("Light", "Dark"):
        notebook.theme(theme)
        notebook.picture(f"narrow-{theme}", tmp_path)
        assert WIDTH_PX - 60 < output.locator(".bk-Column, .bk-FlexBox, .bk-Figure").evaluate_all(REACHES) < WIDTH_PX
    ink = output.get_by_text("finished").first.evaluate("words => getComputedStyle(words).color")
    assert min(map(int, re.findall(r"\d+", ink)[:3])) > 180
    assert "provisional" in output.evaluate(ALL_TEXT)
    notebook.theme("Light")
    assert notebook.problems == []

"""How final a value is can be seen without colours, on light and on dark pages."""

from __future__ import annotations

import io
import re
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from whimbrel_workbench.frames import FrameBuilder, Options, Result, Scatter, Stages
from whimbrel_workbench.views.legend import legend_html
from whimbrel_workbench.views.legend_marks import box_svg, cell_svg, halo_svg, mark_svg, whisker_svg
from whimbrel_workbench.views.palette import COLOURS

STAGES = Stages(("1m", "1h"))
SETTLED = 2
PAGES = {"light": "#ffffff", "dark": "#111111"}
APART = 0.045
"""So much of the way from black to white, on average where either mark is drawn."""


def marks(tint: str, number: int) -> list[str]:
    """Open, early, settled, revised and changed, of one key."""
    stages = [mark_svg(number, tint=tint, stage=stage, stages=STAGES) for stage in range(3)]
    return [*stages, whisker_svg(tint), halo_svg(tint)]


def grey(page: Page, drawings: list[str], background: str) -> list[np.ndarray]:
    """Each drawing four times as large, without its colours, 0 to 1."""
    boxes = "".join(f'<div class="box">{each}</div>' for each in drawings)
    page.set_content(f"<style>body {{ margin: 0; background: {background} }} "
                     f".box {{ width: 26px; height: 20px; zoom: 4 }}</style>{boxes}")
    return [np.asarray(Image.open(io.BytesIO(box.screenshot())).convert("L"), float) / 255
            for box in page.locator(".box").all()]


@pytest.mark.share(2)
@pytest.mark.browser
@pytest.mark.parametrize("theme", PAGES)
def test_stages_revisions_and_changes_differ_in_how_dark_they_are(chromium: Browser, theme: str) -> None:
    page = chromium.new_page(device_scale_factor=1)
    kinds = {f"{tint} marks": marks(tint, number) for number, tint in enumerate(COLOURS)}
    kinds["bars"] = [*(box_svg(STAGES.fullness(stage)) for stage in range(3)), box_svg(0, halo=True)]
    kinds["cells"] = [*(cell_svg(stage, STAGES) for stage in range(3)), cell_svg(SETTLED, STAGES, revised=True),
                      cell_svg(SETTLED, STAGES, changed=True)]
    for kind, drawings in kinds.items():
        *pictures, empty = grey(page, [*drawings, ""], PAGES[theme])
        for one, other in combinations(range(len(pictures)), 2):
            drawn = np.maximum(np.abs(pictures[one] - empty), np.abs(pictures[other] - empty)) > 0.05
            apart = np.abs(pictures[one] - pictures[other])[drawn].mean()
            assert apart > APART, f"{kind} on {theme}: {one} and {other} are {apart:.3f} apart"


def test_a_cloud_of_points_is_lighter_where_there_are_more_of_them_also_below_zero() -> None:
    table = pa.table({"start": [0, *[5] * 4, *[9] * 9], "end": [1, *[6] * 4, *[10] * 9], "v": [-5.0] + [1.0] * 13})
    picture = FrameBuilder(Options(kind="density", y="v")).picture(Result(table, (14,)))
    assert isinstance(picture, Scatter)
    shown = re.findall(r'fill="(#[0-9a-f]{6})"', legend_html(picture), flags=re.IGNORECASE)[:6]
    lightness = [sum(int(tint[at:at + 2], 16) * share for at, share in ((1, 0.3), (3, 0.59), (5, 0.11)))
                 for tint in shown]
    assert lightness == sorted(lightness)
    assert lightness[-1] - lightness[0] > 100

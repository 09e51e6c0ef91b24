"""Pictures of pages: the README's ten lines, and the telling cell of each notebook, run in JupyterLab."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jupytext
import nbformat
from playwright.sync_api import Browser

from tests.workbench.lab import Lab, Notebook, browser

ROOT = Path(__file__).parents[1]
WIDTH, HEIGHT = 1280, 1500
AROUND = """([first, last]) => {
  const cells = [...document.querySelectorAll(".jp-Notebook .jp-CodeCell")]
  const [upper, lower] = [cells[first], cells[last]].map(cell => cell.getBoundingClientRect())
  return {x: upper.x, y: upper.y, width: upper.width, height: lower.bottom - upper.y}
}"""


class Telling(NamedTuple):
    """The cell of a notebook that is drawn, and when."""

    code: str
    """That no other cell has."""
    shows: str = ""
    """A regular expression: what is read in its output by then; empty where it is a chart that does not move."""


NOTEBOOKS = {
    "01_first_picture": Telling("december = wb.replay(", r"2013-12-03 "),
    "02_windows_and_lifetimes": Telling("windows = {"),
    "03_late_data": Telling("answers = bands.collect()", "change"),
    "04_back_test_then_live": Telling("delays.on(december).view(", r"2013-12-0[6-9] \d\d:"),
    "05_your_own_aggregate": Telling("measured.view(", "finished"),
    "06_big_scatter_and_heat_map": Telling("cloud = readings", "finished"),
    "07_inside": Telling("spent = delays.profile()", "rows_in"),
    "08_progressive_answers": Telling("query.progressive(every=\"1%\", seed=5)", "paused"),
    "13_functions_of_time": Telling("rain.between(", "finished"),
    "15_stream_sql": Telling("days.on(december).view(", r"2013-12-0[6-9] \d\d:"),
}


def ten_lines() -> list[str]:
    """The code of the README, without its comments."""
    code = (ROOT / "README.md").read_text(encoding="utf-8").split("## Ten lines")[1].split("```python\n")[1]
    bare = re.sub(r" +#.*", "", code.split("```")[0]).replace("history = delays.collect()\n", "")
    first, second, third = re.split(r"\n\n(?=delays|live)", bare.strip())
    return [first, second.strip(), third.replace("speed=5000", "speed=10_000")]


def pictures(images: Path) -> Iterator[Path]:
    """Draw them all, one after the other."""
    os.environ.setdefault("WHIMBREL_ROWS", "4_000_000")  # of progressive answers
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        lab = Lab(Path(folder))
        try:
            yield _of_ten_lines(lab, chromium, images / "first_picture.png")
            for name, telling in NOTEBOOKS.items():
                yield _of_notebook(lab, chromium, name, telling, images / "notebooks" / f"{name}.png")
        finally:
            lab.close()


def _opened(lab: Lab, chromium: Browser, name: str) -> Notebook:
    page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.5)
    notebook = Notebook(lab, page, f"{name}.ipynb")
    page.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
    return notebook


def _of_ten_lines(lab: Lab, chromium: Browser, image: Path) -> Path:
    lab.write("ten_lines.ipynb", ten_lines())
    notebook = _opened(lab, chromium, "ten_lines")
    for number in range(3):
        notebook.run(number)
    notebook.wait_for_chart(2)
    notebook.wait_for_text(2, "2013-12-03 1[3-9]", timeout_s=120)  # two and a half days: every kind of mark is there
    return _drawn(notebook, image, 0, 2)


def _of_notebook(lab: Lab, chromium: Browser, name: str, telling: Telling, image: Path) -> Path:
    written = jupytext.read(ROOT / "notebooks" / f"{name}.py")
    nbformat.write(written, lab.folder / f"{name}.ipynb")
    number, = (number for number, cell in enumerate(cell for cell in written.cells if cell.cell_type == "code")
               if telling.code in cell.source)
    notebook = _opened(lab, chromium, name)
    for cell in range(number + 1):
        notebook.run(cell)
    if telling.shows:
        notebook.wait_for_text(number, telling.shows, timeout_s=180)
    else:
        notebook.wait_for_chart(number)
    return _drawn(notebook, image, number, number)


def _drawn(notebook: Notebook, image: Path, first: int, last: int) -> Path:
    notebook.cell(first).evaluate("cell => cell.scrollIntoView({block: 'start'})")
    notebook.page.mouse.move(5, 5)
    notebook.page.wait_for_timeout(500)
    image.parent.mkdir(exist_ok=True)
    notebook.page.screenshot(path=image, clip=notebook.page.evaluate(AROUND, [first, last]))
    notebook.page.close()
    notebook.lab.end_kernels()
    return image

"""The first picture of the README: its ten lines in JupyterLab, while the replay goes on."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.workbench.lab import Lab, Notebook, browser

README = Path(__file__).parents[1] / "README.md"
SEEN = "2013-12-03 1[3-9]"  # two and a half days: every kind of mark is there
AROUND = """cells => {
  const [first, last] = [cells[0], cells[2]].map(cell => cell.getBoundingClientRect())
  return {x: first.x, y: first.y, width: first.width, height: last.bottom - first.y}
}"""


def cells() -> list[str]:
    """The ten lines, without what is said beside them."""
    code = README.read_text(encoding="utf-8").split("## Ten lines")[1].split("```python\n")[1].split("```")[0]
    bare = re.sub(r" +#.*", "", code).replace('history = delays.collect()\n', "").strip()
    first, second, third = (block.strip() for block in re.split(r"\n\n(?=delays|live)", bare))
    return [first, second, third.replace("speed=5000", "speed=10_000")]


def draw(image: Path) -> Path:
    """Run them, wait for some days and save what is on the page."""
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        lab = Lab(Path(folder))
        try:
            lab.write("first.ipynb", cells())
            page = chromium.new_page(viewport={"width": 1280, "height": 1300}, device_scale_factor=1.5)
            notebook = Notebook(lab, page, "first.ipynb")
            page.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
            for number in range(3):
                notebook.run(number)
            notebook.wait_for_chart(2)
            notebook.wait_for_text(2, SEEN, timeout_s=120)
            page.mouse.move(5, 5)
            page.screenshot(path=image, clip=page.locator(".jp-Notebook .jp-CodeCell").evaluate_all(AROUND))
        finally:
            lab.close()
    return image

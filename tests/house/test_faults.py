"""The table of feeds and faults in docs/feeds.md has what the tests show, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = re.compile(r'@pytest\.mark\.fault\("([^"]+)", "([^"]+)"\)')


def test_the_table_is_that_of_the_tests() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")]
    marked = {pair for text in texts for pair in MARK.findall(text)}
    page = (ROOT / "docs/feeds.md").read_text(encoding="utf-8")
    header, _, *rows = page.split("<!-- faults -->\n")[1].split("<!-- end -->")[0].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in (header, *rows)]
    faults = cells[0][1:]
    assert {(feed, fault) for feed, *words in cells[1:] for fault, word in zip(faults, words, strict=True)
            if word == "yes"} == marked, "make faults writes the table"

"""Every Python block of the README and of docs/ runs, the blocks of one page one after another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    if BLOCK.search(page.read_text(encoding="utf-8"))
]


def test_the_readme_has_a_block() -> None:
    assert ROOT / "README.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        # Blank lines in front, so that a traceback shows the line of the page.
        above = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(above + block[1], str(page), "exec"), names)

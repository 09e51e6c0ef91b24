"""Every Python block of the README and of docs/ runs, the blocks of one page one after another.

Blocks marked ``python`` are run as they stand; blocks marked ``pycon`` are sessions, and their output is compared.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [
    page
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    if BLOCK.search(page.read_text(encoding="utf-8"))
]


def test_the_readme_and_the_tour_have_blocks() -> None:
    assert {ROOT / "README.md", ROOT / "docs/tour.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        lines_above = text.count("\n", 0, block.start(2))
        if block[1] == "python":
            # Blank lines in front, so that a traceback shows the line of the page.
            exec(compile("\n" * lines_above + block[2], str(page), "exec"), names)
        else:
            session = doctest.DocTestParser().get_doctest(block[2], names, page.name, str(page), lines_above)
            report: list[str] = []
            doctest.DocTestRunner(optionflags=OPTIONS).run(session, out=report.append, clear_globs=False)
            assert not report, "".join(report)
            names = session.globs

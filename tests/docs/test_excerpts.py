"""What docs/how-to shows of a file stands in that file.

A ``py`` block whose first line is the path of a file in a comment is an excerpt; ``...`` alone stands for what is left
out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```py\n# (\S+)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PAGES = sorted((ROOT / "docs/how-to").glob("*.md"))
EXCERPTS = [(page.name, *found) for page in PAGES for found in BLOCK.findall(page.read_text(encoding="utf-8"))]


def test_there_are_excerpts() -> None:
    assert EXCERPTS


@pytest.mark.parametrize(("page", "file", "excerpt"), EXCERPTS, ids=[f"{page}:{file}" for page, file, _ in EXCERPTS])
def test_an_excerpt_stands_in_its_file(page: str, file: str, excerpt: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    for part in re.split(r"^\.\.\.\n", excerpt, flags=re.MULTILINE):
        assert part in text, f"{page} shows of {file} what is not there"
        text = text[text.index(part) + len(part):]

"""Every dotted name and every link in the documentation leads somewhere."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
NAME = re.compile(r"\b(?:whimbrel|whimbrel_workbench)(?:\.[A-Za-z_]\w*)+")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)#\s]+)\)")


def resolve(dotted: str) -> object:
    parts = dotted.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        for part in parts[depth:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(dotted)


NAMES = sorted({name for page in PAGES for name in NAME.findall(page.read_text(encoding="utf-8"))})
LINKS = [(page, *link) for page in PAGES for link in LINK.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name: str) -> None:
    resolve(name)


@pytest.mark.parametrize(("page", "words", "target"), LINKS, ids=lambda value: getattr(value, "name", value))
def test_link_leads_to_what_it_names(page: Path, words: str, target: str) -> None:
    file = page.parent / target
    assert file.exists(), f"{page.relative_to(ROOT)} points at {target}"
    if file.suffix == ".py" and words.startswith("`"):
        name = words.strip("`")
        text = file.read_text(encoding="utf-8")
        assert re.search(rf"^ *((class|def) {name}\b|{name}\b.* = )", text, re.MULTILINE), f"{target} lacks {name}"

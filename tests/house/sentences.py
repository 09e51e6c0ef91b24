"""Sentences of pages and docstrings, and how many words they have."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from tests.house.texts import blocks

PAGE_WORDS = 30
DOCSTRING_WORDS = 35


def long_in_page(page: str, limit: int = PAGE_WORDS) -> Iterator[str]:
    """Sentences of a page that are too long; each item of a list and each cell of a table stands for itself."""
    for block in blocks(page):
        text = " ".join(line.strip() for _, line in block)
        for part in text.split("|") if text.startswith("|") else [text]:
            yield from _long(part, limit)


def long_in_docstring(text: str, limit: int = DOCSTRING_WORDS) -> Iterator[str]:
    """Sentences of a docstring that are too long; examples, drawings, literal blocks and headings are left out."""
    literal = False
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = paragraph.splitlines()
        literal = literal and lines[0].startswith(" ")
        if literal or lines[0].lstrip().startswith(">>>"):
            continue
        literal = lines[-1].endswith("::")
        block = ""
        for line in lines:
            begins = re.match(r"\s*([-*] |\w[\w, *`]* : |\w+$|-{3,}$|[.]{2} |>>>)", line)
            if begins:
                yield from _long(block, limit)
                block = ""
            if not _drawn(line) and not line.lstrip().startswith(">>>"):
                block += f" {line.strip()}"
        yield from _long(block, limit)


def _long(block: str, limit: int) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?])[)*\"]?\s+(?=[A-Z*(\[\"`:0-9])", block.strip()):
        if len(re.findall(r"[A-Za-z][\w'-]*", sentence)) > limit:
            yield sentence


def _drawn(line: str) -> bool:
    marks = len(re.findall(r"[-=|.\[\])<>^#+]", line))
    return marks > len(line.strip()) / 4

"""The words that the glossary bans, and where a text or a name has them."""

from __future__ import annotations

import functools
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

GLOSSARY = Path(__file__).parents[2] / "docs/reference/glossary.md"
ALLOWED = re.compile(r"words? allowed: \w+")
"""A comment that lets a line keep a banned word; the reason follows it."""
COMPOUNDS = {
    "dead_letter": "the field's name of a malformed message in its queue",
    "dead_letters": "the content of a dead-letter queue",
    "max_ahead": "an event time after the clock, which is no lookahead of a plan",
    "read_ahead": "prefetching of files, as operating systems call it",
}
"""Standard terms that contain a banned part of a name, each with the reason."""
ORDINARY = {"ahead", "behind", "fact", "gone", "least", "letter", "letters", "look", "looks", "missed", "most", "place",
            "places", "quiet", "refused", "room", "said", "share", "shares", "silent", "words"}
"""Banned parts that are also ordinary words of code: private names may have them."""


@dataclass(frozen=True)
class Glossary:
    """What is banned, each with the term to use."""

    phrases: dict[str, str]
    """Words and phrases that prose must not have."""
    parts: dict[str, str]
    """Parts that a name must not have."""
    whole: dict[str, str]
    """Whole names."""

    def in_text(self, text: str) -> Iterator[tuple[str, str]]:
        """Banned words of a text, with the terms to use."""
        for found in self._pattern.finditer(re.sub(r"\s+", " ", text)):
            yield found[0].lower(), self.phrases[found[0].lower()]

    def in_lines(self, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
        """Banned words of a block of lines, also across a line break: the line where each begins, word and term."""
        begins, whole = list[int](), ""
        for _, line in lines:
            begins.append(len(whole))
            whole += re.sub(r"\s+", " ", line.strip()) + " "
        for found in self._pattern.finditer(whole):
            yield lines[bisect(begins, found.start()) - 1][0], found[0].lower(), self.phrases[found[0].lower()]

    def in_name(self, name: str, *, private: bool = False) -> Iterator[tuple[str, str]]:
        """Banned parts of a name; ordinary words are allowed in private ones."""
        snake = "_".join(_parts(name))
        if snake in self.whole and not (private and snake in ORDINARY):
            yield snake, self.whole[snake]
        rest = f"_{snake}_"
        for compound in sorted(COMPOUNDS, key=len, reverse=True):
            rest = rest.replace(f"_{compound}_", "__")
        for banned, term in self.parts.items():
            if f"_{banned}_" in rest and not (private and banned in ORDINARY):
                yield banned, term

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.phrases, key=len, reverse=True)
        return re.compile(rf"(?<![\w`.-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w`]|-\w)", re.IGNORECASE)


def read(page: str) -> Glossary:
    """Glossary of a page: tables of term, definition, banned phrases, banned names."""
    phrases, parts, whole = dict[str, str](), dict[str, str](), dict[str, str]()
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 4 or cells[0] in {"Term", "---"}:
            continue
        term, _, prose, names = cells
        phrases.update(dict.fromkeys((word.lower() for word in re.findall("`([^`]+)`", prose)), term))
        for name in re.findall("`([^`]+)`", names):
            (whole if name.startswith("=") else parts)[name.removeprefix("=")] = term
    return Glossary(phrases, parts, whole)


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]

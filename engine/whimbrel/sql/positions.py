"""Positions of parts of a query, shown with a caret."""

from __future__ import annotations

import re
from typing import Any

from whimbrel.errors import SqlError

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_QUOTED = re.compile(r'"[^"]*"')
_WIDEST_LINE = 100
"""Characters of a line that an error shows."""


class SqlText:
    """The text of a query, for errors that show a place in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def error(self, what: str, node: Any, hint: str) -> SqlError:
        """An error at a node of the parsed query."""
        return self.error_at(what, *span(node), hint)

    def error_at(self, what: str, start: int, stop: int, hint: str) -> SqlError:
        """An error at a range of characters, with the line and a caret."""
        return SqlError(what, where=self.excerpt(start, stop), hint=hint)

    def called(self, node: Any) -> str:
        """The name of a function as the user wrote it; an empty text where a node is no call in the text."""
        found = _CALL.match(self.text, node.meta["start"]) if "start" in node.meta else None
        return found[1].lower() if found else ""

    def excerpt(self, start: int, stop: int) -> str:
        """The number of the line, its text, and a line with carets."""
        start = min(max(start, 0), len(self.text))
        begin = self.text.rfind("\n", 0, start) + 1
        end = self.text.find("\n", begin)
        line = self.text[begin : len(self.text) if end < 0 else end]
        column, length = start - begin, max(min(stop, begin + len(line)) - start, 1)
        cut = max(0, column - _WIDEST_LINE // 2)
        shown = line[cut : cut + _WIDEST_LINE].replace("\t", " ")
        head = f"line {self.text.count(chr(10), 0, start) + 1}: "
        carets = "^" * min(length, max(len(shown) - (column - cut), 1))
        return f"{head}{shown}\n{' ' * (len('  where: ') + len(head) + column - cut)}{carets}"


def span(node: Any) -> tuple[int, int]:
    """The characters of a node, from those of its parts: operators themselves have no place."""
    starts, stops = [], []
    for part in node.walk() if node is not None else ():
        if "start" in part.meta:
            starts.append(part.meta["start"])
            stops.append(part.meta["end"] + 1)
    return (min(starts), max(stops)) if starts else (0, 1)


def plain_hint(hint: str) -> str:
    """A hint of an expression, if it has no Python in it; else the one about types, if it is about them."""
    python = ("(", "col.", "wb.", "lambda", "[")
    if hint and not any(mark in _QUOTED.sub("", hint) for mark in python):
        return hint
    types = not hint or "cast" in hint.lower() or "(" not in hint or "parentheses" in hint
    return "Cast one side, such as CAST(x AS DOUBLE)." if types else "See the functions in docs/sql.md."

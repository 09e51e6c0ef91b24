"""The records of a sqllogictest file."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

ENGINE: Final = "whimbrel"
"""The name that ``skipif`` and ``onlyif`` compare."""

MAX_ROUNDS: Final = 1_000
"""How often a ``loop`` is written out at most."""

_HASHED: Final = re.compile(r"(\d+) values hashing to ([0-9a-f]{32})")


@dataclass(frozen=True)
class LogicRecord:
    """One record of a file.

    Parameters
    ----------
    kind : {"statement", "query"}
    text : str
        The SQL.
    line : int
        Where it is in the file, from 1.
    fails : bool
        Whether an error is expected.
    types : str
        A letter for each column of a query: I, R or T.
    sort : {"nosort", "rowsort", "valuesort"}
    expected : tuple of str
        Lines after ``----``.
    """

    kind: Literal["statement", "query"]
    text: str
    line: int
    fails: bool = False
    types: str = ""
    sort: str = "nosort"
    expected: tuple[str, ...] = ()

    @property
    def hashed(self) -> tuple[int, str] | None:
        """The number of values and their MD5, where the file has these alone."""
        found = _HASHED.fullmatch(self.expected[0].strip()) if len(self.expected) == 1 else None
        return None if found is None else (int(found[1]), found[2])


def read_records(text: str) -> list[LogicRecord]:
    """The records that this engine should run, in their order.

    Files of SQLite, DuckDB, CockroachDB and RisingWave differ a little. A block ends at an empty line. Loops are
    written out. Words that concern a server only have no effect.
    """
    found: list[LogicRecord] = []
    blocks = _blocks(text.splitlines())
    _records(blocks, found, {})
    return found


def _blocks(lines: list[str]) -> list[tuple[int, list[str]]]:
    """Lines between empty ones, without comments, each with its place."""
    blocks: list[tuple[int, list[str]]] = []
    block: list[str] = []
    start = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if block:
                blocks.append((start, block))
            block = []
        elif not (line.startswith("#") and "----" not in block):
            if not block:
                start = number
            block.append(line.rstrip("\r"))
    if block:
        blocks.append((start, block))
    return blocks


def _records(blocks: list[tuple[int, list[str]]], found: list[LogicRecord], names: dict[str, str]) -> bool:
    """Add the records of blocks; False once the file says that it ends."""
    at, muted = 0, False
    while at < len(blocks):
        line, block = blocks[at]
        at += 1
        words = block[0].split()
        skipped = False
        while words and words[0] in ("skipif", "onlyif"):
            skipped |= (words[1] == ENGINE) == (words[0] == "skipif")
            block = block[1:]
            line += 1
            words = block[0].split() if block else []
        if not words or skipped:
            continue
        match words[0]:
            case "halt":
                return False
            case "mode":
                muted = words[1:2] == ["skip"]
            case "loop" | "foreach" | "concurrentloop" | "concurrentforeach":
                if len(block) > 1:  # the body follows without an empty line
                    blocks.insert(at, (line + 1, block[1:]))
                end = _end(blocks, at)
                for value in _rounds(words):
                    if not _records(list(blocks[at:end]), found, {**names, words[1]: value}):
                        return False
                at = end + 1
            case "statement" | "query" if not muted:
                made = _record(line, block, words)
                for name, value in names.items():
                    made = replace(made, text=made.text.replace(f"${{{name}}}", value),
                                   expected=tuple(each.replace(f"${{{name}}}", value) for each in made.expected))
                found.append(made)
            case "hash-threshold" | "require" | "load" | "endloop" | "control" | "sleep" | "subtest" | "set":
                if len(block) > 1:
                    blocks.insert(at, (line + 1, block[1:]))
    return True


def _end(blocks: list[tuple[int, list[str]]], at: int) -> int:
    """The block that ends a loop; a body that is written together with its end is parted."""
    depth = 1
    for number in range(at, len(blocks)):
        line, block = blocks[number]
        for place, each in enumerate(block):
            word = (each.split() or [""])[0]
            depth += (word in ("loop", "foreach")) - (word == "endloop")
            if word == "endloop" and depth == 0:
                if place:
                    blocks[number : number + 1] = [(line, block[:place]), (line + place, block[place:])]
                    return number + 1
                return number
    return len(blocks)


def _rounds(words: list[str]) -> list[str]:
    if "loop" in words[0]:
        return [str(each) for each in range(int(words[2]), int(words[3]))][:MAX_ROUNDS]
    return words[2:]


def _record(line: int, block: list[str], words: list[str]) -> LogicRecord:
    if words[0] == "statement":
        body = block[1:]
        rest = body[: body.index("----")] if "----" in body else body
        return LogicRecord("statement", "\n".join(rest), line, fails=words[1:2] == ["error"])
    body = block[1:]
    mark = body.index("----") if "----" in body else len(body)
    fails = words[1:2] == ["error"]
    sort = next((word for word in words[2:] if word in ("nosort", "rowsort", "valuesort", "sort")), "nosort")
    return LogicRecord("query", "\n".join(body[:mark]), line, fails, "" if fails else (words[1:2] or [""])[0],
                       "rowsort" if sort == "sort" else sort, tuple(body[mark + 1 :]))

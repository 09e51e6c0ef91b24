"""The order of names in which numbers count as numbers: ``part-2`` comes before ``part-10``."""

from __future__ import annotations

import re
from pathlib import Path

_PIECES = re.compile(r"[0-9]+|[^0-9]")

NaturalKey = tuple[tuple[tuple[int, int], ...], str]


def natural(name: str) -> NaturalKey:
    """What a name is sorted by: letter by letter, but that digits side by side are one number.

    Names that differ in leading zeros alone come in the order of their letters.

    >>> sorted(["part-10", "part-2", "part-02", "part"], key=natural)
    ['part', 'part-02', 'part-2', 'part-10']
    """
    pieces: list[str] = _PIECES.findall(name)
    return tuple((ord("0"), int(piece)) if piece[0] in "0123456789" else (ord(piece), 0) for piece in pieces), name


def natural_path(path: Path) -> tuple[NaturalKey, ...]:
    """What a path is sorted by: folder by folder, then by its name without its ending.

    >>> [file.name for file in sorted(map(Path, ["a-1.csv", "a1.csv", "a.csv"]), key=natural_path)]
    ['a.csv', 'a-1.csv', 'a1.csv']
    """
    return tuple(map(natural, (*path.parts[:-1], path.stem, path.suffix)))

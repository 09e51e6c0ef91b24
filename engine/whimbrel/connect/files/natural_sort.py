"""Natural order of names: ``part-2`` before ``part-10``."""

from __future__ import annotations

import re
from typing import Protocol

_PIECES = re.compile(r"[0-9]+|[^0-9]")

NaturalKey = tuple[tuple[tuple[int, int], ...], str]


class NamedPath(Protocol):
    """A path on this machine or another."""

    @property
    def parts(self) -> tuple[str, ...]: ...
    @property
    def stem(self) -> str: ...
    @property
    def suffix(self) -> str: ...


def natural(name: str) -> NaturalKey:
    """Sort key of a name: characters, with runs of digits as numbers.

    Names that differ in leading zeros alone come in the order of their letters.

    >>> sorted(["part-10", "part-2", "part-02", "part"], key=natural)
    ['part', 'part-02', 'part-2', 'part-10']
    """
    pieces: list[str] = _PIECES.findall(name)
    return tuple((ord("0"), int(piece)) if piece[0] in "0123456789" else (ord(piece), 0) for piece in pieces), name


def natural_path(path: NamedPath) -> tuple[NaturalKey, ...]:
    """Sort key of a path: its folders, then its name without the suffix.

    >>> from pathlib import PurePath
    >>> [file.name for file in sorted(map(PurePath, ["a-1.csv", "a1.csv", "a.csv"]), key=natural_path)]
    ['a.csv', 'a-1.csv', 'a1.csv']
    """
    return tuple(map(natural, (*path.parts[:-1], path.stem, path.suffix)))

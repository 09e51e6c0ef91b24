"""Label rows by key, and keep the slots of keys."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel_workbench.frames.arrow_values import integers


@dataclass(frozen=True, slots=True)
class Labels:
    """Which series each row belongs to.

    Parameters
    ----------
    names : tuple of str
        Label of each series, in order of first appearance.
    codes : array of int
        For each row, the position of its series in ``names``.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of each series."""
        return np.bincount(self.codes, minlength=len(self.names))


def labels(table: pa.Table, keys: Sequence[str]) -> Labels:
    """Label every row by its key columns; no key columns means a single, nameless series.

    >>> found = labels(pa.table({"a": ["x", "y", "x"], "b": [True, True, False]}), ["a", "b"])
    >>> found.names, found.codes.tolist()
    (('x, true', 'y, true', 'x, false'), [0, 1, 2])

    Other keys have other labels, whatever their words are.

    >>> labels(pa.table({"a": ["x, y", "x"], "b": ["z", "y, z"]}), ["a", "b"]).names
    ('"x, y", z', 'x, "y, z"')
    """
    if not keys:
        return Labels(("",), np.zeros(len(table), np.int64))
    parts = [_encoded(table.column(key)) for key in keys]
    combined = parts[0][1]
    for names, codes in parts[1:]:
        combined = combined * len(names) + codes
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    if len(parts) > 1:
        parts = [([json.dumps(name, ensure_ascii=False) if ", " in name else name for name in names], codes)
                 for names, codes in parts]
    seen = [", ".join(names[codes[row]] for names, codes in parts) for row in first[order]]
    return Labels(tuple(seen), rank[inverse])


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int64]]:
    """Distinct values as words, and each row's position among them."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunk = column.unify_dictionaries().combine_chunks()
    if isinstance(chunk, pa.ChunkedArray):
        chunk = chunk.chunk(0) if chunk.num_chunks else pa.array([], column.type)
    names = [_words(value) for value in chunk.dictionary.to_pylist()] + ["(null)"]
    return names, integers(chunk.indices, null=len(names) - 1)


def _words(value: object) -> str:
    """A value as it is read; a text that looks like another value, or like a quoted one, is quoted."""
    match value:
        case None:
            return "(null)"
        case "":
            return "(empty)"
        case bool():
            return "true" if value else "false"
        case str() if value in ("(null)", "(empty)") or value.startswith('"'):
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def natural(name: str) -> tuple[tuple[int, float, str], ...]:
    """By this key names are in the order in which people count: 2 before 10.

    >>> sorted(["gate 10", "gate 9", "b", "-1", "3"], key=natural)
    ['-1', '3', 'b', 'gate 9', 'gate 10']
    """
    try:
        return ((0, float(name), ""),)
    except ValueError:
        parts = re.split(r"(\d+)", name)
        return tuple((1, 0.0, part) if number % 2 == 0 else (0, float(part), "") for number, part in enumerate(parts))


@dataclass(frozen=True, slots=True)
class Slots:
    """The keys that are shown, each in a place (and so a colour) that it keeps.

    Examples
    --------
    >>> slots = Slots(maximum=2).assign(("a", "b", "c"), [5, 1, 4])
    >>> slots.names
    ('a', 'c')
    >>> slots.assign(("a", "b", "c"), [5, 4, 4]).names   # a small lead does not unseat anybody
    ('a', 'c')
    >>> slots.assign(("a", "b", "c"), [5, 9, 4]).names   # a clear one does, and takes over the place
    ('a', 'b')
    """

    maximum: int
    names: tuple[str, ...] = ()

    def assign(self, names: Sequence[str], rows: Sequence[int] | NDArray[Any],
             totals: Sequence[float] | NDArray[Any] | None = None) -> Slots:
        """Fill free places with the keys that have most rows; move somebody only for a lead of a quarter.

        Parameters
        ----------
        names, rows : sequences
            Keys in order of first appearance, and how many rows each has.
        totals : sequence of float, optional
            Decides between keys with equally many rows: the larger one goes first.
        """
        count = dict(zip(names, (int(n) for n in rows), strict=True))
        total = dict(zip(names, (float(t) for t in totals), strict=True)) if totals is not None else {}
        seated = list(self.names)
        waiting = sorted((name for name in names if name not in seated),
                         key=lambda name: (-count[name], -total.get(name, 0.0)))
        free = self.maximum - len(seated)
        arrivals = set(waiting[:free])
        seated += [name for name in names if name in arrivals]
        for name in waiting[free:]:
            weakest = min(range(len(seated)), key=lambda place: count.get(seated[place], 0))
            if count[name] <= 1.25 * count.get(seated[weakest], 0):
                break
            seated[weakest] = name
        return Slots(self.maximum, tuple(seated))

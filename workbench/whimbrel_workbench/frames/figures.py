"""A result as big numbers: one row, no key."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from whimbrel_workbench.frames.columns import Columns
from whimbrel_workbench.frames.numbers import value_words


@dataclass(frozen=True, slots=True)
class Figures:
    """The values of the newest row, each with its column's name."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    settled: bool
    settled_rows: int
    rows: int


def figures(table: pa.Table, settled: int, columns: Columns) -> Figures | None:
    """The newest row of ``table`` as numbers; None without rows or numbers."""
    if not len(table) or columns.value is None:
        return None
    names = (columns.value, *(name for name in columns.values if name != columns.value))
    newest = table.slice(len(table) - 1)
    values = tuple(value_words(newest.column(name)[0].as_py()) for name in names)
    return Figures(names, values, settled == len(table), settled, len(table))

"""A result as bars: one per key, for results that speak of a single time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from whimbrel_workbench.frames.columns import Columns
from whimbrel_workbench.frames.extent import Extent, grown
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.values import floats

MOST_BARS: Final = 20


@dataclass(frozen=True, slots=True)
class Bars:
    """Values by key in a fixed order, with the names of what is not shown.

    Parameters
    ----------
    names : tuple of str
        Keys from top to bottom; a key keeps its rank during a run.
    lengths : tuple of float
        The newest value of each key.
    settled : tuple of bool
        Whether each value is final.
    """

    names: tuple[str, ...]
    lengths: tuple[float, ...]
    settled: tuple[bool, ...]
    value: str
    keys: tuple[str, ...]
    extent: Extent
    others: tuple[str, ...]
    settled_rows: int
    rows: int


@dataclass(frozen=True, slots=True)
class BarMemory:
    """Order of the bars and range of their axis."""

    names: tuple[str, ...] = ()
    extent: Extent | None = None


def bars(table: pa.Table, settled: int, columns: Columns, memory: BarMemory) -> tuple[Bars | None, BarMemory]:
    """Draw the newest value of each key; first seen longest first, later keys below. None without any value."""
    if columns.value is None:
        return None, memory
    y = floats(table.column(columns.value))
    named = labels(table, columns.keys)
    newest = {named.names[code]: row for row, code in enumerate(named.codes.tolist()) if np.isfinite(y[row])}
    if not newest:
        return None, memory
    ranked = sorted(newest, key=lambda name: -y[newest[name]])
    kept = [name for name in memory.names if name in newest]
    names = (kept + [name for name in ranked if name not in kept])[:MOST_BARS]
    lengths = tuple(float(y[newest[name]]) for name in names)
    extent = grown(memory.extent, min(0.0, *lengths), max(0.0, *lengths))
    frame = Bars(tuple(names), lengths, tuple(newest[name] < settled for name in names), columns.value, columns.keys,
                 extent, tuple(name for name in ranked if name not in names), settled, len(table))
    return frame, BarMemory(tuple(names), extent)

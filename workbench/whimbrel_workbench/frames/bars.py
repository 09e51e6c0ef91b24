"""A result as bars: one per key, for results that speak of a single time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import Final, Self

import numpy as np

from whimbrel_workbench.frames.columns import Columns
from whimbrel_workbench.frames.extent import Extent, grown, limited
from whimbrel_workbench.frames.labels import Labels
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.frames.stages import Stages
from whimbrel_workbench.frames.style import Style

MOST_BARS: Final = 20


@dataclass(frozen=True, slots=True)
class Bar:
    """The newest value of one key.

    Parameters
    ----------
    name : str
        The key, as words.
    length : float
    stage : int
        How final the value is.
    before : float
        What its earliest answer was if it was revised, else NaN.
    changed : bool
        Whether it is another than at the reader's last look.
    """

    name: str
    length: float
    stage: int
    before: float = nan
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """Values by key in a fixed order, with the names of what is not shown.

    Parameters
    ----------
    bars : tuple of Bar
        From top to bottom; a key keeps its rank during a run.
    stale : bool
        Whether the longest is no longer on top: another order would read better.
    """

    bars: tuple[Bar, ...]
    value: str
    keys: tuple[str, ...]
    extent: Extent
    others: tuple[str, ...]
    stale: bool
    stages: Stages
    settled_rows: int
    rows: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(bar.name for bar in self.bars)

    def compared(self, earlier: Bars) -> Self:
        """The same, with what is otherwise than in an earlier picture marked."""
        known = {bar.name: bar.length for bar in earlier.bars}
        return replace(self, bars=tuple(replace(bar, changed=known.get(bar.name, bar.length) != bar.length)
                                        for bar in self.bars))


@dataclass(frozen=True, slots=True)
class BarMemory:
    """Order of the bars and range of their axis."""

    names: tuple[str, ...] = ()
    extent: Extent | None = None

    def unsorted(self) -> BarMemory:
        """The order is made anew with the next picture."""
        return BarMemory(extent=self.extent)


def bars(result: Result, named: Labels, columns: Columns, memory: BarMemory, style: Style,
         most: int = MOST_BARS) -> tuple[Bars | None, BarMemory]:
    """Draw the newest value of each key; first seen longest first, later keys below. None without any value."""
    if columns.value is None:
        return None, memory
    y, before, stage = result.values(columns.value), result.values_before(columns.value), result.stage
    rows = np.flatnonzero(np.isfinite(y) & (y > 0 if style.logy else True))
    last = np.full(len(named.names), -1)
    np.maximum.at(last, named.codes[rows], rows)
    newest = {name: row for name, row in zip(named.names, last.tolist(), strict=True) if row >= 0}
    if not newest:
        return None, memory
    ranked = sorted(newest, key=lambda name: -y[newest[name]])
    kept = [name for name in memory.names if name in newest]
    names = (kept + [name for name in ranked if name not in kept])[:most]
    drawn = tuple(Bar(name, float(y[row]), int(stage[row]), float(before[row]))
                  for name, row in ((name, newest[name]) for name in names))
    lengths = [bar.length for bar in drawn]
    low = min(lengths) if style.logy else min(0.0, *lengths)
    extent = grown(memory.extent, low, max(lengths) if style.logy else max(0.0, *lengths), log=bool(style.logy))
    frame = Bars(drawn, columns.value, columns.keys, limited(extent, style.ylim),
                 tuple(name for name in ranked if name not in names), ranked[:len(names)] != names, result.stages,
                 result.settled, len(result.table))
    return frame, BarMemory(tuple(names), extent)

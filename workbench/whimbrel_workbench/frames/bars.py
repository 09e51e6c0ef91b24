"""Frame of a bar chart: the newest value of each key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.extent import Extent, grown, limited
from whimbrel_workbench.frames.finality import OPEN, Stages
from whimbrel_workbench.frames.format_times import ticks
from whimbrel_workbench.frames.labels import Labels
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.frames.style import Style
from whimbrel_workbench.frames.table import cell_words

MAX_BARS: Final = 20
_MAX_REACH: Final = 0.5
"""Of a value: an interval that reaches farther goes out of the picture, and must not squeeze it."""


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
    low, high : float
        Between which the final value lies, of an estimate; NaN where an end is not known.
    estimate : bool
        Whether it is a value of which intervals are spoken.
    flag : bool
        Whether it broke what was said of it.
    start : str
        When the row begins of which the value is, as words.
    instant : str
        The same in ticks.
    """

    name: str
    length: float
    stage: int
    before: float = nan
    changed: bool = False
    low: float = nan
    high: float = nan
    estimate: bool = False
    flag: bool = False
    start: str = ""
    instant: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Values by key in a fixed order, with the names of what is not shown.

    Parameters
    ----------
    bars : tuple of Bar
        From top to bottom; a key keeps its rank during a run.
    stale : bool
        Whether the longest is no longer on top: another order would read better.
    undrawn : int
        Rows whose value cannot be drawn: null, infinite, not a number, or not positive on a logarithmic axis.
    windows : tuple of str
        Between which starts the rows of the bars lie, as words; empty where all rows of the result have one start.
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
    undrawn: int
    windows: tuple[str, ...] = ()

    @property
    def estimated(self) -> bool:
        """Whether some bar is an estimate."""
        return any(bar.estimate for bar in self.bars)

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
        """The next picture sorts the bars again."""
        return BarMemory(extent=self.extent)


def bars(result: Result, named: Labels, columns: ColumnRoles, memory: BarMemory, style: Style,
         maximum: int = MAX_BARS) -> tuple[Bars | None, BarMemory]:
    """Draw the newest value of each key; first seen longest first, later keys below. None without any value.

    When there are too many keys, only the longest bars are shown.
    """
    if columns.value is None:
        return None, memory
    y, before, stage = result.values(columns.value), result.values_before(columns.value), result.stage
    below, above = result.interval(columns.value)
    estimates = result.intervals is not None
    rows = np.flatnonzero(np.isfinite(y) & (y > 0 if style.logy else True))
    last = np.full(len(named.names), -1)
    np.maximum.at(last, named.codes[rows], rows)
    newest = {name: row for name, row in zip(named.names, last.tolist(), strict=True) if row >= 0}
    if not newest:
        return None, memory
    ranked = sorted(newest, key=lambda name: -y[newest[name]])
    longest = ranked[:maximum]
    kept = [name for name in memory.names if name in longest]
    names = kept + [name for name in longest if name not in kept]
    taken = [newest[name] for name in names]
    start = result.table.column("start")
    begins = [cell_words(start.slice(row, 1))[0] for row in taken]  # to take() rows by a list would load pandas
    instant = ticks(result.table)
    windows = _between(instant, taken, begins)
    drawn = tuple(Bar(name, float(y[row]), int(stage[row]), float(before[row]), low=float(below[row]),
                      high=float(above[row]), estimate=estimates and bool(stage[row] == OPEN),
                      flag=row in result.flagged, start=begin, instant=str(instant[row]))
                  for name, row, begin in zip(names, taken, begins, strict=True))
    ends = [end for bar in drawn for end in _ends(bar, log=bool(style.logy))]
    low = min(ends) if style.logy else min(0.0, *ends)
    extent = grown(memory.extent, low, max(ends) if style.logy else max(0.0, *ends), log=bool(style.logy))
    frame = Bars(drawn, columns.value, columns.keys, limited(extent, style.ylim),
                 tuple(name for name in ranked if name not in names), ranked[:len(names)] != names, result.stages,
                 result.settled, len(result.table), len(result.table) - len(rows), windows)
    return frame, BarMemory(tuple(names), extent)


def _between(starts: NDArray[np.int64], taken: list[int], begins: list[str]) -> tuple[str, ...]:
    """The words of the first and of the last of the starts that are taken; none where all starts are the same."""
    if starts.min() == starts.max():
        return ()
    shown = starts[taken]
    return tuple(dict.fromkeys((begins[shown.argmin()], begins[shown.argmax()])))


def _ends(bar: Bar, *, log: bool) -> list[float]:
    """The value, and the ends of its interval as far as they need not make all bars small."""
    reach = _MAX_REACH * abs(bar.length)
    ends = [min(max(end, bar.length - reach), bar.length + reach) for end in (bar.low, bar.high) if isfinite(end)]
    return [bar.length, *(end for end in ends if end > 0 or not log)]

"""Frame of a line chart, divided into settled and provisional parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel_workbench.frames.change_tracking import changed_points
from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.decimate import keep_extremes
from whimbrel_workbench.frames.extent import HEADROOM, Extent, grown, limited, with_margin
from whimbrel_workbench.frames.finality import OPEN, Stages
from whimbrel_workbench.frames.format_times import positions, ticks
from whimbrel_workbench.frames.labels import Labels, Slots, labels
from whimbrel_workbench.frames.result import Floats, Result, StageCodes
from whimbrel_workbench.frames.style import Style

MAX_POINTS: Final = 2_000
"""Points of one line: two per pixel of a wide cell."""

MAX_LINES: Final = 6
_MAX_REVISIONS: Final = 100

_ALONG: Final = ("x", "instant", "y", "stage", "joined", "before", "changed", "low", "high")
_MAX_REACH: Final = 0.25
"""Of the height of the picture: intervals that reach farther go out of it, and must not squeeze it."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One key's values in time order.

    Parameters
    ----------
    label : str
        The key, as words; empty when the result has no key.
    slot : int
        Which colour and marker it has; kept during a run.
    x, y : array of float
        Starts of the lifetimes (axis positions) and values; never null.
    instant : array of int
        The starts as ticks.
    stage : array of int
        How final each value is: a number of ``stages``.
    joined : array of bool
        Whether a point is joined to the one before it: False where nothing was true in between.
    before : array of float
        What the earliest answer was where it was revised, else NaN.
    changed : array of bool
        Whether the value is another than at the reader's last look.
    low, high : array of float
        Between which the final values lie, of estimates; NaN where an end is not known.
    revisions : int
        How many values the earliest answer had otherwise, those that are not marked included.
    """

    label: str
    slot: int
    x: Floats
    y: Floats
    instant: NDArray[np.int64]
    stage: StageCodes
    joined: Bools
    before: Floats
    changed: Bools
    low: Floats
    high: Floats
    stages: Stages
    revisions: int = 0

    @property
    def settled(self) -> Bools:
        """Whether each value is final."""
        return self.stage == self.stages.final

    @property
    def revised(self) -> NDArray[np.intp]:
        """Positions of the values that the earliest answer had otherwise, by at most a hundred largest moves."""
        found = np.flatnonzero(~np.isnan(self.before))
        if len(found) <= _MAX_REVISIONS:
            return found
        moves = np.abs(self.y[found] - self.before[found])
        return np.sort(found[np.argpartition(-moves, _MAX_REVISIONS)[:_MAX_REVISIONS]])

    def settled_path(self) -> tuple[Floats, Floats]:
        """The stretches between settled points; NaN parts them."""
        return self._path(self._reached == self.stages.final)

    def early_paths(self) -> list[tuple[int, tuple[Floats, Floats]]]:
        """For each early stage, the segments whose less final end has it; NaN separates them."""
        return [(stage, self._path(self._reached == stage)) for stage in range(OPEN + 1, self.stages.final)]

    def open_path(self) -> tuple[Floats, Floats]:
        """The segments that touch a provisional value; NaN separates them."""
        return self._path(self._reached == OPEN)

    def thinned(self, max_points: int) -> Line:
        """The same picture with about that many points: extremes and the largest revisions stay."""
        kept = keep_extremes(self.y, max_points)
        if len(kept) == len(self.y):
            return self
        kept = np.union1d(kept, self.revised)
        # A gap narrower than a few kept points is narrower than a pixel: breaking the line there only frays it.
        wide = np.diff(self.x, prepend=self.x[0]) > 4 * (self.x[-1] - self.x[0]) / len(kept)
        pieces = np.cumsum(~self.joined & wide)
        return replace(self.at(kept), joined=np.diff(pieces[kept], prepend=-1) == 0)

    def at(self, indices: NDArray[np.intp]) -> Line:
        """Some of the points, in this order."""
        return replace(self, **{name: getattr(self, name)[indices] for name in _ALONG})

    def with_range(self, x: Extent, closer: Line) -> Line:
        """The same line, with more points in a range of the axis. Its own stay: they are the extremes."""
        inside = closer.at(np.flatnonzero((closer.x >= x.low) & (closer.x <= x.high)))
        if not len(inside.x):
            return self
        inside.joined[0] = True  # the lines meet at both ends of the range
        _, kept = np.unique(np.concatenate([self.x, inside.x]), return_index=True)
        both: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(inside, name)])[kept]
                                for name in _ALONG}
        return replace(self, **both)

    @property
    def bounded(self) -> Bools:
        """Which points are estimates with an interval."""
        return np.isfinite(self.low) & np.isfinite(self.high) & ~self.settled

    def bands(self) -> list[tuple[Floats, Floats, Floats]]:
        """Stretches of points with intervals: positions, lower and upper ends, which meet where points are exact."""
        known = np.isfinite(self.low) & np.isfinite(self.high)
        begins = np.flatnonzero(known & ~(self.joined & np.append(False, known[:-1])))
        ends = np.flatnonzero(known & ~np.append(self.joined[1:] & known[1:], False)) + 1
        return [(self.x[first:end], self.low[first:end], self.high[first:end])
                for first, end in zip(begins.tolist(), ends.tolist(), strict=True)
                if end - first > 1 and self.bounded[first:end].any()]

    def compared(self, earlier: Line) -> Line:
        return replace(self, changed=changed_points(self.x, self.y, earlier.x, earlier.y))

    @property
    def _reached(self) -> StageCodes:
        """Of each stretch, the stage of its less final end."""
        return np.minimum(self.stage[1:], self.stage[:-1])

    def _path(self, drawn: Bools) -> tuple[Floats, Floats]:
        drawn = drawn & self.joined[1:]
        touched = np.zeros(len(self.x), np.bool_)
        touched[1:] |= drawn
        touched[:-1] |= drawn
        at = np.flatnonzero(touched)
        gaps = np.flatnonzero((np.diff(at) > 1) | ~drawn[at[:-1]]) + 1
        return np.insert(self.x[at], gaps, np.nan), np.insert(self.y[at], gaps, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines, axis ranges and the names of what is not shown.

    Parameters
    ----------
    undrawn : int
        Rows whose value cannot be drawn: null, infinite, not a number, or not positive on a logarithmic axis.
    """

    lines: tuple[Line, ...]
    value: str
    keys: tuple[str, ...]
    calendar: bool
    zone: str | None
    x: Extent
    y: Extent
    others: tuple[str, ...]
    stages: Stages
    settled_rows: int
    rows: int
    undrawn: int

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    @property
    def estimated(self) -> bool:
        """Whether some point is an estimate with an interval."""
        return any(bool(line.bounded.any()) for line in self)

    @property
    def thinned(self) -> bool:
        """Whether some points are left out, since there are more than pixels."""
        return sum(len(line.x) for line in self) < self.rows - self.undrawn

    def with_range(self, x: Extent, closer: Lines) -> Self:
        """The same, with more points in a range of the axis."""
        known = {line.label: line for line in closer}
        return replace(self, lines=tuple(line.with_range(x, known[line.label]) if line.label in known else line
                                         for line in self))

    def compared(self, earlier: Lines) -> Self:
        """The same, with what is otherwise than in an earlier picture marked."""
        known = {line.label: line for line in earlier}
        return replace(self, lines=tuple(line.compared(known[line.label]) if line.label in known else line
                                         for line in self))


ShowRange = Callable[[Extent, Lines], None]
"""Shows the lines of a range of the time axis."""


@dataclass(frozen=True, slots=True)
class LineMemory:
    """What must not jump from one frame to the next: places of keys and axis ranges."""

    slots: Slots
    x: Extent | None = None
    y: Extent | None = None


def lines(result: Result, named: Labels, columns: ColumnRoles, memory: LineMemory,
          style: Style) -> tuple[Lines | None, LineMemory]:
    """Draw a result as lines. None when no row can be placed."""
    if columns.value is None:
        return None, memory
    table = result.table
    start, end = positions(table.column("start")), positions(table.column("end"))
    instant = ticks(table)
    y, before, stage = result.values(columns.value), result.values_before(columns.value), result.stage
    low, high = result.interval(columns.value)
    totals = np.bincount(named.codes, np.nan_to_num(np.abs(y)), len(named.names))
    slots = memory.slots.assign(named.names, named.rows, totals)
    shown = np.isfinite(y) & np.isfinite(start)
    if style.logy:
        shown, before = shown & (y > 0), np.where(before > 0, before, np.nan)
    drawn = []
    for slot, name in enumerate(slots.names):
        if name in named.names:
            rows = np.flatnonzero((named.codes == named.names.index(name)) & shown)
            if len(rows):
                joined = np.zeros(len(rows), np.bool_)
                line = Line(name, slot, start[rows], y[rows], instant[rows], stage[rows], joined, before[rows],
                            joined, low[rows], high[rows], result.stages,
                            int(np.count_nonzero(~np.isnan(before[rows]))))
                drawn.append(_in_time(line, end[rows]).thinned(MAX_POINTS))
    if not drawn:
        return None, LineMemory(slots, memory.x, memory.y)
    kind = table.schema.field("start").type
    calendar = bool(pa.types.is_timestamp(kind))
    first, last = min(line.x[0] for line in drawn), max(line.x[-1] for line in drawn)
    if first == last:  # an axis of one window is as long as it
        last = max(first, np.nan_to_num(end[shown], nan=first).max())
    x_extent = grown(memory.x, first, last, calendar=calendar)
    y_extent = grown(memory.y, *_reach(drawn, log=bool(style.logy)), log=bool(style.logy))
    others = tuple(name for name in named.names if name not in slots.names)
    frame = Lines(tuple(drawn), columns.value, columns.keys, calendar, kind.tz if calendar else None,
                  limited(with_margin(x_extent), style.xlim),
                  limited(y_extent if style.logy else with_margin(y_extent, HEADROOM), style.ylim), others,
                  result.stages, result.settled, len(table), len(table) - int(shown.sum()))
    return frame, LineMemory(slots, x_extent, y_extent)


def lines_of_range(result: Result, columns: ColumnRoles, style: Style) -> Lines | None:
    """Lines of a part of a result, of which nothing is remembered."""
    if not len(result.table):
        return None
    named = labels(result.table, columns.keys)
    return lines(result, named, columns, LineMemory(Slots(len(named.names))), style)[0]


def _reach(drawn: list[Line], *, log: bool) -> tuple[float, float]:
    """Minimum and maximum of all drawn values, including early values before revisions."""
    values = [each for line in drawn for each in (line.y, line.before[line.revised])]
    low, high = min(float(y.min()) for y in values if len(y)), max(float(y.max()) for y in values if len(y))
    reach = _MAX_REACH * (high - min(low, 0.0))
    ends = [end[line.bounded & (end > 0 if log else True)] for line in drawn for end in (line.low, line.high)]
    return (min([low, *(max(float(end.min()), low / 2 if log else low - reach) for end in ends if len(end))]),
            max([high, *(min(float(end.max()), high + reach) for end in ends if len(end))]))


def _in_time(line: Line, end: Floats) -> Line:
    """The points in the order of time, each joined to the one before it if that one was still true when it began."""
    if (np.diff(line.x) < 0).any():
        order = np.argsort(line.x, kind="stable")
        line, end = line.at(order), end[order]
    joined = np.zeros(len(end), np.bool_)
    joined[1:] = line.x[1:] <= np.where(np.isnan(end), np.inf, end)[:-1]
    return replace(line, joined=joined)

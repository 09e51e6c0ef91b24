"""A result as lines over time: one per key, told apart into what is settled and what may still change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel_workbench.frames.columns import Columns
from whimbrel_workbench.frames.decimate import keep_extremes
from whimbrel_workbench.frames.extent import Extent, grown
from whimbrel_workbench.frames.labels import Places, labels
from whimbrel_workbench.frames.times import positions
from whimbrel_workbench.frames.values import floats

MOST_POINTS: Final = 2_000
"""Points of one line: two per pixel of a wide cell."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One key's values in time order.

    Parameters
    ----------
    label : str
        The key, as words; empty when the result has no key.
    place : int
        Which colour and marker it has; kept during a run.
    x, y : array of float
        Starts of the lifetimes (axis positions) and values; never null.
    settled : array of bool
        Whether the value is final.
    joined : array of bool
        Whether a point is joined to the one before it: False where nothing was true in between.
    """

    label: str
    place: int
    x: Floats
    y: Floats
    settled: NDArray[np.bool_]
    joined: NDArray[np.bool_]

    def settled_path(self) -> tuple[Floats, Floats]:
        """The stretches between settled points; NaN parts them."""
        return self._path(self.settled[1:] & self.settled[:-1])

    def provisional_path(self) -> tuple[Floats, Floats]:
        """The stretches that touch a value that may still change; NaN parts them."""
        return self._path(~(self.settled[1:] & self.settled[:-1]))

    def thinned(self, most_points: int) -> Line:
        """The same picture with at most ``most_points`` points."""
        kept = keep_extremes(self.y, most_points)
        if len(kept) == len(self.y):
            return self
        # A gap narrower than a few kept points is narrower than a pixel: breaking the line there only frays it.
        wide = np.diff(self.x, prepend=self.x[0]) > 4 * (self.x[-1] - self.x[0]) / len(kept)
        pieces = np.cumsum(~self.joined & wide)
        joined = np.diff(pieces[kept], prepend=-1) == 0
        return Line(self.label, self.place, self.x[kept], self.y[kept], self.settled[kept], joined)

    def _path(self, drawn: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        drawn = drawn & self.joined[1:]
        touched = np.zeros(len(self.x), np.bool_)
        touched[1:] |= drawn
        touched[:-1] |= drawn
        cuts = np.flatnonzero(touched[1:] & touched[:-1] & ~drawn) + 1
        at = np.flatnonzero(touched)
        gaps = np.searchsorted(at, cuts)
        return np.insert(self.x[at], gaps, np.nan), np.insert(self.y[at], gaps, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines, axis ranges and the names of what is not shown."""

    lines: tuple[Line, ...]
    value: str
    keys: tuple[str, ...]
    calendar: bool
    zone: str | None
    x: Extent
    y: Extent
    others: tuple[str, ...]
    settled_rows: int
    rows: int

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)


@dataclass(frozen=True, slots=True)
class LineMemory:
    """What must not jump from one frame to the next: places of keys and axis ranges."""

    places: Places
    x: Extent | None = None
    y: Extent | None = None


def lines(table: pa.Table, settled: int, columns: Columns, memory: LineMemory) -> tuple[Lines | None, LineMemory]:
    """Draw ``table`` as lines; the first ``settled`` rows are final. None when no row can be placed."""
    if columns.value is None:
        return None, memory
    start, end = positions(table.column("start")), positions(table.column("end"))
    y = floats(table.column(columns.value))
    named = labels(table, columns.keys)
    totals = np.bincount(named.codes, np.nan_to_num(np.abs(y)), len(named.names))
    places = memory.places.seat(named.names, named.rows, totals)
    final = np.arange(len(table)) < settled
    drawn = []
    for place, name in enumerate(places.names):
        if name in named.names:
            rows = np.flatnonzero((named.codes == named.names.index(name)) & np.isfinite(y) & np.isfinite(start))
            if len(rows):
                drawn.append(_line(name, place, start[rows], end[rows], y[rows], final[rows]))
    if not drawn:
        return None, LineMemory(places, memory.x, memory.y)
    kind = table.schema.field("start").type
    calendar = bool(pa.types.is_timestamp(kind))
    x_extent = grown(memory.x, min(line.x[0] for line in drawn), max(line.x[-1] for line in drawn), calendar=calendar)
    y_extent = grown(memory.y, *_reach([line.y for line in drawn]))
    others = tuple(name for name in named.names if name not in places.names)
    frame = Lines(tuple(drawn), columns.value, columns.keys, calendar, kind.tz if calendar else None,
                  x_extent, y_extent, others, settled, len(table))
    return frame, LineMemory(places, x_extent, y_extent)


def _reach(values: list[Floats]) -> tuple[float, float]:
    return min(float(y.min()) for y in values), max(float(y.max()) for y in values)


def _line(label: str, place: int, start: Floats, end: Floats, y: Floats, settled: NDArray[np.bool_]) -> Line:
    if (np.diff(start) < 0).any():
        order = np.argsort(start, kind="stable")
        start, end, y, settled = start[order], end[order], y[order], settled[order]
    return Line(label, place, start, y, settled, _joined(start, end)).thinned(MOST_POINTS)


def _joined(start: Floats, end: Floats) -> NDArray[np.bool_]:
    """A point continues the one before it if that one was still true when it began."""
    joined = np.zeros(len(start), np.bool_)
    reach = np.where(np.isnan(end), np.inf, end)[:-1]
    joined[1:] = start[1:] <= reach
    return joined

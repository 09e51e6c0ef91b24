"""Frame of a heat map: one row per key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.extent import Extent, calendar_step, decimal_step, grown, limited
from whimbrel_workbench.frames.finality import Stages
from whimbrel_workbench.frames.format_times import instants, positions
from whimbrel_workbench.frames.labels import Labels, labels, natural
from whimbrel_workbench.frames.result import Floats, Result, StageCodes
from whimbrel_workbench.frames.style import Style

MAX_KEYS: Final = 30
MAX_CELLS: Final = 6_000
"""Cells that a browser still paints in a moment."""

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Heat:
    """Coloured cells in a fixed order of rows.

    Parameters
    ----------
    names : tuple of str
        Rows from top to bottom; a key keeps its row during a run.
    columns : tuple of str
        Names along the x axis; empty when it is time.
    row : array of int
        The row of each cell.
    left, right : array of float
        Where each cell begins and ends on the x axis.
    instant : array of str
        The start of its row in ticks; of several rows that of the last one.
    values : array of float
    stage, before, changed : arrays
        As those of a :class:`~whimbrel_workbench.frames.Line`.
    per_cell : float
        Width of the cells when each shows the mean of several results, else 0.
    undrawn : int
        Rows whose value cannot be drawn: null, infinite, not a number, or not positive on a logarithmic axis.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    row: Indices
    left: Floats
    right: Floats
    instant: NDArray[np.str_]
    values: Floats
    stage: StageCodes
    before: Floats
    changed: NDArray[np.bool_]
    per_cell: float
    value: str
    along: str
    keys: tuple[str, ...]
    calendar: bool
    zone: str | None
    x: Extent
    shade: Extent
    others: tuple[str, ...]
    stale: bool
    stages: Stages
    settled_rows: int
    rows: int
    undrawn: int

    def compared(self, earlier: Heat) -> Self:
        """The same, with what is otherwise than in an earlier picture marked."""
        if earlier.per_cell != self.per_cell or earlier.columns != self.columns[:len(earlier.columns)]:
            return self
        known = {(earlier.names[row], left): value for row, left, value in
                 zip(earlier.row.tolist(), earlier.left.tolist(), earlier.values.tolist(), strict=True)}
        cells = zip(self.row.tolist(), self.left.tolist(), self.values.tolist(), strict=True)
        changed = [known.get((self.names[row], left), value) != value for row, left, value in cells]
        return replace(self, changed=np.array(changed, np.bool_))

    def only(self, kept: Sequence[bool]) -> Self | None:
        """Some of the rows; None if there are none."""
        there = np.array(kept, np.bool_)
        cells = there[self.row]
        if not cells.any():
            return None
        names = tuple(name for name, stays in zip(self.names, kept, strict=True) if stays)
        row = (np.cumsum(there) - 1)[self.row[cells]]
        columns = ("left", "right", "instant", "values", "stage", "before", "changed")
        arrays = {name: getattr(self, name)[cells] for name in columns}
        hidden = tuple(name for name in self.names if name not in names)
        return replace(self, names=names, row=row, others=self.others + hidden, **arrays)


@dataclass(frozen=True, slots=True)
class HeatMemory:
    """What must not jump from one frame to the next: order of rows and columns, ranges, the width of cells."""

    names: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    x: Extent | None = None
    shade: Extent | None = None
    per_cell: float = 0.0

    def unsorted(self) -> HeatMemory:
        """The next picture sorts rows and columns again."""
        return replace(self, names=(), columns=())


def heat(result: Result, named: Labels, columns: ColumnRoles, memory: HeatMemory, style: Style,
         maximum: int = MAX_KEYS) -> tuple[Heat | None, HeatMemory]:
    """Draw a result as a heat map. None when no row can be placed."""
    if columns.value is None:
        return None, memory
    y = result.values(columns.value)
    shown = np.isfinite(y) & (y > 0 if style.logz else True)
    along = None if columns.x is None else labels(result.table, (columns.x,))
    start = positions(result.table.column("start"))
    if along is None:
        shown &= np.isfinite(start)
    names = _in_order(memory.names, [named.names[code] for code in np.unique(named.codes[shown])], maximum)
    place = np.array([names.index(name) if name in names else -1 for name in named.names])[named.codes]
    rows = np.flatnonzero(shown & (place >= 0))
    if not len(rows):
        return None, memory
    across = _in_order(memory.columns, along.names) if along else ()
    if along:
        left = np.array([across.index(name) for name in along.names], np.float64)[along.codes[rows]]
        right, kind, per_cell = left + 1, None, 0.0
    else:
        left, kind = start[rows], result.table.schema.field("start").type
        right = _until(place[rows], left, positions(result.table.column("end"))[rows])
        per_cell = _width(memory.per_cell, place[rows], left, calendar=pa.types.is_timestamp(kind))
    instant = np.array(instants(result.table), np.str_)[rows]
    cells = _Cells(place[rows], left, right, instant, y[rows], result.stage[rows],
                   result.values_before(columns.value)[rows])
    if per_cell or along:
        cells = cells.merged(per_cell)
    calendar = kind is not None and bool(pa.types.is_timestamp(kind))
    x = (Extent(0.0, float(len(across))) if along
         else grown(memory.x, float(cells.left.min()), float(cells.right.max()), calendar=calendar))
    shade = grown(memory.shade, float(cells.values.min()), float(cells.values.max()), log=bool(style.logz))
    frame = Heat(
        names=names, columns=across, row=cells.row, left=cells.left, right=cells.right,
        instant=cells.instant, values=cells.values,
        stage=cells.stage, before=cells.before, changed=np.zeros(len(cells.row), np.bool_), per_cell=per_cell,
        value=columns.value, along=columns.x or "start", keys=columns.keys, calendar=calendar,
        zone=kind.tz if kind is not None and calendar else None, x=limited(x, style.xlim),
        shade=limited(shade, style.clim), others=tuple(name for name in named.names if name not in names),
        stale=list(names) != sorted(names, key=natural) or list(across) != sorted(across, key=natural),
        stages=result.stages, settled_rows=result.settled, rows=len(result.table),
        undrawn=len(shown) - int(shown.sum()),
    )
    return frame, HeatMemory(names, across, x, shade, per_cell)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    row: Indices
    left: Floats
    right: Floats
    instant: NDArray[np.str_]
    values: Floats
    stage: StageCodes
    before: Floats

    def merged(self, width: float) -> _Cells:
        """One cell for all results of a row and a stretch: their mean, as final as the least final of them."""
        left = np.floor(self.left / width) * width if width else self.left
        order = np.lexsort((left, self.row))
        row, left = self.row[order], left[order]
        first = np.flatnonzero(np.append(True, (np.diff(row) != 0) | (np.diff(left) != 0)))
        count = np.diff(np.append(first, len(row)))
        last = order[first + count - 1]  # the order is stable
        values, before = self.values[order], self.before[order]
        was = np.where(np.isnan(before), values, before)
        mean, mean_before = (np.add.reduceat(each, first) / count for each in (values, was))
        revised = np.logical_or.reduceat(~np.isnan(before), first)
        return _Cells(row[first], left[first], left[first] + (width or 1.0),
                      self.instant[last], mean, np.minimum.reduceat(self.stage[order], first),
                      np.where(revised, mean_before, np.nan))


def _in_order(kept: tuple[str, ...], found: tuple[str, ...] | list[str], maximum: int | None = None) -> tuple[str, ...]:
    """Names that have their place keep it; others follow, each lot in the order in which people count."""
    return (*kept, *sorted((name for name in found if name not in kept), key=natural))[:maximum]


def _until(row: Indices, left: Floats, end: Floats) -> Floats:
    """Where each cell ends: with its lifetime, or where the next one of its row begins."""
    order = np.lexsort((left, row))
    following = np.append(left[order][1:], np.inf)
    following[np.append(np.diff(row[order]) != 0, True)] = np.inf
    following[following == left[order]] = np.inf
    until = np.empty_like(left)
    until[order] = np.minimum(following, np.where(np.isnan(end), np.inf, end)[order])
    # What has no end yet lasts as far as anything is known.
    known = until[np.isfinite(until)]
    return np.where(np.isfinite(until), until, max(known.max(initial=left.max()), left.max() + 1))


def _width(kept: float, row: Indices, left: Floats, *, calendar: bool) -> float:
    """0 while every result can have a cell of its own, else the width of cells that are few enough; it only grows."""
    if len(row) <= MAX_CELLS and not kept:
        return 0.0
    span = float(left.max() - left.min())
    wide = span * len(np.unique(row)) / MAX_CELLS
    return max(kept, (calendar_step(wide) if calendar else decimal_step(wide)) if wide else 1.0)

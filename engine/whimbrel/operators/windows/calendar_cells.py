"""Time as a count of calendar cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.clock.calendar_grid import CalendarWindows
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.windows.calendar_window import CalendarWindow, numbered, outside
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import Operator, Properties, WindowGrid


@dataclass(frozen=True, kw_only=True, eq=False)
class CalendarCells(Operator):
    """Count time in cells of a calendar.

        time     0    31   59   90       (days of 1970; cells are months)
        in       a─────────              (a: [0, 59))
        out      a──                     (a: [0, 2), in months)

    The planner puts it before operators that need windows of equal length. :class:`CalendarTimes` is the inverse.

    Parameters
    ----------
    windows : CalendarWindows
    rounds : bool
        Whether rows are events, which get the lifetime of their windows. Otherwise lifetimes lie on the grid.
    remembers : bool
        Whether events retain their start before rounding.

    Notes
    -----
    Shapes: one row out per row in. State: none. Source: docs/semantics.md, windows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import whimbrel as wb
    >>> at = pa.array([1_706_700_000, 1_709_300_000], pa.timestamp("s"))
    >>> events = wb.from_arrow(pa.table({"at": at}), time="at").tumbling_window("1mo").aggregate(n=wb.count())
    >>> "calendar_cells('1mo')" in events.explain()
    True
    """

    accepts_edges: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    windows: CalendarWindows
    rounds: bool = False
    remembers: bool = True

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        if self.rounds:
            return Properties(causal=known.causal and self.windows.label == "end", packed=known.packed,
                              duration=1 if self.windows.tumbling else None,
                              grid=WindowGrid(1, 1) if self.windows.tumbling else None)
        return Properties(intervals_only=known.intervals_only, causal=known.causal, packed=known.packed,
                          apart=known.no_period())

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        return CellKernel(self)

    def show(self) -> str:
        zone = self.windows.grid.zone
        return f"calendar_cells({self.windows.show()[1]}{'' if zone == 'UTC' else f', {zone!r}'})"


class CellKernel(Stateless):
    """Looks up the cells in which lifetimes begin and end."""

    def __init__(self, cells: CalendarCells) -> None:
        self.cells, self.windows = cells, cells.windows

    def apply(self, batch: Batch) -> Batch:
        if self.cells.rounds:
            batch = starts_only(batch)
            if not len(batch):
                return batch
            numbers = numbered(self.windows, batch, self.windows.borders.late_start,
                               CalendarWindow(windows=self.windows).show())
            ends = 1 if self.windows.tumbling else self.windows.ends(numbers)
            return batch.having(sync=numbers, ends=ends, ids=None,
                                began=batch.first_start if self.cells.remembers else None)
        if not len(batch):
            return batch
        other = batch.other
        both = np.concatenate([batch.sync, other])
        known = both[both != INF]
        first, bounds = self.windows.grid.around(int(known.min()), int(known.max()))
        numbers = np.where(both == INF, INF, first + np.searchsorted(bounds, both, "right") - 1)
        return batch.having(sync=numbers[:len(other)].copy(), ends=numbers[len(other):].copy(), began=None)

    def output_watermark(self, watermark: int) -> int:
        if watermark in (INF, MIN_TIME):
            return watermark
        return self.windows.number(watermark) if self.cells.rounds else self.windows.grid.number(watermark)


@dataclass(frozen=True, kw_only=True, eq=False)
class CalendarTimes(Operator):
    """Turn cells of a calendar into times.

        time     0    31   59   90       (days of 1970; cells are months)
        in       a──                     (a: [0, 2), in months)
        out      a─────────              (a: [0, 59))

    Parameters
    ----------
    windows : CalendarWindows
    lasting : bool
        Rows are panes, one for each hop. Each lasts until the last window that has it ends.

    Notes
    -----
    A row of an empty cell, such as a day that the zone skipped, is left out. Shapes: at most one row out per row in.
    State: none. Source: docs/semantics.md, windows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import whimbrel as wb
    >>> at = pa.array([1_706_700_000, 1_709_300_000], pa.timestamp("s"))
    >>> events = wb.from_arrow(pa.table({"at": at}), time="at").tumbling_window("1mo").aggregate(n=wb.count())
    >>> "calendar_times('1mo')" in events.explain()
    True
    """

    accepts_edges: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    windows: CalendarWindows
    lasting: bool = False

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        if self.lasting:
            return Properties(causal=known.causal, packed=known.packed, calendar=self.windows)
        return Properties(intervals_only=known.intervals_only, causal=known.causal, packed=known.packed,
                          apart=known.no_period())

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        return CalendarTimesKernel(self.windows, lasting=self.lasting)

    def show(self) -> str:
        zone = self.windows.grid.zone
        lasting = f", lasting {self.windows.show()[0]}" if self.lasting else ""
        return f"calendar_times({self.windows.show()[1]}{lasting}{'' if zone == 'UTC' else f', {zone!r}'})"


class CalendarTimesKernel(Stateless):
    """Looks up when cells begin."""

    def __init__(self, windows: CalendarWindows, *, lasting: bool) -> None:
        self.windows, self.lasting = windows, lasting

    def apply(self, batch: Batch) -> Batch:
        if not len(batch):
            return batch
        ends = self.windows.ends(batch.sync) if self.lasting else batch.other
        start, end = self.windows.times(batch.sync), self.windows.times(ends)
        if self.lasting and (beyond := end > self.windows.grid.range[1] + 1).any():
            raise outside(int(start[beyond][0]), self.windows, CalendarWindow(windows=self.windows).show())
        rows = batch.having(sync=start, ends=end, began=None)
        if batch.ids is None and bool(np.any(start == end)):
            return rows.take(np.flatnonzero(start != end))
        return rows

    def output_watermark(self, watermark: int) -> int:
        return self.windows.time(watermark)

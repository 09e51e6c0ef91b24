"""Windows of the calendar, in a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from whimbrel.batch import Batch, Schema, Ticks
from whimbrel.clock import INF, MIN_TIME, Duration, duration_ticks, format_instant
from whimbrel.clock.calendar_grid import CalendarGrid, CalendarWindows
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.clock.near_timezone import timezone_hint
from whimbrel.clock.window_borders import WindowBorders
from whimbrel.errors import KernelError, PlanError, near_match
from whimbrel.kernels import Compiled, Kernel, Stateless, ordered
from whimbrel.kernels.primitives.windows.calendar_cells import cells_of
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach

_cells_of = Compiled(cells_of)
_FEW_ROWS: Final = 8
"""Rows of a cell from which on it costs less to look up its bounds than its rows, if rows are in order."""
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONDAY: Final = 4
"""1970-01-05, in days."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CalendarWindow(Operator):
    """Round lifetimes to windows of the calendar.

    A day, week, month, quarter or year begins with its midnight in a time zone, however long it then lasts.

        time     30   31   1    2    3         (days; size 1mo)
        in            a    b
        out      ─────a────                    (a: until the month ends)
                           b──────────────     (b: from the month's first day)

    A day begins when the clock first shows its midnight. Where the clock skips it, the day begins with the first moment
    after it. A midnight that comes twice counts once, the first time. With a hop, an event of day D is active from the
    start of its cell until the cell of the day ``D + size``. A day that a month does not have becomes its last one.

    Parameters
    ----------
    windows : CalendarWindows
    remembers : bool
        Whether events retain their start before rounding.

    Notes
    -----
    The input duration is ignored. Shapes: one row out per row in. State: none.
    Source: docs/semantics.md, windows, with the instants of the IANA time zone database.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import whimbrel as wb
    >>> at = pa.array([1_706_700_000, 1_709_300_000], pa.timestamp("s", "Europe/Berlin"))
    >>> events = wb.from_arrow(pa.table({"at": at, "x": [2, 3]}), time="at")
    >>> for row in events.tumbling_window("1mo").aggregate(total=wb.sum(wb.col.x)).collect().to_pylist():
    ...     print(row["start"].date(), row["end"].date(), row["total"])
    2024-01-01 2024-02-01 2
    2024-03-01 2024-04-01 3

    Midnight of 4 November 2018 does not exist in São Paulo:

    >>> at = pa.array([1_541_257_200], pa.timestamp("s", "America/Sao_Paulo"))
    >>> events = wb.from_arrow({"at": at}, time="at")
    >>> for row in events.tumbling_window("1d").aggregate(n=wb.count()).collect().to_pylist():
    ...     print(row["start"], row["end"])
    2018-11-03 00:00:00-03:00 2018-11-04 01:00:00-02:00
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    windows: CalendarWindows
    remembers: bool = True

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=upstream[0].causal and self.windows.label == "end", packed=upstream[0].packed,
                          calendar=self.windows)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        windows = self.windows
        if windows.label == "end":
            return inputs[0].wider(windows.longest_step + 1, 0, windows.longest)
        return inputs[0].wider(0, windows.longest_step + 1, windows.longest)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        windows, grid = self.windows, self.windows.grid
        start, end = wanted.start, wanted.end
        if start != MIN_TIME:
            cell = grid.number_at_or_after(start) if wanted.starting else int(
                windows.first_active(np.array([grid.number(start)]))[0])
            start = grid.bound(cell) if windows.label == "start" else grid.bound(cell - 1) + 1
            start -= windows.borders.late_start if wanted.starting else windows.borders.late_end
        if end != INF:
            cell = grid.number(end - 1)
            end = grid.bound(cell + 1) if windows.label == "start" else grid.bound(cell) + 1
            end -= windows.borders.late_start
        return (wanted.starts(start, end),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return CalendarKernel(self)

    def show(self) -> str:
        windows, grid = self.windows, self.windows.grid
        size, hop = windows.show()
        parts = [size] if windows.tumbling else [size, hop]
        parts += [f"timezone={grid.zone!r}"] if grid.zone != "UTC" else []
        weekday = (grid.first_day - _MONDAY) % 7
        parts += [f"week_start={WEEKDAYS[weekday]!r}"] if grid.step.weeks and weekday else []
        parts += [f"offset={grid.offset}"] if grid.offset else []
        parts += [f"label={windows.label!r}"] if windows.label != "start" else []
        parts += [] if windows.borders.usual else [f"closed={windows.borders.closed!r}"]
        return f"{'tumbling' if windows.tumbling else 'hopping'}_window({', '.join(parts)})"


class CalendarKernel(Stateless):
    """Looks up the cell of each row, and when this cell and the one in which the row ends begin."""

    def __init__(self, window: CalendarWindow) -> None:
        self.window, self.windows = window, window.windows

    def apply(self, batch: Batch) -> Batch:
        batch = starts_only(batch)
        if not len(batch):
            return batch
        windows, borders, where = self.windows, self.windows.borders, self.window.show()
        cells = numbered(windows, batch, borders.late_start, where)
        same = borders.late_start == borders.late_end
        ends = windows.ends(cells if same else numbered(windows, batch, borders.late_end, where))
        rows = batch.having(sync=windows.times(cells), ends=windows.times(ends), ids=None,
                            began=batch.first_start if self.window.remembers else None)
        return rows.take(np.flatnonzero(cells < ends)) if borders.closed == "none" else rows

    def output_watermark(self, watermark: int) -> int:
        if watermark in (INF, MIN_TIME):
            return watermark
        return self.windows.grid.bound(self.windows.number(watermark))


def numbered(windows: CalendarWindows, batch: Batch, late: int, where: str) -> Ticks:
    """The cell of each time, so many ticks later, rounded as the starts of windows are."""
    times, in_order = batch.sync + late if late else batch.sync, ordered(batch)
    low, high = (int(times[0]), int(times[-1])) if in_order else (int(times.min()), int(times.max()))
    grid = windows.grid
    first_tick, last_tick = grid.range
    if low < first_tick or high > last_tick:
        raise outside(low if low < first_tick else high, windows, where)
    first, bounds = grid.around(low, high)
    if in_order and len(bounds) * _FEW_ROWS < len(times):
        starts = np.append(times.searchsorted(bounds), len(times))
        cells = np.repeat(np.arange(first, first + len(bounds)), np.diff(starts))
    else:
        cells = np.empty(len(times), np.int64)
        _cells_of(times, bounds, first, cells)
    if windows.label == "end":
        last_alike = np.searchsorted(bounds, bounds, "right") - 1  # a day that the zone skipped is an empty cell
        later = np.append(last_alike[1:], len(bounds))
        at = cells - first
        cells = np.where(bounds[at] == times, cells, first + later[at])
    lowest, highest = (int(cells[0]), int(cells[-1])) if in_order else (int(cells.min()), int(cells.max()))
    if grid.bound(lowest) < first_tick:
        raise outside(low, windows, where)
    if grid.bound(int(windows.ends(np.array([highest]))[0])) > last_tick + 1:
        raise outside(high, windows, where)
    return cells


def outside(tick: int, windows: CalendarWindows, where: str) -> KernelError:
    """The error for a row whose window the calendar cuts."""
    return KernelError(f"A calendar window must stay within years 1 to 9999 and the time unit, got a row at "
                       f"{format_instant(tick, windows.grid.unit, None)}.", where=where,
                       hint="Remove such rows first with where(...).")


def calendar_windows(where: str, schema: Schema, size: Duration, hop: Duration, offset: Duration | None,
                     borders: WindowBorders, timezone: str | None, week_start: str) -> CalendarWindows | None:
    """The windows, if the calendar has to say when they begin; None where all are equally long.

    Raises
    ------
    PlanError
        If a span is of the calendar and the other is not, or the hop may be longer than the size.
    """
    spans = ((CalendarSpan.of(size), CalendarSpan.of(hop)) if schema.unit is None
             else (CalendarSpan.asked(size, where), CalendarSpan.asked(hop, where)))
    zone = timezone or schema.zone or "UTC"
    months = any(span is not None and span.unit == "mo" for span in spans)
    if not months and (zone == "UTC" or None in spans or schema.unit is None):
        return None
    if schema.unit is None:
        raise PlanError("Windows of the calendar need times with a unit, but this stream has integer times.",
                        where=where, hint="Use a time column of type timestamp.")
    long, step = spans
    if long is None or step is None:
        other = repr(hop) if step is None else repr(size)
        raise PlanError(f"Size and hop must both be spans of the calendar, got {other}.", where=where,
                        hint='Use whole days, weeks, months, quarters or years, such as hopping_window("1mo", "1d").')
    if min(long.count, step.count) < 1:
        raise PlanError("size and hop must be positive.", where=where, hint='Use a span such as "1mo".')
    shorter = long.count < step.count if long.unit == step.unit else long.shortest < step.longest
    if shorter:
        raise PlanError(f"The hop of a calendar window must not be longer than its size, got {step.show()!r} for "
                        f"{long.show()!r}.", where=where, hint="Use a longer size or a shorter hop.")
    if borders.label not in ("start", "end"):
        raise PlanError(f"label must be 'start' or 'end', got {borders.label!r}.", where=where,
                        hint="Use 'end' for the time at which the result is settled.")
    shift = CalendarSpan.of(offset)
    if shift is not None and shift.unit == "mo":
        raise PlanError(f"An offset must have a fixed length, got the calendar span {offset!r}.", where=where,
                        hint='Use days or a shorter unit, such as offset="6h".')
    ticks = 0 if offset is None else duration_ticks(offset, schema.unit, where=where)
    first = weekday_of(week_start, where) + _MONDAY if step.weeks else 0
    return CalendarWindows(CalendarGrid(step, zone, schema.unit, first, ticks), long, borders)


def weekday_of(name: Any, where: str) -> int:
    """Days from Monday to a weekday."""
    if name not in WEEKDAYS:
        raise PlanError(f"week_start must be a weekday, got {name!r}.", where=where,
                        hint=near_match(str(name), WEEKDAYS, noun="weekday"))
    return WEEKDAYS.index(name)


def check_zone(zone: str | None, where: str) -> None:
    """Refuse what is no time zone."""
    if zone is None:
        return
    try:
        CalendarGrid(CalendarSpan(1, "d"), zone, "s").made(np.zeros(1, np.int64))
    except (ValueError, TypeError, OSError):
        raise PlanError(f"There is no time zone {zone!r}.", where=where,
                        hint=timezone_hint(zone)) from None

"""Tumbling, hopping and sliding windows as rewrites of lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema, Ticks, check_reach
from whimbrel.clock import (
    INF,
    MIN_TIME,
    Duration,
    TickUnit,
    check_positive,
    duration_ticks,
    grid_offset,
    quote_ticks,
    show_grid,
)
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.clock.window_borders import Closed, Label, WindowBorders
from whimbrel.errors import PlanError
from whimbrel.expr import Expr
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.windows.calendar_sliding_window import CalendarSlidingWindow
from whimbrel.operators.windows.calendar_window import CalendarWindow, calendar_windows, check_zone, weekday_of
from whimbrel.operators.windows.closed_window import ClosedWindow, check_closed
from whimbrel.operators.windows.sliding_borders import SlidingBorders
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.operators.windows.table_window import TradingCalendar
from whimbrel.operators.windows.whole_window import WholeWindow
from whimbrel.plan import (
    KnownInput,
    LineageRequest,
    Operator,
    Ordered,
    Properties,
    Reach,
    TimeGrid,
    WindowGrid,
    ceil_to,
    earlier,
    floor_to,
    fluent,
    later,
)
from whimbrel.temporal.bounds import HERE

__all__ = ["Closed", "Label"]

_SOME = 'Use a duration such as "5m", or 5 if time is an integer.'


@dataclass(frozen=True, kw_only=True, eq=False)
class HoppingWindow(Operator):
    """Round lifetimes to windows of `size`, one every `hop`.

    Both are in ticks. Tumbling windows have hop = size.

        time     0    5    10   15
        in         a                   (a: [2, 3))
        out      a─────────            (size 10, hop 5: [0, 10))
        out           a─────────       (the same with label="end": [5, 15))

    With ``label="start"`` an event starts at the grid point at or before it. The aggregate over [T, T + hop) then
    includes events in [T + hop - size, T + hop). With ``label="end"`` it starts at the grid point at or after it. The
    aggregate over [T, T + hop) then includes events in (T - size, T], and is causal.

    Parameters
    ----------
    size : int, > 0
        Length of a window, in ticks.
    hop : int, > 0
        Ticks from one window to the next. Events in the gaps are dropped when hop > size.
    offset : int
        Shifts the grid from the epoch, in ticks.
    label : {"start", "end"}
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.
    remembers : bool
        Whether events retain their start before rounding.
    panes_of : str
        The call of the window of which these are the panes, for errors.

    Notes
    -----
    The input duration is ignored. If size is not a multiple of hop, the end is ``start + size`` of the event
    itself, rounded as the start is. Shapes: one row out per row in. State: none.
    Source: Impatience (ICDE 2018), section IV-A2; Trill (VLDB 2015), section 3.1.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [2, 7], "x": [2, 3]}, time="at")
    >>> events.hopping_window(10, 5).aggregate(total=wb.sum(wb.col.x)).collect().to_pylist()
    [{'start': 0, 'end': 5, 'total': 2}, {'start': 5, 'end': 10, 'total': 5}, {'start': 10, 'end': 15, 'total': 3}]
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    size: int
    hop: int
    offset: int = 0
    label: Label = "start"
    unit: TickUnit = None
    remembers: bool = True
    panes_of: str = ""

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        check_positive(self.unit, where=where, size=self.size, hop=self.hop)
        if self.label not in ("start", "end"):
            raise PlanError(f"label must be 'start' or 'end', got {self.label!r}.", where=where,
                            hint="Use 'end' for the time at which the result is settled.")
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = Properties(time_grid=TimeGrid(self.hop, self.offset), causal=upstream[0].causal and self.label == "end",
                           packed=upstream[0].packed)
        known = replace(known, grid=WindowGrid(self.size, self.hop, self.offset, self.label))
        if self.size % self.hop and self.size > self.hop:  # lifetimes differ by a hop
            return known
        return replace(known, duration=self.size, time_grid=None if self.size % self.hop else known.time_grid)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return known[0].ordered

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        longest = self.size if self.size % self.hop == 0 else self.size + self.hop
        if self.label == "end":
            return inputs[0].wider(self.hop, 0, longest)
        return inputs[0].on(TimeGrid(self.hop, self.offset), 0, self.hop, longest)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        longest = self.size if self.size % self.hop == 0 else self.size + self.hop
        first = wanted.start if wanted.starting else earlier(wanted.start, longest - 1)
        first, last = ceil_to(first, self.hop, self.offset), floor_to(earlier(wanted.end, 1), self.hop, self.offset)
        if self.label == "end":
            return (wanted.starts(earlier(first, self.hop - 1), later(last, 1)),)
        return (wanted.starts(first, later(last, self.hop)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return HoppingKernel(self)

    @property
    def called(self) -> str:
        """The call of the user's window."""
        return self.panes_of or self.show()

    def show(self) -> str:
        hop, size, *offset = show_grid(self.hop, self.offset, self.unit, self.size)
        parts = [size, *([hop] if self.hop != self.size else []), *offset]
        parts += [f"label={self.label!r}"] if self.label != "start" else []
        return f"{'tumbling' if self.hop == self.size else 'hopping'}_window({', '.join(parts)})"


@fluent
def tumbling_window(schema: Schema, size: Duration | TradingCalendar | None, *, offset: Duration | None = None,
                    label: Label = "start", closed: Closed | None = None, timezone: str | None = None,
                    week_start: str = "monday") -> Operator:
    """Round lifetimes to tumbling windows of `size`. See :class:`whimbrel.operators.HoppingWindow`.

    Parameters
    ----------
    size : str, timedelta, int, calendar or None, > 0
        Length of a window, or the windows of ``wb.calendar(sessions)``. None, or ``wb.WHOLE``, is one window for
        the whole log. ``"1d"``, ``"1w"``, ``"1mo"``, ``"1q"`` and ``"1y"`` are spans of the calendar. See
        :class:`whimbrel.operators.CalendarWindow`, :class:`~whimbrel.operators.TableWindow` and
        :class:`~whimbrel.operators.WholeWindow`.
    offset : str, timedelta or int
        Shifts the grid, which begins at the epoch; one whose hop is said in weeks (``"1w"``, not ``"7d"``) begins
        on `week_start`.
    label : {"start", "end"}
    closed : {"left", "right", "both", "none"}, optional
        Which borders belong to a window. With "both", an event on a border is in two windows. Default: "left", or
        "right" with ``label="end"``. See :class:`whimbrel.operators.ClosedWindow`.
    timezone : str, optional
        Where midnight is, for spans of the calendar. Default: the zone of the stream, or UTC. Other windows,
        such as hours, are counted in UTC and refuse it.
    week_start : {"monday", ..., "sunday"}
        The day on which windows in weeks begin.
    """
    if size is None or isinstance(size, TradingCalendar):
        where = f"tumbling_window({'wb.WHOLE' if size is None else repr(size)})"
        given = [f"{name}={value!r}" for name, value, default in
                 (("offset", offset, None), ("label", label, "start"), ("closed", closed, None),
                  ("timezone", timezone, None), ("week_start", week_start, "monday")) if value != default]
        if given:
            last = "" if size is not None else "; for the time of the last event, aggregate wb.max() of the time column"
            raise PlanError(f"{'One window for a whole log' if size is None else 'A calendar'} has borders of its own: "
                            f"{', '.join(given)} {'does' if len(given) == 1 else 'do'} not apply.", where=where,
                            hint=f"Leave {' and '.join(each.partition('=')[0] + '=' for each in given)} out{last}.")
        return WholeWindow() if size is None else size.window(schema, where)
    return _window(f"tumbling_window({size!r})", schema, size, size, offset, label, closed, timezone, week_start)


@fluent
def hopping_window(schema: Schema, size: Duration, hop: Duration, *, offset: Duration | None = None,
                   label: Label = "start", closed: Closed | None = None, timezone: str | None = None,
                   week_start: str = "monday") -> Operator:
    """Round lifetimes to windows of `size`, one every `hop`. See :class:`whimbrel.operators.HoppingWindow`.

    Parameters
    ----------
    size : str, timedelta or int, > 0
        Length of a window.
    hop : str, timedelta or int, > 0
        Time from one window to the next. Size and hop are spans of the calendar if both are in days, weeks, months,
        quarters or years.
    offset : str, timedelta or int
        Shifts the grid, which begins at the epoch; one whose hop is said in weeks (``"1w"``, not ``"7d"``) begins
        on `week_start`.
    label : {"start", "end"}
    closed : {"left", "right", "both", "none"}, optional
        Which borders belong to a window. With "both", an event on a border is in two windows. Default: "left", or
        "right" with ``label="end"``. See :class:`whimbrel.operators.ClosedWindow`.
    timezone : str, optional
        Where midnight is, for spans of the calendar. Default: the zone of the stream, or UTC. Other windows,
        such as hours, are counted in UTC and refuse it.
    week_start : {"monday", ..., "sunday"}
        The day on which a hop in weeks begins.
    """
    return _window(f"hopping_window({size!r}, {hop!r})", schema, size, hop, offset, label, closed, timezone, week_start)


def _window(where: str, schema: Schema, size: Duration, hop: Duration, offset: Duration | None, label: Label,
            closed: Closed | None, timezone: str | None, week_start: str) -> Operator:
    for given in (size, hop, offset):
        if isinstance(given, Expr):
            raise PlanError(f"The size, hop and offset of a window are fixed, got {given.show()}.", where=where,
                            hint='Use a duration, such as "5m". A parameter can be in a condition or a value.')
    check_zone(timezone, where)
    check_closed(closed, where)
    weekday = weekday_of(week_start, where)
    if weekday and not ((span := CalendarSpan.of(hop)) and span.weeks):
        raise PlanError(f"week_start is for a {'size' if hop == size else 'hop'} in weeks, got {hop!r}.", where=where,
                        hint='Use "1w", or leave week_start= out.')
    borders = WindowBorders(label, closed)
    windows = calendar_windows(where, schema, size, hop, offset, borders, timezone, week_start)
    if windows is not None:
        return CalendarWindow(windows=windows)
    if timezone is not None and schema.unit is None:
        raise PlanError(f"Integer times follow no clock, got timezone={timezone!r}.", where=where,
                        hint="Leave timezone= out.")
    _check_zone_applies(timezone, where, 'Use whole days, or offset= to shift the hours, such as offset="30m".')
    begin = grid_offset(hop, schema.unit, offset, where=where)
    size, hop, day = (duration_ticks(span, schema.unit, where=where) if span else 0
                      for span in (size, hop, "1d" if weekday else None))
    if weekday:
        begin = (begin + weekday * day) % hop
    if closed is None or borders.usual:
        return HoppingWindow(size=size, hop=hop, offset=begin, label=label, unit=schema.unit)
    return ClosedWindow(size=size, hop=hop, offset=begin, label=label, closed=closed, unit=schema.unit)


def _check_zone_applies(timezone: str | None, where: str, hint: str) -> None:
    """Refuse a time zone for windows of equal ticks, which are the same in every zone."""
    if timezone not in (None, "UTC"):
        raise PlanError(f"Windows of equal length follow no clock, got timezone={timezone!r}.", where=where, hint=hint)


class HoppingKernel(Stateless):
    """Rounds starts to the grid; end edges say nothing new and are dropped."""

    def __init__(self, window: HoppingWindow) -> None:
        self.window = window

    def apply(self, batch: Batch) -> Batch:
        window = self.window
        batch = starts_only(batch)
        check_reach(batch, window.size + window.hop + abs(window.offset), window.called)
        start = self._snap(batch.sync)
        if window.hop > window.size:
            batch, start = self._without_gaps(batch, start)
        uneven = window.size % window.hop and window.size > window.hop
        end = self._snap(batch.sync + window.size) if uneven else window.size
        return batch.having(sync=start, ends=end, ids=None, began=batch.first_start if window.remembers else None)

    def _without_gaps(self, batch: Batch, start: Ticks) -> tuple[Batch, Ticks]:
        inside = np.abs(batch.sync - start) < self.window.size
        rows = np.flatnonzero(inside)
        return batch.take(rows), start[rows]

    def _snap(self, time: Ticks) -> Ticks:
        window = self.window
        offset = window.offset
        since = time - offset if window.label == "start" else offset - time
        since //= window.hop  # NumPy takes twice as long for a remainder, and in place needs no other memory
        since *= window.hop
        return np.add(since, offset, out=since) if window.label == "start" else np.subtract(offset, since, out=since)

    def output_watermark(self, watermark: int) -> int:
        if watermark in (INF, MIN_TIME):
            return watermark
        window = self.window
        if window.label == "start":
            return watermark - (watermark - window.offset) % window.hop
        return watermark + (window.offset - watermark) % window.hop


@dataclass(frozen=True, kw_only=True, eq=False)
class SlidingWindow(Operator):
    """Set the duration of each event to `size` ticks.

    The events of the last `size` ticks are then always active.

        time     0    5    10   15
        in       a    b                (a: [0, 1), b: [5, 6))
        out      a─────────            (size 10)
                      b─────────

    Parameters
    ----------
    size : int, > 0
        Ticks that an event stays active.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    The input duration is ignored. Shapes: one row out per row in. State: none.
    Source: Trill (VLDB 2015), section 3.1 (AlterEventDuration).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "x": [2, 3]}, time="at")
    >>> events.sliding_window(10).aggregate(total=wb.sum(wb.col.x)).collect().to_pylist()
    [{'start': 0, 'end': 5, 'total': 2}, {'start': 5, 'end': 10, 'total': 5}, {'start': 10, 'end': 15, 'total': 3}]
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    size: int
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        check_positive(self.unit, where=self.show(), size=self.size)
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0].time_grid
        time_grid = None if known is None else known.joined(TimeGrid(self.size, known.offset))
        return Properties(duration=self.size, time_grid=time_grid, causal=upstream[0].causal, packed=upstream[0].packed,
                          sampling=upstream[0].sampling)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return known[0].ordered

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        return HERE.reach_of_starts(inputs[0], self.size)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (HERE.starts(wanted, self.size),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return SlidingKernel(self.size, self.show())

    def show(self) -> str:
        return f"sliding_window({quote_ticks(self.size, self.unit)})"


@fluent
def sliding_window(schema: Schema, size: Duration, *, closed: Closed = "right",
                   timezone: str | None = None) -> Sequence[Operator]:
    """Set the duration of each event to `size`. See :class:`whimbrel.operators.SlidingWindow`.

    Parameters
    ----------
    size : str, timedelta or int, > 0
        How long an event stays active. Months, quarters and years (``"1mo"``, ``"1q"``, ``"1y"``) are spans of the
        calendar. See :class:`whimbrel.operators.CalendarSlidingWindow`.
    closed : {"left", "right", "both", "none"}
        Which borders belong to the window before a time. "right" has the events at that time, "left" those that are
        `size` old instead, "both" has both and "none" neither.
    timezone : str, optional
        The clock that months follow. Default: the zone of the stream, or UTC. Other sizes refuse it.
    """
    where = f"sliding_window({size!r})"
    check_zone(timezone, where)
    check_closed(closed, where)
    span = CalendarSpan.of(size) if schema.unit is None else CalendarSpan.asked(size, where)
    window: Operator
    if span is not None and span.unit == "mo" and span.count > 0 and schema.unit is not None:
        window = CalendarSlidingWindow(size=span, zone=timezone or schema.zone or "UTC", unit=schema.unit)
    else:
        window = SlidingWindow(size=duration_ticks(size, schema.unit, where=where), unit=schema.unit)
        _check_zone_applies(timezone, where, "Leave timezone= out: only months, quarters and years follow a clock.")
    return [window] if closed == "right" else [window, SlidingBorders(closed=closed)]


class SlidingKernel(Stateless):
    """Sets every end; end edges say nothing new and are dropped."""

    def __init__(self, size: int, where: str) -> None:
        self.size, self.where = size, where

    def apply(self, batch: Batch) -> Batch:
        batch = starts_only(batch)
        check_reach(batch, self.size, self.where)
        return batch.having(ends=self.size, ids=None)

"""Time grids in the time zone of a column."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel.clock import format_instant
from whimbrel.clock.calendar_grid import CalendarGrid
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.errors import KernelError
from whimbrel.expr import checked_integers as ints
from whimbrel.expr.nodes import Call
from whimbrel.expr.scalar_functions import INT_MAX, INT_MIN
from whimbrel.expr.types import floor_months, floor_ticks
from whimbrel.expr.value import PRESENT, Scope, Value, at_row, from_arrow, known
from whimbrel.expr.zone_clocks import clock_moments, local_times, moments

_DAY = CalendarSpan(1, "d")


def in_zone(expr: Call, x: Value, zone: str) -> Value:
    """What the clock of a zone shows; of a time without a zone, when the clock of this zone shows it."""
    times = x.arrow()
    try:
        if x.type.tz is not None:
            return from_arrow(local_times(times.cast(pa.timestamp(x.type.unit, zone))))
        return from_arrow(clock_moments(times, zone))
    except pa.ArrowInvalid as error:
        raise KernelError(str(error).splitlines()[0], where=expr.show()) from None


def calendar(expr: Call, x: Value, scope: Scope) -> Value:
    """The functions of ``.dt`` that the table of functions does not have."""
    if expr.function == "dt.at_time_zone":
        return in_zone(expr, x, expr.options[0])
    if x.valid is not PRESENT:  # a null may hold any number
        x = Value(x.type, np.where(x.valid, x.data, np.int64(0)), x.valid)
    if pa.types.is_date(x.type):
        return _dates(expr, x, scope)
    months = known(expr, ("months",), lambda: floor_months(expr))
    if months is not None:
        x = _within_years(expr, x, months, scope)
    found = _rounded(expr, x, months, scope)
    if months is None and x.type.unit == "ns":  # the year 9999 is no time of this unit
        return found
    first, last = CalendarGrid(months or _DAY, "UTC", x.type.unit).range
    if np.size(found.data) and (np.min(found.data) < first or np.max(found.data) > last):
        _refuse(expr, x, ((found.data < first) & (x.data >= first)) | ((found.data > last) & (x.data <= last)), scope)
    return found


def _rounded(expr: Call, x: Value, months: CalendarSpan | None, scope: Scope) -> Value:
    if months is None and expr.function == "dt.round" and (nearest := _nearest(expr, x)) is not None:
        return nearest
    below = _floor(expr, x, scope) if months is None else _at_month(x, months, "right", -1)
    if expr.function == "dt.floor":
        return below
    above = _ceil(expr, x, below, scope) if months is None else _at_month(x, months, "left", 0)
    if expr.function == "dt.ceil":
        return above
    return Value(x.type, np.where(x.data - below.data < above.data - x.data, below.data, above.data), x.valid)


def _within_years(expr: Call, x: Value, span: CalendarSpan, scope: Scope) -> Value:
    """Times that the calendar has months for; others may only be in rows that do not count."""
    first, last = CalendarGrid(span, "UTC", x.type.unit).range
    if not np.size(x.data) or (np.min(x.data) >= first and np.max(x.data) <= last):
        return x
    _refuse(expr, x, (x.data < first) | (x.data > last), scope)
    return Value(x.type, np.clip(x.data, first, last), x.valid)


def _refuse(expr: Call, x: Value, bad: Any, scope: Scope) -> None:
    scope.refuse(bad, x.valid, expr, lambda row: f"{expr.function}({expr.options[0]!r}) must stay within years 1 to "
                 f"9999 and the time unit, got {format_instant(int(at_row(x.data, row)), x.type.unit, None)}.",
                 "Remove such rows first with where(...).")


def _dates(expr: Call, x: Value, scope: Scope) -> Value:
    """Rounded dates: the days of rounded midnights."""
    per_day = np.int64(86_400_000 if pa.types.is_date64(x.type) else 1)
    midnights = x.data.astype(np.int64) // per_day * np.int64(86_400)
    days = calendar(expr, Value(pa.timestamp("s"), midnights, x.valid), scope).data // np.int64(86_400) * per_day
    found = days.astype(np.int64 if pa.types.is_date64(x.type) else np.int32)
    scope.refuse(found != days, x.valid, expr, f"integer overflow: a rounded date is outside the range of {x.type}",
                 "Leave such rows out with .where(...).")
    return Value(x.type, found, x.valid)


def _grid(expr: Call, type_: pa.DataType) -> tuple[np.int64, np.int64]:
    """The step of the grid in ticks, and where it begins."""
    step, begin = known(expr, ("grid", type_), lambda: tuple(np.int64(ticks) for ticks in floor_ticks(expr, type_)))
    return step, begin


def _floor(expr: Call, x: Value, scope: Scope) -> Value:
    """The last point of the grid that is not after each time."""
    step, begin = _grid(expr, x.type)
    if x.type.tz in (None, "UTC"):
        return _floored(expr, x, step, begin, scope)
    wall = from_arrow(local_times(x.arrow()))
    floored = _floored(expr, wall, step, begin, scope)
    first, last = (_instants(floored, step, x.type.tz, ambiguous, expr) for ambiguous in ("earliest", "latest"))
    # A point that comes twice parts two steps only where a step ends before the point comes again.
    twice = (last != first) & (last - first >= step)
    if not np.any(twice):
        return Value(x.type, first, x.valid)
    near = Value(x.type, floored.data - (wall.data - x.data), x.valid)
    same_offset = from_arrow(local_times(near.arrow())).data == floored.data
    return Value(x.type, np.where(twice & same_offset, near.data, first), x.valid)


def _nearest(expr: Call, x: Value) -> Value | None:
    """The nearest point of the grid, as the last one half a step later; None for zones, or at the limits of int64."""
    step, begin = _grid(expr, x.type)
    if x.type.tz not in (None, "UTC") or not x.data.size:
        return None
    furthest = 2 * int(step) + abs(int(begin))
    if int(x.data.min()) - furthest < INT_MIN or int(x.data.max()) + furthest > INT_MAX:
        return None
    data = x.data + (step // 2 - begin)
    data //= step
    data *= step
    return Value(x.type, data + begin if begin else data, x.valid)


def _ceil(expr: Call, x: Value, below: Value, scope: Scope) -> Value:
    """The first point of the grid that is not before each time, where `below` are the last ones not after it."""
    step, begin = _grid(expr, x.type)
    zoned = x.type.tz not in (None, "UTC")
    start = _floored(expr, from_arrow(local_times(x.arrow())), step, begin, scope) if zoned else below
    data, bad = ints.add(start.data, step)
    scope.refuse(bad & (x.data != below.data), x.valid, expr, lambda row: f"integer overflow: {at_row(x.data, row)} "
                 f"rounded up is outside the range of {x.type}", "Cast the column to a coarser unit first, such as us.")
    if not zoned:
        return Value(x.type, np.where(x.data == below.data, x.data, data), x.valid)
    first, last = (_instants(Value(start.type, data, x.valid), step, x.type.tz, ambiguous, expr)
                   for ambiguous in ("earliest", "latest"))
    above = np.where(first > x.data, first, last)
    while True:  # a point that comes again lies between
        between = _floor(expr, Value(x.type, above - 1, x.valid), scope).data
        nearer = between > x.data
        if not np.any(nearer):
            return Value(x.type, np.where(x.data == below.data, x.data, above), x.valid)
        above = np.where(nearer, between, above)


def _instants(wall: Value, step: np.int64, zone: str, ambiguous: str, expr: Call) -> Any:
    """When a clock of a zone shows these times, which are on a grid; of a time that it skips, the first moment after.

    Few times are different. Each point of the grid between them is looked up once, or if these are many, each run.
    """
    def found(times: Any) -> Any:
        try:
            return from_arrow(moments(times, zone, ambiguous)).data
        except pa.ArrowInvalid as error:
            raise KernelError(str(error).splitlines()[0], where=expr.show()) from None

    if not wall.data.ndim or not len(wall.data):
        return found(wall.arrow())
    low, high = int(wall.data.min()), int(wall.data.max())
    if (high - low) // int(step) < len(wall.data) // 2:
        points = np.arange((high - low) // int(step) + 1) * step + low
        return found(Value(wall.type, points).arrow())[(wall.data - low) // step]
    begins = np.flatnonzero(np.append(True, wall.data[1:] != wall.data[:-1]))
    each = Value(wall.type, wall.data[begins])
    return np.repeat(found(each.arrow()), np.diff(np.append(begins, len(wall.data))))


def _at_month(x: Value, span: CalendarSpan, side: Literal["left", "right"], step: int) -> Value:
    """The first moment of the month, quarter or year that each time is in, or of the next one."""
    grid = CalendarGrid(span, x.type.tz or "UTC", x.type.unit)
    times = np.asarray(x.data)
    if not times.size:
        return Value(x.type, times, x.valid)
    low, high = int(times.min()), int(times.max())
    _, bounds = grid.around(low, high)
    if grid.zone == "UTC" and (high - low) // grid.day < times.size:
        return Value(x.type, _by_day(times, bounds, grid.day, side), x.valid)
    return Value(x.type, bounds[np.searchsorted(bounds, times, side) + step], x.valid)


def _by_day(times: Any, bounds: Any, day: int, side: Literal["left", "right"]) -> Any:
    """The last of the bounds that is not after each time, or with "left" the first that is not before it.

    Cells begin with days. A table has the bound of each day, which is found far faster than by search.
    """
    first = int(bounds[0]) // day
    lengths = np.diff(bounds) // day
    if side == "right":
        return np.repeat(bounds[:-1], lengths)[times // day - first]
    return np.append(bounds[0], np.repeat(bounds[1:], lengths))[-(-times // day) - first]


def _floored(expr: Call, x: Value, step: np.int64, begin: np.int64, scope: Scope) -> Value:
    if begin % step == 0:
        data = x.data // step  # NumPy divides by one number far faster than it takes remainders
        data *= step
        bad = data > x.data
    else:
        data, bad = ints.subtract(x.data, (x.data % step - begin % step) % step)
    scope.refuse(bad, x.valid, expr, lambda row: f"integer overflow: {at_row(x.data, row)} rounded down is outside the "
                 f"range of {x.type}", "Cast the column to a coarser unit first, such as us.")
    return Value(x.type, data, x.valid)

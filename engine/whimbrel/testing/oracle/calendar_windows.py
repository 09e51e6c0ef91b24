"""Windows of the calendar (docs/semantics.md, windows), one event at a time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from whimbrel.testing.oracle.events import Event
from whimbrel.testing.oracle.lifetimes import Closed, Label

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Span = tuple[int, str]
"""A count, and "d" or "mo"."""


@cache
def midnight(day: date, zone: str) -> int:
    """The first second at which the clock of a zone shows the midnight of a day, or has gone past it."""
    clock = ZoneInfo(zone)
    wall = datetime(day.year, day.month, day.day, tzinfo=UTC)

    def shown(second: int) -> datetime:
        return (_EPOCH + timedelta(seconds=second)).astimezone(clock).replace(tzinfo=UTC)

    begin = int((wall - _EPOCH).total_seconds())
    hours = range(begin - 26 * 3600, begin + 27 * 3600, 1800)
    after = next(second for second in hours if shown(second) >= wall)
    minute = next(second for second in range(after - 1800, after + 1, 60) if shown(second) >= wall)
    return next(second for second in range(minute - 60, minute + 1) if shown(second) >= wall)


def first_day(day: date, step: Span, anchor: date) -> date:
    """The day with which the cell of a day begins."""
    count, unit = step
    if unit == "d":
        return day - timedelta(days=(day - anchor).days % count)
    months = (day.year - 1970) * 12 + day.month - 1
    months -= months % count
    return date(1970 + months // 12, months % 12 + 1, 1)


def later(day: date, span: Span) -> date:
    """The day so long after another; what the month does not have is its last day."""
    count, unit = span
    if unit == "d":
        return day + timedelta(days=count)
    months = day.year * 12 + day.month - 1 + count
    for last in (day.day, 30, 29, 28):
        try:
            return date(months // 12, months % 12 + 1, min(day.day, last))
        except ValueError:
            continue
    raise AssertionError(day)


def calendar_window(facts: Iterable[Event], size: Span, hop: Span, *, zone: str = "UTC",
                    anchor: date = date(1970, 1, 1), label: Label = "start",
                    closed: Closed | None = None) -> list[Event]:
    """An event of a cell is active until the cell that has the day `size` after the cell's first day.

    Label "end": an event between two bounds is one of the later bound. An event on a bound is taken for one a second
    earlier if it belongs to what is before, and for one a second later if it belongs to what follows. With both it
    lasts from the start of the one to the end of the other, with none only where both are active.
    """
    usual = "right" if label == "end" else "left"
    before = {usual: 0, "left" if usual == "right" else "right": 1 if label == "end" else -1}
    out = []
    for time, _, payload in facts:
        sides = sorted([(time + before[side], time, payload) for side in ("left", "right")
                        if closed in (None, side, "both", "none") and (closed is not None or side == usual)],
                       key=lambda event: event[0])
        found = [_window(side, size, hop, zone, anchor, label) for side in sides]
        start, end = ((found[-1][0], found[0][1]) if closed == "none" else (found[0][0], found[-1][1]))
        out += [(start, end, payload)] if start < end else []
    return out


def _window(event: Event, size: Span, hop: Span, zone: str, anchor: date, label: Label) -> Event:
    time, _, payload = event
    day = (_EPOCH + timedelta(seconds=int(time), days=2)).date()
    while midnight(day, zone) > time:
        day -= timedelta(days=1)
    cell = first_day(day, hop, anchor)
    if label == "end" and midnight(cell, zone) < time:
        cell = later(cell, hop)
        while midnight(later(cell, hop), zone) == midnight(cell, zone):  # a day that the zone skipped
            cell = later(cell, hop)
    end = first_day(later(cell, size), hop, anchor)
    return midnight(cell, zone), midnight(end, zone), payload

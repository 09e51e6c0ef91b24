"""Functions of time, by their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from whimbrel.errors import KernelError
from whimbrel.testing.oracle.events import Event, Payload, Time
from whimbrel.testing.oracle.lifetimes import floor_to

At = Callable[[Sequence[Event], Time], Any]
"""Events of one key, one at a time, and a time -> the value then; None where there is none."""

Fold = Callable[[list[Payload]], Any]
"""The payloads of a window in the order of their starts -> its value."""


def active(facts: Sequence[Event], time: Time) -> Event | None:
    """The event that is active at a time."""
    return next((event for event in facts if event[0] <= time < event[1]), None)


def column(of: Callable[[Payload], Any]) -> At:
    """A value of the event that is active."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        event = active(facts, time)
        return None if event is None else of(event[2])
    return at


def both(of: Callable[[Any, Any], Any], left: At, right: At) -> At:
    """A scalar function of two functions of time; None if one of them is None."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        values = left(facts, time), right(facts, time)
        return None if None in values else of(*values)
    return at


def ago(of: At, ticks: int) -> At:
    """``x[t - ticks]``; negative ticks are ahead."""
    return lambda facts, time: of(facts, time - ticks)


def previous(of: At, events: int = 1) -> At:
    """The value at the start of the event that is so many before the active one."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        event = active(facts, time)
        before = [] if event is None else [start for start, _, _ in facts if start < event[0]]
        return of(facts, sorted(before)[-events]) if len(before) >= events else None
    return at


def past(of: Fold, back: int, later: int = 0, min_rows: int = 0) -> At:
    """A fold of the events that are active in ``(t - back, t + later]``."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        rows = [payload for start, end, payload in sorted(facts, key=lambda event: event[0])
                if start <= time + later and end - 1 > time - back]
        return of(rows) if rows and len(rows) >= min_rows else None
    return at


def past_rows(of: Fold, rows: int, min_rows: int = 0) -> At:
    """A fold of the last events that have started."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        started = [payload for start, _, payload in sorted(facts, key=lambda event: event[0]) if start <= time][-rows:]
        return of(started) if started and len(started) >= min_rows else None
    return at


def cell(of: Fold, size: int, offset: int = 0) -> At:
    """A fold of the events that are active in the window ``[start, start + size)`` of a grid which holds the time."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        start = floor_to(time, size, offset)
        rows = [payload for begin, end, payload in sorted(facts, key=lambda event: event[0])
                if begin < start + size and end > start]
        return of(rows) if rows else None
    return at


def so_far(of: Fold, reset: Callable[[Payload], Any] | None = None) -> At:
    """A fold of the events that have started, since the last one for which `reset` is true."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        rows = [payload for start, _, payload in sorted(facts, key=lambda event: event[0]) if start <= time]
        anew = [number for number, row in enumerate(rows) if reset is not None and reset(row) is True]
        return of(rows[anew[-1] if anew else 0:]) if rows else None
    return at


def taken_at_starts(facts: Iterable[Event], columns: Mapping[str, At], keys: Sequence[str] = ()) -> list[Event]:
    """Select columns: lifetimes stay, and functions of time are taken when each event starts, for each key.

    A missing key "meets nothing, as in joins".
    """
    facts, out = list(facts), []
    for start, end, payload in facts:
        mine = [event for event in facts if all(event[2][key] == payload[key] for key in keys)]
        if any(begin < start < until or (begin == start and other is not payload) for begin, until, other in mine):
            raise KernelError("two events at one time", where="taken_at_starts", hint="")
        if any(payload[key] is None for key in keys):
            mine = []
        out.append((start, end, {name: at(mine, start) for name, at in columns.items()}))
    return out

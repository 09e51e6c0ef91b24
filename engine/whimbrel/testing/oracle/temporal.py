"""Functions of time, by their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
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


def exists(of: At) -> At:
    """False for a gap only: whether a function that is never null has a value."""
    return lambda facts, time: of(facts, time) is not None


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


def past_ticks(of: Fold, back: int, later: int = 0) -> At:
    """A fold of the payloads at each tick of ``(t - back, t + later]`` at which an event is active."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        ticks = (active(facts, tick) for tick in range(int(time) - back + 1, int(time) + later + 1))
        rows = [event[2] for event in ticks if event is not None]
        return of(rows) if rows else None
    return at


def cell_ticks(of: Fold, size: int, offset: int = 0) -> At:
    """The same of the ticks of the window ``[start, start + size)`` of a grid which holds the time."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        start = floor_to(time, size, offset)
        return past_ticks(of, size)(facts, start + size - 1)
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


def recurrence(of: Callable[[Payload], Any], step: Callable[[list[tuple[Time, Any]]], Any]) -> At:
    """A function of the values and their times so far; None if the last event has no value."""
    def at(facts: Sequence[Event], time: Time) -> Any:
        rows = [(start, of(payload)) for start, _, payload in sorted(facts, key=lambda event: event[0])
                if start <= time]
        return step([row for row in rows if row[1] is not None]) if rows and rows[-1][1] is not None else None
    return at


def ema(of: Callable[[Payload], Any], halflife: int | None = None, alpha: float = 0.5) -> At:
    """``y += w * (x - y)``, where ``w`` is `alpha`, or half for each `halflife` that has passed."""
    def step(values: list[tuple[Time, Any]]) -> Any:
        (last, mean), *others = values
        for start, value in others:
            share = alpha if halflife is None else 1 - 2.0 ** (-(start - last) / halflife)
            last, mean = start, mean + share * (value - mean)
        return float(mean)
    return recurrence(of, step)


def iir(of: Callable[[Payload], Any], b: Sequence[float], a: Sequence[float]) -> At:
    """The difference equation of a filter that starts at rest."""
    def step(values: list[tuple[Time, Any]]) -> Any:
        given, out = [value for _, value in values], list[float]()
        for number in range(len(given)):
            forward = sum(each * given[number - back] for back, each in enumerate(b) if back <= number)
            fed_back = sum(each * out[number - back] for back, each in enumerate(a) if 0 < back <= number)
            out.append((forward - fed_back) / a[0])
        return out[-1]
    return recurrence(of, step)


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


def resample(facts: Iterable[Event], period: int, how: str, *, limit: int | None = None, offset: int = 0,
             keys: Sequence[str] = ()) -> list[Event]:
    """One event at each multiple of a period, for each key: "never extrapolated; null across more than `limit`".

    The last sample is at most `limit` old; without a limit, times are between the first and the last sample. On a line,
    what is no number has the value of the last sample.
    """
    by_key: dict[Any, list[Event]] = {}
    for event in sorted(facts, key=lambda event: event[0]):
        if all(event[2][key] is not None for key in keys):
            by_key.setdefault(tuple(event[2][key] for key in keys), []).append(event)
    out: list[Event] = []
    for samples in by_key.values():
        if any(later[0] < earlier[1] for earlier, later in pairwise(samples)):
            raise KernelError("samples overlap", where="resample", hint="")
        around = limit or 0
        since = floor_to(samples[0][0] - around, period, offset)
        for time in range(int(since), int(samples[-1][0]) + around + 1, period):
            before = [event for event in samples if event[0] <= time]
            after = [event for event in samples if event[0] >= time]
            payload = _at_grid_point(how, time, before[-1:], after[:1], limit, set(keys))
            if payload is not None:
                out.append((time, time + period, payload))
    return out


def between(facts: Iterable[Event], start: int, end: int, every: int | None = None) -> list[Event]:
    """``between`` is a slice of the answer; with `every` the values at its multiples, each until the next one."""
    if every is None:
        return [event for event in facts if event[0] < end and event[1] > start]
    return [(time, time + every, payload) for time in range(-(-start // every) * every, end, every)
            for begin, until, payload in facts if begin <= time < until]


def _at_grid_point(how: str, time: int, before: list[Event], after: list[Event], limit: int | None,
                   keys: set[str]) -> Payload | None:
    def near(event: Event) -> bool:
        return abs(event[0] - time) <= limit if limit is not None else bool(before and after)

    if how == "nearest":
        nearest = min((*before, *after), key=lambda event: (abs(event[0] - time), event[0]))
        return nearest[2] if near(nearest) else None
    if not before or not near(before[0]):
        return None
    if how == "hold":
        return before[0][2]
    (start, _, low), (end, _, high) = before[0], after[0] if after else (time + 1, 0, None)

    def on_line(name: str) -> Any:
        if name in keys:
            return low[name]
        if high is None or (limit is not None and end - start > limit):
            return None
        if not all(isinstance(each[name], int | float | None) for each in (low, high)) or isinstance(low[name], bool):
            return low[name]  # no number
        if None in (low[name], high[name]):
            return None
        if start == end:
            return float(low[name])
        return float(low[name] + (Fraction(high[name]) - Fraction(low[name])) * (time - start) / (end - start))
    return {name: on_line(name) for name in low}

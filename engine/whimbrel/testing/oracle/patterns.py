"""Patterns over the events of a key (SEMANTICS 7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from whimbrel.testing.oracle.facts import Fact, Payload, Time
from whimbrel.testing.oracle.stateless import Function


@dataclass(frozen=True)
class Event:
    """One event for which the predicate is true (null is not)."""

    predicate: Function


@dataclass(frozen=True)
class Then:
    """The first pattern, directly followed by the second."""

    first: Pattern
    second: Pattern


@dataclass(frozen=True)
class Either:
    """One pattern or the other."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class Repeat:
    """The pattern at least `least` times (and at most `most`), one directly after the other."""

    pattern: Pattern
    least: int = 1
    most: int | None = None


@dataclass(frozen=True)
class Optional:
    """The pattern or nothing."""

    pattern: Pattern


Pattern = Event | Then | Either | Repeat | Optional


def detect(facts: Iterable[Fact], pattern: Pattern, within: int,
           keys: Mapping[str, Function] | None = None) -> list[Fact]:
    """Every run of every key: each first event, each later event at which the pattern is complete.

    "Regular expression over event predicates, per key. Strict contiguity: A run started at t0 accepts events before
    t0 + within; the match is [last event's time, t0 + within). Every entry into a final state is a match.
    Simultaneous events of one key: all discarded with the key's runs." A run is its events: two ways to read the same
    events as the pattern are one match.
    """
    keys = keys or {}
    groups: dict[tuple[object, ...], list[tuple[Time, Payload]]] = {}
    for start, _, payload in facts:
        groups.setdefault(tuple(key(payload) for key in keys.values()), []).append((start, payload))
    answer: list[Fact] = []
    for group, events in groups.items():
        for stretch in _without_simultaneous(events):
            for first, (t0, _) in enumerate(stretch):
                timely = [payload for time, payload in stretch[first:] if time < t0 + within]
                for events_in_run in sorted(_lengths(pattern, timely) - {0}):
                    last = stretch[first + events_in_run - 1][0]
                    payload = dict(zip(keys, group, strict=True)) | {"first_time": t0, "events": events_in_run}
                    answer.append((last, t0 + within, payload))
    return answer


def _without_simultaneous(events: Sequence[tuple[Time, Payload]]) -> Iterator[list[tuple[Time, Payload]]]:
    """Events in time order, cut (and left out) wherever two share a time: no run lives across such a place."""
    stretch: list[tuple[Time, Payload]] = []
    times = [time for time, _ in events]
    for time, payload in sorted(events, key=lambda event: event[0]):
        if times.count(time) == 1:
            stretch.append((time, payload))
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _lengths(pattern: Pattern, events: Sequence[Payload]) -> set[int]:
    """How many of the first events can make up the whole pattern."""
    match pattern:
        case Event(predicate):
            return {1} if events and predicate(events[0]) is True else set()
        case Then(first, second):
            return {n + m for n in _lengths(first, events) for m in _lengths(second, events[n:])}
        case Either(left, right):
            return _lengths(left, events) | _lengths(right, events)
        case Optional(inner):
            return {0} | _lengths(inner, events)
        case Repeat(inner, least, most):
            return _repetitions(inner, least, most, events)


def _repetitions(inner: Pattern, least: int, most: int | None, events: Sequence[Payload]) -> set[int]:
    reached, answer = {0}, {0} if least == 0 else set()
    for times in range(1, (len(events) + least if most is None else most) + 1):
        reached = {n + m for n in reached for m in _lengths(inner, events[n:])}
        if times >= least:
            answer |= reached
    return answer

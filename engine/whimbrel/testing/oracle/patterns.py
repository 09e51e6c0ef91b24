"""Patterns over the events of a key (SEMANTICS 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from whimbrel.testing.oracle.events import INF, Event, Payload, Time
from whimbrel.testing.oracle.stateless import Function


@dataclass(frozen=True)
class EventStep:
    """One event for which the predicate is true (null is not), and what it does to the register.

    Functions see the event's columns, and what the run remembers: "register.total", "first_of('a').x".
    """

    predicate: Function
    updates: Mapping[str, Function] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class SimultaneousStep:
    """All events of the key at one time together, if the predicate is true of them."""

    predicate: Callable[[Sequence[Payload]], bool]


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
    """The pattern at least `minimum` times (and at most `maximum`), one directly after the other."""

    pattern: Pattern
    minimum: int = 1
    maximum: int | None = None


@dataclass(frozen=True)
class Optional:
    """The pattern or nothing."""

    pattern: Pattern


Pattern = EventStep | SimultaneousStep | Then | Either | Repeat | Optional

_Rest = tuple[Pattern, ...]


@dataclass(frozen=True)
class _Run:
    """One way of reading some events as the beginning of the pattern: what is left of it, and what it remembers."""

    rest: _Rest
    began: Time
    events: int
    memory: Payload


def detect(facts: Iterable[Event], pattern: Pattern, within: int | None, keys: Mapping[str, Function] | None = None, *,
           register: Mapping[str, Any] | None = None, skip: bool = False, overlapping: bool = True,
           greedy: bool = False, simultaneous: Literal["discard", "in_order"] = "discard",
           output: Mapping[str, Function] | None = None) -> list[Event]:
    """Every run of every key, event by event.

    "Regular expression over event predicates, per key, with a register (user state) carried along a run. Strict
    contiguity by default, `skip=True` for followed-by with others in between. A run started at t0 accepts events before
    t0 + within; the match is [last event's time, t0 + within). Every entry into a final state is a match.
    overlapping=False: no new run on an event that advanced one. Simultaneous events of one key: all discarded with the
    key's runs unless the stream is declared free of them." A pattern that takes all events of a time at once sees each
    time once: several events there move a run only so, and fit nowhere else. Two ways to read the same events are one
    match, if the register and the output are the same. Without `within` a run has no limit and a match no end.
    With `greedy`, of the matches of a begin those that end last are the answer, and without `overlapping` none that
    begins in a match before it.
    """
    if greedy:
        every = detect(facts, pattern, within, keys, register=register, skip=skip, simultaneous=simultaneous,
                       output=output)
        return _greedy(every, list(keys or {}), overlapping=overlapping)
    keys = keys or {}
    groups: dict[tuple[object, ...], list[tuple[Time, Payload]]] = {}
    for start, _, payload in sorted(facts, key=lambda fact: fact[0]):
        groups.setdefault(tuple(key(payload) for key in keys.values()), []).append((start, payload))
    limit = INF if within is None else within
    begin = {f"register.{name}": value for name, value in (register or {}).items()}
    answer: list[Event] = []
    for group, events in groups.items():
        times = [time for time, _ in events]
        runs: list[_Run] = []
        at_once = _has_at_once(pattern)
        instants = [(time, [payload for other, payload in events if other == time]) for time in sorted(set(times))]
        for time, instant in instants if at_once else [(time, [payload]) for time, payload in events]:
            if not at_once and simultaneous == "discard" and times.count(time) > 1:
                runs = []
                continue
            alive = [run for run in runs if time < run.began + limit]
            moved = [after for run in alive for after in _moves(run, instant)]
            waiting = [run for run in alive if skip and not any(_moves(run, instant))]
            if overlapping or not moved:
                moved += _moves(_Run((pattern,), time, 0, begin), instant)
            shown: list[Event] = []
            for run in moved:
                values = {name: run.memory[f"register.{name}"] for name in register or {}}
                values |= {name: of(run.memory) for name, of in (output or {}).items()}
                found = {"first_time": run.began, "events": run.events} | values
                fact = (time, run.began + limit, dict(zip(keys, group, strict=True)) | found)
                if all(map(_optional, run.rest)) and fact not in shown:
                    shown.append(fact)
            answer += shown
            runs = list({_identity(run): run for run in [*waiting, *moved]}.values())
    return answer


def _greedy(matches: list[Event], keys: list[str], *, overlapping: bool) -> list[Event]:
    """The longest matches of each begin of a key, one begin after the other."""
    begins: dict[tuple[object, ...], dict[Time, list[Event]]] = {}
    for match in matches:
        payload = match[2]
        begins.setdefault(tuple(payload[key] for key in keys), {}).setdefault(payload["first_time"], []).append(match)
    answer: list[Event] = []
    for group in begins.values():
        free: Time | None = None
        for begin in sorted(group):
            if overlapping or free is None or begin > free:
                free = max(time for time, _, _ in group[begin])
                answer += [match for match in group[begin] if match[0] == free]
    return answer


def _has_at_once(pattern: Pattern) -> bool:
    match pattern:
        case EventStep():
            return False
        case SimultaneousStep():
            return True
        case Then(left, right) | Either(left, right):
            return _has_at_once(left) or _has_at_once(right)
        case Repeat(inner) | Optional(inner):
            return _has_at_once(inner)


def _moves(run: _Run, instant: Sequence[Payload]) -> Iterator[_Run]:
    """The run after this event (or all of one time), in every way of reading it."""
    for event, rest in _next(run.rest):
        if isinstance(event, SimultaneousStep):
            if event.predicate(instant):
                yield replace(run, rest=rest, events=run.events + 1)
            continue
        if len(instant) > 1:
            continue
        payload = instant[0]
        seen = payload | run.memory
        if event.predicate(seen) is not True:
            continue
        memory = run.memory | {f"register.{name}": value(seen) for name, value in event.updates.items()}
        first = {f"first_of({event.name!r}).{name}": value for name, value in payload.items()}
        last = {f"last_of({event.name!r}).{name}": value for name, value in payload.items()}
        memory = first | memory | last if event.name else memory
        yield replace(run, rest=rest, events=run.events + 1, memory=memory)


def _next(rest: _Rest) -> list[tuple[EventStep | SimultaneousStep, _Rest]]:
    """What event may come next, and what is left of the pattern after it."""
    if not rest:
        return []
    head, *others = rest
    tail = tuple(others)
    match head:
        case EventStep() | SimultaneousStep():
            return [(head, tail)]
        case Then(first, second):
            return _next((first, second, *tail))
        case Either(left, right):
            return _next((left, *tail)) + _next((right, *tail))
        case Optional(inner):
            return _next((inner, *tail)) + _next(tail)
        case Repeat(inner, minimum, maximum):
            again = () if maximum == 1 else (replace(head, minimum=max(minimum - 1, 0),
                                                     maximum=maximum and maximum - 1),)
            into = [(event, (*left, *again, *tail)) for event, left in _next((inner,))]
            return into + (_next(tail) if _optional(head) else [])


def _optional(pattern: Pattern) -> bool:
    """Whether no event at all is also such a pattern."""
    match pattern:
        case EventStep() | SimultaneousStep():
            return False
        case Then(first, second):
            return _optional(first) and _optional(second)
        case Either(left, right):
            return _optional(left) or _optional(right)
        case Optional():
            return True
        case Repeat(inner, minimum):
            return minimum == 0 or _optional(inner)


def _identity(run: _Run) -> object:
    """Equal for runs with the same future and the same past."""
    rest = tuple((id(part.pattern), part.minimum, part.maximum) if isinstance(part, Repeat) else id(part)
                 for part in run.rest)
    return rest, run.began, run.events, repr(sorted(run.memory.items()))

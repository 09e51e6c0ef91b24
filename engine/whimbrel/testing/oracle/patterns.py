"""Patterns over the events of a key (docs/semantics.md, patterns)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
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
    reluctant: bool = False


@dataclass(frozen=True)
class Optional:
    """The pattern or nothing."""

    pattern: Pattern
    reluctant: bool = False


@dataclass(frozen=True)
class Prefixes:
    """The pattern, or its first events."""

    pattern: Pattern


Pattern = EventStep | SimultaneousStep | Then | Either | Repeat | Optional | Prefixes

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
    With `greedy`, a begin has the first match that backtracking finds, and without `overlapping` none within a match
    before it.
    """
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
        if greedy:
            for run, end in _greedy(pattern, instants, limit, begin, skip=skip, at_once=at_once,
                                    overlapping=overlapping):
                answer.append((end, run.began + limit, _payload(run, dict(zip(keys, group, strict=True)), register,
                                                                output)))
            continue
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
                fact = (time, run.began + limit, _payload(run, dict(zip(keys, group, strict=True)), register, output))
                if all(map(_optional, run.rest)) and fact not in shown:
                    shown.append(fact)
            answer += shown
            runs = list({_identity(run): run for run in [*waiting, *moved]}.values())
    return answer


def not_followed(matches: Iterable[Event], facts: Iterable[Event], within: int, keys: Mapping[str, Function],
                 condition: Function | None = None) -> list[Event]:
    """The matches after which no event of their key starts for so long, as points at the end of that time.

    An event follows if it starts after the last event of the match, and less than `within` after it. With a condition
    only events count for which it is true.
    """
    events = [(start, {name: key(payload) for name, key in keys.items()}) for start, _, payload in facts
              if condition is None or condition(payload) is True]
    return [(end + within, end + within + 1, payload) for end, _, payload in matches
            if not any(end < start < end + within and key.items() <= payload.items() for start, key in events)]


def _payload(run: _Run, keys: Payload, register: Mapping[str, Any] | None,
             output: Mapping[str, Function] | None) -> Payload:
    values = {name: run.memory[f"register.{name}"] for name in register or {}}
    values |= {name: of(run.memory) for name, of in (output or {}).items()}
    return keys | {"first_time": run.began, "events": run.events} | values


def _greedy(pattern: Pattern, instants: list[tuple[Time, list[Payload]]], limit: float, memory: Payload, *, skip: bool,
            at_once: bool, overlapping: bool) -> Iterator[tuple[_Run, Time]]:
    """The match of each begin of a key, and its last time, one begin after the other."""
    def longer(run: _Run, end: Time, place: int) -> tuple[_Run, Time] | None:
        """The first match that continues this one, which ends before this place."""
        choices = _choices(run.rest)
        ends = None in choices
        for time, instant in instants[place:]:
            if time >= run.began + limit or (len(instant) > 1 and not at_once):
                break
            steps = choices[: choices.index(None)] if ends else choices
            moved = [after for step in steps if step is not None for after in _moved(run, step, instant)]
            place += 1
            for after in moved:
                found = longer(after, time, place)
                if found is not None:
                    return found
            if moved or not skip:
                break
        return (run, end) if ends else None

    free: Time | None = None
    for place, (time, instant) in enumerate(instants):
        if (free is None or time > free or overlapping) and (at_once or len(instant) == 1):
            starts = [after for step in _choices((pattern,)) if step is not None
                      for after in _moved(_Run((), time, 0, memory), step, instant)]
            found = next(filter(None, (longer(run, time, place + 1) for run in starts)), None)
            if found is not None:
                free = found[1]
                yield found


def _choices(rest: _Rest) -> list[tuple[EventStep | SimultaneousStep, _Rest] | None]:
    """What event may come next and what is left then, the most preferred first; None if the pattern may be over."""
    if not rest:
        return [None]
    head, *others = rest
    tail = tuple(others)
    match head:
        case EventStep() | SimultaneousStep():
            return [(head, tail)]
        case Then(first, second):
            return _choices((first, second, *tail))
        case Either(left, right):
            return _choices((left, *tail)) + _choices((right, *tail))
        case Prefixes(inner):
            return [part for each in _choices((inner,))
                    for part in (_choices(tail) if each is None else [(each[0], (*_shorter(each[1]), *tail))])]
        case Optional(inner, reluctant):
            inside, after = _choices((inner, *tail)), _choices(tail)
            return after + inside if reluctant else inside + after
        case Repeat(inner, minimum, maximum, reluctant):
            again = () if maximum == 1 else (replace(head, minimum=max(minimum - 1, 0),
                                                     maximum=maximum and maximum - 1),)
            after = _choices(tail)
            inside = [part for each in _choices((inner,))
                      for part in (after if each is None else [(each[0], (*each[1], *again, *tail))])]
            if minimum:
                return inside
            return after + inside if reluctant else inside + after


def _has_at_once(pattern: Pattern) -> bool:
    match pattern:
        case EventStep():
            return False
        case SimultaneousStep():
            return True
        case Then(left, right) | Either(left, right):
            return _has_at_once(left) or _has_at_once(right)
        case Repeat(inner) | Optional(inner) | Prefixes(inner):
            return _has_at_once(inner)


def _moves(run: _Run, instant: Sequence[Payload]) -> Iterator[_Run]:
    """The run after this event (or all of one time), in every way of reading it."""
    for step in _next(run.rest):
        yield from _moved(run, step, instant)


def _moved(run: _Run, step: tuple[EventStep | SimultaneousStep, _Rest], instant: Sequence[Payload]) -> Iterator[_Run]:
    """The run after this event (or all of one time), if it is what this step says."""
    event, rest = step
    if isinstance(event, SimultaneousStep):
        if event.predicate(instant):
            yield replace(run, rest=rest, events=run.events + 1)
        return
    if len(instant) > 1:
        return
    payload = instant[0]
    seen = payload | run.memory
    if event.predicate(seen) is not True:
        return
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
        case Prefixes(inner):
            return [(event, (*_shorter(left), *tail)) for event, left in _next((inner,))] + (
                _next(tail) if _optional(inner) else [])
        case Optional(inner):
            return _next((inner, *tail)) + _next(tail)
        case Repeat(inner, minimum, maximum):
            again = () if maximum == 1 else (replace(head, minimum=max(minimum - 1, 0),
                                                     maximum=maximum and maximum - 1),)
            into = [(event, (*left, *again, *tail)) for event, left in _next((inner,))]
            return into + (_next(tail) if _optional(head) else [])


def _shorter(rest: _Rest) -> _Rest:
    """What is left of a pattern that may be over after each event."""
    if not rest:
        return ()
    return (Optional(Prefixes(reduce(Then, rest))),)


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
        case Prefixes(inner):
            return _optional(inner)
        case Repeat(inner, minimum):
            return minimum == 0 or _optional(inner)


def _identity(run: _Run) -> object:
    """Equal for runs with the same future and the same past."""
    rest = tuple((id(part.pattern), part.minimum, part.maximum) if isinstance(part, Repeat) else id(part)
                 for part in run.rest)
    return rest, run.began, run.events, repr(sorted(run.memory.items()))

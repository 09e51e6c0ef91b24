"""Operators that look at one fact at a time and leave its lifetime alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from whimbrel.testing.oracle.events import INF, Fact, Payload

Function = Callable[[Payload], Any]


def seen(fact: Fact) -> Payload:
    """What an expression sees: the payload, and the event's own start and end (null when none is known)."""
    start, end, payload = fact
    return payload | {"start_time()": start, "end_time()": None if end == INF else end}


def where(facts: Iterable[Fact], *predicates: Function) -> list[Fact]:
    """Several predicates mean and; null counts as false. A predicate never sees a row that an earlier one rejected."""
    return [fact for fact in facts if all(predicate(seen(fact)) is True for predicate in predicates)]


def select(facts: Iterable[Fact], columns: Mapping[str, Function]) -> list[Fact]:
    """Only these columns."""
    return [(fact[0], fact[1], {name: column(seen(fact)) for name, column in columns.items()}) for fact in facts]


def with_columns(facts: Iterable[Fact], columns: Mapping[str, Function]) -> list[Fact]:
    """These columns beside the others; all are computed from the columns as they were, and a known name is replaced."""
    return [(fact[0], fact[1], fact[2] | {name: column(seen(fact)) for name, column in columns.items()})
            for fact in facts]

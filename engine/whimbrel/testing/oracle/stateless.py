"""Operators on single events that keep their lifetimes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from whimbrel.testing.oracle.events import INF, Event, Payload

Function = Callable[[Payload], Any]


def seen(event: Event) -> Payload:
    """What an expression sees: the payload, and the event's own start and end (null when none is known)."""
    start, end, payload = event
    return payload | {"start_time()": start, "end_time()": None if end == INF else end}


def where(facts: Iterable[Event], *predicates: Function) -> list[Event]:
    """Several predicates mean and; null counts as false. A predicate never sees a row that an earlier one rejected."""
    return [event for event in facts if all(predicate(seen(event)) is True for predicate in predicates)]


def select(facts: Iterable[Event], columns: Mapping[str, Function]) -> list[Event]:
    """Only these columns."""
    return [(event[0], event[1], {name: column(seen(event)) for name, column in columns.items()}) for event in facts]


def with_columns(facts: Iterable[Event], columns: Mapping[str, Function]) -> list[Event]:
    """Add or replace columns; all are computed from the columns as they were."""
    return [(event[0], event[1], event[2] | {name: column(seen(event)) for name, column in columns.items()})
            for event in facts]

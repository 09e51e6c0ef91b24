"""Operators that look at one fact at a time and leave its lifetime alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from whimbrel.testing.oracle.facts import Fact, Payload

Function = Callable[[Payload], Any]


def where(facts: Iterable[Fact], *predicates: Function) -> list[Fact]:
    """Several predicates mean and; null counts as false. A predicate never sees a row that an earlier one rejected."""
    return [fact for fact in facts if all(predicate(fact[2]) is True for predicate in predicates)]


def select(facts: Iterable[Fact], columns: Mapping[str, Function]) -> list[Fact]:
    """Only these columns."""
    return [(start, end, {name: column(payload) for name, column in columns.items()}) for start, end, payload in facts]


def with_columns(facts: Iterable[Fact], columns: Mapping[str, Function]) -> list[Fact]:
    """These columns beside the others; all are computed from the columns as they were, and a known name is replaced."""
    return [(start, end, payload | {name: column(payload) for name, column in columns.items()})
            for start, end, payload in facts]

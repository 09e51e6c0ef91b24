"""Events of the model, and equality of streams."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

INF = math.inf
"""No end known."""

Time = int | float
"""Ticks; the only float is INF."""

Payload = dict[str, Any]
"""Column name to value; None is null."""

Event = tuple[Time, Time, Payload]
"""(start, end, payload): the payload is true from `start` up to, not including, `end`."""

_TOLERANCE = 1e-9


def coalesced(facts: Iterable[Event]) -> list[Event]:
    """Facts in one fixed order, since "the settled answer is the same multiset of (lifetime, payload)".

    Adjacent facts with equal payloads are not merged.
    """
    return sorted(facts, key=lambda event: (event[0], event[1], _sort_key(event[2])))


def differences(expected: Iterable[Event], actual: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """Facts that are missing, and facts that should not be there; both empty when the multisets are the same.

    "Float sums must not drift: within 1e-9 relative." Columns that hold a float on either side are compared so; all
    others exactly. Columns are compared by name, not by position.
    """
    expected, actual = coalesced(expected), coalesced(actual)
    floats = {name for _, _, payload in (*expected, *actual) for name, value in payload.items() if type(value) is float}
    candidates: dict[Any, list[Event]] = defaultdict(list)
    for event in actual:
        candidates[_exact_part(event, floats)].append(event)
    missing: list[Event] = []
    for event in expected:
        same = candidates[_exact_part(event, floats)]
        match = next((at for at, other in enumerate(same) if _close(event[2], other[2], floats)), None)
        if match is None:
            missing.append(event)
        else:
            del same[match]
    return missing, coalesced(event for rest in candidates.values() for event in rest)


def _exact_part(event: Event, floats: set[str]) -> Any:
    start, end, payload = event
    # The null of a float column is exact, its value is not; True and 1 are different payloads.
    exact = {(name, type(value).__name__, repr(value)) for name, value in payload.items()
             if name not in floats or value is None}
    return start, end, frozenset(payload), frozenset(exact)


def _close(left: Payload, right: Payload, floats: Iterable[str]) -> bool:
    return all(_same_number(left[name], right[name]) for name in floats if left.get(name) is not None)


def _same_number(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=_TOLERANCE, abs_tol=1e-12) or (math.isnan(left) and math.isnan(right))


def _sort_key(payload: Payload) -> Sequence[Any]:
    return [(name, type(value).__name__,
             0 if value is None else repr(value) if isinstance(value, list | dict) else value)
            for name, value in sorted(payload.items())]

"""Operators over two streams (docs/semantics.md, join)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby, pairwise
from typing import Any

from whimbrel.testing.oracle.events import Event, Payload, Time


def join(left: Iterable[Event], right: Iterable[Event], left_key: Callable[[Payload], tuple[Any, ...]],
         right_key: Callable[[Payload], tuple[Any, ...]],
         combine: Callable[[Payload, Payload], Payload]) -> list[Event]:
    """Every pair, asked one by one.

    "Key match AND overlapping lifetimes; result lifetime [max(starts), min(ends))." A null key matches nothing, not
    even another null.
    """
    right = list(right)
    answer: list[Event] = []
    for left_start, left_end, left_payload in left:
        for right_start, right_end, right_payload in right:
            start, end = max(left_start, right_start), min(left_end, right_end)
            key = left_key(left_payload)
            if None not in key and key == right_key(right_payload) and start < end:
                answer.append((start, end, combine(left_payload, right_payload)))
    return answer


def union(left: Iterable[Event], right: Iterable[Event]) -> list[Event]:
    """All facts of both; their order carries no meaning."""
    return [*left, *right]


Match = Callable[[Payload, Payload], bool]
"""Whether a left and a right payload belong together."""


def semi_join(left: Iterable[Event], right: Iterable[Event], match: Match) -> list[Event]:
    """Left events while they are matched.

    "Left lifetime intersected with the union of matching right lifetimes; adjacent right lifetimes leave no gap."
    """
    right = list(right)
    return [(start, end, event[2]) for event in left for start, end, covered in _parts(event, right, match) if covered]


def anti_join(left: Iterable[Event], right: Iterable[Event], match: Match) -> list[Event]:
    """Left events while they are not matched: "left lifetime minus the union of matching right lifetimes"."""
    right = list(right)
    return [(start, end, event[2]) for event in left
            for start, end, covered in _parts(event, right, match) if not covered]


def _parts(event: Event, right: list[Event], match: Match) -> list[tuple[Time, Time, bool]]:
    """The lifetime of a fact, cut wherever it begins or ceases to have a match."""
    start, end, payload = event
    lifetimes = [(begin, stop) for begin, stop, other in right if match(payload, other)]
    cuts = sorted({start, end} | {time for lifetime in lifetimes for time in lifetime if start < time < end})
    pieces = [(a, b, any(begin <= a and b <= stop for begin, stop in lifetimes)) for a, b in pairwise(cuts)]
    return [(run[0][0], run[-1][1], covered) for covered, run in
            ((covered, list(run)) for covered, run in groupby(pieces, key=lambda piece: piece[2]))]


def clip(left: Iterable[Event], right: Iterable[Event], match: Match) -> list[Event]:
    """Left events until something starts.

    "A left event ends at the first matching right start strictly after its own start; right ends do not matter."
    """
    right = list(right)
    answer: list[Event] = []
    for start, end, payload in left:
        starts = [begin for begin, _, other in right if begin > start and match(payload, other)]
        answer.append((start, min([end, *starts]), payload))
    return answer


def asof_join(left: Iterable[Event], right: Iterable[Event], match: Match,
              combine: Callable[[Payload, Payload | None], Payload], tolerance: Time, direction: str, *,
              strict: bool = False, last: bool = False) -> list[Event]:
    """Left events with the right value that is nearest in time.

    "Latest right value at or before the left start, with tolerance", or the first one from it on, or the nearer.
    With `strict` an equal instant is no match: "latest right value strictly before the left start", and so on.
    The left lifetime is kept. Of two instants equally near the earlier one is taken; all right facts of that instant
    make a row, with `last` only the last of them. Without a match the right side is null.
    """
    right = list(right)
    answer: list[Event] = []
    for start, end, payload in left:
        near = {begin for begin, _, other in right if match(payload, other) and abs(begin - start) <= tolerance
                and (begin != start or not strict)
                and (direction != "backward" or begin <= start) and (direction != "forward" or begin >= start)}
        instant = min(near, key=lambda begin: (abs(begin - start), begin), default=None)
        found: list[Payload | None] = [other for begin, _, other in right if begin == instant and match(payload, other)]
        answer += [(start, end, combine(payload, other)) for other in (found[-1:] if last else found) or [None]]
    return answer

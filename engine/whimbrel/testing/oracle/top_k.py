"""The rows of largest value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from whimbrel.testing.oracle.events import Event
from whimbrel.testing.oracle.stateless import Function


def top_k(facts: Iterable[Event], k: int, by: Function, keys: Mapping[str, Function], *, descending: bool = True,
          ties: bool = True, rank: str = "rank") -> list[Event]:
    """Per group and snapshot, each row whose rank is up to k: one more than the number of rows that are better.

    Null is passed over. "SQL RANK, ties of the last rank included, so it can exceed k; ties=False to cut", where the
    other columns decide (null last), then the start; the rank is then the place among all.
    """
    groups: dict[tuple[Any, ...], list[Event]] = {}
    for event in facts:
        groups.setdefault(tuple(key(event[2]) for key in keys.values()), []).append(event)
    answer: list[Event] = []
    for members in groups.values():
        for start, end in pairwise(sorted({time for begin, stop, _ in members for time in (begin, stop)})):
            active = [event for event in members if event[0] <= start and end <= event[1] and by(event[2]) is not None]
            active.sort(key=lambda event: (*((value is None, 0 if value is None else value)
                                            for value in event[2].values()), event[0]))
            active.sort(key=lambda event: by(event[2]), reverse=descending)
            for position, (_, _, payload) in enumerate(active):
                better = sum(by(other[2]) > by(payload) if descending else by(other[2]) < by(payload)
                             for other in active)
                if (better if ties else position) < k:
                    answer.append((start, end, payload | {rank: (better if ties else position) + 1}))
    return answer

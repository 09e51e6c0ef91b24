"""The rows of largest value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from whimbrel.testing.oracle.events import Fact
from whimbrel.testing.oracle.stateless import Function


def top_k(facts: Iterable[Fact], k: int, by: Function, keys: Mapping[str, Function], *, descending: bool = True,
          ties: bool = True, rank: str = "rank") -> list[Fact]:
    """Per group and snapshot, each row whose rank is up to k: one more than the number of rows that are better.

    Null is passed over. "SQL RANK, ties of the last rank included, so it can exceed k; ties=False to cut", where the
    other columns decide (null last), then the start.
    """
    groups: dict[tuple[Any, ...], list[Fact]] = {}
    for fact in facts:
        groups.setdefault(tuple(key(fact[2]) for key in keys.values()), []).append(fact)
    answer: list[Fact] = []
    for members in groups.values():
        for start, end in pairwise(sorted({time for begin, stop, _ in members for time in (begin, stop)})):
            active = [fact for fact in members if fact[0] <= start and end <= fact[1] and by(fact[2]) is not None]
            active.sort(key=lambda fact: (*((value is None, 0 if value is None else value)
                                            for value in fact[2].values()), fact[0]))
            active.sort(key=lambda fact: by(fact[2]), reverse=descending)
            for place, (_, _, payload) in enumerate(active):
                better = sum(by(other[2]) > by(payload) if descending else by(other[2]) < by(payload)
                             for other in active)
                if (better if ties else place) < k:
                    answer.append((start, end, payload | {rank: better + 1}))
    return answer

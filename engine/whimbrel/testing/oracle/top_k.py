"""The rows of largest value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from whimbrel.testing.oracle.events import Event
from whimbrel.testing.oracle.stateless import Function


def top_k(facts: Iterable[Event], k: int, by: Function | Sequence[Function], keys: Mapping[str, Function], *,
          descending: bool | Sequence[bool] = True, ties: bool = True, rank: str = "rank") -> list[Event]:
    """Per group and snapshot, each row whose rank is up to k: one more than the number of rows that are better.

    Null is passed over. "SQL RANK, ties of the last rank included, so it can exceed k; ties=False to cut", where the
    other columns decide (null last), then the start; the rank is then the place among all.
    """
    order = [by] if callable(by) else list(by)
    down = [descending] * len(order) if isinstance(descending, bool) else list(descending)

    def is_better(one: Any, other: Any) -> bool:
        for value, falls in zip(order, down, strict=True):
            if value(one) != value(other):
                return bool(value(one) > value(other) if falls else value(one) < value(other))
        return False

    groups: dict[tuple[Any, ...], list[Event]] = {}
    for event in facts:
        groups.setdefault(tuple(key(event[2]) for key in keys.values()), []).append(event)
    answer: list[Event] = []
    for members in groups.values():
        for start, end in pairwise(sorted({time for begin, stop, _ in members for time in (begin, stop)})):
            active = [event for event in members if event[0] <= start and end <= event[1]
                      and all(value(event[2]) is not None for value in order)]
            active.sort(key=lambda event: (*((value is None, 0 if value is None else value)
                                            for value in event[2].values()), event[0]))
            for value, falls in reversed([*zip(order, down, strict=True)]):
                active = [active[at] for at in _in_order([value(payload) for _, _, payload in active], falls=falls)]
            for position, (_, _, payload) in enumerate(active):
                better = sum(is_better(other[2], payload) for other in active)
                if (better if ties else position) < k:
                    answer.append((start, end, payload | {rank: (better if ties else position) + 1}))
    return answer


def _in_order(values: list[Any], *, falls: bool) -> list[int]:
    """Places of the values in their order; equal ones stay in their places."""
    return sorted(range(len(values)), key=values.__getitem__, reverse=falls)

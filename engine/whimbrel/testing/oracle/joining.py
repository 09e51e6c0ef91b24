"""Operators over two streams (SEMANTICS 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from whimbrel.testing.oracle.facts import Fact, Payload


def join(left: Iterable[Fact], right: Iterable[Fact], left_key: Callable[[Payload], tuple[Any, ...]],
         right_key: Callable[[Payload], tuple[Any, ...]], combine: Callable[[Payload, Payload], Payload]) -> list[Fact]:
    """Every pair, asked one by one.

    "Key match AND overlapping lifetimes; result lifetime [max(starts), min(ends))." A null key matches nothing, not
    even another null.
    """
    right = list(right)
    answer: list[Fact] = []
    for left_start, left_end, left_payload in left:
        for right_start, right_end, right_payload in right:
            start, end = max(left_start, right_start), min(left_end, right_end)
            key = left_key(left_payload)
            if None not in key and key == right_key(right_payload) and start < end:
                answer.append((start, end, combine(left_payload, right_payload)))
    return answer


def union(left: Iterable[Fact], right: Iterable[Fact]) -> list[Fact]:
    """All facts of both; their order carries no meaning."""
    return [*left, *right]

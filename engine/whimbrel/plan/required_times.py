"""Find the source times that a time range of the result needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whimbrel.clock import MIN_TIME
from whimbrel.plan.graph import Node
from whimbrel.plan.lineage import Exact, LineageRequest, earlier
from whimbrel.plan.source import Source


def times_needed(plan: Node, start: int, end: int, *, active: bool = False) -> Mapping[Source, tuple[int, int]]:
    """The times (from, up to) of each source's rows without which rows that start in a range would not come out.

    They come out as they do of all rows, where they start and as often; when they end may differ. Asked of every
    operator on the way back (:meth:`~whimbrel.plan.Operator.lineage`), so that it holds for any plan; of an operator
    that does not know, all times are needed.

    Parameters
    ----------
    plan : Node
    start, end : int
        The range, in ticks of the plan.
    active : bool
        Of the rows that are active in the range instead, with their ends.
    """
    wanted = {id(plan): LineageRequest(start, end, starting=not active,
                                       exact=Exact.LIFETIMES if active else Exact.STARTS)}
    found: dict[Source, tuple[int, int]] = {}
    for node in reversed(list(plan.walk())):
        mine = wanted[id(node)]
        if isinstance(node.op, Source):
            first = mine.start
            if not mine.starting:
                first = MIN_TIME if node.op.longest is None else earlier(first, node.op.longest - 1)
            since, upto = found.get(node.op, (first, mine.end))
            found[node.op] = min(first, since), max(mine.end, upto)
            continue
        needs = node.op.lineage(mine, *(below.given for below in node.inputs))
        for below, need in zip(node.inputs, needs, strict=True):
            other = wanted.get(id(below))
            wanted[id(below)] = _both(need if other is None else other, need)
    return found


def _both(one: LineageRequest, other: LineageRequest) -> LineageRequest:
    """All that either wants, whatever values it has."""
    return replace(one, start=min(one.start, other.start), end=max(one.end, other.end), where=(),
                   starting=one.starting and other.starting, exact=max(one.exact, other.exact), latest_before=None)

"""Plan one query at several latencies, with each row in one band."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from whimbrel.clock import Duration, TickUnit, as_ticks, duration_ticks, show_ticks
from whimbrel.errors import PlanError
from whimbrel.operators import LatenessBand, LateRows, Union
from whimbrel.plan import Node, Source
from whimbrel.stream.stream_protocol import StreamLike

S = TypeVar("S", bound=StreamLike)


def latency_ticks(query: Node, latencies: Sequence[Duration]) -> list[int]:
    """Check latencies, and that the query supports them."""
    ticks = increasing_ticks(latencies, query.schema.unit, "at_latencies")
    _check(query, f"at_latencies({', '.join(map(repr, latencies))})")
    return ticks


def increasing_ticks(latencies: Sequence[Duration], unit: TickUnit, method: str, of: str = "") -> list[int]:
    """Ticks of the latencies that a method was given, the shortest first.

    >>> increasing_ticks(["5s", "1m"], "s", "at_latencies")
    [5, 60]
    """
    where = f"{of}{method}({', '.join(map(repr, latencies))})"
    if not latencies:
        raise PlanError(f"{method}() needs a latency.", where=where, hint=f'Use {method}("1s", "1m").')
    if isinstance(latencies[0], list | tuple):
        given = ", ".join(map(repr, latencies[0]))
        raise PlanError("Latencies are given one by one, not in a list.", where=where, hint=f"Use {method}({given}).")
    ticks = [duration_ticks(latency, unit, where=where) for latency in latencies]
    if min(ticks) < 0:
        raise PlanError(f"A latency must be at least 0, got {show_ticks(min(ticks), unit)}.", where=where,
                        hint='Use a duration, such as "5m", or 0.')
    if any(later <= earlier for earlier, later in pairwise(ticks)):
        given = ", ".join(repr(latency) for _, latency in sorted(dict(zip(ticks, latencies, strict=True)).items()))
        raise PlanError(f"Latencies must be in increasing order, got {', '.join(map(repr, latencies))}.", where=where,
                        hint=f"Put the shortest first: {method}({given}).")
    return ticks


def check_split(latencies: Sequence[Duration], partial: object, merge: object) -> None:
    """Check that a query is split by two functions, or not at all."""
    where = f"at_latencies({', '.join(map(repr, latencies))})"
    if (partial is None) != (merge is None):
        raise PlanError("partial= and merge= must be given together.", where=where,
                        hint="Add both: partial for the rows of one band, merge for the partial results.")
    for name, given in (("partial", partial), ("merge", merge)):
        if given is not None and not callable(given):
            raise PlanError(f"{name} must be a function, got {given!r}.", where=where,
                            hint="Use partial=lambda rows: rows.tumbling_window(...).aggregate(...).")


def on_time(query: Node, ticks: Sequence[int]) -> list[Node]:
    """The query at each latency; the optimizer shares what the bands have in common."""
    return [_within(query, -1, upto, query.schema.unit) for upto in ticks]


def apart(query: Node, ticks: Sequence[int]) -> list[Node]:
    """The query over the rows of each band alone."""
    return [_within(query, over, upto, query.schema.unit) for over, upto in zip([-1, *ticks], ticks, strict=False)]


def merged(bands: Sequence[S], partial: Callable[[S], S], merge: Callable[[S], S],
           stream_of: Callable[[Node], S]) -> list[S]:
    """Apply the user's own split: `partial` once per band, `merge` to the bands so far."""
    parts = [_asked("partial", partial, band) for band in bands]
    results = [_asked("merge", merge, parts[0])]
    so_far = parts[0]
    for part in parts[1:]:
        so_far = stream_of(Node(Union(), (so_far.node, part.node)))
        results.append(_asked("merge", merge, so_far))
    return results


def _asked(name: str, query: Callable[[S], S], given: S) -> S:
    """What a user's part of the split makes of a stream; it has to be a stream made of that one."""
    made = query(given)
    where = f"at_latencies({name}=...)"
    if not isinstance(made, type(given)):
        raise PlanError(f"{name} must return a stream, got {type(made).__name__}.", where=where,
                        hint=f"Use {name}=lambda rows: rows.tumbling_window(...).aggregate(...).")
    if given.node not in made.node.walk():
        raise PlanError(f"{name} must return a stream that it builds from its argument.", where=where,
                        hint=f"Use the argument: {name}=lambda rows: rows.tumbling_window(...).aggregate(...).")
    return made


def _within(query: Node, over: int, upto: int, unit: TickUnit) -> Node:
    """The query over those rows of its sources whose lateness is above `over` and at most `upto`."""
    def with_band(node: Node) -> Node:
        if not isinstance(node.op, Source):
            return node
        own = node.schema.unit
        minimum, maximum = (as_ticks(late, unit, own) for late in (over, upto))
        return Node(LatenessBand(over=minimum, upto=maximum, unit=own), (node,))

    return query.rewrite(with_band)


def _check(node: Node, where: str) -> None:
    for step in node.walk():
        if isinstance(step.op, LatenessBand):
            raise PlanError("The query has latency bands already.", where=where,
                            hint="Give all latencies in one at_latencies(...).")
        if isinstance(step.op, LateRows):
            raise PlanError("Late rows depend on one reorder latency, so they cannot have several.", where=where,
                            hint="Use bands.late_rows() for rows later than the last latency.")
    for source in node.sources():
        if source.edges:
            raise PlanError(f"{source.name} has start and end edges, of which only one may be late.",
                            where=where, hint="Use a source of point events or intervals.")

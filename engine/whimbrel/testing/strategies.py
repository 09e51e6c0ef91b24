"""Hypothesis strategies: streams, arrivals, batches and random queries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

from whimbrel.testing.oracle import INF, Event
from whimbrel.testing.query import Query
from whimbrel.testing.random_plans import RandomPlan, patterns

_INT64_EXTREMES = (-(2**63), 2**63 - 1)

KEYS = st.sampled_from(("a", "b", "ü", "", None))
WIDE = st.sampled_from((*_INT64_EXTREMES, 0, 1, None))
INTEGERS = st.one_of(st.none(), st.integers(-5, 9))
# Quarters: sums and means of them are exact, so that a comparison after an aggregate cannot hang on the last bit.
FLOATS = st.one_of(st.none(), st.integers(-40, 40).map(lambda quarters: quarters / 4))
FLAGS = st.sampled_from((True, False, None))


@st.composite
def facts(draw: st.DrawFn, *, max_size: int = 14, newest: int = 40) -> list[Event]:
    """A stream of the example schema: points, intervals and facts without a known end, some of them simultaneous."""
    lengths = st.one_of(st.just(1), st.integers(1, 25), st.just(INF))
    row = st.tuples(st.integers(-12, newest), lengths, KEYS, WIDE, INTEGERS, FLOATS, FLAGS)
    rows = draw(st.one_of(st.lists(row, max_size=3), st.lists(row, min_size=max_size // 2, max_size=max_size)))
    return [
        (time, time + length, {"time": time, "key": key, "k2": k2, "x": x, "y": y, "flag": flag})
        for time, length, key, k2, x, y, flag in rows
    ]


@st.composite
def arrivals(draw: st.DrawFn, stream: Sequence[Event], *, max_latency: int = 15) -> tuple[list[Event], int]:
    """A stream in an order of arrival, and the reorder latency under which nothing of it is late."""
    latency = draw(st.integers(0, max_latency))
    delays = draw(st.lists(st.integers(0, latency), min_size=len(stream), max_size=len(stream)))
    # A row that arrives earlier started at most `latency` later, because arrivals are ordered by start + delay.
    order = sorted(range(len(stream)), key=lambda row: stream[row][0] + delays[row])
    return [stream[row] for row in order], latency


def batchings(rows: int) -> st.SearchStrategy[list[int]]:
    """Positions at which so many rows are cut; a repeated position makes an empty batch."""
    return st.lists(st.integers(0, rows), max_size=5).map(sorted)


def cut(stream: Sequence[Event], positions: Sequence[int]) -> list[list[Event]]:
    """Cut rows into batches at these positions."""
    return [list(stream[start:stop]) for start, stop in pairwise([0, *positions, len(stream)])]


@st.composite
def queries(draw: st.DrawFn, *, max_steps: int = 4, ordered: bool = False) -> Query:
    """A random query that the planner must accept, over ``s`` and perhaps ``t``.

    `ordered` allows aggregates that depend on the order of starts, which the model reads off the column `time`.
    """
    plan = RandomPlan(draw, ordered=ordered)
    for _ in range(draw(st.integers(1, max_steps))):
        plan.step()
    return Query(tuple(plan.steps))


@st.composite
def pattern_queries(draw: st.DrawFn) -> Query:
    """A random pattern, per key or over all events, whose predicates are true often enough for long runs."""
    likely = st.sampled_from(("col.x > 0", "col.x <= 4", "col.flag", "~col.flag", "col.y.is_null() | (col.y > -5)"))
    keys = draw(st.sampled_from(("", ".group_by('key')", ".group_by('flag')")))
    pattern = draw(patterns(likely))
    return Query((keys, f".detect({pattern}, within={draw(st.integers(1, 60) | st.none())})"))

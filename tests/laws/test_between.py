"""A range of any result is a slice of it, whatever part of the sources is read."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import Stream
from whimbrel.errors import WhimbrelError
from whimbrel.kernels import tier
from whimbrel.testing import Query, oracle, strategies
from whimbrel.testing.oracle import Event
from whimbrel.testing.oracle import temporal as ranges
from whimbrel.testing.rows import EXAMPLE_SCHEMA, facts_from_table


def log(facts: list[Event], name: str) -> Stream:
    """A log in the order of time, of which any part can be read."""
    facts = sorted(facts, key=lambda event: event[0])
    columns = {field.name: pa.array([row[field.name] for _, _, row in facts], field.type) for field in EXAMPLE_SCHEMA}
    columns |= {"time": pa.array([start for start, _, _ in facts], pa.int64()),
                "until": pa.array([None if end == oracle.INF else end for _, end, _ in facts], pa.int64())}
    return wb.from_arrow(pa.table(columns), time="time", end="until", name=name).select(*EXAMPLE_SCHEMA.names)


@given(strategies.queries(), strategies.facts(max_size=30, newest=150), strategies.facts(max_size=12, newest=150),
       st.integers(-20, 170), st.sampled_from((1, 2, 10, 50)), st.booleans())
def test_a_range_of_a_random_query_is_a_slice(query: Query, s: list[Event], t: list[Event], start: int, width: int,
                                              bounded: bool) -> None:
    if bounded:  # otherwise some events never end, and all before them may be needed
        s, t = ([(begin, min(end, begin + 20), row) for begin, end, row in facts] for facts in (s, t))
    with tier("interpreted"):
        result = query.build(*[log(s, "s"), log(t, "t")][:query.arity])
        try:
            whole = facts_from_table(result.collect())
        except WhimbrelError:
            return
        for every in (None, 3):
            part = facts_from_table(result.between(start, start + width, every=every).collect())
            assert oracle.differences(ranges.between(whole, start, start + width, every), part) == ([], []), str(query)

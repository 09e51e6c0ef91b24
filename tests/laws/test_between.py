"""A range of any result is a slice of it, whatever part of the sources is read."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import Stream, col
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


SINCE = wb.aggregate(init=(-9, -9), accumulate=lambda state, _, start: (state[1], start), forgets=9, name="since",
                     result=lambda state: state[1] - state[0] if state[1] - state[0] <= 9 else -1)
COLUMNS = {
    "window": wb.sum(col.x).past(4), "window around": wb.sum(col.x).past(4, ahead=3), "cell": wb.sum(col.x).cell(10),
    "value": col.x.ago(3), "later value": col.x.ahead(3), "earlier event": col.x.previous(),
    "window of rows": wb.sum(col.x).past(rows=2), "value that forgets": SINCE(col.x).so_far(),
}


@given(st.sampled_from(sorted(COLUMNS)), st.integers(1, 9), st.lists(st.integers(0, 6), min_size=1, max_size=8),
       st.integers(-3, 60), st.integers(1, 12))
@example("window", 7, [0, 1], 14, 1)
@example("value that forgets", 7, [0, 1], 14, 1)
def test_a_range_of_columns_that_read_other_events_is_a_slice(name: str, lasts: int, gaps: list[int], start: int,
                                                              width: int) -> None:
    starts = [sum(gaps[:at + 1]) + at * lasts for at in range(len(gaps))]
    table = pa.table({"at": starts, "x": [2**at for at in range(len(starts))]})
    query = wb.from_arrow(table, time="at", name="log").set_duration(lasts).select(v=COLUMNS[name])
    with tier("interpreted"):
        whole = query.collect().to_pylist()
        part = query.between(start, start + width).collect().to_pylist()
    assert part == [row for row in whole if row["start"] < start + width and row["end"] > start]

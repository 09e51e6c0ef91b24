"""union: streams of one schema together."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError, SchemaError


def stream(*at: int, x: int = 0, **columns: object) -> wb.Stream:
    return wb.from_arrow({"at": list(at), "x": [x] * len(at), **columns}, time="at")


def test_events_come_in_time_order_the_first_stream_first() -> None:
    both = stream(1, 3, 3, x=1).union(stream(0, 3, x=2), stream(2, 3, x=3)).select("x").collect()
    assert both["start"].to_pylist() == [0, 1, 2, 3, 3, 3, 3]
    assert both["x"].to_pylist() == [2, 1, 3, 1, 1, 2, 3]


def test_columns_may_be_in_another_order() -> None:
    left = wb.from_arrow({"at": [0], "a": [1], "b": ["x"]}, time="at")
    right = wb.from_arrow({"at": [1], "b": ["y"], "a": [2]}, time="at")
    assert left.union(right).select("a", "b").collect()["b"].to_pylist() == ["x", "y"]


def test_a_stream_may_meet_itself() -> None:
    source = stream(0, 5, x=1)
    both = source.union(source.with_columns(x=-col.x)).select("x").collect()
    assert both["x"].to_pylist() == [1, -1, 1, -1]


def test_a_source_may_be_read_for_more_than_the_union() -> None:
    left, right = stream(0, 1, x=1, y=[7, 8]), stream(1, x=2, y=[9])
    joined = left.union(right).select("at", "x").join(left.select("at", "y"), on="at")
    assert sorted(joined.collect()["y"].to_pylist()) == [7, 8, 8]


def test_the_earlier_stream_delays_the_others() -> None:
    earlier, later = stream(*range(0, 40, 4)), stream(*range(100, 110))
    assert [len(snapshot.table) for snapshot in earlier.union(later).progressive(every="50%")][-1] == 20


@pytest.mark.parametrize(("right", "kind", "what"), [
    (stream(0).select("at"), SchemaError, "has no column 'x'"),
    (stream(0, y=[1]), SchemaError, "Only the other stream has a column 'y'"),
    (stream(0).with_columns(x=0.5), SchemaError, "'x' must have one type, got int64 here and double in the other"),
    (wb.from_arrow(pa.table({"at": pa.array([0], pa.timestamp("s")), "x": [0]}), time="at"), PlanError,
     "must have one type of time"),
    ("stream", PlanError, "needs a stream, got str"),
])
def test_streams_that_differ_are_refused_with_the_difference(right: wb.Stream, kind: type, what: str) -> None:
    with pytest.raises(kind, match=what):
        stream(0).union(right)


def test_a_union_is_of_two_at_least() -> None:
    with pytest.raises(PlanError, match="needs another stream"):
        stream(0).union()


def test_what_is_known_of_all_is_known() -> None:
    windows = stream(0).tumbling_window(5).union(stream(1).tumbling_window(5))
    assert "union()   [intervals, grid(size=5, hop=5, offset=0), look-ahead]" in windows.explain()
    assert "union()   [intervals]" in stream(0).sliding_window(5).union(stream(1)).explain()

"""top_k: the rows of largest value, per snapshot and group."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.clock import INF
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.testing import BatchedRows

EVENTS = {"at": [0, 0, 1, 2, 3], "k": ["a", "b", "a", "a", None], "x": [1, 2, 3, 3, None], "n": [9, 8, 7, 6, 5]}


def rows(query: wb.Stream) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for row in query.collect().to_pylist()), key=str)


def stream() -> wb.Stream:
    return wb.from_arrow(EVENTS, time="at").select("k", "x", "n").tumbling_window(10)


def test_ties_of_the_last_rank_are_kept_unless_they_are_cut() -> None:
    assert rows(stream().top_k(2, by="x").select("n", "rank")) == [(0, 10, 6, 1), (0, 10, 7, 1)]
    assert rows(stream().top_k(3, by="x").select("n", "rank")) == [(0, 10, 6, 1), (0, 10, 7, 1), (0, 10, 8, 3)]
    assert rows(stream().top_k(1, by="x", ties=False).select("n", "rank")) == [(0, 10, 6, 1)]


def test_each_group_has_ranks_of_its_own_and_null_has_none() -> None:
    assert rows(stream().group_by("k").top_k(1, by=-col.x, rank="place").select("k", "n", "place")) == [
        (0, 10, "a", 9, 1), (0, 10, "b", 8, 1)]


def test_texts_and_the_smallest() -> None:
    assert rows(stream().top_k(1, by=col.k, descending=False).select("k", "rank", "n")) == [
        (0, 10, "a", 1, 6), (0, 10, "a", 1, 7), (0, 10, "a", 1, 9)]


def test_the_second_order_is_of_rows_that_are_equal_in_the_first() -> None:
    by = [col.k, col.x]
    assert rows(stream().top_k(2, by=by, descending=[True, False]).select("n", "rank")) == [
        (0, 10, 8, 1), (0, 10, 9, 2)]
    assert rows(stream().top_k(9, by=by, descending=False).select("n", "rank")) == [
        (0, 10, 6, 2), (0, 10, 7, 2), (0, 10, 8, 4), (0, 10, 9, 1)]
    assert stream().top_k(2, by=by, descending=[True, False]).explain().splitlines()[0].startswith(
        "top_k(2, by=[col.k, col.x], descending=[True, False])")
    with pytest.raises(PlanError, match="a value for each of by, got 1 for 2"):
        stream().top_k(1, by=by, descending=[True])


def test_rows_that_stay_best_are_ranked_in_every_snapshot() -> None:
    events = wb.from_arrow({"at": [0, 2], "until": [9, 4], "x": [5, 1]}, time="at", end="until").select("x")
    assert rows(events.top_k(1, by=col.x)) == [(0, 2, 5, 1), (2, 4, 5, 1), (4, 9, 5, 1)]


def test_events_without_an_end_are_ranked_for_ever() -> None:
    events = wb.from_arrow({"at": [0, 2], "until": [None, 4], "x": [5, 7]}, time="at", end="until").select("x")
    assert rows(events.top_k(1, by=col.x)) == [(0, 2, 5, 1), (2, 4, 7, 1), (4, None, 5, 1)]


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(PlanError, match="at least 1"):
        stream().top_k(0, by="x")
    with pytest.raises(ExpressionError, match="by must have an order"):
        stream().aggregate(xs=wb.collect(col.x)).top_k(1, by="xs")


def test_a_duration_of_months_has_no_order() -> None:
    spans = pa.table({"at": [0, 1], "span": pa.array([(1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval())})
    with pytest.raises(ExpressionError, match="by must have an order"):
        wb.from_arrow(spans, time="at").top_k(1, "span").collect()


def test_without_ties_the_rank_is_the_number_of_the_row() -> None:
    assert rows(stream().top_k(3, by="x", ties=False).select("n", "rank")) == [
        (0, 10, 6, 1), (0, 10, 7, 2), (0, 10, 8, 3)]


def test_of_events_that_never_end_the_kernel_keeps_the_best() -> None:
    log = BatchedRows([[(at, INF, {"time": at, "key": "ab"[at % 2], "k2": 0, "x": at * 7 % 50, "y": 0.0, "flag": True})
                        for at in range(50)]])
    query = wb.Stream(wb.plan.Node(log)).group_by("key").top_k(3, by="x")
    assert sorted(row["x"] for row in query.collect().to_pylist() if row["end"] is None) == [44, 45, 46, 47, 48, 49]
    kernel = query.node.op.kernel(query.node.inputs[0].schema)
    for batch in log.read(log.schema.names):
        assert batch is not None
        kernel.push(batch)
    kernel.advance(49)
    assert kernel.buffered_rows == 7  # three of each key, and the last row

"""The start and the end of an event as expressions."""

from __future__ import annotations

import datetime as dt

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, PlanError

EVENTS = {"at": [4, 12], "until": [9, None], "start": [100, 200], "x": [1, 2]}


def stream() -> wb.Stream:
    return wb.from_arrow(EVENTS, time="at", end="until").select(began=col.start, x=col.x)


def rows(query: wb.Stream) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in query.collect().to_pylist()]


def test_an_end_that_is_not_known_is_null() -> None:
    assert rows(stream().select(s=wb.start_time(), e=wb.end_time(), column=col.began)) == [
        (4, 9, 4, 9, 100), (12, None, 12, None, 200)]


def test_after_a_window_it_is_the_start_of_the_window_whatever_is_absorbed() -> None:
    window = stream().set_duration(1).tumbling_window(10)
    assert rows(window.where(wb.start_time() > 0).aggregate(s=wb.sum(col.x))) == [(10, 20, 2)]
    assert rows(window.select(t=wb.start_time()).aggregate(t=wb.max(col.t))) == [(0, 10, 0), (10, 20, 10)]
    assert rows(window.aggregate(t=wb.max(wb.start_time()))) == [(0, 10, 0), (10, 20, 10)]
    assert rows(window.group_by(t=wb.start_time()).aggregate(n=wb.count())) == [(0, 10, 0, 1), (10, 20, 10, 1)]


def test_times_stay_times() -> None:
    at = dt.datetime(2024, 5, 1, 13, 37)
    query = wb.from_arrow({"at": [at], "x": [1]}, time="at").select(h=wb.start_time().dt.floor("1h"))
    assert query.collect()["h"].to_pylist() == [at.replace(minute=0)]


def test_a_shift_may_depend_on_it() -> None:
    assert rows(stream().shift(wb.start_time() + 1).select("x")) == [(9, 14, 1), (25, None, 2)]


def test_edges_tell_what_they_will_have_been() -> None:
    right = wb.from_arrow({"at": [6], "until": [7], "x": [1]}, time="at", end="until").select("x")
    query = stream().select("x").anti_join(right, on="x").select("x", s=wb.start_time(), e=wb.end_time())
    assert sorted(rows(query), key=str) == [(12, None, 2, 12, None), (4, 6, 1, 4, 6), (7, 9, 1, 7, 9)]


def test_it_is_printed_as_it_is_written() -> None:
    assert (wb.start_time() + 1 > col.x).show() == "start_time() + 1 > col.x"


def test_pairs_and_matches_have_no_lifetime_to_ask_for() -> None:
    with pytest.raises(ExpressionError, match="each side has its own"):
        stream().join(stream(), on="x", where=wb.start_time() > 3)
    with pytest.raises(PlanError, match="cannot use the lifetime"):
        stream().detect(wb.event(col.x > 0), within=3, output={"t": wb.start_time()})

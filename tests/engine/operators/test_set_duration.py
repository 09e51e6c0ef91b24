"""set_duration: how long an event lasts is said once, or computed."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, PlanError

EVENTS = wb.from_arrow({"at": [0, 4, 9], "until": [3, None, 10], "x": [2, 0, None]}, time="at", end="until").select("x")


def lifetimes(stream: wb.Stream) -> list[tuple[object, object]]:
    return [(row["start"], row["end"]) for row in stream.collect().to_pylist()]


def test_a_constant_ignores_the_end() -> None:
    assert lifetimes(EVENTS.set_duration(5)) == [(0, 5), (4, 9), (9, 14)]


def test_it_is_what_a_sliding_window_does() -> None:
    assert EVENTS.set_duration(5).collect() == EVENTS.sliding_window(5).collect()


def test_an_expression_deletes_what_lasts_no_time_and_null_is_no_known_end() -> None:
    assert lifetimes(EVENTS.set_duration(col.x)) == [(0, 2), (9, None)]
    assert lifetimes(EVENTS.set_duration(lambda e: e.x - 2)) == [(9, None)]


def test_an_expression_may_read_the_lifetime() -> None:
    assert lifetimes(EVENTS.set_duration(2 * (col.end - col.start))) == [(0, 6), (4, None), (9, 11)]


def test_no_duration_is_no_known_end() -> None:
    assert lifetimes(EVENTS.set_duration(None)) == [(0, None), (4, None), (9, None)]


def test_times_have_durations() -> None:
    at = pa.array([0, 60], pa.timestamp("s"))
    stream = wb.from_arrow(pa.table({"at": at, "until": pa.array([90, 61], pa.timestamp("s"))}), time="at", end="until")
    doubled = stream.set_duration((col.end - col.start) * 2).collect()
    assert doubled["end"].cast(pa.int64()).to_pylist() == [180, 62]
    assert stream.set_duration("5m").collect()["end"].cast(pa.int64()).to_pylist() == [300, 360]


def test_an_end_beyond_the_last_tick_is_no_known_end() -> None:
    assert lifetimes(EVENTS.set_duration(wb.lit(2**63 - 2)))[1] == (4, None)


def test_nothing_is_no_duration() -> None:
    with pytest.raises(PlanError, match="must be positive"):
        EVENTS.set_duration(0)


def test_a_duration_must_be_one() -> None:
    with pytest.raises(ExpressionError, match=r"must be an integer or a duration, got col.x / 2 of type double"):
        EVENTS.set_duration(col.x / 2)


def test_the_plan_says_it_as_it_was_written() -> None:
    assert "set_duration(5)" in EVENTS.set_duration(5).explain()
    assert "set_duration(col.x)" in EVENTS.set_duration(col.x).explain()

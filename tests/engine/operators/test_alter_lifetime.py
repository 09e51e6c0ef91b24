"""alter_lifetime: computed starts and durations, in the order of events."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError, PlanError

EVENTS = wb.from_arrow({"at": [0, 5, 5, 9], "until": [3, 6, None, 19], "x": [1, 8, 7, 9]},
                       time="at", end="until").select("x")


def facts(stream: wb.Stream) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in stream.collect().to_pylist()]


def test_a_new_start_keeps_the_duration() -> None:
    assert facts(EVENTS.alter_lifetime(start=col.start + 2)) == [(2, 5, 1), (7, 8, 8), (7, None, 7), (11, 21, 9)]


def test_both_are_computed_from_the_event_as_it_was() -> None:
    assert facts(EVENTS.alter_lifetime(start=col.x, duration=col.start)) == [(7, 12, 7), (8, 13, 8), (9, 18, 9)]


def test_events_of_one_time_may_be_reordered() -> None:
    assert [fact[2] for fact in facts(EVENTS.alter_lifetime(start=col.x, duration=1))] == [1, 7, 8, 9]


def test_a_start_that_would_reorder_is_an_error_that_names_the_event() -> None:
    with pytest.raises(KernelError) as caught:
        EVENTS.alter_lifetime(start=10 - col.start).collect()
    assert str(caught.value) == (
        "The event at 5 would start at 5, before the one at 0, which starts at 10 now.\n"
        "  where: alter_lifetime(start=10 - col.start)\n"
        "  hint:  Keep the order of events: round or shift all starts alike.")


def test_a_null_start_is_an_error_that_names_the_event() -> None:
    stream = wb.from_arrow({"at": pa.array([3], pa.timestamp("s")), "to": pa.array([None], pa.timestamp("s"))},
                           time="at")
    with pytest.raises(KernelError, match="The event at 1970-01-01 00:00:03 has a null start"):
        stream.alter_lifetime(start=col.to).collect()


def test_times_are_cast_to_the_stream() -> None:
    stream = wb.from_arrow({"at": pa.array([3], pa.timestamp("s"))}, time="at")
    row = stream.alter_lifetime(start=datetime(2020, 1, 1), duration="1m").collect().to_pylist()[0]
    assert (row["start"], row["end"]) == (datetime(2020, 1, 1), datetime(2020, 1, 1, 0, 1))


def test_a_start_must_be_a_time_of_the_stream() -> None:
    with pytest.raises(ExpressionError, match=r"must be int64, got .* of type string"):
        EVENTS.alter_lifetime(start=wb.lit("noon"))


def test_something_must_change() -> None:
    with pytest.raises(PlanError, match="needs a start or a duration"):
        EVENTS.alter_lifetime()


def test_a_new_start_may_have_lookahead() -> None:
    assert "look-ahead" in EVENTS.alter_lifetime(start=col.start - 1).explain()
    assert "look-ahead" not in EVENTS.alter_lifetime(duration=5).explain()

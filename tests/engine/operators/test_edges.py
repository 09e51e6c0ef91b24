"""edges: what begins and what ends."""

from __future__ import annotations

import pytest

import whimbrel as wb
from whimbrel.errors import PlanError


def test_edges_go_out_and_come_in_again() -> None:
    rows = {"at": [0, 0, 1, 5, 5], "until": [9, 9, None, 6, 7], "x": [1, 1, 2, 3, None]}
    events = wb.from_arrow(rows, time="at", end="until").select("x")
    again = wb.from_edges(events.edges().collect().drop("end"), sync="start", other="other")
    assert sorted(map(repr, again.collect().to_pylist())) == sorted(map(repr, events.collect().to_pylist()))


def test_each_end_says_when_its_event_started() -> None:
    counts = wb.from_arrow({"at": [0, 2], "until": [4, 6]}, time="at", end="until").aggregate(n=wb.count())
    found = [(row["start"], row["other"], row["n"]) for row in counts.edges().collect().to_pylist()]
    assert sorted(found, key=repr) == sorted(
        [(0, None, 1), (2, 0, 1), (2, None, 2), (4, 2, 2), (4, None, 1), (6, 4, 1)], key=repr)


def test_times_stay_times() -> None:
    flights = wb.datasets.flights().select("origin").set_duration("1h").edges()
    assert flights.schema.type_of("other") == flights.schema.time_type
    assert flights.collect().num_rows == 2 * 327_346


def test_a_column_called_other_is_refused() -> None:
    with pytest.raises(PlanError, match="a column 'other', which the stream already has"):
        wb.from_arrow({"at": [0], "other": [9]}, time="at").edges()

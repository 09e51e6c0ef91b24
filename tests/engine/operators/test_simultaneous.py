"""Patterns that take all events of one time together."""

from __future__ import annotations

from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.operators import Pattern


def at_once(pattern: Pattern, events: list[tuple[int, int]], **options: Any) -> list[tuple[object, ...]]:
    table = {"at": [at for at, _ in events], "x": [x for _, x in events]}
    found = wb.from_arrow(table, time="at").detect(pattern, within=10, **options)
    return [tuple(row.values()) for row in found.collect().to_pylist()]


def test_all_events_of_a_time_move_a_run_once() -> None:
    pattern = wb.simultaneous(any=col.x == 0).then(wb.simultaneous(none=col.x == 1).repeat(0)).then(
        wb.simultaneous(any=col.x == 1))
    assert at_once(pattern, [(0, 0), (0, 0), (1, 1)], overlapping=False) == [(1, 10, 0, 2)]
    assert at_once(pattern, [(0, 0), (1, 5), (1, 1), (2, 1)]) == [(1, 10, 0, 2)]
    assert at_once(pattern, [(0, 0), (1, 5), (1, 6), (2, 1)]) == [(2, 10, 0, 3)]


def test_several_events_of_a_time_fit_no_single_event() -> None:
    pattern = wb.event(col.x == 0).then(wb.simultaneous(all=col.x > 0, min=2, max=2))
    assert at_once(pattern, [(0, 0), (1, 1), (1, 2)]) == [(1, 10, 0, 2)]
    assert at_once(pattern, [(0, 0), (0, 0), (1, 1), (1, 2)]) == []
    assert at_once(pattern, [(0, 0), (1, 1), (1, 0)]) == []
    assert at_once(pattern, [(0, 0), (1, 1), (1, 2), (1, 3)]) == []


def test_all_at_once_has_no_columns_no_register_and_no_order() -> None:
    stream = wb.from_arrow({"at": [0], "x": [1]}, time="at")
    with pytest.raises(PlanError, match="takes events one by one"):
        stream.detect(wb.simultaneous(any=col.x > 0), within=3, simultaneous="in_order")
    with pytest.raises(PlanError, match="takes events one by one"):
        stream.detect(wb.simultaneous(min=2), within=3, simultaneous="in_order")
    with pytest.raises(WhimbrelError, match="cannot read registers"):
        stream.detect(wb.simultaneous(any=col.x > wb.register.n), within=3, register={"n": 1})
    with pytest.raises(PlanError, match="The pattern has no event"):
        stream.detect(wb.sequence(a=wb.simultaneous(any=col.x > 0)), within=3, output={"x": wb.last_of("a").x})
    with pytest.raises(PlanError, match="3 to 2"):
        wb.simultaneous(min=3, max=2)

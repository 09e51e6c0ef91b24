"""point_at_end: one tick where an event ends."""

from __future__ import annotations

import whimbrel as wb


def test_points_come_in_the_order_of_ends() -> None:
    events = wb.from_arrow({"at": [0, 1, 2, 3], "until": [9, 4, None, 4], "x": [1, 2, 3, 4]}, time="at", end="until")
    found = [tuple(row.values()) for row in events.select("x").point_at_end().collect().to_pylist()]
    assert found == [(4, 5, 2), (4, 5, 4), (9, 10, 1)]


def test_a_point_may_be_far_off() -> None:
    events = wb.from_arrow({"at": [0], "until": [1], "x": [1]}, time="at", end="until").set_duration(100)
    assert "point_at_end()   [intervals, duration=1]" in events.point_at_end().explain()
    assert events.point_at_end().collect()["start"].to_pylist() == [100]

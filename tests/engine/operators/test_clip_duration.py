"""clip_duration: nothing lasts longer than one says."""

from __future__ import annotations

import pytest

import whimbrel as wb
from whimbrel.errors import PlanError

EVENTS = wb.from_arrow({"at": [0, 4, 6], "until": [5, 6, None], "x": [1, 2, 3]}, time="at", end="until").select("x")


@pytest.mark.parametrize("longest", [1, 2, 4, 9])
def test_ends_come_forward(longest: int) -> None:
    found = [(row["start"], row["end"]) for row in EVENTS.clip_duration(longest).collect().to_pylist()]
    assert found == [(0, min(5, longest)), (4, min(6, 4 + longest)), (6, 6 + longest)]


def test_nothing_is_no_duration() -> None:
    with pytest.raises(PlanError, match="must be positive"):
        EVENTS.clip_duration(0)


def test_a_known_duration_stays_known() -> None:
    assert "clip_duration(3)   [intervals, duration=3]" in EVENTS.sliding_window(5).clip_duration(3).explain()

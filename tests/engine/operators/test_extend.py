"""extend: ends move, starts stay."""

from __future__ import annotations

import pytest

import whimbrel as wb

EVENTS = wb.from_arrow({"at": [0, 4, 6], "until": [5, 6, None], "x": [1, 2, 3]}, time="at", end="until").select("x")


def lifetimes(stream: wb.Stream) -> list[tuple[object, object]]:
    return [(row["start"], row["end"]) for row in stream.collect().to_pylist()]


@pytest.mark.parametrize("by", [4, 0, -1, -2, -9])
def test_what_lasts_no_time_any_more_is_deleted(by: int) -> None:
    ended = [(start, end + by) for start, end in [(0, 5), (4, 6)] if end + by > start]
    assert lifetimes(EVENTS.extend(by)) == [*ended, (6, None)]


def test_shorter_has_lookahead() -> None:
    assert "look-ahead" in EVENTS.extend(-1).explain()
    assert "look-ahead" not in EVENTS.extend(1).explain()


def test_a_known_duration_stays_known() -> None:
    assert "extend(3)   [intervals, duration=8]" in EVENTS.sliding_window(5).extend(3).explain()


def test_an_end_beyond_the_last_tick_is_no_known_end() -> None:
    assert lifetimes(EVENTS.extend(2**63 - 2))[0] == (0, None)

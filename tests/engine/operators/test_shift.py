"""shift: an amount, for both ends of every event."""

from __future__ import annotations

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError

EVENTS = wb.from_arrow({"at": [0, 4], "until": [3, None], "x": [2, 5]}, time="at", end="until").select("x")


def lifetimes(stream: wb.Stream) -> list[tuple[object, object]]:
    return [(row["start"], row["end"]) for row in stream.collect().to_pylist()]


@pytest.mark.parametrize("amount", [7, 0, -9])
def test_both_ends_move(amount: int) -> None:
    assert lifetimes(EVENTS.shift(amount)) == [(amount, 3 + amount), (4 + amount, None)]


def test_an_amount_may_be_computed() -> None:
    assert lifetimes(EVENTS.shift(col.start + 1)) == [(1, 4), (9, None)]


def test_a_grid_moves_along() -> None:
    counts = EVENTS.tumbling_window(10).shift(3)
    assert "grid(size=10, hop=10, offset=3)" in counts.explain()
    assert lifetimes(counts.aggregate(n=wb.count())) == [(3, 13)]


def test_earlier_has_lookahead() -> None:
    assert "look-ahead" in EVENTS.shift(-1).explain()
    assert "look-ahead" not in EVENTS.shift(1).explain()


def test_times_that_leave_int64_are_an_error() -> None:
    with pytest.raises(KernelError, match="leaves int64"):
        EVENTS.shift(2**63 - 2).collect()

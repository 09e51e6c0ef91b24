"""chop: no piece reaches over a point of the grid."""

from __future__ import annotations

from itertools import pairwise

import pytest

import whimbrel as wb
from whimbrel.errors import KernelError, PlanError


def stream(*lifetimes: tuple[int, int | None]) -> wb.Stream:
    return wb.from_arrow({"at": [start for start, _ in lifetimes], "until": [end for _, end in lifetimes],
                          "x": list(range(len(lifetimes)))}, time="at", end="until").select("x")


@pytest.mark.parametrize(("period", "offset"), [(5, 0), (5, 2), (3, -1), (1, 0), (50, 7)])
def test_pieces(period: int, offset: int) -> None:
    lifetimes = [(-4, 1), (0, 13), (5, 10), (6, 7)]
    expected = []
    for x, (start, end) in enumerate(lifetimes):
        cuts = [start, *(t for t in range(start + 1, end) if (t - offset) % period == 0), end]
        expected += [(begin, stop, x) for begin, stop in pairwise(cuts)]
    found = [tuple(row.values()) for row in stream(*lifetimes).chop(period, offset=offset).collect().to_pylist()]
    assert sorted(found) == sorted(expected)
    assert [start for start, _, _ in found] == sorted(start for start, _, _ in expected)


def test_an_event_that_never_ends_is_an_error_that_names_it() -> None:
    with pytest.raises(KernelError, match=r"still active at 7 because its end is unknown") as caught:
        stream((0, 3), (7, None)).chop(5).collect()
    assert "clip_duration" in caught.value.hint


def test_a_period_takes_time() -> None:
    with pytest.raises(PlanError, match="must be positive"):
        stream((0, 1)).chop(0)


def test_the_plan_says_it_as_it_was_written() -> None:
    assert "chop(5, offset=1)" in stream((0, 1)).chop(5, offset=1).explain()

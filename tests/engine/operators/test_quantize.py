"""quantize and progressive_window: both ends on a grid of windows."""

from __future__ import annotations

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError

LIFETIMES = [(-7, 3), (0, 1), (4, 10), (5, 30), (9, 12), (11, None)]
EVENTS = wb.from_arrow({"at": [start for start, _ in LIFETIMES], "until": [end for _, end in LIFETIMES]},
                       time="at", end="until")


def lifetimes(stream: wb.Stream) -> list[tuple[int, int | None]]:
    return [(row["start"], row["end"]) for row in stream.collect().to_pylist()]


@pytest.mark.parametrize(("size", "hop", "offset"), [(10, 10, 0), (10, 5, 0), (12, 4, 1), (7, 3, -2)])
def test_what_holds_over_a_hop_speaks_of_the_windows_events(size: int, hop: int, offset: int) -> None:
    found = lifetimes(EVENTS.quantize(size, hop, offset=offset))
    for at in range(-30 - (-30 - offset) % hop, 60, hop):
        spoken = sum(start <= at and (end is None or at + hop <= end) for start, end in found)
        if size % hop == 0:
            assert spoken == sum(at + hop - size <= start < at + hop or (start < at + hop and (end is None or end > at))
                                 for start, end in LIFETIMES)
        assert all(start % hop == offset % hop for start, _ in found)


def test_progress_refines_starts_only() -> None:
    coarse, fine = lifetimes(EVENTS.quantize(10, 10)), lifetimes(EVENTS.progressive_window(10, 10, 2))
    assert [end for _, end in fine] == [end for _, end in coarse]
    assert [start for start, _ in fine] == [start // 2 * 2 for start, _ in LIFETIMES]


def test_a_window_refines_until_it_is_whole() -> None:
    points = wb.from_arrow({"at": [1, 4, 8]}, time="at")
    refined = points.progressive_window(10, 10, 5).aggregate(n=wb.count()).collect().to_pylist()
    assert refined == [{"start": 0, "end": 5, "n": 2}, {"start": 5, "end": 10, "n": 3}]


@pytest.mark.parametrize(("build", "what"), [
    (lambda: EVENTS.quantize(0, 1), "must be positive"),
    (lambda: EVENTS.quantize(5, 6), "gaps between windows"),
    (lambda: EVENTS.progressive_window(12, 6, 4), "progress must divide hop"),
])
def test_windows_that_cannot_be(build: object, what: str) -> None:
    with pytest.raises(PlanError, match=what):
        build()  # type: ignore[operator]


def test_the_plan_says_it_as_it_was_written() -> None:
    assert "quantize(10, 5, offset=1)   [intervals, look-ahead]" in EVENTS.quantize(10, 5, offset=1).explain()
    assert "progressive_window(10, 5, 1)   [intervals]" in EVENTS.progressive_window(10, 5, 1).explain()


def test_a_window_with_lookahead_does_not_meet_what_is_finer() -> None:
    counts = EVENTS.quantize(10, 10).aggregate(n=wb.count()).with_columns(k=1)
    with pytest.raises(PlanError, match="before their window has closed"):
        counts.join(EVENTS.with_columns(k=1), on="k")
    assert len(counts.join(counts.select("k", m=wb.col.n), on="k").collect()) == len(counts.collect())


def test_the_first_of_a_window_is_its_first() -> None:
    log = wb.from_arrow({"at": [0, 1, 2], "page": [30, 10, 20]}, time="at")
    rows = log.quantize(5, 5).aggregate(first=wb.first(col.page), last=wb.last(col.page)).collect().to_pylist()
    assert rows == [{"start": 0, "end": 5, "first": 30, "last": 20}]

"""User-defined aggregates accumulate rows in start order, whatever the arrival order and however a group changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.kernels import tier
from whimbrel.testing import check_operator, laws
from whimbrel.testing.oracle import Event
from whimbrel.testing.trial import Trial


def fold(state: int, x: int) -> int:
    return (state * 31 + x) % 1000003


number = wb.aggregate(init=0, accumulate=fold, result=lambda s: s, name="number")
listed = wb.aggregate(init=list, accumulate=lambda s, x: [*s, x], result=lambda s: s[0] * 31 + s[-1] if s else 0,
                      name="listed")
merged = wb.aggregate(init=0, accumulate=lambda s, x: s + x, merge=lambda one, two: one + two, result=lambda s: s,
                      name="merged")

FACTS: list[Event] = [
    (at, at + (1, 9, 3, 30)[row % 4], {"time": at, "key": "ab"[row % 3 == 0], "k2": 0, "x": row * 5 % 7, "y": 0.5,
                                       "flag": True})
    for row, at in enumerate([-9, -8, -5, -4, 0, 1, 2, 3, 6, 7, 10, 12, 13, 17, 18, 29])]
"""No two start together."""

WINDOWS: dict[str, Callable[[Any], Any]] = {
    "as they are": lambda s: s.group_by("key"),
    "sliding": lambda s: s.sliding_window(6),
    "tumbling": lambda s: s.group_by("key").tumbling_window(7),
    "hopping": lambda s: s.hopping_window(10, 3),
    "hopping, then filtered": lambda s: s.hopping_window(10, 3).where(col.x > 1),
    "sessions": lambda s: s.group_by("key").session_window(4),
}

KEPT = (laws.matches_the_reference, laws.batches_change_nothing, laws.disorder_changes_nothing,
        laws.bounds_of_blocks_change_nothing, laws.latencies_are_answered_together, laws.take_over_changes_nothing,
        laws.snapshots_change_nothing, laws.restored_runs_resume)
"""Not that of late rows: moved ones start together."""


@pytest.mark.parametrize("made", ("interpreted", "primitives"))
@pytest.mark.parametrize("aggregate", (number, listed), ids=lambda each: each.name)
def test_a_group_that_lost_rows_is_computed_in_order(aggregate: Any, made: Any) -> None:
    events = wb.from_arrow({"at": [0, 1, 2], "until": [5, 9, 9], "x": [1, 2, 3]}, time="at", end="until")
    with tier(made):
        answer = events.aggregate(v=aggregate(col.x)).collect()
    assert answer["v"].to_pylist() == [fold(0, 1) if aggregate is number else 1 * 31 + 1, 1 * 31 + 2,
                                       (1 * 31 + 2) * 31 + 3 if aggregate is number else 1 * 31 + 3, 2 * 31 + 3]


@pytest.mark.share(2)
@pytest.mark.parametrize("name", WINDOWS)
def test_rows_are_accumulated_in_the_order_of_their_start(name: str) -> None:
    window = WINDOWS[name]

    def reference(facts: list[Event]) -> list[Event]:
        given = Trial(lambda s: window(s).aggregate(xs=wb.collect(col.x)), (facts,)).run()
        assert not isinstance(given, type), given
        kept = []
        for start, end, payload in given:
            xs = payload.pop("xs")
            kept.append((start, end, payload | {"n": reduce(fold, xs, 0), "l": xs[0] * 31 + xs[-1]}))
        return kept

    with tier("interpreted"):
        check_operator(lambda s: window(s).aggregate(n=number(col.x), l=listed(col.x)), FACTS, reference=reference,
                       laws=KEPT)


def test_rows_out_of_order_are_sorted_before_a_window_unless_parts_merge() -> None:
    log = wb.from_arrow({"at": [3, 1, 12], "seen": [3, 4, 15], "x": [3, 1, 2]}, time="at", arrival="seen", name="log")
    windows = log.tumbling_window(10)
    in_order = windows.aggregate(v=number(col.x))
    assert in_order.collect()["v"].to_pylist() == [1 * 31 + 3, 2]
    assert "unsorted" not in in_order.explain()
    assert "unsorted" in windows.aggregate(v=merged(col.x)).explain()
    assert "unsorted" in windows.aggregate(v=wb.sum(col.x)).explain()

"""What is known of streams is shown, and what users assume is believed and checked."""

from __future__ import annotations

from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError, PlanError


def log(*events: tuple[int, int | None, str], **options: Any) -> wb.Stream:
    rows = {"at": [at for at, _, _ in events], "until": [until for _, until, _ in events],
            "k": [key for _, _, key in events], "x": list(range(len(events)))}
    return wb.from_arrow(rows, time="at", end="until", name="log", **options)


EVENTS = log((0, 5, "a"), (5, 10, "a"), (10, 15, "a"))

SHOWN = {
    "one group has one value at a time": (lambda s: s.aggregate(n=wb.count()), "edges, non-overlapping"),
    "each group has": (lambda s: s.group_by("k").aggregate(n=wb.count()), "edges, non-overlapping per k"),
    "windows": (lambda s: s.group_by("k").tumbling_window(10, label="end").aggregate(n=wb.count()),
                "edges, non-overlapping per k"),
    "no end": (lambda s: s.set_duration(None), "starts"),
    "a filter leaves gaps": (lambda s: s.where(col.x > 1), "intervals, with gaps in batches"),
    "periods end at a filter": (lambda s: s.assume(periodic=5).where(col.x > 1),
                                "intervals, non-overlapping, with gaps in batches"),
    "periods are shifted": (lambda s: s.assume(periodic=5, per="k").shift(3), "intervals, every 5 per k"),
    "a key that is gone": (lambda s: s.group_by("k").aggregate(n=wb.count()).select("n"), "edges"),
    "a key that is computed again": (lambda s: s.assume(non_overlapping=True, per="k").with_columns(k=col.k + "!"),
                                     "intervals"),
    "many of one": (lambda s: s.assume(non_overlapping=True).explode("v", [1, 2]), "intervals"),
    "a duration": (lambda s: s.assume(duration=5), "intervals, duration=5"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_known_is_shown(name: str) -> None:
    build, words = SHOWN[name]
    assert f"   [{words}]" in build(EVENTS).explain().splitlines()[0]


FALSE = {
    "duration": (lambda s: s.assume(duration=4), "An event at 0 lasts 5, not 4.", "assume(duration=4)"),
    "overlap": (lambda s: s.sliding_window(7).assume(non_overlapping=True),
                "An event at 5 begins before the one before it has ended, which is from 0 to 7.",
                "assume(non_overlapping=True)"),
    "per key": (lambda s: s.union(log((12, 13, "b"), (12, 13, "b"))).assume(non_overlapping=True, per="k"),
                "An event of k = 'b' at 12 begins before", "assume(non_overlapping=True, per=['k'])"),
    "gap": (lambda s: s.where(col.x != 1).assume(periodic=5), "An event at 10 comes 10 after the one before it, not 5.",
            "assume(periodic=5)"),
    "another distance": (lambda s: s.assume(periodic=3), "An event at 5 comes 5 after the one before it, not 3.",
                         "assume(periodic=3)"),
    "an end": (lambda s: s.assume(start_edges=True), "An event at 0 ends at 5.", "assume(start_edges=True)"),
}


@pytest.mark.parametrize("name", FALSE)
@pytest.mark.parametrize("latency", [0, 20])
def test_a_false_assumption_is_named(name: str, latency: int) -> None:
    build, what, where = FALSE[name]
    source = log((0, 5, "a"), (5, 10, "a"), (10, 15, "a"), reorder_latency=latency)
    with pytest.raises(KernelError) as caught:
        build(source).collect()
    assert what in caught.value.what
    assert caught.value.where == where
    assert caught.value.hint == ("Add gaps=True if samples may be missing." if name == "gap" else
                                 "Remove the assumption, or fix the data.")


def test_misuse_of_assume() -> None:
    with pytest.raises(PlanError, match="needs at least one assumption"):
        EVENTS.assume()
    with pytest.raises(PlanError, match="must be positive"):
        EVENTS.assume(periodic=0)
    with pytest.raises(PlanError, match="cannot combine duration= and start_edges=True"):
        EVENTS.assume(start_edges=True, duration=3)
    with pytest.raises(Exception, match="kk"):
        EVENTS.assume(non_overlapping=True, per="kk")


def test_a_pattern_over_windows_among_finer_events_sees_ahead() -> None:
    counts = EVENTS.tumbling_window(10).aggregate(x=wb.count())
    together = EVENTS.select("x").union(counts)
    with pytest.raises(PlanError, match="would use window results before their window has closed"):
        together.detect(wb.event(col.x > 0), within=20)
    assert together.detect(wb.event(col.x > 0), within=20, allow_lookahead=True).collect().num_rows > 0
    at_the_end = EVENTS.tumbling_window(10, label="end").aggregate(x=wb.count())
    assert EVENTS.select("x").union(at_the_end).detect(wb.event(col.x > 0), within=20).collect().num_rows > 0
    assert "look-ahead" in counts.union(counts).detect(wb.event(col.x > 0), within=20).explain()


def test_an_as_of_join_that_waits_longer_than_a_window_sees_further() -> None:
    coarse = EVENTS.tumbling_window(10).aggregate(n=wb.count())
    near = coarse.asof_join(EVENTS.select("x"), direction="forward", tolerance=9, allow_lookahead=True)
    far = coarse.asof_join(EVENTS.select("x"), direction="forward", tolerance=25, allow_lookahead=True)
    assert near.cross_join(coarse).collect().num_rows > 0
    with pytest.raises(PlanError, match="before their window has closed"):
        far.cross_join(coarse)


@pytest.mark.parametrize("wrong", [None, 7_000])
def test_many_events_are_held_against_an_assumption_too(wrong: int | None) -> None:
    rows = range(0, 100_000, 10)
    ends = [at + 10 if row != wrong else at + 9 for row, at in enumerate(rows)]
    times = [at if row != wrong else at + 1 for row, at in enumerate(rows)]
    events = wb.from_arrow({"at": times, "until": ends, "x": [row % 20 for row in rows]}, time="at", end="until")
    for assumed in (events.assume(periodic=10), events.assume(duration=10),
                    events.where(col.x == 0).assume(periodic=20)):
        if wrong is None:
            assert len(assumed.collect()) in (5_000, 10_000)
        else:
            with pytest.raises(KernelError, match="An event at 700"):
                assumed.collect()


@pytest.mark.parametrize(("columns", "given", "said"), [
    ({"t": [-(2**62 + 2**61), 2**62 + 2**61]}, {"periodic": 5}, f"comes {2**63 + 2**62} after"),
    ({"t": [-(2**62 + 2**61)], "e": [2**62 + 2**61]}, {"duration": 5}, f"lasts {2**63 - 1}, not 5"),
])
def test_distances_that_leave_int64_are_reported_without_wrapping(columns: Any, given: Any, said: str) -> None:
    log = wb.from_arrow(columns, time="t", end="e" if "e" in columns else None)
    with pytest.raises(KernelError, match=said):
        log.assume(**given).collect()

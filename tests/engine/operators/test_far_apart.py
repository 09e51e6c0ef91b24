"""Times whose distance, or whose sum with a duration, int64 does not hold: compared safely, saturated or refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.clock import INF, MIN_TIME, round_spans
from whimbrel.disorder import Ingress
from whimbrel.errors import KernelError, PlanError
from whimbrel.kernels.primitives.lifetimes.time_distance import elapsed, middle
from whimbrel.plan import Source

FAR = 2**62
TIMES = (MIN_TIME + 1, MIN_TIME + 2, -FAR - 1, -FAR, -5, -1, 0, 1, 7, FAR, FAR + 1, INF - 2, INF - 1)


def stream(name: str, times: list[int], **more: Any) -> wb.Stream:
    return wb.from_arrow(pa.table({"t": pa.array(times, pa.int64()), name: list(times)}), time="t", name=name, **more)


def nearest(left: int, right: list[int], direction: str, tolerance: int | None) -> int | None:
    """In Python's integers, which do not end."""
    fits = [each for each in right if (direction != "backward" or each <= left)
            and (direction != "forward" or each >= left) and (tolerance is None or abs(left - each) <= tolerance)]
    return min(fits, key=lambda each: (abs(left - each), each), default=None)


@pytest.mark.share(3)
@pytest.mark.parametrize(("direction", "tolerance"), [
    ("backward", None),
    *((way, ticks) for way in ("backward", "forward", "nearest") for ticks in (0, 3, FAR, FAR + 2, INF - 1))])
def test_as_of_joins_over_all_of_time(direction: Any, tolerance: int | None) -> None:
    for left in TIMES:
        for right in ([MIN_TIME + 1], [INF - 1], [MIN_TIME + 1, INF - 1], [-FAR, FAR + 3], [left], [-5, 6],
                      list(TIMES)):
            events, others = stream("a", [left]).select("a"), stream("b", right).select("b")
            found = events.asof_join(others, direction=direction, tolerance=tolerance).collect()["b"].to_pylist()
            assert found == [nearest(left, right, direction, tolerance)], (left, right)


@pytest.mark.parametrize("tolerance", [10, FAR])
def test_right_rows_that_are_let_go_of(tolerance: int) -> None:
    """Once there are many right rows, those out of reach are forgotten."""
    right = [MIN_TIME + 1 + row for row in range(70_000)] + [FAR]
    left = [MIN_TIME + 70_000, -5, FAR + 3]
    found = stream("a", left).select("a").asof_join(stream("b", right).select("b"), tolerance=tolerance).collect()
    assert found["b"].to_pylist() == [nearest(each, right, "backward", tolerance) for each in left]


@pytest.mark.parametrize("later", TIMES)
@pytest.mark.parametrize("earlier", TIMES)
def test_distances_and_middles(later: int, earlier: int) -> None:
    if later >= earlier:
        assert elapsed(np.int64(later), np.int64(earlier)) == min(later - earlier, INF)
    assert middle(np.int64(later), np.int64(earlier)) == (later + earlier) // 2


def test_late_rows_tell_the_largest_distance() -> None:
    log = stream("a", [FAR, -FAR - 1, FAR - 5], reorder_latency=2, late="side_output")
    assert wb.late_rows(log).collect()["late_by"].to_pylist() == [INF, 5]


def test_lateness_counts_rows_that_are_very_late() -> None:
    late = wb.lateness(stream("a", [FAR, -FAR - 1, FAR - 5], reorder_latency=2))
    assert late.late_rows == 2
    assert late.quantiles(0.5, 1)["late_by"].to_pylist() == [5, INF]
    assert late.at(5)["rows_lost"].to_pylist() == [1]
    assert late.missing(10, after=[0])["expected"].null_count == 1 or str(late)


def test_late_rows_are_counted_by_how_late_they_are() -> None:
    log = stream("a", [FAR, -FAR - 1], reorder_latency=2, late="drop")
    gate = Ingress(log.node.op)
    gate.late_by = np.zeros(len(round_spans(None)), np.int64)
    gate.push(log.node.op.read(["a"]).__next__())
    assert np.flatnonzero(gate.late_by).tolist() == [0, len(gate.late_by) - 1]


@pytest.mark.parametrize("gap", [3, 300])
def test_a_session_that_is_cut_begins_again_after_a_long_gap(gap: int) -> None:
    """The first session of a group, and one after more than half of time, last as long as others."""
    for first in (-FAR - FAR // 2, -5, 3, FAR + FAR // 2):
        found = stream("a", [first]).session_window(gap, 10).aggregate(n=wb.count()).collect().to_pylist()
        # cut on the grid of 10, and no sooner than a period after it began
        cut = first - first % 10 + (10 if first % 10 == 0 else 20)
        assert [(row["start"], row["end"]) for row in found] == [(first, min(first + gap, cut))]


def test_two_sessions_of_a_group_may_be_all_of_time_apart() -> None:
    found = stream("a", [-FAR - 7, FAR + 7]).session_window(30, 20).aggregate(n=wb.count()).collect().to_pylist()
    assert [row["n"] for row in found] == [1, 1]
    assert [row["end"] - row["start"] for row in found] == [min(30, 40 - row["start"] % 20) for row in found]


@pytest.mark.parametrize("first", [MIN_TIME + 1, -FAR, 0, FAR, INF - 3])
@pytest.mark.parametrize("register", [None, 0])
def test_a_match_near_the_end_of_time_ends_with_it(first: int, register: int | None) -> None:
    pattern = wb.sequence(one=wb.event(col.a > MIN_TIME), two=wb.event(col.a > MIN_TIME))
    more: Any = {} if register is None else {"output": {"b": wb.first_of("one").a}}
    found = stream("a", [first, first + 1]).detect(pattern, within=FAR, **more).collect()
    assert found.num_rows == 1
    assert found["start"].to_pylist() == [first + 1]
    assert found["end"].to_pylist() == [None if first + FAR >= INF else first + FAR]


def test_a_long_lifetime_keeps_its_length_when_it_moves() -> None:
    table = pa.table({"t": [-FAR - 5], "until": [FAR + 5], "x": [1]})
    moved = wb.from_arrow(table, time="t", end="until").alter_lifetime(start=col.start + 3).collect()
    assert (moved["start"].to_pylist(), moved["end"].to_pylist()) == ([-FAR - 2], [FAR + 8])


@pytest.mark.parametrize("query", [
    lambda log: log.tumbling_window(10).aggregate(n=wb.count()),
    lambda log: log.hopping_window(10, 5).aggregate(n=wb.count()),
    lambda log: log.hopping_window(7, 5).aggregate(n=wb.count()),
    lambda log: log.sliding_window(10).aggregate(n=wb.count()),
    lambda log: log.quantize(10, 5), lambda log: log.chop(10), lambda log: log.shift(10), lambda log: log.shift(-10),
    lambda log: log.session_window(10).aggregate(n=wb.count()),
], ids=["tumbling", "hopping", "uneven", "sliding", "quantize", "chop", "later", "earlier", "session"])
def test_near_the_ends_of_time_nothing_wraps(query: Any) -> None:
    for time in (MIN_TIME + 1, INF - 2):
        raised = None
        try:
            rows = query(stream("a", [time])).collect().to_pylist()
        except KernelError as error:
            raised = error
        if raised is not None:
            assert "limit of int64" in raised.what or "leaves int64" in raised.what
        else:
            assert all(row["end"] is None or row["start"] < row["end"] for row in rows)
            assert len(rows) == 1


def test_replays_in_spans_near_the_end_of_time() -> None:
    log = stream("a", [INF - 12, INF - 2])
    again = wb.replay(log, speed=float("inf"), every=10, reorder_latency=0).collect()
    assert again["a"].to_pylist() == [INF - 12, INF - 2]


def lasting(*lifetimes: tuple[int, int | None]) -> wb.Stream:
    starts, ends = (pa.array(times, pa.int64()) for times in zip(*lifetimes, strict=True))
    return wb.from_arrow(pa.table({"t": starts, "until": ends}), time="t", end="until")


@pytest.mark.parametrize("lifetimes", [
    [(-10, None), (-5, None), (0, 5)], [(-FAR - 10, FAR), (-FAR - 5, FAR), (-FAR, 5 - FAR)]], ids=["endless", "long"])
@pytest.mark.parametrize("said", [{"periodic": 5}, {"non_overlapping": True}], ids=str)
def test_overlaps_of_events_that_last_more_than_half_of_time(lifetimes: Any, said: Any) -> None:
    with pytest.raises(KernelError, match=f"at {lifetimes[1][0]} begins before the one before it has ended"):
        lasting(*lifetimes).assume(**said).collect()


def test_events_on_both_sides_of_time_may_follow_each_other() -> None:
    assert lasting((-FAR - 10, FAR + 10), (FAR + 10, FAR + 11)).assume(non_overlapping=True).collect().num_rows == 2
    with pytest.raises(KernelError, match=f"comes {2 * FAR + 17} after"):
        stream("a", [-FAR - 10, FAR + 7]).assume(periodic=17).collect()


@pytest.mark.parametrize("period", [2**60, 2**60 + 3])
def test_pieces_of_an_event_that_lasts_more_than_half_of_time(period: int) -> None:
    start, end = -FAR - 5, FAR + 5
    cuts = [start, *range(start - start % period + period, end, period), end]
    found = lasting((start, end)).chop(period).collect()
    assert list(zip(found["start"].to_pylist(), found["end"].to_pylist(), strict=True)) == list(pairwise(cuts))


def test_too_many_pieces_for_int64_come_in_portions() -> None:
    pieces = lasting((-FAR - 5, FAR + 5)).chop(1).start()
    assert not pieces.wait(1)
    starts = pieces.snapshot().table["start"].to_numpy()  # the newest rows: a fast machine has let go of the first ones
    pieces.stop()
    assert starts[0] >= -FAR - 5
    assert len(starts) > 3
    assert (np.diff(starts) == 1).all()


@pytest.mark.parametrize(("time", "rows"), [(MIN_TIME - 5, 0), (MIN_TIME, 0), (INF - 2, 1), (INF, 3), (INF + 5, 3)])
def test_rows_up_to_a_time_beyond_all(time: int, rows: int) -> None:
    """A float holds none of the last thousand ticks apart."""
    log = stream("a", [MIN_TIME + 3, INF - 2, INF - 1]).node.op
    assert isinstance(log, Source)
    assert log.rows_between(MIN_TIME, time) == (0, rows)


def test_the_sign_for_no_limit_is_not_a_limit() -> None:
    """A tolerance of 2**63 - 1 ticks matched events that were farther apart."""
    log = stream("a", [0, FAR])
    for direction in ("backward", "forward", "nearest"):
        with pytest.raises(PlanError, match=r"tolerance must be below 2\*\*63 - 1 ticks"):
            log.asof_join(stream("b", [5]), tolerance=INF, direction=direction)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"within must be below 2\*\*63 - 1 ticks"):
        log.detect(wb.sequence(first=col.a == 0, second=col.a > 0), within=INF)

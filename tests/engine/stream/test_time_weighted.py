"""Aggregates that weigh values by how long they last."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.stream.test_temporal_columns import drawn_events, log, stream_of
from whimbrel import col
from whimbrel.errors import WhimbrelError
from whimbrel.testing.oracle import temporal as oracle


def values(rows: list[dict[str, Any]]) -> list[Any]:
    return [row["x"] for row in rows if row["x"] is not None]


def mean(rows: list[dict[str, Any]]) -> Any:
    return sum(values(rows)) / len(values(rows)) if values(rows) else None


def integral(rows: list[dict[str, Any]]) -> Any:
    return sum(values(rows)) if values(rows) else None


def time_above(rows: list[dict[str, Any]]) -> Any:
    return sum(value > 3 for value in values(rows)) if values(rows) else None


def merged(left: Any, right: Any) -> Any:
    return left[0] + right[0], left[1] + right[1]


def weighed(state: Any, x: Any, start: Any, end: Any) -> Any:
    return state[0] + x * (end - start), state[1] + (end - start)


def listed(state: Any, x: Any, start: Any, end: Any) -> Any:
    return [*state, (x, end - start)]


OPTIONS: dict[str, Any] = {"result": lambda s: s[0] / s[1] if s[1] else None}
USERS = {
    "merged": wb.aggregate(init=(0.0, 0), accumulate=weighed, merge=merged, name="merged", **OPTIONS),
    "direct": wb.aggregate(init=(0.0, 0), accumulate=weighed, name="direct", **OPTIONS),
    "python": wb.aggregate(init=list, accumulate=listed, name="listed", returns=pa.float64(),
                           result=lambda s: sum(x * n for x, n in s) / sum(n for _, n in s) if s else None),
}
PARTS = {"mean": (wb.time_mean(col.x), mean), "integral": (wb.integral(col.x), integral),
         "time_in": (wb.time_in(col.x > 3), time_above), **{name: (user(col.x), mean) for name, user in USERS.items()}}


@pytest.mark.parametrize("keys", [False, True], ids=["one key", "keys"])
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("seed", range(4))
def test_each_tick_of_a_window_counts_once(seed: int, name: str, keys: bool) -> None:
    drawn = random.Random(seed)
    events = drawn_events(drawn, lasting=True, keys=keys)
    part, means = PARTS[name]
    back, later, size = drawn.randint(1, 20), drawn.choice([0, 3, 9]), drawn.randint(1, 15)
    stream = stream_of(events, lasting=True)
    stream = stream.group_by("k") if keys else stream
    found = stream.select("x", p=part.past(back, ahead=later), c=part.cell(size), g=part.past(back).ago(4)).collect()
    expected = oracle.taken_at_starts(events, {
        "p": oracle.past_ticks(means, back, later), "c": oracle.cell_ticks(means, size),
        "g": oracle.ago(oracle.past_ticks(means, back), 4)}, ["k"] if keys else [])
    for column in "pcg":
        assert found[column].to_pylist() == pytest.approx([payload[column] for _, _, payload in expected], nan_ok=True)


def test_the_last_rows_count_up_to_the_start_of_the_event() -> None:
    levels = log((0, 10, 2), (10, 12, 8), (20, 30, 4))
    found = levels.select(m=wb.time_mean(col.x).past(rows=2), d=wb.time_in(col.x > 3).past(rows=3)).collect()
    assert found["m"].to_pylist() == [2.0, (20 + 8) / 11, (16 + 4) / 3]
    assert found["d"].to_pylist() == [0, 1, 3]


def test_durations_are_in_units_of_time() -> None:
    at = np.datetime64("2024-05-06T09:00", "ms") + np.arange(3) * np.timedelta64(1, "m")
    kilowatts = wb.from_arrow({"at": at, "x": [2.0, 4.0, 6.0]}, time="at").select("x").hold(limit="1m")
    ends = {"ahead": "1m"}
    found = kilowatts.select(seconds=wb.integral(col.x).past("1ms", **ends),
                             hours=wb.integral(col.x, unit="1h").past("1ms", **ends),
                             high=wb.time_in(col.x > 3).past("1m", **ends)).collect()
    assert found["seconds"].to_pylist() == pytest.approx([120.004, 240.006, 360.0])
    assert found["hours"].to_pylist() == pytest.approx([120.004 / 3600, 240.006 / 3600, 0.1])
    assert found["high"].type == pa.duration("ms")
    assert found["high"].cast(pa.int64()).to_pylist() == [1, 60_001, 119_999]


def test_other_aggregates_refuse_parts_of_windows() -> None:
    levels = log((0, 10, 2), (10, 12, 8))
    with pytest.raises(WhimbrelError, match="weighs events by their part of a window") as failed:
        levels.tumbling_window(10).aggregate(m=wb.time_mean(col.x))
    assert 'past("5m")' in str(failed.value)
    for part, words in ((lambda: wb.time_mean(col.k), "needs numbers or bools"),
                        (lambda: wb.time_in(col.x), "condition"),
                        (lambda: wb.integral(col.x, unit=-1), "must be positive")):
        with pytest.raises(WhimbrelError, match=words):
            log((0, 1, 2), k=["a"]).select(z=part().past(5))


def test_functions_that_change_all_the_time_need_multiples() -> None:
    with pytest.raises(WhimbrelError, match="weighed by duration changes all the time") as failed:
        log((0, 10, 2)).over_time(m=wb.time_mean(col.x).past(5))
    assert 'over_time(every="1s", ...)' in str(failed.value)


@pytest.mark.parametrize("keys", [False, True], ids=["one key", "keys"])
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("name", ["mean", "time_in", "python"])
def test_values_at_multiples_count_each_tick(name: str, every: int, keys: bool) -> None:
    drawn = random.Random(every)
    events = drawn_events(drawn, lasting=True, keys=keys)
    part, means = PARTS[name]
    stream = stream_of(events, lasting=True)
    stream = stream.group_by("k") if keys else stream.select("x")
    found = stream.over_time(every=every, p=part.past(7, ahead=2), x=col.x, m=wb.median(col.x).past(5)).collect()
    for key in "ab" if keys else "a":
        mine = [event for event in events if event[2]["k"] == key]
        rows = {row["start"]: row for row in found.to_pylist() if not keys or row["k"] == key}
        for time in range(-40, 160):
            there = rows.get(time, {"p": None, "x": None, "m": None}) if time % every == 0 else None
            if there is not None:
                assert there["p"] == pytest.approx(oracle.past_ticks(means, 7, 2)(mine, time)), (key, time)
                assert there["x"] == oracle.column(lambda row: row["x"])(mine, time)
                assert there["m"] == oracle.past(lambda rows: None if not values(rows) else float(np.median(values(
                    rows))), 5)(mine, time)


@pytest.mark.parametrize("keys", [False, True], ids=["one key", "keys"])
def test_many_values_of_one_window_at_multiples(keys: bool) -> None:
    stream = stream_of(drawn_events(random.Random(3), lasting=True, keys=keys), lasting=True)
    stream = stream.group_by("k") if keys else stream.select("x")
    parts = {name: part.past(7) for name, (part, _) in PARTS.items()} | {"n": wb.count().past(7)}
    found = stream.over_time(every=4, **parts).collect()
    assert len(parts) > 3
    for name, part in parts.items():
        assert found[name].equals(stream.over_time(every=4, **{name: part}).collect()[name]), name


@pytest.mark.parametrize("keys", [False, True], ids=["one key", "keys"])
@pytest.mark.parametrize("name", PARTS)
def test_all_events_so_far_count_up_to_the_start_of_the_event(name: str, keys: bool) -> None:
    drawn = random.Random(7)
    events = drawn_events(drawn, lasting=True, keys=keys)
    part, means = PARTS[name]
    stream = stream_of(events, lasting=True)
    stream = stream.group_by("k") if keys else stream
    found = stream.select("x", s=part.so_far(), r=part.so_far(reset=col.x == 2), p=part.so_far().previous()).collect()
    whole = oracle.past_ticks(means, 1_000)

    def since_reset(facts: Any, time: int) -> Any:
        starts = [start for start, _, row in facts if row["x"] == 2 and start <= time]
        return oracle.past_ticks(means, time - max(starts, default=-500) + 1)(facts, time)

    expected = oracle.taken_at_starts(events, {"s": whole, "r": since_reset, "p": oracle.previous(whole)},
                                      ["k"] if keys else [])
    for column in "srp":
        assert found[column].to_pylist() == pytest.approx([payload[column] for _, _, payload in expected]), column


def test_a_users_scan_of_several_values_takes_the_times_of_events() -> None:
    mine = wb.aggregate(init=(0.0, 0.0), result=lambda s: s[0] / s[1] if s[1] else None, name="mine",
                        accumulate=lambda s, x, w, start, end: (s[0] + x * w * (end - start), s[1] + w))
    ticks = log((0, 4, 2.0), (4, 5, 3.0), (9, 12, 4.0), w=[1, 2, 3])
    assert ticks.select(v=mine(col.x, col.w).so_far()).collect()["v"].to_pylist() == [
        2.0, (8 + 6) / 3, (8 + 6 + 12) / 6]
    held = wb.from_arrow({"at": [0, 4, 9], "x": [2.0, 3.0, 4.0], "w": [1, 2, 3]}, time="at").select("x", "w").hold()
    assert held.select(v=mine(col.x, col.w).so_far()).collect()["v"].to_pylist() == [
        2.0, (8 + 6) / 3, (8 + 30 + 12) / 6]

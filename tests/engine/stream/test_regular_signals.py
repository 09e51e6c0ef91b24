"""Operators that give an event at each multiple of a period give samples; others say where they do not any more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError
from whimbrel.plan import Sampling

AT = [0, 1, 2, 3, 4, 20, 21, 22, 23, 24]


def log(**columns: Any) -> wb.Stream:
    return wb.from_arrow({"at": AT, "x": [float(at) for at in AT]} | columns, time="at", name="log").drop("at")


def keyed() -> wb.Stream:
    return log(k=["a", "b"] * 5)


REGULAR: dict[str, Callable[[], wb.Stream]] = {
    "mean": lambda: log().resample(2, how="mean"),
    "hold": lambda: log().resample(2, how="hold", limit=1),
    "over_time": lambda: log().over_time(every=2, x=wb.mean(col.x).past(2)),
    "over_time of a stream of its own": lambda: log().over_time(every=2, x=wb.median(col.x).past(2)),
    "over_time of both": lambda: log().over_time(every=2, x=wb.median(col.x).past(2) + wb.sum(col.x).past(2)),
    "over_time with what never ends": lambda: log().over_time(
        every=2, x=wb.sum(col.x).past(2) + wb.median(col.x).so_far()),
    "between": lambda: log().over_time(x=wb.max(col.x).past(2)).between(0, 30, every=2),
}


@pytest.mark.parametrize("name", REGULAR)
def test_filters_begin_again_after_a_gap(name: str) -> None:
    signal = REGULAR[name]()
    assert signal.node.properties.sampling == Sampling(Fraction(2), 0)
    found = signal.select("x", total=wb.iir(col.x, b=[1.0], a=[1.0, -1.0]), pair=wb.fir(col.x, [1.0, 1.0])).collect()
    starts, values = found["start"].to_pylist(), found["x"].to_pylist()
    totals, pairs = [], []
    for at, value in enumerate(values):
        follows = at > 0 and starts[at] - starts[at - 1] == 2
        totals.append(value + totals[-1] if follows else value)
        pairs.append(value + values[at - 1] if follows else None)
    assert found["total"].to_pylist() == totals
    assert found["pair"].to_pylist() == pairs
    assert any(later - earlier > 2 for earlier, later in pairwise(starts))


@pytest.mark.parametrize("query", [
    lambda: keyed().group_by("k").resample(2, how="mean"),
    lambda: keyed().group_by("k").over_time(every=2, x=wb.mean(col.x).past(2)),
    lambda: keyed().group_by("k").over_time(every=2, x=wb.median(col.x).past(2))])
def test_each_key_has_samples_of_its_own(query: Callable[[], wb.Stream]) -> None:
    signal = query()
    assert signal.node.properties.sampling == Sampling(Fraction(2), 0, frozenset({"k"}))
    pairs = signal.group_by("k").select("k", "x", pair=wb.fir(col.x, [1.0, 1.0])).collect().to_pylist()
    last: dict[str, tuple[int, float]] = {}
    for row in pairs:
        before = last.get(row["k"])
        assert row["pair"] == (row["x"] + before[1] if before is not None and before[0] == row["start"] - 2 else None)
        last[row["k"]] = row["start"], row["x"]


def test_an_offset_is_where_samples_are() -> None:
    signal = log().resample(4, how="mean", offset=1)
    assert signal.node.properties.sampling == Sampling(Fraction(4), 1)
    assert signal.select("x", y=wb.fir(col.x, [1.0, 1.0])).collect()["start"].to_pylist() == [-3, 1, 17, 21]


def test_means_may_still_be_joined_with_what_lies_on_their_grid() -> None:
    """A mean is known at the end of its period only, and a finer stream must not see it before."""
    means = log().resample(4, how="mean")
    assert means.node.properties.time_grid is not None
    assert means.cross_join(log().resample(4, how="mean").select(y=col.x)).collect().num_rows == 4


def two_at_once() -> wb.Stream:
    return wb.from_arrow({"at": [0, 2, 2], "y": [1, 2, 3]}, time="at").select("y")


def test_an_as_of_join_with_several_matches_gives_no_samples() -> None:
    """Two right events start at 2: the samples from there on come twice."""
    made = log().assume(periodic=1, gaps=True).asof_join(two_at_once())
    assert made.collect().num_rows == len(AT) + 8
    assert made.node.properties.sampling is None
    assert made.node.properties.apart is None
    with pytest.raises(PlanError, match=r"fir\(\) needs samples"):
        made.select(z=wb.fir(col.x, [1.0, 1.0]))


def test_an_as_of_join_with_one_match_keeps_samples() -> None:
    single = two_at_once().aggregate(y=wb.max(col.y))
    made = log().assume(periodic=1, gaps=True).asof_join(single)
    assert made.node.properties.sampling == Sampling(Fraction(1), None)
    assert made.select(z=wb.fir(col.x, [1.0, 1.0])).collect()["z"].null_count == 2


def test_events_without_a_key_are_several_matches_where_nulls_are_equal() -> None:
    """Of events without a key several may be active at one time."""
    rows = {"at": [0, 0, 1], "k": [None, None, "a"], "y": [1, 2, 3]}
    right = wb.from_arrow(rows, time="at").select("k", "y").group_by("k").with_columns(before=col.y.ago(1))
    left = log(k=pa.nulls(len(AT), pa.string())).assume(periodic=1, gaps=True, per="k")
    made = left.asof_join(right, on="k", nulls_equal=True)
    assert made.collect().num_rows == 2 * len(AT)
    assert made.node.properties.sampling is None
    assert left.asof_join(right, on="k").node.properties.sampling is not None
    assert left.join(right, on="k", how="left", nulls_equal=True).node.properties.sampling is None


def test_fewer_events_are_samples_with_gaps() -> None:
    """A negative extension drops events that end too early, and a latency band late ones."""
    lasting = wb.from_arrow({"at": [0, 2, 4], "until": [2, 3, 6], "x": [1.0, 2.0, 3.0]}, time="at", end="until",
                            name="log").select("x").assume(periodic=2)
    for query, gaps in ((lasting.extend(0), False), (lasting.extend(-1), True)):
        assert query.node.properties.sampling == Sampling(Fraction(2), None, gaps=gaps)
    assert lasting.extend(-1).select(y=wb.iir(col.x, b=[1.0], a=[1.0, -1.0])).collect()["y"].to_pylist() == [1.0, 3.0]


def test_windows_of_samples_are_samples() -> None:
    """Windows that touch a gap are left out: the filter begins again after them."""
    at = [*range(8), *range(9, 20)]
    signal = wb.from_arrow({"at": at, "x": [float(each) for each in at]}, time="at").select("x").assume(
        periodic=1, gaps=True)
    windows = signal.rewindow(4)
    assert windows.node.properties.sampling == Sampling(Fraction(4), None)
    assert signal.rewindow(4, gaps="split").node.properties.sampling is None
    assert signal.rewindow().node.properties.sampling is None
    found = windows.select(m=col.x.seg.mean()).select("m", y=wb.iir(col.m, b=[1.0], a=[1.0, -1.0])).collect()
    assert found["start"].to_pylist() == [0, 4, 12, 16]
    assert found["m"].to_pylist() == [1.5, 5.5, 13.5, 17.5]
    assert found["y"].to_pylist() == [1.5, 7.0, 13.5, 31.0]

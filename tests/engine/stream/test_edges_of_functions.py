"""Calendar cells, groups after over_time, events without an end, deep nesting, and filters without feedback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.signal import lfilter

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Expr

HOUR = 3600


def zoned(*hours: int, zone: str = "America/New_York") -> Stream:
    times = pa.array([HOUR * hour for hour in hours], pa.timestamp("s", zone))
    return wb.from_arrow({"t": times, "x": list(range(1, len(hours) + 1))}, time="t").select("x")


def points(*values: Any) -> Stream:
    return wb.from_arrow({"t": list(range(len(values))), "x": list(values)}, time="t").select("x")


@pytest.mark.parametrize("size", ["1d", "1w", "1mo", "1q"])
def test_a_cell_is_the_tumbling_window_that_holds_the_time(size: str) -> None:
    log = zoned(0, 4, 6, 100, 960, 2000)
    windows = log.tumbling_window(size).aggregate(n=wb.sum(col.x)).collect().to_pylist()
    found = log.select(n=wb.sum(col.x).cell(size)).collect().to_pylist()
    assert [row["n"] for row in found] == [
        next(each["n"] for each in windows if each["start"] <= row["start"] < each["end"]) for row in found]


def test_a_cell_of_the_calendar_needs_points() -> None:
    with pytest.raises(PlanError) as refused:
        zoned(0, 4).hold(limit="5d").select(n=wb.sum(col.x).cell("1mo"))
    assert "A cell of the calendar needs events that do not last." in str(refused.value)


@pytest.mark.parametrize("period", ["1d", "1w"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_means_of_days_are_at_the_multiples_of_other_methods(period: str, zone: str) -> None:
    log = zoned(0, 4, 6, 100, 960, zone=zone)
    hold = log.resample(period, how="hold").collect()["start"].to_pylist()
    mean = log.resample(period, how="mean").collect()
    assert {each.timestamp() % (24 * HOUR) for each in [*hold, *mean["start"].to_pylist()]} == {0}
    assert sum(mean["x"].to_pylist()) > 0


def test_over_time_keeps_the_groups() -> None:
    log = wb.from_arrow({"t": [0, 1, 2, 3], "k": [0, 1, 0, 1], "x": [10, 20, 30, 40]}, time="t").group_by("k")
    found = log.over_time(x=col.x).with_columns(before=col.x.previous()).collect()
    assert found["before"].to_pylist() == [None, None, 10, 20]


def test_with_every_an_endless_event_counts_for_one_tick_in_every_column() -> None:
    held = points(5).hold()
    found = held.over_time(every=1, near=wb.sum(col.x).past(1), far=wb.sum(col.x).past(4)).collect()
    assert found["near"].to_pylist() == [5, None, None, None]
    assert found["far"].to_pylist() == [5, 5, 5, 5]


@pytest.mark.parametrize("wrap", [
    lambda e: e.ago(1) + 1, lambda e: e.previous() * 0.5 + col.x, lambda e: wb.mean(e + 1).past(2),
    lambda e: wb.ema(e + col.x, halflife=3), lambda e: wb.sum(e + 1).so_far(), lambda e: wb.max(e * 2).cell(4),
    lambda e: wb.min(e + 1).past(rows=2)])
def test_nested_parts_are_planned_in_time_that_does_not_double_with_each(wrap: Callable[[Any], Expr]) -> None:
    nested: Any = col.x
    for _ in range(30):  # twice as long with each, it would never end
        nested = wrap(nested)
    assert len(points(1.0, 2.0, 3.0).select(y=nested).explain()) > 30


def test_long_chains_of_temporal_selects_are_printed_and_run() -> None:
    query = points(10, 20, 30)
    for _ in range(300):
        query = query.select(x=col.x.ago(1).fill_null(0) + 1)
    assert query.explain().count("select(") >= 300
    assert query.collect()["x"].to_pylist() == [1, 2, 3]


def test_an_expression_that_is_nested_too_deeply_is_refused_in_words() -> None:
    deep: Expr = col.x
    for _ in range(3000):
        deep = deep + 1
    with pytest.raises(ExpressionError, match="nested too deeply") as refused:
        points(1).select(y=deep)
    assert "with_columns(part=...)" in str(refused.value)


@pytest.mark.parametrize("order", [1, 3, 20])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_what_is_no_number_leaves_a_filter_without_feedback(order: int, odd: float) -> None:
    b, x = list(np.linspace(0.1, 0.5, order + 1)), [1, 2, odd, *range(30)]
    found = points(*map(float, x)).select(y=wb.iir(col.x, b=b, a=[1.0])).collect()["y"].to_numpy()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(lfilter(b, [1.0], x)))
    np.testing.assert_allclose(found, lfilter(b, [1.0], x))


def test_a_range_is_sampled_at_any_multiples() -> None:
    """A view asks for those of its pixels, which need not be multiples of a rate."""
    log = zoned(*range(10)).assume(periodic="1h")
    found = log.set_duration("1h").between("1969-12-31T20:00", "1970-01-01T02:00", every="45m").collect()
    assert found["start"].to_pylist()[1].timestamp() - found["start"].to_pylist()[0].timestamp() == 45 * 60


def test_the_end_of_a_day_is_24_hours() -> None:
    log = wb.from_arrow({"t": pa.array([0, 82_800], pa.timestamp("s")), "x": [1, 2]}, time="t").select("x")
    assert log.between("00:00", "24:00").collect()["x"].to_pylist() == [1, 2]
    assert log.between("22:00", "24:00:00").collect()["x"].to_pylist() == [2]

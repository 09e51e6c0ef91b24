"""Times with literals and dates, in both tiers: exact to the nanosecond, and a date is its midnight."""

from __future__ import annotations

import operator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.kernels import tier

COMPARISONS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">=": operator.ge,
               ">": operator.gt}
TIERS = ("interpreted", "fused")
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def kept(condition: Any, by: str, **columns: Any) -> list[int]:
    rows = len(next(iter(columns.values())))
    log = wb.from_arrow(pa.table({"n": range(rows), **columns}), time="n")
    with tier(by):  # type: ignore[arg-type]
        return log.where(condition).select("n").collect()["n"].to_pylist()


@pytest.mark.share(4)
@pytest.mark.parametrize(("zone", "day", "unit", "by"), [
    *((zone, day, unit, "interpreted") for zone in (None, "UTC", "America/Havana")
      for day in (date(2024, 3, 10), date(2024, 11, 3), date(2024, 7, 1)) for unit in UNITS),
    (None, date(2024, 7, 1), "us", "fused"), ("America/Havana", date(2024, 11, 3), "ns", "fused")])
def test_a_date_is_its_midnight(day: date, zone: str | None, unit: str, by: str) -> None:
    """Also where clocks change at midnight: its first moment."""
    if zone is None:
        midnight = int(datetime.combine(day, time(), UTC).timestamp())
    else:
        midnight = int(datetime.combine(day, time(), ZoneInfo(zone)).timestamp())
    ticks = [midnight * UNITS[unit] + by_ticks for by_ticks in (-1, 0, 1)]
    at = pa.array([*ticks, None], pa.int64()).cast(pa.timestamp(unit, zone))
    days = pa.array([day] * 4)
    for name, compare in COMPARISONS.items():
        expected = [row for row, tick in enumerate(ticks) if compare(tick, midnight * UNITS[unit])]
        turned = [row for row, tick in enumerate(ticks) if compare(midnight * UNITS[unit], tick)]
        assert kept(compare(col.t, day), by, t=at) == expected, name
        assert kept(compare(wb.lit(day), col.t), by, t=at) == turned, name
        for column in (days, days.cast(pa.date64())):
            assert kept(compare(col.t, col.d), by, t=at, d=column) == expected, name
            assert kept(compare(col.d, col.t), by, t=at, d=column) == turned, name
    assert kept(col.t.between(day, day), by, t=at) == [1]
    assert kept(col.t.between(col.d, col.d), by, t=at, d=days) == [1]
    assert kept(col.t.is_in([day]), by, t=at) == [1]


@pytest.mark.parametrize("by", TIERS)
def test_a_column_of_dates_compares_with_a_time(by: str) -> None:
    days = pa.array([date(2024, 1, 1), date(2024, 1, 2), None, date(2024, 1, 3)])
    noon = datetime(2024, 1, 1, 12)
    assert kept(col.d > noon, by, d=days) == [1, 3]
    assert kept(noon > col.d, by, d=days) == [0]
    assert kept(col.d == datetime(2024, 1, 2), by, d=days) == [1]
    assert kept(col.d.between(noon, datetime(2024, 1, 2, 1)), by, d=days) == [1]
    assert kept(col.d.is_in([noon, datetime(2024, 1, 3)]), by, d=days) == [3]
    assert kept(col.d > np.datetime64("2024-01-02T00:00:00.000000001"), by, d=days) == [3]
    with pytest.raises(ExpressionError, match="need a time without a zone"):
        kept(col.d > datetime(2024, 1, 1, tzinfo=UTC), by, d=days)


@pytest.mark.parametrize("by", TIERS)
def test_a_day_beyond_what_nanoseconds_can_count_is_after_all_of_them(by: str) -> None:
    at = pa.array([0, 2**63 - 2], pa.int64()).cast(pa.timestamp("ns"))
    far, early = pa.array([date(9999, 12, 31)] * 2), pa.array([date(1, 1, 1)] * 2)
    assert kept(col.t < col.d, by, t=at, d=far) == [0, 1]
    assert kept(col.t > col.d, by, t=at, d=early) == [0, 1]
    assert kept(col.t == col.d, by, t=at, d=far) == []


@pytest.mark.parametrize("by", TIERS)
@pytest.mark.parametrize("value", [
    "1970-01-01T00:00:00.0000015", "1970-01-01T00:00:00.000001500", pd.Timestamp(1500), np.datetime64(1500, "ns"),
    np.datetime64(1_500_000, "ps")], ids=repr)
def test_literals_are_exact_to_the_nanosecond(value: Any, by: str) -> None:
    at = pa.array([1499, 1500, 1501, 2000], pa.int64()).cast(pa.timestamp("ns"))
    assert kept(col.t >= value, by, t=at) == [1, 2, 3]
    assert kept(col.t == value, by, t=at) == [1]
    assert kept(col.t.between(value, value), by, t=at) == [1]
    assert kept(col.t.is_in([value]), by, t=at) == [1]
    coarse = pa.array([1, 2], pa.int64()).cast(pa.timestamp("us"))
    assert kept(col.t >= value, by, t=coarse) == [1]
    assert kept(col.t == value, by, t=coarse) == []


@pytest.mark.parametrize("by", TIERS)
def test_zoned_literals_are_exact_to_the_nanosecond(by: str) -> None:
    at = pa.array([1499, 1500], pa.int64()).cast(pa.timestamp("ns", "Asia/Tokyo"))
    for value in (pd.Timestamp(1500, tz="Europe/Berlin"), "1970-01-01T01:00:00.000001500+01:00"):
        assert kept(col.t >= value, by, t=at) == [1]


@pytest.mark.parametrize("by", TIERS)
@pytest.mark.parametrize("value", [pd.Timedelta(1500), np.timedelta64(1500, "ns"), np.timedelta64(1_500_000, "ps")],
                         ids=repr)
def test_durations_are_exact_to_the_nanosecond(value: Any, by: str) -> None:
    at = pa.array([0, 500], pa.int64()).cast(pa.timestamp("ns"))
    assert kept(col.t + value == pd.Timestamp(1500), by, t=at) == [0]
    assert kept(col.t - value == pd.Timestamp(-1000), by, t=at) == [1]
    lasts = pa.array([1499, 1500], pa.int64()).cast(pa.duration("ns"))
    assert kept(col.d >= value, by, d=lasts) == [1]
    assert kept(col.d * 2 == value * 2, by, d=lasts) == [1]


@pytest.mark.parametrize(("unit", "length"), [("W", 604_800), ("D", 86_400), ("h", 3600), ("m", 60), ("s", 1)])
def test_every_unit_of_numpy(unit: Any, length: int) -> None:
    at = pa.array([0, length], pa.int64()).cast(pa.timestamp("s"))
    assert kept(col.t >= np.datetime64(0, "s") + np.timedelta64(1, unit), "interpreted", t=at) == [1]
    assert kept(col.t - np.timedelta64(1, unit) == datetime(1970, 1, 1), "interpreted", t=at) == [1]
    assert wb.lit(np.timedelta64(1, unit)).show() == wb.lit(timedelta(seconds=length)).show()


@pytest.mark.parametrize("value", [np.timedelta64(5), np.timedelta64(1, "M"), np.timedelta64(1, "Y")], ids=repr)
def test_what_has_no_fixed_length_is_refused(value: Any) -> None:
    with pytest.raises(ExpressionError, match="no fixed length"):
        _ = col.t + value


def test_far_times_of_numpy_do_not_wrap() -> None:
    at = pa.array([0], pa.int64()).cast(pa.timestamp("s"))
    assert kept(col.t < np.datetime64(2**61, "s"), "interpreted", t=at) == [0]
    with pytest.raises(ExpressionError, match="outside the range"):
        kept(col.t < np.datetime64(2**61, "s"), "interpreted", t=at.cast(pa.timestamp("us")))


def test_rounded_dates_are_dates_of_whole_days() -> None:
    day = date(2024, 2, 29)
    for type_ in (pa.date32(), pa.date64()):
        log = wb.from_arrow(pa.table({"n": [0, 1], "d": pa.array([day, None], type_)}), time="n")
        found = log.select(d=col.d.dt.floor("1mo"), up=col.d.dt.ceil(timedelta(days=7))).collect()
        assert found["d"].type == type_
        assert found["d"].to_pylist() == [date(2024, 2, 1), None]
        assert found["up"].to_pylist() == [date(2024, 2, 29), None]
    for step in ("1h", "36h", "1ns", timedelta(hours=1)):
        with pytest.raises(ExpressionError, match="of a date needs whole days, got"):
            log.select(d=col.d.dt.floor(step))
    with pytest.raises(ExpressionError, match="a string, a timedelta or an int"):
        log.select(d=col.d.dt.round(3))
    last = wb.from_arrow(pa.table({"n": [0], "d": pa.array([2**31 - 1], pa.int32()).cast(pa.date32())}), time="n")
    with pytest.raises(KernelError, match="outside the range of date32"):
        last.select(d=col.d.dt.ceil("7d")).collect()

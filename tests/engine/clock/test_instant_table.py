"""Every way to write an instant, for every unit of a stream: exact ticks, or an error that says why."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from whimbrel.clock import parse_instant
from whimbrel.errors import PlanError

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 19_723 * 86_400
"""Seconds from the epoch to 2024-01-01."""

LOCAL: list[tuple[Any, Fraction]] = [
    ("2024-01-01", Fraction(DAY)),
    ("2024-01-01T06:30", Fraction(DAY + 23_400)),
    ("20240101T063000", Fraction(DAY + 23_400)),
    ("2024-01-01 00:00:00.5", DAY + Fraction(1, 2)), ("2024-01-01T00:00:00,25", DAY + Fraction(1, 4)),
    ("2024-01-01T00:00:00.0000015", DAY + Fraction(1500, 10**9)),
    ("2024-01-01T00:00:00.123456789", DAY + Fraction(123_456_789, 10**9)),
    (date(2024, 1, 1), Fraction(DAY)), (datetime(2024, 1, 1, 0, 0, 0, 7), DAY + Fraction(7, 10**6)),
    *((np.datetime64("2024-01-01", unit), Fraction(DAY)) for unit in ("Y", "M", "D", "h", "m", "s", "ms", "us", "ns")),
    (np.datetime64("2024-01-04", "W"), Fraction(DAY + 3 * 86_400)),
    (np.datetime64("2024-02"), Fraction(DAY + 31 * 86_400)),
    (np.datetime64(1500, "ns"), Fraction(1500, 10**9)), (np.datetime64(1500, "ps"), Fraction(1500, 10**12)),
    (np.datetime64("1969-12-31T23:59:59.5"), Fraction(-1, 2)), (np.datetime64("1700-03"), Fraction(-8_515_238_400)),
    (pd.Timestamp(1500), Fraction(1500, 10**9)), (pd.Timestamp("2024-01-01").as_unit("s"), Fraction(DAY)),
    (pd.Timestamp("1677-09-22"), Fraction(-9_223_286_400)),
    (pa.scalar(1500, pa.timestamp("ns")), Fraction(1500, 10**9)), (pa.scalar(date(2024, 1, 1)), Fraction(DAY)),
]
AWARE: list[tuple[Any, Fraction]] = [
    ("2024-01-01T00:00:00.000000001+00:00", DAY + Fraction(1, 10**9)), ("2024-01-01T02:00+02:00", Fraction(DAY)),
    ("2024-01-01T00:00:00Z", Fraction(DAY)), ("2023-12-31T19:00:00.5-05:00", DAY + Fraction(1, 2)),
    (datetime(2024, 1, 1, tzinfo=UTC), Fraction(DAY)),
    (datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), Fraction(DAY)),
    (pd.Timestamp(1500, tz="Asia/Tokyo"), Fraction(1500, 10**9)),
    (pa.scalar(1500, pa.timestamp("ns", "Asia/Tokyo")), Fraction(1500, 10**9)),
]


def check(value: Any, seconds: Fraction, unit: Any, zone: str | None) -> None:
    ticks = seconds * UNITS[unit]
    assert parse_instant(value, unit, zone, rounding="up") == ceil(ticks)
    if ticks.denominator == 1:
        assert parse_instant(value, unit, zone) == ticks
    else:
        with pytest.raises(PlanError, match="between two ticks"):
            parse_instant(value, unit, zone)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("value", "seconds"), LOCAL, ids=lambda each: repr(each)[:40])
def test_a_time_without_a_zone_is_on_the_streams_own_clock(value: Any, seconds: Fraction, unit: Any) -> None:
    check(value, seconds, unit, None)
    check(value, seconds, unit, "UTC")
    check(value, seconds - 9 * 3600, unit, "+09:00")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("value", "seconds"), AWARE, ids=lambda each: repr(each)[:40])
def test_a_time_with_a_zone_is_the_same_in_every_zone(value: Any, seconds: Fraction, unit: Any) -> None:
    check(value, seconds, unit, "UTC")
    check(value, seconds, unit, "America/New_York")
    with pytest.raises(PlanError, match="has a time zone"):
        parse_instant(value, unit, None)


@pytest.mark.parametrize("unit", [*UNITS, None])
@pytest.mark.parametrize("value", [5, np.int64(5), np.uint8(5), pa.scalar(5)], ids=repr)
def test_an_integer_is_in_ticks(value: Any, unit: Any) -> None:
    assert parse_instant(value, unit, None) == 5


@pytest.mark.parametrize("value", [*(value for value, _ in (*LOCAL, *AWARE))], ids=lambda each: repr(each)[:40])
def test_a_calendar_has_no_meaning_for_plain_integers(value: Any) -> None:
    with pytest.raises(PlanError, match="are integers"):
        parse_instant(value, None, None)


@pytest.mark.parametrize(("value", "part"), [
    (True, "Cannot read True"), (np.bool_(True), "Cannot read"), (1.5, "Cannot read 1.5"), (None, "Cannot read None"),
    ("soon", "Cannot read 'soon'"), (timedelta(1), "Cannot read"), (np.timedelta64(1, "s"), "Cannot read"),
    (np.datetime64("NaT"), "missing"), (np.datetime64("NaT", "ns"), "missing"), (pd.NaT, "missing"),
    (pa.scalar(None, pa.timestamp("s")), "missing"), (2**63, "outside the range"),
    (np.uint64(2**63), "outside the range"),
], ids=repr)
def test_what_is_no_instant_is_refused_in_our_words(value: Any, part: str) -> None:
    with pytest.raises(PlanError, match=part) as caught:
        parse_instant(value, "us", None, where="seek(...)")
    assert caught.value.hint


def test_beyond_what_a_unit_can_count() -> None:
    assert parse_instant("2300-01-01", "us", None) == 10_413_792_000 * 10**6
    with pytest.raises(PlanError, match="outside the range of ns"):
        parse_instant("2300-01-01", "ns", None)


def test_midnights_that_come_twice_or_never_are_the_first_moment_of_their_day() -> None:
    twice = parse_instant(date(2024, 11, 3), "s", "America/Havana")
    assert datetime.fromtimestamp(twice, UTC) == datetime(2024, 11, 3, 4, tzinfo=UTC)
    never = parse_instant(date(2024, 3, 10), "s", "America/Havana")
    assert datetime.fromtimestamp(never, UTC) == datetime(2024, 3, 10, 5, tzinfo=UTC)


def test_a_local_time_that_comes_twice_is_the_first_one_or_refused() -> None:
    text, zone = "2024-11-03T00:30", "America/Havana"
    assert parse_instant(text, "s", zone, rounding="up") == 1_730_608_200
    assert parse_instant(datetime(2024, 11, 3, 0, 30, fold=1), "s", zone) == 1_730_611_800
    assert parse_instant(f"{text}-05:00", "s", zone) == 1_730_611_800
    for value in (text, datetime(2024, 11, 3, 0, 30), pd.Timestamp(text), np.datetime64(text)):
        with pytest.raises(PlanError, match="is ambiguous") as caught:
            parse_instant(value, "s", zone)
        assert "2024-11-03T00:30:00-04:00 or 2024-11-03T00:30:00-05:00" in caught.value.hint

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.expr.tables import batch, values
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr import col, evaluate, lit

NEW_YORK = ZoneInfo("America/New_York")
NOON = datetime(2013, 7, 4, 12, 34, 56)


def times(*moments, unit="us", zone=None):
    return pa.array(moments, pa.timestamp(unit, zone))


@pytest.mark.parametrize("unit", ("s", "ms", "us", "ns"))
def test_calendar_parts(unit):
    of = batch(t=times(NOON, None, unit=unit))
    parts = {"year": 2013, "month": 7, "day": 4, "hour": 12, "minute": 34, "second": 56, "weekday": 3}
    for part, expected in parts.items():
        assert values(getattr(col.t.dt, part), of) == [expected, None]


def test_calendar_parts_are_of_the_columns_zone():
    of = batch(t=times(datetime(2013, 7, 4, 2, tzinfo=UTC), zone="America/New_York"))
    assert values(col.t.dt.day, of) == [3]
    assert values(col.t.dt.hour, of) == [22]


def test_dates_have_days_but_no_hours():
    of = batch(d=pa.array([date(2013, 7, 4), None]))
    assert values(col.d.dt.year, of) == [2013, None]
    assert values(col.d.dt.weekday, of) == [3, None]
    assert values(col.d > date(2013, 7, 3), of) == values(col.d == "2013-07-04", of) == [True, None]
    with pytest.raises(ExpressionError, match=r"dt.hour takes a time, not date32"):
        evaluate(col.d.dt.hour, of)


def test_floor_to_a_grid():
    before = datetime(1969, 12, 31, 23, 59)
    of = batch(t=times(NOON, before, None))
    assert values(col.t.dt.floor("1h"), of) == [NOON.replace(minute=0, second=0), before.replace(minute=0), None]
    assert values(col.t.dt.floor(timedelta(minutes=10)), of)[0] == NOON.replace(minute=30, second=0)
    with pytest.raises(ExpressionError, match="positive"):
        evaluate(col.t.dt.floor("-1h"), of)
    with pytest.raises(ExpressionError, match="a whole number of ticks"):
        evaluate(col.t.dt.floor("5ms"), batch(t=times(NOON, unit="s")))


def test_ceil_and_round():
    of = batch(t=times(NOON, NOON.replace(hour=23, minute=29, second=59), None))
    assert values(col.t.dt.ceil("1h"), of)[1:] == [(NOON + timedelta(days=1)).replace(hour=0, minute=0, second=0), None]
    assert values(col.t.dt.round("1h"), of)[1].hour == 23
    on_grid = batch(t=times(NOON.replace(minute=0, second=0, microsecond=0)))
    assert values(col.t.dt.ceil("1h"), on_grid) == values(col.t, on_grid) == values(col.t.dt.round("1h"), on_grid)
    half = batch(t=times(NOON.replace(minute=30, second=0, microsecond=0)))
    assert values(col.t.dt.round("1h"), half) == values(col.t.dt.ceil("1h"), half), "half is rounded up"
    ticks = [-10, -9, -4, -3, -1, 0, 3, 4, 10]
    for step in (3, 6, 7):
        near = evaluate(col.t.dt.round(f"{step}s"), batch(t=pa.array(ticks, pa.timestamp("s")))).values.tolist()
        assert near == [(2 * tick + step) // (2 * step) * step for tick in ticks]
    far = batch(t=pa.array([2**63 - 5], pa.timestamp("ns")))
    for expr in (col.t.dt.ceil("1h"), col.t.dt.round("1h")):
        with pytest.raises(KernelError, match="rounded up is outside"):
            evaluate(expr, far)
    with pytest.raises(ExpressionError, match=r"dt\.ceil needs a positive"):
        evaluate(col.t.dt.ceil("-1h"), of)


@given(st.datetimes(datetime(2013, 1, 1), datetime(2014, 1, 1)))
def test_floor_follows_the_clock_on_the_wall(moment):
    local = moment.replace(microsecond=0, tzinfo=UTC).astimezone(NEW_YORK)
    of = batch(t=times(local, unit="s", zone="America/New_York"))
    (day,), (hour,) = values(col.t.dt.floor("1d"), of), values(col.t.dt.floor("1h"), of)
    assert day.replace(tzinfo=None) == local.replace(hour=0, minute=0, second=0, tzinfo=None)
    assert hour.timestamp() == local.timestamp() - local.minute * 60 - local.second


def test_time_arithmetic():
    of = batch(s=times(NOON, None, unit="s"), m=times(NOON, NOON, unit="ms"),
               d=pa.array([1500, None], pa.duration("ms")))
    assert values(col.m - col.s, of) == [timedelta(0), None]
    assert evaluate(col.m - col.s, of).type == pa.duration("ms")
    assert values(col.s + col.d, of) == [NOON + timedelta(milliseconds=1500), None]
    assert values(timedelta(hours=1) + col.s, of) == [NOON + timedelta(hours=1), None]
    assert evaluate(col.s - timedelta(hours=1), of).type == pa.timestamp("s")
    assert values(col.s - NOON + timedelta(seconds=2) > col.d, of) == [True, None]
    assert values(col.d * 2 == timedelta(seconds=3), of) == [True, None]
    assert values(2 * col.d // 2 % timedelta(seconds=1), of) == [timedelta(milliseconds=500), None]
    assert values(col.d / timedelta(seconds=1), of) == [1.5, None]
    assert values(-col.d // timedelta(seconds=1), of) == [-2, None]
    assert values(abs(-col.d) - col.d, of) == [timedelta(0), None]


def test_a_time_that_does_not_fit_is_an_overflow():
    of = batch(t=pa.array([2**62], pa.timestamp("s")))
    with pytest.raises(KernelError, match="integer overflow"):
        evaluate(col.t + timedelta(milliseconds=1), of)
    with pytest.raises(KernelError, match="integer overflow"):
        evaluate(col.t.cast("timestamp[ns]"), of)


@pytest.mark.parametrize("unit", ("s", "ms", "us", "ns"))
def test_times_compare_with_what_people_write(unit):
    naive, aware = batch(t=times(NOON, unit=unit)), batch(t=times(NOON.replace(tzinfo=UTC), unit=unit, zone="UTC"))
    assert values(col.t == NOON, naive) == values(col.t >= "2013-07-04T12:34:56", naive) == [True]
    assert values(col.t < NOON + timedelta(microseconds=1), naive) == [True]
    assert values(col.t == NOON.replace(tzinfo=UTC), aware) == [True]
    assert values(col.t == "2013-07-04T08:34:56-04:00", aware) == [True]
    assert values(col.t.between("2013-07-04T00:00Z", "2013-07-05T00:00Z"), aware) == [True]
    assert values(col.t.is_in([NOON]), naive) == [True]
    assert values(lit(NOON) < col.t, naive) == [False]


@pytest.mark.parametrize(("zone", "literal"), ((None, NOON.replace(tzinfo=UTC)), ("UTC", NOON), ("UTC", "2013-07-04")))
def test_a_zone_on_one_side_only_is_an_error(zone, literal):
    of = batch(t=times(None, zone=zone))
    with pytest.raises(ExpressionError, match="A time with a zone meets one without") as caught:
        evaluate(col.t > literal, of)
    assert "2013-01-31T12:00:00+00:00" in caught.value.hint


def test_text_that_is_no_time_is_an_error():
    with pytest.raises(ExpressionError, match="Cannot read 'noon' as timestamp") as caught:
        evaluate(col.t > "noon", batch(t=times(NOON)))
    assert caught.value.where == "col.t > 'noon'"

"""When days and months begin: against the standard library, DuckDB and Polars, for zones of every kind."""

from __future__ import annotations

from datetime import date, timedelta

import duckdb
import numpy as np
import polars as pl
import pytest

from whimbrel.clock.calendar_grid import CalendarGrid
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.testing.oracle.calendar_windows import midnight

FEW = ("Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe")
"""A usual one; midnights that come twice; a day that was skipped; clocks that change by half an hour."""
MANY = (
    "America/Sao_Paulo", "America/Havana", "America/Asuncion", "America/New_York", "America/Los_Angeles",
    "America/Santiago", "America/Caracas", "America/Mexico_City", "America/Nuuk", "America/Scoresbysund",
    "America/Argentina/San_Luis", "Africa/Cairo", "Africa/Casablanca", "Africa/Monrovia", "Africa/Johannesburg",
    "Antarctica/Troll", "Antarctica/Casey", "Asia/Amman", "Asia/Beirut", "Asia/Damascus", "Asia/Gaza", "Asia/Kathmandu",
    "Asia/Kolkata", "Asia/Pyongyang", "Asia/Tehran", "Asia/Tokyo", "Asia/Shanghai", "Atlantic/Azores", "Europe/Dublin",
    "Europe/Istanbul", "Europe/London", "Europe/Lisbon", "Europe/Moscow", "Pacific/Chatham", "Pacific/Kiritimati",
    "Pacific/Kwajalein",
)
FIRST = date(1970, 1, 2)
DAYS = (date(2040, 1, 1) - FIRST).days


def check(zone: str, days: range) -> None:
    grid = CalendarGrid(CalendarSpan(1, "d"), zone, "s")
    bounds = grid.bounds(days.start + 1, days.stop + 1)[::days.step].tolist()
    assert bounds == [midnight(FIRST + timedelta(days=day), zone) for day in days]


@pytest.mark.parametrize("zone", FEW)
def test_days_begin_when_the_standard_library_says(zone: str) -> None:
    for around in (date(1993, 4, 1), date(2011, 12, 20), date(2039, 3, 20)):
        begin = (around - FIRST).days
        check(zone, range(begin, begin + 30))


@pytest.mark.long
@pytest.mark.parametrize("zone", FEW + MANY)
def test_all_zones_and_every_thirteenth_day_until_2040(zone: str) -> None:
    check(zone, range(len(zone) % 13, DAYS, 13))


@pytest.mark.parametrize("zone", FEW)
@pytest.mark.parametrize("span", ["1w", "1mo", "1q", "1y"])
def test_weeks_and_months_are_those_of_duckdb_and_polars(zone: str, span: str) -> None:
    """Of a midnight that comes twice, DuckDB takes the second one; and where a zone changed its offset, a later one."""
    name = {"1w": "week", "1mo": "month", "1q": "quarter", "1y": "year"}[span]
    noons = np.arange(12 * 3600, 24_700 * 86_400, 5 * 86_400, np.int64)
    grid = CalendarGrid(CalendarSpan.of(span), zone, "s", 4 if span == "1w" else 0)  # type: ignore[arg-type]
    first, bounds = grid.around(int(noons[0]), int(noons[-1]))
    cells = np.searchsorted(bounds, noons, "right") - 1
    local = pl.Series(noons * 1000).cast(pl.Datetime("ms")).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    days = local.dt.replace_time_zone(None).dt.truncate(span).dt.date().to_numpy().astype("datetime64[D]")
    shown = pl.Series(grid.days(first + cells)).cast(pl.Int32).cast(pl.Date).to_numpy().astype("datetime64[D]")
    assert (shown == days).all()
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone='{zone}'")
    frame = local.dt.convert_time_zone("UTC").to_frame("t").to_arrow()
    connection.register("frame", frame)
    theirs = connection.execute(f"SELECT epoch(date_trunc('{name}', t)) AS e FROM frame").fetchnumpy()["e"]
    differ = set((theirs.astype(np.int64) - bounds[cells]).tolist())
    assert differ <= {"America/St_Johns": {0, 3_600}, "Australia/Lord_Howe": {0, 1_800}}.get(zone, {0})


def test_a_skipped_day_is_an_empty_cell() -> None:
    days = CalendarGrid(CalendarSpan(1, "d"), "Pacific/Apia", "s")
    number = (date(2011, 12, 30) - date(1970, 1, 1)).days
    before, skipped, after = days.bounds(number - 1, number + 2).tolist()
    assert (skipped - before, after - skipped) == (86_400, 0)
    assert days.number(after) == number + 1


@pytest.mark.parametrize(("zone", "day", "hours"), [
    ("Europe/Berlin", date(2024, 3, 31), 23), ("Europe/Berlin", date(2024, 10, 27), 25),
    ("America/Sao_Paulo", date(2018, 11, 4), 23), ("Australia/Lord_Howe", date(2024, 10, 6), 23.5)])
def test_days_last_as_long_as_clocks_say(zone: str, day: date, hours: float) -> None:
    number = (day - date(1970, 1, 1)).days
    begin, end = CalendarGrid(CalendarSpan(1, "d"), zone, "ns").bounds(number, number + 2).tolist()
    assert end - begin == hours * 3600 * 10**9


def test_beyond_the_calendar_cells_end() -> None:
    grid = CalendarGrid(CalendarSpan(1, "mo"), "Europe/Berlin", "ns")
    assert grid.number(-(2**63) + 1) <= grid.number(0) <= grid.number(2**63 - 2)
    assert (np.diff(grid.bounds(-5_000, 5_000)) >= 0).all()

"""Clocks of zones after 2037, where the rules of Arrow's clock end, against the standard library."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from tests.engine.expr.tables import batch, values
from whimbrel import col


@pytest.mark.parametrize("zone", ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago"))
def test_clocks_and_days_are_those_of_the_standard_library(zone: str) -> None:
    draw, clock = random.Random(2), ZoneInfo(zone)
    times = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=draw.randrange(365 * 86_400))
             for year in (1950, 2020, 2037, 2038, 2050, 2200) for _ in range(40)]
    shown = [time.astimezone(clock).replace(tzinfo=None) for time in times]
    of = batch(t=pa.array(times, pa.timestamp("us", "UTC")), z=pa.array(times, pa.timestamp("us", zone)),
               w=pa.array(shown, pa.timestamp("us")))
    assert values(col.t.dt.at_time_zone(zone), of) == shown
    for time, found in zip(times, values(col.w.dt.at_time_zone(zone), of), strict=True):
        assert found.astimezone(UTC) - time in (timedelta(0), timedelta(minutes=30), timedelta(hours=1))  # later of two
    assert values(col.z.dt.floor("1d").dt.at_time_zone(zone), of) == [
        wall.replace(hour=0, minute=0, second=0, microsecond=0) for wall in shown]

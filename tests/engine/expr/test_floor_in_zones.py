"""dt.floor around changes of clocks: a day is one day, however long it is; hours that share a name are two."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby, pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col

CHANGES = {
    "America/Havana": (1_730_610_000, 1_710_046_800),  # midnight comes twice; midnight is skipped
    "Europe/Berlin": (1_729_990_800, 1_711_846_800),
    "Australia/Lord_Howe": (1_712_415_600, 1_728_142_200),  # by half an hour
    "Atlantic/Azores": (1_729_990_800, 1_711_846_800),
    "America/Asuncion": (1_711_249_200, 1_696_132_800),  # back from midnight to 23:00; forth from midnight
    "Asia/Beirut": (1_729_976_400, 1_711_836_000),
    "Pacific/Apia": (1_325_239_200, 1_617_458_400),  # a day is skipped
}
CASES = [(zone, change) for zone, changes in CHANGES.items() for change in changes]


def floored(times: np.ndarray, zone: str, step: str, function: str = "floor") -> list[datetime]:
    at = pa.array(times).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("s", zone))
    log = wb.from_arrow(pa.table({"t": at}), time="t").select(f=getattr(col.t.dt, function)(step))
    return [each.astimezone(UTC) for each in log.collect()["f"].to_pylist()]


@pytest.mark.parametrize(("zone", "change"), CASES)
def test_a_local_day_is_one_day(zone: str, change: int) -> None:
    times = np.arange(change - 40 * 3600, change + 40 * 3600, 900)
    found = floored(times, zone, "1d")
    moments = [datetime.fromtimestamp(int(time), UTC) for time in times]
    for _, rows in groupby(zip(moments, found, strict=True), lambda pair: pair[0].astimezone(ZoneInfo(zone)).date()):
        part = list(rows)
        assert len({floor for _, floor in part}) == 1
        # Its first moment, but of the day that is cut.
        assert part[0][1] == part[0][0] or part[0][0] == moments[0]


@pytest.mark.parametrize(("zone", "change"), CASES)
@pytest.mark.parametrize("step", ["1w", "1d", "12h", "6h", "2h", "1h", "30m", "15m"])
def test_floors_never_go_back(zone: str, change: int, step: str) -> None:
    times = np.arange(change - 30 * 3600, change + 30 * 3600, 450)
    found = floored(times, zone, step)
    assert all(one <= other for one, other in pairwise(found))
    again = np.array([int(floor.timestamp()) for floor in found])
    assert (again <= times).all()
    assert floored(again, zone, step) == found, "a floor is its own floor"


@pytest.mark.share(4)
@pytest.mark.parametrize(("zone", "change"), CASES)
@pytest.mark.parametrize("step", ["1mo", "1w", "1d", "6h", "1h", "15m"])
def test_ceil_and_round_are_the_next_floor_and_the_nearest(zone: str, change: int, step: str) -> None:
    times = np.arange(change - 30 * 3600, change + 30 * 3600, 450)
    wide = np.arange(change - 35 * 86_400, change + 65 * 86_400, 450)
    points = np.unique([int(floor.timestamp()) for floor in floored(wide, zone, step)])
    low, high = points[np.searchsorted(points, times, "right") - 1], points[np.searchsorted(points, times, "left")]
    expected = {"ceil": high, "round": np.where(times - low < high - times, low, high)}
    for name, seconds in expected.items():
        found = floored(times, zone, step, name)
        assert [int(each.timestamp()) for each in found] == seconds.tolist(), name


@pytest.mark.parametrize(("step", "starts"), [
    ("1h", ["2024-11-03T00:00:00-04:00", "2024-11-03T00:00:00-05:00", "2024-11-03T01:00:00-05:00"]),
    ("2h", ["2024-11-03T00:00:00-04:00"]), ("1d", ["2024-11-03T00:00:00-04:00"]),
])
def test_the_hour_after_midnight_that_comes_twice(step: str, starts: list[str]) -> None:
    times = np.arange(1_730_606_400, 1_730_606_400 + 3 * 3600, 600)
    found = [each.astimezone(ZoneInfo("America/Havana")).isoformat() for each in floored(times, "America/Havana", step)]
    assert list(dict.fromkeys(found)) == starts


def test_nulls_and_single_rows() -> None:
    at = pa.array([1_730_610_000, None, 0]).cast(pa.timestamp("s", "America/Havana"))
    log = wb.from_arrow(pa.table({"t": [1, 2, 3], "at": at}), time="t").select(f=col.at.dt.floor("1d"))
    assert [each and each.isoformat() for each in log.collect()["f"].to_pylist()] == [
        "2024-11-03T00:00:00-04:00", None, "1969-12-31T00:00:00-05:00"]

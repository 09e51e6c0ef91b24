"""Sliding windows of months: by the clock of the zone, whatever order rows come in."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.laws.test_laws import INPUTS
from whimbrel import col
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.operators import CalendarSlidingWindow
from whimbrel.testing import Query, check_operator, laws

BERLIN = ZoneInfo("Europe/Berlin")


def stream(times: list[datetime]) -> wb.Stream:
    return wb.from_arrow(pa.table({"at": pa.array(times, pa.timestamp("us", "Europe/Berlin"))}), time="at")


@pytest.mark.parametrize(("start", "size", "end"), [
    (datetime(2024, 1, 31, 12), "1mo", datetime(2024, 2, 29, 12)),
    (datetime(2024, 2, 29, 12), "1y", datetime(2025, 2, 28, 12)),
    (datetime(2024, 2, 29, 2, 30), "1mo", datetime(2024, 3, 29, 2, 30)),
    (datetime(2024, 2, 28, 2, 30), "1q", datetime(2024, 5, 28, 2, 30)),
    (datetime(2039, 6, 30, 23), "1q", datetime(2039, 9, 30, 23)),
    (datetime(2039, 2, 27, 2, 30), "1mo", datetime(2039, 3, 27, 3)),  # a time that the clock skips
    (datetime(2024, 9, 27, 2, 30), "1mo", datetime(2024, 10, 27, 2, 30)),  # and one that comes twice
])
def test_the_same_time_of_a_later_month(start: datetime, size: str, end: datetime) -> None:
    row, = stream([start.replace(tzinfo=BERLIN)]).sliding_window(size).collect().to_pylist()
    assert row["end"].timestamp() == end.replace(tzinfo=BERLIN).timestamp()


def test_random_times_end_when_the_standard_library_says() -> None:
    chance = random.Random(1)
    starts = [datetime(2000, 1, 1, tzinfo=BERLIN) + timedelta(hours=chance.randrange(400_000)) for _ in range(300)]
    starts = [start for start in starts if start.day < 28 and start.hour > 4]
    for row in stream(sorted(starts)).sliding_window("1mo").collect().to_pylist():
        begin, end = row["start"].astimezone(BERLIN), row["end"].astimezone(BERLIN)
        assert (end.day, end.hour, end.minute) == (begin.day, begin.hour, begin.minute)
        assert (end.year * 12 + end.month) - (begin.year * 12 + begin.month) == 1


@pytest.mark.parametrize("law", [laws.batches_change_nothing, laws.disorder_changes_nothing, laws.restored_runs_resume,
                                 laws.latencies_are_answered_together, laws.lineage_reproduces_a_row,
                                 laws.docstrings_are_complete, laws.properties_hold],
                         ids=lambda law: law.__name__)
def test_law(law: laws.Law) -> None:
    window = CalendarSlidingWindow(size=CalendarSpan(1, "mo"), zone="Europe/Berlin", unit="s")
    query = Query((".group_by('key').aggregate(n=wb.count(), s=wb.sum(col.x))",))
    check_operator(lambda s: query.build(s.retime(wb.start_time() * 300_000)._unary(lambda _: window)), INPUTS[1],
                   laws=[law])


def test_months_need_times_within_the_calendar() -> None:
    late = wb.from_arrow(pa.table({"at": pa.array([2**40], pa.timestamp("s"))}), time="at")
    with pytest.raises(wb.WhimbrelError, match="years 1 to 9999"):
        late.sliding_window("1mo").aggregate(n=wb.count(col.at)).collect()

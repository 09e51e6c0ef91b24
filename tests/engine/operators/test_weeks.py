"""Grids that are said in weeks begin on Mondays, in every operator that has a grid; those of seven days do not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError

FIRST = datetime(2024, 4, 25, 12)
"""A Thursday."""

DAYS = [FIRST + timedelta(days=day) for day in range(30)]


def log(times: list[datetime] = DAYS, unit: str = "us") -> wb.Stream:
    return wb.from_arrow(pa.table({"t": pa.array(times, pa.timestamp(unit)), "x": range(len(times))}), time="t",
                         name="log")


def monday(time: datetime) -> datetime:
    return datetime.combine(time.date() - timedelta(days=time.weekday()), datetime.min.time())


def starts(query: wb.Stream) -> list[datetime]:
    return query.aggregate(n=wb.count()).collect()["start"].to_pylist()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("week", ["1w", " 1 w ", np.timedelta64(1, "W")])
def test_tumbling_weeks_begin_on_mondays(week: Any, unit: str) -> None:
    assert starts(log(unit=unit).tumbling_window(week)) == sorted(set(map(monday, DAYS)))


@pytest.mark.parametrize("days", ["7d", "168h", timedelta(weeks=1), pd.Timedelta("7D"), np.timedelta64(7, "D")])
def test_seven_days_are_a_plain_duration(days: Any) -> None:
    assert all(start.weekday() == 3 for start in starts(log().tumbling_window(days)))


WEEKLY: list[Callable[[wb.Stream], wb.Stream]] = [
    lambda log: log.hopping_window("2w", "1w"), lambda log: log.hopping_window("10d", "1w"),
    lambda log: log.tumbling_window("2w"), lambda log: log.tumbling_window("1w", label="end"),
    lambda log: log.quantize("2w", "1w"), lambda log: log.progressive_window("1w", "1w", "1w"),
]


@pytest.mark.parametrize("window", WEEKLY)
def test_all_windows_agree(window: Callable[[wb.Stream], wb.Stream]) -> None:
    assert all(start == monday(start) for start in starts(window(log())))


@pytest.mark.parametrize("timezone", [None, "Asia/Kathmandu"])
@pytest.mark.parametrize(("week_start", "day"), [("monday", 0), ("sunday", 6), ("thursday", 3)])
def test_an_offset_is_from_the_start_of_the_week(week_start: str, day: int, timezone: str | None) -> None:
    def at(offset: Any) -> set[tuple[int, int]]:
        windows = log().tumbling_window("1w", week_start=week_start, offset=offset, timezone=timezone)
        early = timedelta(hours=5, minutes=45) if timezone else timedelta(0)
        return {((start + early).weekday(), (start + early).hour) for start in starts(windows)}

    assert at(None) == at("0h") == {(day, 0)}
    assert at("6h") == {(day, 6)}
    assert at("3d") == {((day + 3) % 7, 0)}


@pytest.mark.parametrize("shifted", [
    lambda log: log.hopping_window("2w", "1w", offset="1d"), lambda log: log.quantize("1w", "1w", offset="1d"),
])
def test_an_offset_is_from_a_monday_in_each_grid(shifted: Callable[[wb.Stream], wb.Stream]) -> None:
    assert {start.weekday() for start in starts(shifted(log()))} == {1}
    cuts = log(DAYS[:1]).set_duration("20d").chop("1w", offset="1d").collect()["start"].to_pylist()
    assert {start.weekday() for start in cuts[1:]} == {1}


def test_days_within_weeks_are_days() -> None:
    assert starts(log().hopping_window("1w", "1d"))[:2] == [datetime(2024, 4, 25), datetime(2024, 4, 26)]


def test_gaps_are_filled_and_latencies_merged_on_the_same_grid() -> None:
    sparse = log([DAYS[0], DAYS[-1]]).tumbling_window("1w").aggregate(n=wb.count(), fill=True).collect()
    assert sparse["start"].to_pylist() == [monday(DAYS[0]) + timedelta(weeks=week) for week in range(5)]
    late = wb.from_arrow(pa.table({"t": DAYS}), time="t", reorder_latency="1d")
    for band in late.tumbling_window("1w").aggregate(n=wb.count()).at_latencies("0s", "1d"):
        assert band.collect()["start"].to_pylist() == sorted(set(map(monday, DAYS)))


def test_chop_cuts_at_mondays() -> None:
    whole = log(DAYS[:1]).set_duration("20d").chop("1w").collect()["start"].to_pylist()
    assert [start == monday(start) for start in whole] == [False, True, True, True]


def test_floor_agrees_with_windows() -> None:
    floors = log().select(w=col.t.dt.floor("1w"), d=col.t.dt.floor("7d")).collect()
    assert floors["w"].to_pylist() == list(map(monday, DAYS))
    assert all(day.weekday() == 3 for day in floors["d"].to_pylist())
    by_key = log().group_by(w=col.t.dt.floor("1w")).tumbling_window("1000d").aggregate(n=wb.count()).collect()
    windows = log().tumbling_window("1w").aggregate(n=wb.count()).collect()
    assert by_key.sort_by("w")["n"].to_pylist() == windows["n"].to_pylist()


def test_the_first_and_the_last_year_are_whole() -> None:
    year = timedelta(days=365) // timedelta(microseconds=1)
    for month, day in ((1, 1), (3, 10), (12, 31)):
        for when in (datetime(1, month, day), datetime(9999, month, day, 23)):
            windows = log([when]).tumbling_window("1y").aggregate(n=wb.count()).collect()
            assert windows["start"].to_pylist() == [datetime(when.year, 1, 1)]
            assert pc.subtract(windows["end"], windows["start"]).cast(pa.int64()).to_pylist() == [year]
            zone = "America/New_York" if when.year == 1 else "Europe/Berlin"
            floors = log([when]).select(
                mo=col.t.dt.floor("1mo"), q=col.t.dt.floor("1q"), y=col.t.dt.floor("1y"),
                there=col.t.dt.at_time_zone(zone).dt.floor("1y").dt.month).collect()
            assert floors["mo"].to_pylist() == [datetime(when.year, month, 1)]
            assert floors["q"].to_pylist() == [datetime(when.year, (month - 1) // 3 * 3 + 1, 1)]
            assert floors["y"].to_pylist() == [datetime(when.year, 1, 1)]
            assert floors["there"].to_pylist() == [1]


@pytest.mark.parametrize("step", ["1w", "1mo", "1y"])
def test_no_time_is_rounded_to_the_year_10000(step: str) -> None:
    for rounded in (col.t.dt.ceil(step), col.t.dt.round(step), col.t.cast(pa.date32()).dt.ceil(step)):
        with pytest.raises(wb.WhimbrelError, match="must stay within years 1 to 9999"):
            log([datetime(9999, 12, 31, 23)]).select(r=rounded).collect()


def test_a_window_that_the_calendar_or_unit_cuts_is_refused_and_a_weekday_has_its_plural() -> None:
    late = log([datetime(9999, 12, 1)])
    for query in (log([datetime(1, 5, 1)]).tumbling_window("2y"), log([datetime(9999, 5, 1)]).tumbling_window("7y"),
                  late.hopping_window("1q", "1mo"), late.hopping_window("1y", "1d"), late.hopping_window("2mo", "1mo"),
                  log([datetime(2262, 2, 1)], "ns").tumbling_window("1y")):
        with pytest.raises(wb.WhimbrelError, match="must stay within years 1 to 9999") as error:
            query.aggregate(n=wb.count()).collect()
        assert "_window(" in error.value.where
    with pytest.raises(PlanError) as error:
        log().tumbling_window("1w", week_start="mon")
    assert "weekdays are" in error.value.hint


def test_before_the_epoch() -> None:
    early = [datetime(1969, 12, day, 5) for day in range(20, 31)]
    assert starts(log(early).tumbling_window("1w")) == sorted(set(map(monday, early)))
    assert log(early).select(w=col.t.dt.floor("1w")).collect()["w"].to_pylist() == list(map(monday, early))


@pytest.mark.parametrize(("query", "text"), [
    (lambda log: log.tumbling_window("1w"), "tumbling_window('1w')"),
    (lambda log: log.tumbling_window("7d"), "tumbling_window('7d')"),
    (lambda log: log.tumbling_window("1w", offset="1d"), "tumbling_window('7d', offset='5d')"),
    (lambda log: log.tumbling_window("1h", offset="5m"), "tumbling_window('1h', offset='5m')"),
    (lambda log: log.hopping_window("14d", "1w"), "hopping_window('2w', '1w')"),
    (lambda log: log.chop("1w"), "chop('1w')"), (lambda log: log.chop("7d"), "chop('7d')"),
    (lambda log: log.quantize("1w", "1w"), "quantize('1w', '1w')"),
])
def test_the_plan_says_which_grid_it_is(query: Callable[[wb.Stream], wb.Stream], text: str) -> None:
    shown = query(log()).node.op.show()
    assert shown == text
    again = eval(f"log.{shown}", {"log": log()})  # what is shown can be written
    assert again.node.op.show() == text
    assert again.node.op.offset == query(log()).node.op.offset


def test_a_week_is_none_where_time_counts_plain_integers() -> None:
    with pytest.raises(wb.WhimbrelError, match="has integer times"):
        wb.from_arrow({"t": [1]}, time="t").tumbling_window("1w")


@pytest.mark.parametrize(("emit", "counted"), [("change", False), ("close", False), ("close", True)])
@pytest.mark.parametrize(("unit", "per_second"), [("s", 1), ("us", 10**6)])
def test_sessions_that_are_cut_by_weeks_are_cut_on_mondays(unit: str, per_second: int, emit: Any,
                                                            counted: bool) -> None:
    """As they are cut by seven days where the same events come four days earlier."""
    day = 86_400 * per_second
    chance = np.random.default_rng(5)
    at = np.sort(chance.choice(np.arange(-40, 120) * (day // 2), 60, replace=False))

    def sessions(times: np.ndarray, longest: str) -> pa.Table:
        rows = pa.table({"at": pa.array(times).cast(pa.timestamp(unit)), "k": pa.array(range(60)).cast(pa.int64())})
        cut = wb.from_arrow(rows, time="at").session_window("3d", longest, emit=emit)
        found = (cut.aggregate(n=wb.count()) if counted else cut.select("k")).collect()
        return found.set_column(0, "start", found["start"].cast(pa.int64())).set_column(
            1, "end", found["end"].cast(pa.int64()))

    weeks, days = sessions(at, "1w").to_pylist(), sessions(at - 4 * day, "7d").to_pylist()
    assert weeks == [{**row, "start": row["start"] + 4 * day, "end": row["end"] + 4 * day} for row in days]
    assert any(row["end"] % (7 * day) == 4 * day for row in weeks)
    assert sessions(at, "7d").to_pylist() != weeks


def test_a_session_says_by_which_weeks_it_is_cut() -> None:
    for longest in ("1w", "7d"):
        assert f"session_window('3d', max_duration='{longest}')" in log().session_window("3d", longest).explain()


@pytest.mark.parametrize("step", ["1w", np.timedelta64(1, "W")])
def test_weeks_of_integer_times_are_refused_in_the_words_of_the_user(step: Any) -> None:
    """The error named the offset of a Monday, which nobody had written."""
    with pytest.raises(wb.WhimbrelError, match=r"got '1 ?w"):
        wb.from_arrow({"t": [0, 5]}, time="t").tumbling_window(step)


@pytest.mark.parametrize(("build", "what", "hint"), [
    (lambda log: log.tumbling_window("1h", timezone="Asia/Kathmandu"), "follow no clock", "offset="),
    (lambda log: log.hopping_window("1d", "1h", timezone="Asia/Kathmandu"), "follow no clock", "offset="),
    (lambda log: log.sliding_window("7d", timezone="Asia/Kathmandu"), "follow no clock", "Leave timezone="),
    (lambda log: log.tumbling_window(wb.WHOLE, timezone="Asia/Kathmandu"), "timezone='Asia/Kathmandu' does not", "out"),
    (lambda log: log.tumbling_window("7d", week_start="sunday"), "a size in weeks, got '7d'", '"1w"'),
    (lambda log: log.hopping_window("2w", "1d", week_start="sunday"), "a hop in weeks, got '1d'", '"1w"'),
    (lambda log: log.tumbling_window("1y", offset="3mo"), "offset must have a fixed length, got", 'offset="6h"'),
])
def test_a_zone_weekday_or_offset_that_does_not_apply_is_refused(build: Callable[[wb.Stream], object], what: str,
                                                            hint: str) -> None:
    with pytest.raises(PlanError, match=what) as error:
        build(log())
    assert hint in error.value.hint

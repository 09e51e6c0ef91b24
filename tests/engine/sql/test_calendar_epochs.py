"""Epochs of the calendar: GROUP BY date_trunc of days to years, in the zone of the stream."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col

TIMES = [1_704_060_000, 1_706_739_000, 1_706_745_000, 1_719_000_000]
"""In Berlin: 31 December 23:00, 31 January 23:10, 1 February 00:50, 21 June 2024."""


def bids(zone: str | None) -> wb.Stream:
    return wb.from_arrow(pa.table({"ts": pa.array(TIMES, pa.timestamp("s", zone)), "x": [1, 2, 4, 8]}), time="ts",
                         name="bids")


@pytest.mark.parametrize(("unit", "span"), [("day", "1d"), ("week", "1w"), ("month", "1mo"), ("quarter", "1q"),
                                            ("year", "1y")])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_date_trunc_is_a_window_of_the_calendar(zone: str | None, unit: str, span: str) -> None:
    text = f"SELECT date_trunc('{unit}', ts) AS d, count(*) AS n FROM bids GROUP BY date_trunc('{unit}', ts)"
    query = wb.sql(text, bids=bids(zone))
    window = bids(zone).tumbling_window(span).aggregate(d=wb.window_start(), n=wb.count())
    assert query.collect().equals(window.collect())
    assert ("TUMBLE" if zone is None and unit == "week" else f"date_trunc('{unit}', ts)") in query.sql()
    floors = bids(zone).select(d=col.ts.dt.floor(span), n=wb.lit(1)).collect()["d"]
    assert set(floors.to_pylist()) == set(query.collect()["d"].to_pylist())


@pytest.mark.parametrize(("interval", "span"), [("'1' WEEK", "1w"), ("'2 weeks'", "2w"), ("'3' MONTH", "3mo"),
                                                ("'1 quarter'", "1q"), ("'2' YEAR", "2y")])
def test_time_bucket_begins_where_the_windows_of_python_do(interval: str, span: str) -> None:
    """Its weeks began on Thursdays, and months were refused."""
    query = wb.sql(f"SELECT time_bucket(INTERVAL {interval}, ts) AS d, count(*) AS n FROM bids GROUP BY d",
                   bids=bids(None))
    window = bids(None).tumbling_window(span).aggregate(d=wb.window_start(), n=wb.count())
    assert query.collect().equals(window.collect())
    floors = wb.sql(f"SELECT time_bucket(INTERVAL {interval}, ts) AS d FROM bids", bids=bids(None))
    assert floors.explain() == bids(None).select(d=col.ts.dt.floor(span)).explain()
    assert wb.sql(floors.sql(), bids=bids(None)).explain() == floors.explain()


@pytest.mark.parametrize("frame", ["RANGE BETWEEN INTERVAL '1' HOUR preceding AND CURRENT ROW", "rows 1 preceding"])
def test_frames_in_small_letters(frame: str) -> None:
    small, large = (f"SELECT sum(x) OVER (ORDER BY ts {each}) AS s FROM bids" for each in (frame, frame.upper()))
    assert wb.sql(small, bids=bids(None)).explain() == wb.sql(large, bids=bids(None)).explain()


@pytest.mark.parametrize(("count", "unit", "span"), [(1, "DAY", "1d"), (2, "DAY", "2d"), (1, "WEEK", "1w"),
                                                     (2, "WEEK", "2w"), (1, "MONTH", "1mo"), (1, "YEAR", "1y")])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_tumble_is_the_window_of_python(zone: str | None, count: int, unit: str, span: str) -> None:
    """Days began at midnight UTC in every zone, and weeks on Thursdays."""
    query = wb.sql(f"""SELECT window_start, window_end, count(*) AS n FROM TUMBLE(bids, ts, INTERVAL '{count}' {unit})
                       GROUP BY window_start, window_end""", bids=bids(zone))
    window = bids(zone).tumbling_window(span).aggregate(n=wb.count()).collect()
    found = query.collect()
    assert found.select(["start", "end", "n"]).equals(window)
    assert found["window_start"].equals(window["start"])
    assert wb.sql(query.sql(), bids=bids(zone)).explain() == query.explain()


@pytest.mark.parametrize(("slide", "size"), [(("1", "DAY"), ("3", "DAY")), (("1", "WEEK"), ("2", "WEEK")),
                                             (("1", "DAY"), ("1", "MONTH")), (("1", "MONTH"), ("1", "YEAR"))])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_hop_is_the_window_of_python(zone: str | None, slide: tuple[str, str], size: tuple[str, str]) -> None:
    """Days began at midnight UTC in every zone, and weeks on Thursdays."""
    spans = {"DAY": "d", "WEEK": "w", "MONTH": "mo", "YEAR": "y"}
    hop = f"HOP(bids, ts, INTERVAL '{slide[0]}' {slide[1]}, INTERVAL '{size[0]}' {size[1]})"
    query = wb.sql(f"SELECT window_start, window_end, count(*) AS n FROM {hop} GROUP BY window_start, window_end",
                   bids=bids(zone))
    window = bids(zone).hopping_window(size[0] + spans[size[1]], slide[0] + spans[slide[1]])
    assert query.explain() == window.aggregate(emit="close", window_start=wb.window_start(), window_end=wb.window_end(),
                                               n=wb.count()).explain()
    assert query.collect().num_rows
    assert wb.sql(query.sql(), bids=bids(zone)).explain() == query.explain()


def test_slide_by_months_is_the_window_of_python() -> None:
    query = wb.sql("SELECT count(*) AS n FROM SLIDE(bids, INTERVAL '1' MONTH)", bids=bids("Europe/Berlin"))
    assert query.explain() == bids("Europe/Berlin").sliding_window("1mo").aggregate(n=wb.count()).explain()
    assert wb.sql(query.sql(), bids=bids("Europe/Berlin")).explain() == query.explain()


def test_days_of_cumulate_need_a_zone_without_changes_of_clocks() -> None:
    """Days began at midnight UTC in every zone, and weeks on Thursdays."""
    text = "SELECT window_start, window_end, x FROM CUMULATE(bids, ts, INTERVAL '{}' HOUR, INTERVAL '1' {})"
    with pytest.raises(wb.SqlError, match="CUMULATE by days needs times in UTC"):
        wb.sql(text.format(1, "DAY"), bids=bids("Europe/Berlin"))
    weeks = wb.sql(text.format(24, "WEEK"), bids=bids("UTC")).collect()
    assert {time.weekday() for time in weeks["window_start"].to_pylist()} == {0}


@pytest.mark.parametrize(("zone", "months"), [(None, [(2023, 12), (2024, 1), (2024, 6)]),
                                              ("Europe/Berlin", [(2023, 12), (2024, 1), (2024, 2), (2024, 6)])])
def test_months_and_years_of_one_query(zone: str | None, months: list[tuple[int, int]]) -> None:
    """The year was the start of the month."""
    text = "SELECT date_trunc('month', ts) AS m, date_trunc('year', ts) AS y, sum(x) AS n FROM bids GROUP BY 1, 2"
    rows = wb.sql(text, bids=bids(zone)).collect().to_pylist()
    assert [row["m"].date() for row in rows] == [date(year, month, 1) for year, month in months]
    assert [row["y"].date() for row in rows] == [date(year, 1, 1) for year, _ in months]


def test_hours_of_local_clocks() -> None:
    """Clocks go back at 3 o'clock: the hour from 2 comes twice, and stays two."""
    times = pa.array([1_729_987_000 + 900 * number for number in range(12)], pa.timestamp("s", "Europe/Berlin"))
    stream = wb.from_arrow({"ts": times}, time="ts", name="bids")
    query = wb.sql("SELECT h, count(*) AS n FROM bids GROUP BY date_trunc('hour', ts) AS h", bids=stream)
    assert query.explain() == stream.retime(wb.start_time().dt.floor("1h")).group_by(h=col.ts.dt.floor("1h")).aggregate(
        n=wb.count()).explain()
    found = query.collect()
    assert found["h"].cast(pa.int64()).to_pylist() == [1_729_987_200 - 3_600 + 3_600 * hour for hour in range(4)]
    assert found["n"].to_pylist() == [1, 4, 4, 3]


def test_weeks_do_not_divide_months() -> None:
    text = "SELECT date_trunc('week', ts) AS w, date_trunc('month', ts) AS m, count(*) AS n FROM bids GROUP BY 1, 2"
    with pytest.raises(wb.WhimbrelError, match="multiple of the other"):
        wb.sql(text, bids=bids(None))


def test_floors_of_nulls_and_times_beyond_the_calendar() -> None:
    other = pa.array([None, -1, 0, 2**40], pa.timestamp("s"))
    stream = wb.from_arrow(pa.table({"ts": pa.array(TIMES, pa.timestamp("s")), "o": other}), time="ts")
    found = stream.where(col.o < wb.lit(2_000_000_000).cast(pa.timestamp("s"))).select(m=col.o.dt.floor("1q")).collect()
    assert [str(time) for time in found["m"].to_pylist()] == ["1969-10-01 00:00:00", "1970-01-01 00:00:00"]
    assert stream.select(m=col.o.is_null()).collect()["m"].to_pylist()[0]
    with pytest.raises(wb.WhimbrelError, match="years 1 to 9999"):
        stream.select(m=col.o.dt.floor("1mo")).collect()

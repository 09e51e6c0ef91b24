"""Functions of times of the table, each against the standard library, NumPy or Polars, in zones and without one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import whimbrel as wb
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import ExpressionError, WhimbrelError
from whimbrel.expr import Call, evaluate
from whimbrel.expr.functions_of_times import DIRECTIVES
from whimbrel.expr.parts_of_times import DAY_PARTS
from whimbrel.expr.time_texts import time_texts
from whimbrel.kernels import tier

ZONES = (None, "UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia")
CHANGES = [datetime(2024, 3, 31, 0, 59, 59, 999999), datetime(2024, 3, 31, 1), datetime(2024, 10, 27, 0, 30),
           datetime(2024, 10, 27, 1, 30), datetime(2011, 12, 30, 9, 59), datetime(2011, 12, 30, 10),
           datetime(1969, 12, 31, 23, 59, 59, 1), datetime(2000, 2, 29), datetime(1900, 1, 1),
           datetime(2040, 7, 1, 12), datetime(2040, 10, 28, 0, 30)]
NEW_YEAR = date(2024, 1, 1)
FORM = "%Y-%m-%d %H:%M:%S.%f|%a %A %b %B %j %y %I %p|%U %W %G %V %u %w|%%f"
ZONED = f"{FORM} %z %Z"
PYTHON = {
    "nanosecond": (lambda t: t.dt.nanosecond, lambda t: t.microsecond * 1000),
    "time": (lambda t: t.dt.time, lambda t: t.time()),
    "year": (lambda t: t.dt.year, lambda t: t.year), "hour": (lambda t: t.dt.hour, lambda t: t.hour),
    "week": (lambda t: t.dt.week, lambda t: t.isocalendar().week),
    "quarter": (lambda t: t.dt.quarter, lambda t: (t.month + 2) // 3),
    "day_of_year": (lambda t: t.dt.day_of_year, lambda t: t.timetuple().tm_yday),
    "epoch": (lambda t: t.dt.epoch("s"), lambda t: (t.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // SECOND),
    "epoch ns": (lambda t: t.dt.epoch("ns"), lambda t: (t - datetime(1970, 1, 1, tzinfo=UTC)) // MICRO * 1000),
    "strftime": (lambda t: t.dt.strftime(FORM), lambda t: t.strftime(FORM)),
    "days_between": (lambda t: t.dt.days_between(NEW_YEAR), lambda t: (NEW_YEAR - t.date()).days),
    "months": (lambda t: t.dt.date_diff(NEW_YEAR, "month"), lambda t: (2024 - t.year) * 12 + 1 - t.month),
    "weeks": (lambda t: t.dt.date_diff(NEW_YEAR, "week"), lambda t: (NEW_YEAR - monday(t)).days // 7),
    "business_days": (lambda t: t.dt.business_days(NEW_YEAR, holidays=[date(2023, 12, 25)]), lambda t: int(
        np.busday_count(t.date(), NEW_YEAR, holidays=[date(2023, 12, 25)]))),
    "naive": (lambda t: t.dt.replace_timezone(None), lambda t: t.replace(tzinfo=None)),
    "elsewhere": (lambda t: t.dt.to_timezone("Asia/Tokyo"), lambda t: t.astimezone(ZoneInfo("Asia/Tokyo"))),
}
SECOND, MICRO = timedelta(seconds=1), timedelta(microseconds=1)


def monday(moment: datetime) -> date:
    return moment.date() - timedelta(days=moment.weekday())


def moments() -> list[datetime | None]:
    micros = np.random.default_rng(5).integers(-(2**50), 2**51, 60).tolist()
    return [*CHANGES, None, *(datetime(1970, 1, 1) + timedelta(microseconds=each) for each in micros)]


@pytest.mark.parametrize("zone", ZONES)
def test_functions_are_those_of_python_on_the_clock_of_the_zone(zone: str | None) -> None:
    given = moments()
    utc = [None if moment is None else moment.replace(tzinfo=UTC) for moment in given]
    times = batch(t=pa.array(given if zone is None else utc, pa.timestamp("us", zone)))
    local = [None if moment is None else moment.astimezone(ZoneInfo(zone or "UTC")) for moment in utc]
    for name, (build, plain) in PYTHON.items():
        found = values(build(col.t), times)
        assert found == [None if moment is None else plain(moment) for moment in local], name
    if zone:
        for found, moment in zip(values(col.t.dt.strftime(ZONED), times), local, strict=True):
            assert found == (moment and moment.strftime(ZONED))


@pytest.mark.parametrize("zone", ZONES[1:])
def test_readings_of_clocks_are_those_of_polars(zone: str) -> None:
    given = [moment for moment in moments() if moment is not None]
    of = batch(t=pa.array(given, pa.timestamp("us")))
    for ambiguous in ("earliest", "latest"):
        found = values(col.t.dt.replace_timezone(zone, ambiguous=ambiguous), of)
        wanted = pl.Series(given).dt.replace_time_zone(zone, ambiguous=ambiguous, non_existent="null").to_list()
        assert [one for one, other in zip(found, wanted, strict=True) if other] == [each for each in wanted if each]


@pytest.mark.parametrize(("local", "instant"), [
    ("2024-10-27T02:30:00", "2024-10-27T01:30:00"), ("2024-03-31T02:30:00", "2024-03-31T01:30:00"),
    ("2045-10-29T02:30:00", "2045-10-29T01:30:00")])
def test_all_local_times_follow_one_rule(local: str, instant: str, tmp_path: Path) -> None:
    """The later of two moments; where clocks skip, the offset from before."""
    zone = "Europe/Berlin"
    log = wb.from_arrow(pa.table({"at": [0], "t": pa.array([local]).cast(pa.timestamp("us"))}), time="at")
    (tmp_path / "times.csv").write_text(f"at\n{local}\n")
    for found in (log.select(t=col.t.dt.replace_timezone(zone)), log.select(t=col.t.dt.at_time_zone(zone)),
                  wb.sql(f"SELECT t AT TIME ZONE '{zone}' AS t FROM log", log=log),
                  wb.read_csv(tmp_path / "times.csv", time="at", timezone=zone).select(t=wb.start_time())):
        assert found.collect()["t"].cast(pa.timestamp("us", "UTC")).to_pylist() == [
            datetime.fromisoformat(instant + "+00:00")]
    first = log.select(t=col.t.dt.replace_timezone(zone, ambiguous="earliest")).collect()["t"].to_pylist()[0]
    assert first.astimezone(UTC).isoformat()[:19] == instant.replace("T01", "T00" if "-10-" in local else "T01")


def test_finer_units_and_spans() -> None:
    of = batch(t=pa.array([1_500_000_007, -1, None], pa.timestamp("ns")), d=pa.array([1500, -250, None], pa.duration(
        "ms")), far=pa.array([2**62, 0, None], pa.timestamp("s")))
    assert values(col.t.dt.nanosecond, of) == [500_000_007, 999_999_999, None]
    assert values(col.t.dt.time.cast("int64"), of) == [1_500_000_007, 86_399_999_999_999, None]
    assert values(col.t.dt.strftime("%S.%f"), of) == ["01.500000", "59.999999", None]
    assert values(col.d.dt.total_seconds, of) == [1.5, -0.25, None]
    assert values(col.far.dt.epoch("us"), of) == [None, 0, None]
    assert values(col.t.dt.date_diff(col.t, "nanosecond"), of) == [0, 0, None]


def test_hours_are_counted_on_the_clock_of_utc() -> None:
    zone = ZoneInfo("Europe/Berlin")
    of = batch(a=pa.array([datetime(2024, 3, 31, 0, 30, tzinfo=zone)], pa.timestamp("us", zone.key)),
               b=pa.array([datetime(2024, 3, 31, 4, tzinfo=zone)], pa.timestamp("s", zone.key)))
    assert values(col.a.dt.date_diff(col.b, "hour"), of) == [3]
    assert values(col.b.dt.date_diff(col.a, "minute"), of) == [-150]
    assert values(col.a.dt.date_diff(col.b, "day"), of) == [0]


@pytest.mark.parametrize(("build", "message"), (
    (lambda: col.t.dt.strftime("%Y %Q"), "unknown directive '%Q'"),
    (lambda: col.t.dt.strftime("%z"), "need a time with a zone"),
    (lambda: col.t.dt.strftime("%"), "unknown directive '%'"), (lambda: col.t.dt.epoch("m"), "Unknown unit 'm'"),
    (lambda: col.t.dt.date_diff(col.z, "day"), "meets one without"),
    (lambda: col.t.dt.date_diff(col.t, "months"), "Unknown unit 'months'"),
    (lambda: col.t.dt.to_timezone("Europe/Berln"), "Unknown time zone"),
    (lambda: col.t.dt.to_timezone(None), "needs a zone"), (lambda: col.t.dt.total_seconds, "takes a duration, not"),
    (lambda: col.t.dt.replace_timezone("UTC", ambiguous="null"), "must be 'earliest'"),
    (lambda: col.t.dt.business_days(col.t, holidays="2024-12-25"), "must be dates"),
    (lambda: col.s.dt.days_between(col.t), "takes a time or a date, not string"),
    (lambda: col.d.dt.hour, "dt.hour takes a time, not date32"), (lambda: col.d.dt.time, "takes a date and time"),
))
def test_what_does_not_fit_is_refused_before_any_row(build, message) -> None:
    of = batch(t=pa.array([], pa.timestamp("us")), z=pa.array([], pa.timestamp("us", "UTC")),
               s=pa.array([], pa.string()), d=pa.array([], pa.date32()))
    with pytest.raises(ExpressionError, match=message):
        values(build(), of)


def test_times_print_as_they_are_written_and_stand_in_queries() -> None:
    for text in ('col.t.dt.strftime("%Y")', "col.t.dt.nanosecond", 'col.t.dt.date_diff(col.u, "day")',
                 'col.t.dt.replace_timezone("UTC", ambiguous="earliest")', "col.t.dt.replace_timezone(None)",
                 "col.t.dt.business_days(col.u)"):
        assert repr(eval(text)) == text.replace('"', "'")
    at = [datetime(2024, 1, 1, 8), datetime(2024, 1, 1, 17), datetime(2024, 1, 2, 9)]
    log = wb.from_arrow({"at": at}, time="at").select(at=wb.start_time())
    found = log.where(col.at.dt.hour < 10).group_by(day=col.at.dt.strftime("%a")).tumbling_window("1w").aggregate(
        n=wb.count()).collect()
    assert sorted(zip(found["day"].to_pylist(), found["n"].to_pylist(), strict=True)) == [("Mon", 1), ("Tue", 1)]


def test_sql_reads_the_same_table() -> None:
    at = [datetime(2024, 1, 31, 8), datetime(2024, 3, 1, 17, 45)]
    log = wb.from_arrow({"at": at, "u": [datetime(2024, 2, 1), None]}, time="at").select("u", t=wb.start_time())
    rows = wb.sql("""SELECT strftime(t, '%d/%m') AS s, date_diff('month', t, u) AS m, datediff('day', t, u) AS d,
        days_between(t, u) AS b, year(t) AS y, week(t) AS w, quarter(t) AS q, dayofyear(t) AS n FROM log""", log=log)
    assert [list(row.values())[2:] for row in rows.collect().to_pylist()] == [
        ["31/01", 1, 1, 1, 2024, 5, 1, 31], ["01/03", None, None, None, 2024, 9, 1, 61]]
    for wrong in ("strftime(t)", "strftime(t, t)", "strftime(t, '%Q')", "date_diff('months', t, u)", "date_diff(t, u)"):
        with pytest.raises(WhimbrelError):
            wb.sql(f"SELECT {wrong} AS y FROM log", log=log)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/St_Johns"])
def test_texts_by_day_and_second_are_those_of_arrow(zone: str | None) -> None:
    chance = np.random.default_rng(3)
    seconds = pa.array(np.append(chance.integers(-(10**9), 2 * 10**9, 200), [0, -1, 86_399, -86_400]))
    times = seconds.view(pa.timestamp("s", zone))
    forms = [f"%{letter}" for letter in sorted(DIRECTIVES - set("fzZ"))]
    for form in [*forms, "%Y-%m-%d %H:%M:%S", "%%d %H%%%M", "%d.%m %%d %H", "at %I %p on %A %d%%", "none", ""]:
        assert time_texts(times, form).equals(pc.strftime(times, format=form)), form


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_parts_are_null_beyond_the_calendar(unit: str) -> None:
    """Arrow has years of 16 bits, and counts on from the other end."""
    for zone in (None, "Europe/Berlin"):
        of = batch(t=pa.array([2**62, -2**62, 0, None]).cast(pa.timestamp(unit, zone)), d=[date(2024, 1, 1)] * 4)
        x = col.t.dt
        for expr in (x.year, x.month, x.week, x.weekday, x.hour, x.date, x.time, x.is_weekend, x.strftime("%Y"),
                     x.days_between(col.d), col.d.dt.date_diff(col.t, "month"), x.business_days(col.d)):
            assert [each is None for each in values(expr, of)] == [True, True, False, True], expr
    days = batch(d=pa.array([2**31 - 1, 0], pa.int32()).cast(pa.date32()))
    assert values(col.d.dt.year, days) == [None, 1970]
    assert values(col.d.dt.year, batch(d=pa.array([2**62, 0]).cast(pa.date64()))) == [None, 1970]


def test_parts_of_edge_times_are_those_of_arrow() -> None:
    parts = {**DAY_PARTS, "hour": pc.hour, "minute": pc.minute, "second": pc.second,
             "date": lambda x: x.cast(pa.date32()),
             "time": lambda x: x.cast(pa.time64("ns" if x.type == pa.timestamp("ns") else "us"))}
    years = [np.datetime64(f"{year}-{day}", "s").astype(int) for day in ("01-01", "02-28", "03-01", "12-31")
             for year in (1700, 1789, 1790, 1899, 1970, 2000, 2149, 2150)]
    seconds = np.array([*years, 2**31, -(2**31), -1, 0, 1_000_000_000])
    for unit, per_second in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        ticks = (seconds[:, None] * per_second + np.array([-1, 0, 1, 60 * per_second])).ravel()
        near = ticks[(ticks >= -5 * 10**9 * per_second) & (ticks < 5 * 10**9 * per_second)]  # within the large table
        inner = near[abs(near) < 4 * 10**9 * per_second]  # divided in doubles where they are many
        noise = np.random.default_rng(3).integers(-(2**52), 2**52, 5_000) if unit == "us" else inner
        for given in (ticks, near, np.resize(near, 5_000), np.append(np.resize(inner, 5_000), noise), near[-4:],
                      near[:0]):
            array = pa.array(given, mask=np.arange(len(given)) % 3 == 2 if len(given) == 4 else None)
            array = array.view(pa.timestamp(unit))
            rows = batch(t=array)
            for name, compute in parts.items():
                with tier("primitives"):
                    found = evaluate(Call(f"dt.{name}", (col.t,)), rows).to_arrow()
                assert found.equals(compute(array).cast(found.type)), (unit, name)
        days = array.cast(pa.date32()) if len(array) else pa.array([-1, 0, 65_535, -65_536, 65_536], pa.date32())
        rows = batch(t=days)
        for name in DAY_PARTS:
            found = evaluate(Call(f"dt.{name}", (col.t,)), rows).to_arrow()
            assert found.equals(DAY_PARTS[name](days).cast(found.type)), name

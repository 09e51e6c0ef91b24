"""Windows of the calendar against the model: batches, disorder, restarts, bands, bounds, gaps and lineage."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.laws.test_laws import INPUTS
from whimbrel import col
from whimbrel.operators import CalendarWindow
from whimbrel.testing import Query, check_operator, laws, oracle
from whimbrel.testing.oracle.calendar_windows import calendar_window, midnight

MONDAY = date(1970, 1, 5)
WINDOWS: dict[str, tuple[str, dict[str, Any]]] = {
    "day": (".tumbling_window('1d')", {"size": (1, "d"), "hop": (1, "d")}),
    "week": (".tumbling_window('1w')", {"size": (7, "d"), "hop": (7, "d"), "anchor": MONDAY}),
    "sunday": (".tumbling_window('1w', week_start='sunday')",
               {"size": (7, "d"), "hop": (7, "d"), "anchor": date(1970, 1, 4)}),
    "month": (".tumbling_window('1mo')", {"size": (1, "mo"), "hop": (1, "mo")}),
    "quarter at the end": (".tumbling_window('1q', label='end')",
                           {"size": (3, "mo"), "hop": (3, "mo"), "label": "end"}),
    "day at the end": (".tumbling_window('1d', label='end')", {"size": (1, "d"), "hop": (1, "d"), "label": "end"}),
    "year": (".tumbling_window('1y')", {"size": (12, "mo"), "hop": (12, "mo")}),
    "month with both ends": (".tumbling_window('1mo', closed='both')",
                             {"size": (1, "mo"), "hop": (1, "mo"), "closed": "both"}),
    "day, right-closed": (".tumbling_window('1d', closed='right')",
                          {"size": (1, "d"), "hop": (1, "d"), "closed": "right"}),
    "week by day, open": (".hopping_window('1w', '1d', closed='none', label='end')",
                          {"size": (7, "d"), "hop": (1, "d"), "closed": "none", "label": "end"}),
    "month by day": (".hopping_window('1mo', '1d')", {"size": (1, "mo"), "hop": (1, "d")}),
    "quarter by month": (".hopping_window('1q', '1mo')", {"size": (3, "mo"), "hop": (1, "mo")}),
    "month by week at the end": (".hopping_window('1mo', '1w', label='end')",
                                 {"size": (1, "mo"), "hop": (7, "d"), "anchor": MONDAY, "label": "end"}),
}
ZONES = ("Europe/Berlin", "Pacific/Apia", "America/St_Johns", "UTC")
Rows = list[tuple[int, dict[str, Any]]]


def events(seed: int, rows: int = 60) -> Rows:
    """Around the changes of clocks of 2011, the day that Samoa skipped among them."""
    chance = random.Random(seed)
    begin = chance.choice([1_299_900_000, 1_319_800_000, 1_325_000_000])
    times = [begin + chance.randrange(9 * 86_400) // chance.choice([1, 900]) * 900 // 900 for _ in range(rows)]
    return [(time, {"k": chance.choice("ab"), "x": chance.choice([None, 1, 2, 5])}) for time in sorted(times)]


def at_midnights(zone: str) -> Rows:
    """Exactly at midnights of the same days, and the seconds around them."""
    days = [date(2011, 3, 13), date(2011, 10, 31), date(2011, 11, 1), date(2011, 12, 30), date(2011, 12, 31),
            date(2012, 1, 1)]
    times = sorted({midnight(day, zone) + step for day in days for step in (-1, 0, 1)})
    return [(time, {"k": "a", "x": row}) for row, time in enumerate(times)]


def stream(rows: Rows, zone: str, unit: str = "s", **options: Any) -> wb.Stream:
    per = {"s": 1, "ms": 1_000, "us": 10**6, "ns": 10**9}[unit]
    table = pa.table({"at": pa.array([time * per for time, _ in rows], pa.timestamp(unit, zone)),
                      "k": [row["k"] for _, row in rows], "x": pa.array([row["x"] for _, row in rows], pa.int64())})
    return wb.from_arrow(table, time="at", **options).select("k", "x")


def facts(rows: Rows) -> list[oracle.Event]:
    return [(time, time + 1, payload) for time, payload in rows]


def seconds(table: pa.Table) -> list[tuple[Any, ...]]:
    plain = [column.cast(pa.timestamp("s", column.type.tz)).cast(pa.int64()) if pa.types.is_timestamp(column.type)
             else column for column in table.columns]
    return sorted(zip(*(column.to_pylist() for column in plain), strict=True), key=repr)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_those_of_the_model(name: str, zone: str) -> None:
    text, options = WINDOWS[name]
    for unit, rows in (("s", events(0)), ("us", events(1)), ("ns", events(2)), ("s", at_midnights(zone))):
        found = eval(f"s{text}", {"s": stream(rows, zone, unit)}).collect()
        expected = [(start, end, *payload.values())
                    for start, end, payload in calendar_window(facts(rows), zone=zone, **options)]
        assert seconds(found) == sorted(expected, key=repr)


def windowed(name: str) -> Callable[[wb.Stream], wb.Stream]:
    """A window after times that lie five hours apart, some of them at midnight."""
    zoned = eval(f"s{WINDOWS[name][0]}", {"s": stream(events(0), "Europe/Berlin")})
    windows = zoned.node.op.windows
    return lambda s: s.retime(wb.start_time() * 18_000)._unary(lambda _: CalendarWindow(windows=windows))


def modelled(name: str) -> Callable[[list[oracle.Event]], list[oracle.Event]]:
    return lambda given: calendar_window([(start * 18_000, end, row) for start, end, row in given],
                                         zone="Europe/Berlin", **WINDOWS[name][1])


REDUCED = ".group_by('key').aggregate(n=wb.count(), s=wb.sum(col.x))"
AGGREGATED = Query((REDUCED,))


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", WINDOWS)
def test_law(name: str, law: laws.Law) -> None:
    window, model = windowed(name), modelled(name)
    check_operator(window, INPUTS[0], reference=model, laws=[law])
    check_operator(lambda s: AGGREGATED.build(window(s)), INPUTS[0],
                   reference=lambda given: AGGREGATED.reference(model(given)), laws=[law])


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["day", "month", "quarter at the end", "month by day"])
def test_laws_of_each_kind(name: str) -> None:
    """Aggregates by groups, with the bounds of windows, and with rows of empty ones."""
    window = windowed(name)
    chosen = [laws.batches_change_nothing, laws.disorder_changes_nothing, laws.restored_runs_resume,
              laws.latencies_are_answered_together, laws.snapshots_change_nothing, laws.lineage_reproduces_a_row]
    check_operator(lambda s: AGGREGATED.build(window(s)), INPUTS[1], laws=chosen)
    check_operator(lambda s: window(s).group_by("key").aggregate(n=wb.count(), a=wb.window_start()), INPUTS[1],
                   laws=chosen)
    check_operator(lambda s: window(s).group_by("key").aggregate(n=wb.count(), fill=True), INPUTS[1], laws=chosen)


@pytest.mark.parametrize("zone", ZONES[:2])
@pytest.mark.parametrize("name", WINDOWS)
def test_bounds_and_gaps(name: str, zone: str) -> None:
    """Each row counts the events between the bounds that it names; filled rows follow each other without a gap."""
    text, options = WINDOWS[name]
    rows = sorted(events(11)[::6] + at_midnights(zone)[3:9], key=lambda row: row[0])
    windows = eval(f"s{text}", {"s": stream(rows, zone)})
    given = {"n": wb.count(), "since": wb.window_start(), "until": wb.window_end()}
    closed = seconds(windows.aggregate(**given).collect())
    filled = seconds(windows.aggregate(fill=True, **given).collect())
    assert [row for row in filled if row[2]] == closed
    assert all(one[1] == other[0] for one, other in pairwise(filled))
    at_end = options.get("label") == "end"
    borders = options.get("closed", "right" if at_end else "left")
    for start, end, n, since, until in filled:
        assert n == sum(since < time < until or (time == since and borders in ("left", "both"))
                        or (time == until and borders in ("right", "both")) for time, _ in rows)
        assert start == until if at_end else end == until


def test_first_and_last_are_those_of_the_events_within_a_window() -> None:
    rows = [(1_706_000_000 + 40_000 * step, {"k": "a", "x": step}) for step in range(60)]
    found = stream(rows, "Europe/Berlin").tumbling_window("1mo").aggregate(a=wb.first(col.x), b=wb.last(col.x))
    assert [row[2:] for row in seconds(found.collect())] == [(0, 18), (19, 59)]

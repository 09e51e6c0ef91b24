"""Marks around a change of clocks: an hour of the day that comes twice is two instants, and each has its own events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel_workbench.frames import Frame, Options, Playback
from whimbrel_workbench.frames.format_times import positions, tick_at, ticks
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.sessions.replay_controller import playback_of
from whimbrel_workbench.views import bars, heat, lines, scatter
from whimbrel_workbench.views.raster import Window
from whimbrel_workbench.views.visible_points import in_sight

ZONE = "America/Havana"
BACK, FORTH = 1730610000, 1710046800
"""When clocks go back from 1:00 to 0:00, and forth from 0:00 to 1:00."""

CHANGES = {
    "Havana back": (ZONE, BACK), "Havana forth": (ZONE, FORTH),
    "Berlin back": ("Europe/Berlin", int(datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp())),
    "New York back": ("America/New_York", int(datetime(2026, 11, 1, 6, tzinfo=UTC).timestamp())),
}

Pictured = Callable[..., tuple[LiveSession, Any]]


@pytest.fixture
def pictured() -> Iterator[Pictured]:
    feeds = []

    def made(query: wb.Stream, kind: str, **chosen: Any) -> tuple[LiveSession, Any]:
        frames: list[Frame] = []
        options: Any = {"kind": kind, **chosen}
        feed = LiveSession(query, Options(**options), lambda frame: frames.append(frame) is None)
        feeds.append(feed)
        feed.start()
        assert feed.run is not None
        assert feed.run.wait(60)
        feed.refresh()
        return feed, frames[-1].picture

    yield made
    for feed in feeds:
        feed.close()


def sums(change: int, unit: str = "s", zone: str = ZONE) -> wb.Stream:
    """Windows of half an hour, from three hours before a change until three hours after, of rows that all differ."""
    seconds = np.arange(change - 3 * 3600, change + 3 * 3600, 600)
    at = pa.array(seconds).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp(unit, zone))
    log = wb.from_arrow(pa.table({"at": at, "k": ["a", "b"] * (len(seconds) // 2), "x": np.arange(len(seconds))}),
                        time="at", name="log")
    return log.group_by("k").tumbling_window("30m").aggregate(total=wb.sum(col.x))


def marks_of(kind: str, picture: Any, style: Any) -> list[Mark | None]:
    """The marks of a picture, as a page tells them."""
    if kind == "table":
        return [Mark.read(row.mark) for row in picture.table]
    if kind == "scatter":
        return points(picture, style)
    drawn = {"line": lambda: lines._marks(picture, style), "heatmap": lambda: heat._cells(picture),
             "bars": lambda: bars._columns(picture, style)}
    columns = drawn[kind]()
    return [Mark(key=key, instant=instant) for key, instant in zip(columns["key"], columns["instant"], strict=True)]


def points(picture: Any, style: Any) -> list[Mark | None]:
    """The marks of points that are drawn one by one, as a page tells them."""
    seen = in_sight(picture, Window(picture.x, picture.y, 100, 100, picture.log), settled=True)
    columns = scatter._marks(picture, seen, style)
    columns_of = {"key": "of", "at": "x", "instant": "instant", "moment": "moment", "value": "y"}
    return [Mark.read(json.dumps({name: np.asarray(columns[of])[row].item() if name in ("at", "value")
                                  else columns[of][row] for name, of in columns_of.items()}))
            for row in range(len(columns["x"]))]


@pytest.mark.share(4)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["line", "heatmap", "table", "scatter", "bars"])
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_each_mark_has_its_own_events(pictured: Pictured, kind: str, change: str, unit: str) -> None:
    zone, at = CHANGES[change]
    query = sums(at, unit, zone)
    feed, picture = pictured(query, kind, **({"by": "k"} if kind == "scatter" else {}))
    answer = {(start, row["k"]): row["total"] for start, row in zip(
        ticks(query.collect()).tolist(), query.collect().to_pylist(), strict=True)}
    found = {}
    for mark in marks_of(kind, picture, feed.options.style):
        assert mark is not None
        row = feed.row_of(mark)
        assert row is not None
        lineage = feed.lineage(row)
        assert (lineage.state, lineage.same) == ("found", True)
        found[int(str(mark.instant)), mark.key] = row["total"][0].as_py()
        assert sum(int(cells[lineage.origins[0].names.index("x")].replace(",", ""))
                   for cells in lineage.origins[0].table) == row["total"][0].as_py()
    assert len(found) == {"table": 15, "bars": 2}.get(kind, len(answer))
    assert found.items() <= answer.items()


@pytest.mark.parametrize("change", CHANGES)
def test_a_place_on_a_line_without_markers_has_the_row_of_its_value(pictured: Pictured, change: str) -> None:
    """Of a crowded line a page knows only the place of a point: two instants of one local time differ in value."""
    zone, at = CHANGES[change]
    seconds = np.arange(at - 6 * 3600, at + 6 * 3600, 300)
    log = wb.from_arrow(pa.table({"at": pa.array(seconds).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("s", zone)),
                                  "x": np.arange(len(seconds))}), time="at", name="log")
    feed, picture = pictured(log.tumbling_window("5m").aggregate(total=wb.sum(col.x)), "line")
    drawn, = picture
    assert len(drawn.x) > lines.MAX_MARKED
    assert not len(lines.marked(drawn))
    for x, y in zip(drawn.x.tolist(), drawn.y.tolist(), strict=True):
        row = feed.row_of(Mark(key=drawn.label, at=x, value=y))
        assert row is not None
        assert row["total"][0].as_py() == y
    assert feed.lineage(row).same


def test_a_mark_of_a_row_that_is_gone_is_none_of_another(pictured: Pictured) -> None:
    feed, _ = pictured(sums(BACK), "table")
    assert feed.row_of(Mark(key="a", instant=str(BACK + 7))) is None
    assert feed.row_of(Mark(key="a", instant="x")) is None


def test_a_stretch_over_the_hour_that_comes_twice_has_both(pictured: Pictured) -> None:
    kind = pa.timestamp("s", ZONE)
    midnight = 1730592000_000.0
    assert (tick_at(midnight, kind), tick_at(midnight + 1_800_000, kind, last=True)) == (BACK - 3600, BACK + 1800)


@pytest.mark.parametrize("change", ["Berlin back", "New York back"])
def test_points_whose_x_axis_is_another_time_have_their_own_rows(pictured: Pictured, change: str) -> None:
    zone, at = CHANGES[change]
    seen = at * 10**9 + np.array([-1800, 1800, 1801]) * 10**9 + [0, 0, 1]  # the first two at one time of the wall
    log = wb.from_arrow(pa.table({"at": np.zeros(3, np.int64), "seen": pa.array(seen).cast(pa.timestamp("ns", zone)),
                                  "x": [5, 5, 5], "k": ["a", "a", "a"]}), time="at", name="log")
    feed, picture = pictured(log, "scatter", x="seen", y="x", by="k")
    rows = [feed.row_of(mark) for mark in points(picture, feed.options.style) if mark is not None]
    assert [None if row is None else ticks(row, "seen").tolist() for row in rows] == [[each] for each in seen.tolist()]


def test_points_of_neighbouring_nanoseconds_have_their_own_rows(pictured: Pictured) -> None:
    at = CHANGES["Berlin back"][1] * 10**9 + np.arange(50)
    log = wb.from_arrow(pa.table({"at": pa.array(at).cast(pa.timestamp("ns", "Europe/Berlin")),
                                  "x": np.ones(50, np.int64), "n": np.arange(50)}), time="at", name="log")
    feed, picture = pictured(log, "scatter", y="x")
    rows = [feed.row_of(mark) for mark in points(picture, feed.options.style) if mark is not None]
    assert [None if row is None else row["n"][0].as_py() for row in rows] == list(range(50))


@pytest.mark.parametrize("change", ["Berlin back", "New York back"])
def test_a_cell_of_several_rows_has_the_events_of_one_of_them(pictured: Pictured, change: str) -> None:
    zone, at = CHANGES[change]
    seconds = np.arange(at - 3600 * 2, at + 3600 * 2)
    log = wb.from_arrow(pa.table({"at": pa.array(seconds).cast(pa.timestamp("s", zone)),
                                  "x": np.arange(len(seconds))}), time="at", name="log")
    feed, picture = pictured(log.tumbling_window("1s").aggregate(total=wb.sum(col.x)), "heatmap", keep_rows=20_000)
    assert picture.per_cell > 1000
    marks = marks_of("heatmap", picture, feed.options.style)
    for left, right, mark in zip(picture.left, picture.right, marks, strict=True):
        assert mark is not None
        row = feed.row_of(mark)
        assert row is not None
        assert left <= positions(row["start"])[0] < right


def test_a_cell_at_a_name_has_the_events_of_a_row_that_is_in_it(pictured: Pictured) -> None:
    log = wb.from_arrow({"at": [0, 1, 2], "k": ["a"] * 3, "way": ["in"] * 3, "x": [1.0, 2.0, None]}, time="at")
    feed, picture = pictured(log, "heatmap", x="way", y="k", C="x")
    [instant] = heat._cells(picture)["instant"]
    row = feed.row_of(Mark(key="a", along="in", instant=instant))
    assert row is not None
    assert row["x"].to_pylist() == [2.0]


def test_a_bar_has_the_events_of_the_row_that_is_drawn(pictured: Pictured) -> None:
    log = wb.from_arrow({"at": [0, 1, 2], "k": ["a"] * 3, "x": [1.0, 2.0, None]}, time="at")
    feed, picture = pictured(log, "bars", by="k", y="x")
    [mark] = marks_of("bars", picture, feed.options.style)
    assert mark is not None
    row = feed.row_of(mark)
    assert row is not None
    assert row["x"].to_pylist() == [2.0]


def test_bars_of_one_local_time_that_is_two_instants_say_both(pictured: Pictured) -> None:
    zone, at = CHANGES["Berlin back"]
    log = wb.from_arrow(pa.table({"at": pa.array([at - 1800, at + 1800]).cast(pa.timestamp("s", zone)),
                                  "k": ["a", "b"], "x": [1, 2]}), time="at")
    assert pictured(log, "bars", by="k", y="x")[1].windows


def test_keys_whose_texts_are_alike_are_distinguished() -> None:
    keys = pa.table({"a": ["x, y", "x", None, "(null)", '"(null)"'], "b": ["z", "y, z", "", "(empty)", "q"]})
    assert len(set(labels(keys, ["a", "b"]).names)) == 5
    assert len(set(labels(keys, ["a"]).names)) == 5


@pytest.mark.parametrize("change", ["Berlin back", "New York back"])
def test_a_slider_sets_a_replay_to_instants(change: str) -> None:
    zone, at = CHANGES[change]
    seconds = pa.array(np.arange(at - 3 * 3600, at + 3 * 3600 + 1, 600)).cast(pa.timestamp("s", zone))
    clock = wb.ReplayClock(paused=True)
    log = wb.from_arrow(pa.table({"at": seconds, "seen": seconds}), time="at", arrival="seen", reorder_latency="0s")
    run = wb.replay(log, clock=clock).tumbling_window("10m").aggregate(n=wb.count()).start()
    clock.step()
    assert clock.wait(10)
    playback = playback_of(clock, run.state)
    assert playback is not None
    for hours in range(7):  # 2.5 and 3.5 of them are one local time
        for share in (hours / 6, min(hours + 0.5, 6) / 6):
            clock.seek(playback.at(share))
            assert clock.fraction == pytest.approx(share)
    run.stop()


def test_a_slider_does_not_go_past_the_last_tick() -> None:
    first, last = 0, 2**62 + 1
    assert Playback("paused", first, first, last, 0.0, 1.0).at(1.0) == last

"""Marks around a change of clocks: an hour of the day that comes twice is two instants, and each has its own events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel_workbench.feed import Feed
from whimbrel_workbench.frames import Frame, Options
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.frames.times import tick_at, ticks
from whimbrel_workbench.views.heat import _cells
from whimbrel_workbench.views.lines import _marks

ZONE = "America/Havana"
BACK, FORTH = 1730610000, 1710046800
"""When clocks go back from 1:00 to 0:00, and forth from 0:00 to 1:00."""

Pictured = Callable[..., tuple[Feed, Any]]


@pytest.fixture
def pictured() -> Iterator[Pictured]:
    feeds = []

    def made(query: wb.Stream, kind: str) -> tuple[Feed, Any]:
        frames: list[Frame] = []
        options: Any = {"kind": kind}
        feed = Feed(query, Options(**options), lambda frame: frames.append(frame) is None)
        feeds.append(feed)
        feed.start()
        assert feed.run is not None
        assert feed.run.wait(60)
        feed.look_again()
        return feed, frames[-1].picture

    yield made
    for feed in feeds:
        feed.close()


def sums(change: int, unit: str = "s") -> wb.Stream:
    """Windows of half an hour, from three hours before a change until three hours after, of rows that all differ."""
    seconds = np.arange(change - 3 * 3600, change + 3 * 3600, 600)
    at = pa.array(seconds).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp(unit, ZONE))
    log = wb.from_arrow(pa.table({"at": at, "k": ["a", "b"] * (len(seconds) // 2), "x": np.arange(len(seconds))}),
                        time="at", name="log")
    return log.group_by("k").tumbling_window("30m").aggregate(total=wb.sum(col.x))


def told(kind: str, picture: Any, style: Any) -> list[Mark | None]:
    """The marks of a picture, as a page tells them."""
    if kind == "table":
        return [Mark.read(row.mark) for row in picture.table]
    columns = _marks(picture, style) if kind == "line" else _cells(picture)
    return [Mark(key=key, instant=instant) for key, instant in zip(columns["key"], columns["instant"], strict=True)]


@pytest.mark.parametrize("change", [BACK, FORTH], ids=["back", "forth"])
@pytest.mark.parametrize("kind", ["line", "heatmap", "table"])
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_each_mark_has_its_own_events(pictured: Pictured, kind: str, change: int, unit: str) -> None:
    query = sums(change, unit)
    feed, picture = pictured(query, kind)
    answer = {(start, row["k"]): row["total"] for start, row in zip(
        ticks(query.collect()).tolist(), query.collect().to_pylist(), strict=True)}
    found = {}
    for mark in told(kind, picture, feed.options.style):
        assert mark is not None
        row = feed.row_of(mark)
        assert row is not None
        behind = feed.behind(row)
        assert (behind.state, behind.same) == ("found", True)
        found[int(str(mark.instant)), mark.key] = row["total"][0].as_py()
        assert sum(int(cells[behind.origins[0].names.index("x")].replace(",", ""))
                   for cells in behind.origins[0].table) == row["total"][0].as_py()
    assert len(found) == (15 if kind == "table" else len(answer))
    assert found.items() <= answer.items()


def test_a_mark_of_a_row_that_is_gone_is_none_of_another(pictured: Pictured) -> None:
    feed, _ = pictured(sums(BACK), "table")
    assert feed.row_of(Mark(key="a", instant=str(BACK + 7))) is None
    assert feed.row_of(Mark(key="a", instant="x")) is None


def test_a_stretch_over_the_hour_that_comes_twice_has_both(pictured: Pictured) -> None:
    kind = pa.timestamp("s", ZONE)
    midnight = 1730592000_000.0
    assert (tick_at(midnight, kind), tick_at(midnight + 1_800_000, kind, last=True)) == (BACK - 3600, BACK + 1800)

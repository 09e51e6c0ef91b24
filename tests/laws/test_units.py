"""Streams that count time in different units meet as if both had been cast to the finer one first."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.testing.conformance.restart import collect_in_two

UNITS = ("s", "ms", "us", "ns")
PAIRS = [pair for pair in itertools.product(UNITS, UNITS) if pair[0] != pair[1]]
SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
Meet = Callable[[wb.Stream, wb.Stream], wb.Stream]
MEETINGS: dict[str, Meet] = {
    "join": lambda left, right: left.join(right, on="k"),
    "left join": lambda left, right: left.join(right, on="k", how="left"),
    "right join": lambda left, right: left.join(right, on="k", how="right"),
    "full join": lambda left, right: left.join(right, on="k", how="full"),
    "cross join": lambda left, right: left.cross_join(right, where=col.x > col.x_right),
    "as-of join": lambda left, right: left.asof_join(right, on="k"),
    "as-of join, strict": lambda left, right: left.asof_join(right, on="k", tolerance="1500ms", strict=True),
    "as-of join, forward": lambda left, right: left.asof_join(right, on="k", tolerance="2s", direction="forward"),
    "as-of join, nearest": lambda left, right: left.asof_join(right, on="k", tolerance="2s", direction="nearest"),
    "semi-join": lambda left, right: left.semi_join(right, on="k"),
    "anti-join": lambda left, right: left.anti_join(right, on="k"),
    "where_exists": lambda left, right: left.semi_join(right, on="k"),
    "where_not_exists": lambda left, right: left.anti_join(right, on="k"),
    "clip": lambda left, right: left.clip_at(right, on="k"),
    "union": lambda left, right: left.union(right),
    "union, then windows": lambda left, right: left.union(right).tumbling_window("3s").aggregate(n=wb.count()),
    "windows, then a join": lambda left, right: left.group_by("k").tumbling_window("2s").aggregate(n=wb.count()).join(
        right.group_by("k").tumbling_window("2s").aggregate(m=wb.sum(col.x)), on="k"),
    "snapshots of points": lambda left, right: left.aggregate(n=wb.count()).union(right.aggregate(n=wb.count())),
    "kept by a left join": lambda left, right: left.where(col.x > 1).join(
        left.set_duration("3s"), on="k", how="left").asof_join(right, on="k", suffix="_then"),
    "within groups": lambda left, right: left.group_by("k").asof_join(right.group_by("k")),
}


def log(seed: int, unit: str, *, ends: bool, sub: bool) -> pa.Table:
    """Rows within 20 seconds; with `sub`, at times that a second does not hold."""
    draw = random.Random(seed)
    step = SECOND[unit]
    starts = sorted(draw.randrange(20 * step) // (1 if sub else step) * (1 if sub else step) for _ in range(40))
    columns = {"at": pa.array(starts, pa.timestamp(unit)), "k": [draw.choice("abc") for _ in starts],
               "x": [draw.randrange(9) for _ in starts]}
    if ends:
        until = [None if draw.random() < 0.1 else start + draw.randrange(1, 3 * step + 1) for start in starts]
        columns["until"] = pa.array(until, pa.timestamp(unit))
    return pa.table(columns)


def cast(table: pa.Table, unit: str) -> pa.Table:
    return table.cast(pa.schema([(field.name, pa.timestamp(unit)) if pa.types.is_timestamp(field.type) else field
                                 for field in table.schema]))


def stream(table: pa.Table, name: str) -> wb.Stream:
    read = wb.from_arrow(table, time="at", end="until" if "until" in table.column_names else None, name=name)
    return read.select("at", "k", "x")


def rows(table: pa.Table, unit: str) -> list[tuple[object, ...]]:
    """Its rows in any order, times as text in one unit."""
    return sorted(zip(*(column.cast(pa.string()).to_pylist() for column in cast(table, unit).columns), strict=True),
                  key=repr)


@pytest.mark.share(4)
@pytest.mark.parametrize("meeting", MEETINGS)
@pytest.mark.parametrize("ends", [(False, False), (True, False), (False, True), (True, True)])
def test_as_if_cast_first(meeting: str, ends: tuple[bool, bool]) -> None:
    meet = MEETINGS[meeting]
    for seed, (left, right) in enumerate(PAIRS):
        finer = max(left, right, key=UNITS.index)
        tables = [log(2 * seed + number, unit, ends=given, sub=seed % 3 > 0) for number, (unit, given)
                  in enumerate(zip((left, right), ends, strict=True))]
        asked = meet(*map(stream, tables, ("left", "right")))
        expected = meet(*map(stream, [cast(table, finer) for table in tables], ("left", "right"))).collect()
        found = asked.collect()
        assert found.schema.field("start").type == pa.timestamp(finer)
        assert rows(found, "ns") == rows(expected, "ns"), (meeting, left, right)
        assert f"finer_unit('{min(left, right, key=UNITS.index)}' to '{finer}'" in asked.explain()


@pytest.mark.parametrize("meeting", MEETINGS)
def test_live_as_of_history(meeting: str) -> None:
    left, right = log(1, "s", ends=False, sub=False), log(2, "us", ends=True, sub=True)
    asked = MEETINGS[meeting](stream(left, "left"), stream(right, "right"))
    feeds = {source.name: wb.replay(source, speed=float("inf")) for source in asked.sources}
    assert rows(asked.on(feeds).collect(), "ns") == rows(asked.collect(), "ns")


@pytest.mark.parametrize("meeting", MEETINGS)
def test_a_restart_changes_nothing(meeting: str) -> None:
    left, right = log(3, "ms", ends=True, sub=True), log(4, "s", ends=False, sub=False)
    asked = MEETINGS[meeting](stream(left, "left"), stream(right, "right"))
    parts = collect_in_two(asked, {"left": 17, "right": 11})
    assert rows(parts, "ns") == rows(asked.collect(), "ns")

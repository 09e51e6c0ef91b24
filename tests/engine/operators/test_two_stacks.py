"""Aggregates that take nothing back, over rows that leave in the order they came, and over rows that do not."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.operators import GroupAggregate

Event = tuple[int, int, int, int | None]


def _snapshots(events: list[Event]) -> list[tuple[int, int, int, int | None, int | None]]:
    """Least and greatest value of the events of each key between any two changes."""
    rows = []
    for key in {key for _, _, key, _ in events}:
        mine = [event for event in events if event[2] == key]
        times = sorted({time for event in mine for time in event[:2]})
        for start, end in itertools.pairwise(times):
            active = [x for begin, until, _, x in mine if begin <= start < until]
            there = [x for x in active if x is not None]
            if active:
                rows.append((start, end, key, min(there, default=None), max(there, default=None)))
    return sorted(rows)


def _answer(events: list[Event]) -> list[tuple[int, ...]]:
    columns = list(zip(*sorted(events, key=lambda event: event[0]), strict=True))
    table = pa.table({name: pa.array(np.array(values)) if name != "x" else pa.array(values, pa.int64())
                      for name, values in zip(("at", "until", "k", "x"), columns, strict=True)})
    stream = wb.from_arrow(table, time="at", end="until")
    found = stream.group_by("k").aggregate(lo=wb.min(col.x), hi=wb.max(col.x)).collect()
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("lasts", [(7,), (7, 7, 7, 7, 7, 7, 7, 7, 7, 3), (1, 4, 9)])
def test_extremes_are_those_of_the_active_rows(seed: int, lasts: tuple[int, ...]) -> None:
    """One duration keeps the order, a rare short one breaks it for a while, several never have it."""
    chance = random.Random(seed)
    events: list[Event] = []
    for _ in range(200):
        at = chance.randrange(150)
        x = None if chance.random() < 0.2 else chance.randrange(50)
        events.append((at, at + chance.choice(lasts), chance.randrange(3), x))
    assert _answer(events) == _snapshots(events)


def test_rows_that_start_and_end_together_leave_together() -> None:
    events: list[Event] = [(0, 4, 0, 5), (0, 4, 0, 1), (2, 6, 0, 3), (4, 8, 0, 2), (4, 8, 0, 9)]
    assert _answer(events) == [(0, 2, 0, 1, 5), (2, 4, 0, 1, 5), (4, 6, 0, 2, 9), (6, 8, 0, 2, 9)]


def test_an_earlier_end_is_forgotten_when_the_group_is_empty() -> None:
    events: list[Event] = [(0, 9, 0, 5), (1, 3, 0, 1), (10, 14, 0, 7), (11, 15, 0, 6), (12, 16, 0, 8)]
    assert _answer(events) == _snapshots(events)


@pytest.mark.parametrize("active", [1_000, 1_020, 1_023, 1_024, 1_025, 4_090])
def test_a_window_that_just_fits_takes_as_few_steps_as_any(active: int) -> None:
    """With nearly all slots in use a step lasted for a few rows only, and a batch took thousands of steps."""
    schema = Schema((Field("x", pa.int64()),))
    count = GroupAggregate(measures=(("n", wb.count()),))
    rows = np.arange(20_000)
    kernel = count.kernel(schema)
    assert len(kernel.push(Batch(schema, rows, active, (Column(pa.int64(), rows),)))) < 10

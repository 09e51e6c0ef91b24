"""Functions of time as expressions in bench E, against loops that step from change to change.

Values are float32, uniform from -50 to 50. The limit loops write the lifetimes of their results, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench import limit_changes as limit
from bench.compare import Row, compare
from bench.limit_periodic import standard_scores_of_some
from bench.loop_sides import Array, agrees, with_times
from whimbrel import Stream, col

CARDS = 1_000
GAPS = {"10% missing": 1, "1 in 20": 20, "1 in 1,000": 1_000}
"""Mean gap between events in ticks, about."""


@dataclass(frozen=True)
class Case:
    """A query, its limit loop, and the columns that the loop writes."""

    name: str
    query: Callable[[Stream], Stream]
    loop: Callable[[], Any]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Log:
    """Events and the cases that read them.

    Attributes
    ----------
    at : array
        Starts, in ascending order.
    make : callable
        A stream with a source of its own.
    assumed : callable
        Such a stream with what is true of it.
    gap : int
        Ticks between two events, on average.
    """

    name: str
    at: Array
    make: Callable[[], Stream]
    assumed: Callable[[], Stream]
    gap: int
    cases: list[Case]


def logs(rows: int) -> Iterator[Log]:
    """Logs of so many events: points with several gaps, one at each tick, levels that last, and points by card."""
    random = np.random.default_rng(7)
    x = random.uniform(-50, 50, rows).astype(np.float32)
    for name, gap in GAPS.items():
        yield points(name, spaced(random, rows, gap), x, gap)
    yield _levels(spaced(random, rows, 20), x)
    yield _cards(spaced(random, rows, 1), random.integers(0, CARDS, rows), x)


def rows_of_expressions(rows: int) -> Iterator[Row]:
    """Compare each expression with its limit loop."""
    for log in logs(rows):
        for case in log.cases:
            at = None if case.columns[0] == "start" else log.at
            yield from compare(f"E expressions, {log.name}", case.name, rows, case.query(log.make()).collect,
                               {"limit loop": with_times(case.loop, at)}, agrees(case.columns, nulls=True),
                               roof="limit loop")


def spaced(random: np.random.Generator, rows: int, gap: int) -> Array:
    """Times in ascending order: of nine of ten ticks, or as far apart as `gap` on average."""
    steps = 1 + (random.random(rows) < 0.1) if gap == 1 else random.integers(1, 2 * gap, rows)
    return np.cumsum(steps).astype(np.int64)


def points(name: str, at: Array, x: Array, gap: int) -> Log:
    """Points as a log; none of them at the same time."""
    def make() -> Stream:
        return wb.from_arrow(pa.table({"at": at, "x": x}), time="at", name="log").select("x")

    return Log(name, at, make, lambda: make().assume(non_overlapping=True), gap, list(_cases_of_points(at, x, gap)))


def _cases_of_points(at: Array, x: Array, gap: int) -> Iterator[Case]:
    width, short, long, cell = 100 * gap, 20 * gap, 50 * gap, 10_000 * gap
    yield Case("window sum", lambda log: log.select(z=wb.sum(col.x).past(width)),
               lambda: limit.sums(at, x, width), ("z",))
    yield Case("window mean", lambda log: log.select(z=wb.mean(col.x).past(width)),
               lambda: limit.means(at, x, width), ("z",))
    yield Case("window max", lambda log: log.select(z=wb.max(col.x).past(width)),
               lambda: limit.maxima(at, x, width), ("z",))
    yield Case("trend", lambda log: log.where(wb.mean(col.x).past(short) > wb.mean(col.x).past(long)),
               lambda: limit.rising(at, x, short, long), ("start", "x"))
    yield Case("z-score by cell", lambda log: log.select(
        z=(col.x - wb.mean(col.x).cell(cell)) / wb.std(col.x).cell(cell)),
        lambda: standard_scores_of_some(at, x, cell), ("z",))
    yield Case("previous", lambda log: log.select(z=col.x.cast("float64") - col.x.previous()),
               lambda: limit.steps(x), ("z",))
    yield Case("ago", lambda log: log.select(z=col.x.cast("float64") - col.x.ago(3 * gap)),
               lambda: limit.steps_since(at, x, 3 * gap), ("z",))
    yield Case("so_far with reset", lambda log: log.select(z=wb.sum(col.x).so_far(reset=col.x > 49)),
               lambda: limit.totals(x, 49.0), ("z",))
    yield Case("ema", lambda log: log.select(z=wb.ema(col.x, halflife=10 * gap)),
               lambda: limit.decayed(at, x, 10.0 * gap), ("z",))
    yield from _functions_of_points(at, x, gap)


def _functions_of_points(at: Array, x: Array, gap: int) -> Iterator[Case]:
    """The function itself: with a new event wherever the window changes, and at multiples."""
    width = 100 * gap
    yield Case("over_time", lambda log: log.over_time(z=wb.sum(col.x).past(width)),
               lambda: limit.sums_of_changes(at, x, width), ("start", "z"))
    yield Case("over_time, every", lambda log: log.over_time(every=gap, z=wb.sum(col.x).past(width)),
               lambda: limit.sums_at_multiples(at, x, width, gap), ("start", "z"))


def _levels(at: Array, x: Array) -> Log:
    """Events that last until the next one, for 30 ticks at most: there is something to do at change points only."""
    end = np.minimum(np.append(at[1:], at[-1] + 30), at + 30)
    table = pa.table({"at": at, "end": end, "x": x})

    def make() -> Stream:
        return wb.from_arrow(table, time="at", end="end", name="log").select("x")

    return Log("change points", at, make, lambda: make().assume(non_overlapping=True), 20, [
        Case("change since 50 ticks", lambda log: log.over_time(z=col.x.cast("float64") - col.x.ago(50)),
             lambda: limit.changes(at, end, x, 50), ("start", "z")),
        Case("maximum", lambda log: log.over_time(z=wb.max(col.x).past(1_000)),
             lambda: limit.maxima_of_levels(at, end, x, 1_000), ("start", "z")),
        Case("time_mean, every=20", lambda log: log.over_time(every=20, z=wb.time_mean(col.x).past(1_000)),
             lambda: limit.means_of_levels(at, end, x, 1_000, 20), ("start", "z")),
    ])


def _cards(at: Array, card: Array, x: Array) -> Log:
    table, width = pa.table({"at": at, "card": card, "x": x}), 100 * CARDS

    def make() -> Stream:
        return wb.from_arrow(table, time="at", name="log").select("card", "x")

    return Log("1,000 cards", at, make, lambda: make().assume(non_overlapping=True, per="card"), 1, [
        Case("fraud, 10 payments", lambda log: log.group_by("card").where(
            col.x > (wb.mean(col.x) + 3 * wb.std(col.x)).past(rows=10).previous()),
             lambda: limit.outliers_of_cards(at, card, x, CARDS, 10, 3.0), ("start", "x")),
        Case("sum by card", lambda log: log.group_by("card").select(z=wb.sum(col.x).past(width)),
             lambda: limit.sums_of_cards(at, card, x, CARDS, width), ("z",)),
    ])

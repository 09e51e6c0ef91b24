"""Queries of bench E with true assumptions against the same without, and in batches of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.compare import Row, compare
from bench.expressions import Log, logs, points
from bench.loop_sides import agrees
from bench.sides import Ours, collected
from whimbrel import Stream, col
from whimbrel.optimize import optimize
from whimbrel.plan import explain

BATCHES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Rows."""
Query = Callable[[Stream], Stream]


def rows_of_assumptions(rows: int) -> Iterator[Row]:
    """A true assumption must not make a query slower.

    A query whose plan is the same with and without it has no row.
    """
    for log in (_ticks(rows), *logs(rows // 10)):  # a join on the timeline is slow
        expressions = {case.name: (case.query, case.columns) for case in log.cases}
        for name, (query, columns) in {**expressions, **_of_operators(log)}.items():
            sides = [partial(_made, query, make) for make in (log.assumed, log.make)]
            if len({explain(optimize(side().node)) for side in sides}) > 1:
                yield from compare(f"E assumed, {log.name}", name, len(log.at), collected(sides[0]),
                                   {"not assumed": collected(sides[1])}, same_tables(columns))


def _made(query: Query, make: Callable[[], Stream]) -> Stream:
    return query(make())


def rows_of_batches(rows: int) -> Iterator[Row]:
    """The same table in chunks of several sizes, which become its batches; ratios are of the smallest to the others."""
    log = next(logs(rows))
    table = pa.table({"at": log.at, "x": np.random.default_rng(9).uniform(-50, 50, rows).astype(np.float32)})
    for case in log.cases:
        first, *others = (size for size in BATCHES if size <= rows)
        yield from compare("E batches", f"{case.name}, {first:,}", rows, _chunked(table, first, case.query),
                           {f"{size:,}": _chunked(table, size, case.query) for size in others},
                           same_tables(case.columns))


def _chunked(table: pa.Table, size: int, query: Query) -> Ours[Stream]:
    chunks = pa.Table.from_batches(table.to_batches(max_chunksize=size))
    return collected(lambda: query(wb.from_arrow(chunks, time="at", name="log").select("x")), f"{size} rows")


def same_tables(columns: tuple[str, ...]) -> Callable[[pa.Table, pa.Table], bool]:
    """Whether two answers have the same starts and values in the same order; floats may differ by rounding."""
    names = ("start", *(name for name in columns if name != "start"))

    def same(ours: pa.Table, theirs: pa.Table) -> bool:
        values = tuple(theirs[name].cast(pa.float64()).to_numpy() for name in names)
        return agrees(names, nulls=True)(ours, values)

    return same


def _ticks(rows: int) -> Log:
    """An event at each tick."""
    log = points("every tick", np.arange(rows), np.random.default_rng(7).uniform(-50, 50, rows).astype(np.float32), 1)
    return Log(log.name, log.at, log.make, lambda: log.make().assume(periodic=1), 1, log.cases)


def _of_operators(log: Log) -> dict[str, tuple[Query, tuple[str, ...]]]:
    """The same in operators, for streams of points without keys."""
    if log.name in ("change points", "1,000 cards"):
        return {}
    gap = log.gap

    def mean(stream: Stream, ticks: int) -> Stream:
        return stream.sliding_window(ticks).aggregate(m=wb.mean(col.x))

    def scores(stream: Stream) -> Stream:
        cells = stream.tumbling_window(10_000 * gap).aggregate(m=wb.mean(col.x), sd=wb.std(col.x))
        return stream.cross_join(cells, allow_lookahead=True).select(z=(col.x - col.m) / col.sd)

    return {
        "sliding_window, sum": (
            lambda stream: stream.sliding_window(100 * gap).aggregate(z=wb.sum(col.x)), ("z",)),
        "cross_join of means": (
            lambda stream: mean(stream, 20 * gap).cross_join(mean(stream, 50 * gap), where=col.m > col.m_right),
            ("m", "m_right")),
        "cross_join with cells": (scores, ("z",)),
        "cross_join with shift": (
            lambda stream: stream.cross_join(stream.select(old=col.x).shift(gap)).select(z=col.x - col.old), ("z",)),
    }

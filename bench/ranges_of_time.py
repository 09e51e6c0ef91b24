"""Ranges of time in bench E: threads, and parts of answers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import whimbrel as wb
from bench import applications_in_expressions as applications
from bench import limit_periodic as limit
from bench.assumptions import same_tables
from bench.compare import REPEATS, Row, compare
from bench.figure import Figure
from bench.loop_sides import Array
from bench.sides import collected
from whimbrel import Stream, col

Query = Callable[[Stream], Stream]
LOOPS = 8
"""Windows of a bare loop, so that it takes about as long as a query."""
PART_ROWS = 100_000
"""A bare loop runs part by part: what it writes then uses the same memory again, and no thread waits for new pages."""

QUERIES: dict[str, tuple[Query, tuple[str, ...]]] = {
    "trading, by time": (applications.crossing, ()),
    "so_far with merge": (lambda log: log.select(z=wb.sum(col.x).so_far()), ("z",)),
    "own function with merge": (lambda log: log.select(z=_largest()(col.x).so_far()), ("z",)),
}


def rows_of_threads(rows: int) -> Iterator[Figure]:
    """How much faster two threads are than one, over how much faster two bare loops are, measured in turn.

    Raises
    ------
    AssertionError
        When two threads give another answer than one.
    """
    x = _values(rows)
    halves = [_loops(half) for half in np.array_split(x, 2)]
    for name, (query, columns) in QUERIES.items():
        asked = query(_log(x))
        assert same_tables(columns)(asked.collect(), asked.collect(threads=2)), name
        ours, bare = [], []
        for _ in range(REPEATS):
            one, two = _seconds(asked.collect), _seconds(lambda asked=asked: asked.collect(threads=2))
            alone, both = (_seconds(lambda threads=threads: _on_threads(halves, threads)) for threads in (1, 2))
            ours.append(one / two)
            bare.append(alone / both)
        gain, reached = statistics.median(ours), statistics.median(bare)
        yield Figure("E threads", name, "of loops", gain / reached,
                     f"0.9; two threads {gain:.2f} times one, two bare loops {reached:.2f} times one")


def rows_of_ranges(rows: int) -> Iterator[Row]:
    """Compare a hundredth of an answer with the whole one."""
    begin, end = rows // 2, rows // 2 + rows // 100
    x = _values(rows)
    for assumed in (True, False):
        for name, (query, columns) in {**QUERIES, "window sum": (applications.window_sum, ("z",))}.items():
            if "so_far" in name or "own" in name:  # these read everything before
                continue

            def whole(query: Query = query, assumed: bool = assumed) -> Stream:
                return query(_log(x, assumed=assumed))

            def same(ours: pa.Table, theirs: pa.Table, columns: tuple[str, ...] = columns) -> bool:
                start = theirs["start"]
                part = theirs.filter(pc.and_(pc.greater_equal(start, begin), pc.less(start, end)))
                return same_tables(columns)(ours, part)

            yield from compare("E between" if assumed else "E between, not assumed", f"{name}, a hundredth", rows,
                               collected(lambda whole=whole: whole().between(begin, end)),
                               {"whole": collected(whole)}, same)


def _values(rows: int) -> Array:
    return np.random.default_rng(3).uniform(-50, 50, rows).astype(np.float32)


def _log(x: Array, *, assumed: bool = True) -> Stream:
    log = wb.from_arrow(pa.table({"at": np.arange(len(x)), "x": x}), time="at", name="log")
    return (log.assume(periodic=1) if assumed else log).select("x")


def _largest() -> Any:
    return wb.aggregate(init=-1e300, accumulate=max, merge=max, result=lambda s: s, name="largest")


def _loops(x: Array) -> Callable[[], None]:
    parts = np.array_split(x, len(x) // PART_ROWS + 1)

    def loop() -> None:
        for part in parts * LOOPS:
            limit.crossing(part, 20, 50)

    return loop


def _on_threads(loops: list[Callable[[], None]], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda loop: loop(), loops))


def _seconds(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began

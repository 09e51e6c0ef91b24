"""E. Time-centric applications (after TiLT, ASPLOS 2023, table 2 and figures 7 to 9), in the corrected definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench import applications_in_operators as queries
from bench import limit_periodic as limit
from bench.applications import rows_of_applications
from bench.assumptions import rows_of_assumptions, rows_of_batches
from bench.cold_compile import rows_of_cold_compile
from bench.compare import Row, compare
from bench.expression_peers import rows_of_peers
from bench.expressions import rows_of_expressions
from bench.figure import Figure
from bench.fusion_ladder import rows_of_ladder
from bench.kept_memory import keep_memory
from bench.loop_sides import agrees, with_times
from bench.ranges_of_time import rows_of_ranges, rows_of_threads
from whimbrel import Stream, col

Array = np.ndarray[Any, Any]

ROWS, QUICK_ROWS = 10_000_000, 1_000_000


def run(*, quick: bool, expressions: bool = False, recordings: Path | None = None) -> Iterator[Row | Figure]:
    """Rows of figures: events in, one a tick; float32 values, uniform from -50 to 50.

    The limit loops write values only; ours also says from when until when each one holds. What writing that as well
    costs the simplest is seen in the rows "with start and end". All are compared twice: with loops that ask for the
    memory of their output in each run, as one writes them, and then, which is the roof, with loops whose memory is
    kept.

    The rows of expressions follow. With `expressions` there are no others. `recordings` is a folder of recorded data,
    which then has rows, too.
    """
    rows = QUICK_ROWS if quick else ROWS
    if not expressions:
        yield from _all(rows, "loop, new memory", None)
    keep_memory()
    if not expressions:
        yield from _with_published(_all(rows, "limit loop", "limit loop"))
    yield from rows_of_expressions(rows)
    yield from rows_of_applications(rows)
    yield from rows_of_assumptions(rows)
    yield from rows_of_batches(rows)
    yield from rows_of_ladder(rows // 10)
    yield from rows_of_ranges(rows)
    yield from rows_of_threads(rows)
    yield from rows_of_cold_compile()
    yield from rows_of_peers(rows, recordings)


TILT = {"select x + 3": 197, "where x > 0": 103, "window sum 1,000": 206, "join l + r": 145, "YSB-lite": 132,
        "trading 20 > 50": 41, "RSI 14": 40, "normalise 10,000": 62, "imputation 10,000": 97, "resampling 4 to 5": 57,
        "Pan-Tompkins": 16, "vibration 100": 63, "fraud 10": 43}
"""What TiLT's public code reached on a machine like this one: million events a second, one thread, warm."""


def _with_published(rows: Iterator[Row]) -> Iterator[Row | Figure]:
    """The rows, and how much faster each application on ticks is than TiLT's public code was."""
    for row in rows:
        yield row
        if row.roof_fraction is not None and row.workload != "E 10% missing" and row.case in TILT:
            asked = 1 if row.case == "select x + 3" else 2
            yield Figure("E TiLT", row.case, "times", row.ours / TILT[row.case], f"{asked}; {TILT[row.case]} M rows/s")


def _all(rows: int, loop_is: str, roof: str | None) -> Iterator[Row]:
    random = np.random.default_rng(3)
    x, y = (random.uniform(-50, 50, rows).astype(np.float32) for _ in range(2))
    kind = random.integers(0, 3, rows)
    log, other = _periodic({"x": x}), _periodic({"y": y})
    gaps = np.where(random.random(rows) < 0.1, np.nan, x).astype(np.float32)
    there, here = (np.flatnonzero(random.random(rows) < 0.9) for _ in range(2))
    for workload, counted, cases in (
        ("E periodic", rows, _periodic_cases(log, other, _periodic({"kind": kind}), x, y, kind)),
        ("E periodic", rows, _other_cases(x, gaps)),
        ("E two periods", rows, _resampling(x)),
        ("E by key", rows, _by_key(x)),
        ("E 10% missing", len(there), _irregular_cases(x, there, y, here, kind)),
    ):
        for case, query, loop, columns in cases:
            yield from compare(workload, case, counted, query.collect, {loop_is: loop}, agrees(columns), roof=roof)
    for case, query, loop, columns in _periodic_cases(log, other, _periodic({"kind": kind}), x, y, kind):
        if case in _SIMPLE:
            yield from compare("E periodic", case, rows, query.collect, {"with start and end": with_times(loop)},
                               agrees(columns))
    for case, query, loop, columns in _irregular_cases(x, there, y, here, kind):
        if case in _SIMPLE:
            yield from compare("E 10% missing", case, len(there), query.collect,
                               {"with start and end": with_times(loop, there)}, agrees(columns))


_SIMPLE = ("select x + 3", "where x > 0", "window sum 1,000", "join l + r", "trading 20 > 50", "normalise 10,000")
"""The loops of these do so little that what else a table says weighs as much."""

Case = tuple[str, Stream, Callable[[], Any], tuple[str, ...]]


def _periodic(columns: dict[str, Any]) -> Stream:
    rows = len(next(iter(columns.values())))
    table = pa.table({"at": np.arange(rows), **columns})
    return wb.from_arrow(table, time="at", name="log").assume(periodic=1).select(*columns)


def _periodic_cases(log: Stream, other: Stream, ads: Stream, x: Array, y: Array, kind: Array) -> Iterator[Case]:
    yield "select x + 3", queries.plus_three(log), lambda: limit.plus_three(x), ("z",)
    yield "where x > 0", queries.positive(log), lambda: limit.positive(x), ("start", "x")
    yield "window sum 1,000", queries.window_sum(log), lambda: limit.sliding_sum(x, 1_000), ("z",)
    yield "join l + r", queries.added(log, other), lambda: limit.added(x, y), ("z",)
    yield "YSB-lite", queries.views(ads), lambda: limit.views(kind, 100), ("n",)
    yield "trading 20 > 50", queries.crossing(log), lambda: limit.crossing(x, 20, 50), ("start", "m", "m_right")
    yield "RSI 14", queries.strength(log), lambda: limit.strength(x, 14), ("z",)
    yield "normalise 10,000", queries.scores(log), lambda: limit.standard_scores(x, 10_000), ("z",)
    yield "vibration 100", queries.moments(log), lambda: limit.moments(x, 100), ("kurtosis", "rms", "crest")
    yield "outliers 10", queries.outliers(log), lambda: limit.outliers(x, 10, 3.0), ("start", "x")


def _other_cases(x: Array, gaps: Array) -> Iterator[Case]:
    """Those of which a stream has nulls, or is filtered again and again."""
    log = _periodic({"x": pa.array(gaps, from_pandas=True)})
    yield "imputation 10,000", queries.imputed(log), lambda: limit.imputed(gaps, 10_000), ("z",)
    yield "Pan-Tompkins", queries.pan_tompkins(_periodic({"x": x})), lambda: limit.heart_beats(x), ("z",)


def _resampling(x: Array) -> Iterator[Case]:
    """Resampling: of a value every 4 ticks, what lies on the line between two at every 5 ticks."""
    stop = (len(x) - 1) * 4
    steps = wb.from_arrow(pa.table({"at": np.arange(0, stop, 4), "until": np.arange(4, stop + 4, 4), "x": x[:-1],
                                    "to": x[1:]}), time="at", end="until", name="log").assume(
        periodic=4, duration=4).select("x", "to", a=col.at)
    ticks = wb.from_arrow(pa.table({"at": np.arange(0, stop, 5)}), time="at", name="ticks").assume(
        periodic=5).select(t=col.at)
    yield "resampling 4 to 5", queries.resampled(ticks, steps), lambda: limit.resampled(x, 4, 5), ("z",)


def _by_key(x: Array, keys: int = 1_000) -> Iterator[Case]:
    """Fraud: more than three deviations above the mean of the ten payments of the same card before."""
    table = pa.table({"at": np.arange(len(x)), "card": np.arange(len(x)) % keys, "x": x})
    log = wb.from_arrow(table, time="at", name="log").assume(periodic=keys, per="card")
    yield "fraud 10", queries.fraud(log, keys), lambda: limit.outliers_of_keys(x, keys, 10, 3.0), ("start", "x")


def _irregular_cases(x: Array, there: Array, y: Array, here: Array, kind: Array) -> Iterator[Case]:
    """Where events are missing at random; time advances where there is none."""
    some, others, kinds = (np.ascontiguousarray(each) for each in (x[there], y[here], kind[there]))
    log, other, ads = (wb.from_arrow(pa.table({"at": at, name: values}), time="at", name="log").assume(
        non_overlapping=True).select(name) for at, name, values in ((there, "x", some), (here, "y", others),
                                                                    (there, "kind", kinds)))
    yield "select x + 3", queries.plus_three(log), lambda: limit.plus_three(some), ("z",)
    yield "where x > 0", queries.positive(log), lambda: limit.positive(some)[1], ("x",)
    yield "window sum 1,000", queries.window_sum(log), (
        lambda: limit.sliding_sum_of_some(there, some, 1_000)), ("start", "z")
    yield "join l + r", queries.added(log, other), (
        lambda: limit.added_where_both(there, some, here, others)), ("start", "z")
    yield "YSB-lite", queries.views(ads), lambda: limit.views_of_some(there, kinds, 100), ("n",)
    yield "normalise 10,000", queries.scores(log), (
        lambda: limit.standard_scores_of_some(there, some, 10_000)), ("z",)

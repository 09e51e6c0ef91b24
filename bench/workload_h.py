"""H. Progressive queries (after Trill, VLDB 2015, 7.4, figure 6b): updates, priorities and coverage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import whimbrel as wb
from bench import pricing
from bench.compare import REPEATS, Row, compare, same_rows, taken, warm
from bench.coverage import HISTOGRAM, JOINED, KEPT, NESTED, RATIO, SUMS, coverage, datasets, membership
from bench.hand_sampling import Asked
from bench.log_coverage import QUICK_SEEDS, SEEDS, files_of
from bench.log_coverage import run as on_logs
from bench.progressivis_peer import MISSING, started
from bench.ranged import ranged
from bench.sides import Ours, Ran, collected, ready
from whimbrel import col
from whimbrel.kernels import wait_for_compiler

ROWS, QUICK_ROWS = 20_000_000, 1_000_000
FEWER_ROWS, QUICK_FEWER_ROWS = 2_000_000, 200_000
"""For a peer that takes rows one by one, in Python."""
TERMS = 1_000
SHUFFLES, QUICK_SHUFFLES = 1_000, 4
Peers = dict[str, Callable[[], Any] | Ours[wb.Stream]]
GOALS = {"first answer": np.inf, "to 5%": 0.05, "to 1%": 0.01}
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class Question:
    """A question of a table, as every peer is asked it.

    Attributes
    ----------
    time : str
    ask : callable
    sql : str
        With a placeholder for the name of the table.
    by_hand : Asked
        As Polars is asked, of all rows and of samples.
    same : callable
        Whether two answers agree.
    keys, values : tuple of str
        Of the answer; errors are those of the values, of groups with a fiftieth of the rows.
    counted : str
        The value that is the number of rows.
    """

    name: str
    table: pa.Table
    time: str
    ask: Callable[[wb.Stream], wb.Stream]
    sql: str
    by_hand: Asked
    same: Callable[[pa.Table, pa.Table], bool]
    keys: tuple[str, ...]
    values: tuple[str, ...]
    counted: str


def run(*, quick: bool, logs: Path | None = None) -> Iterator[Row]:
    """All answers of a scan against one, time to an error, priorities, for two questions; a peer; then coverage."""
    rows = QUICK_ROWS if quick else ROWS
    asked = [
        _searches(rows),
        Question("TPC-H Q1", pricing.lineitem(rows), "ship", pricing.summary, pricing.SQL, pricing.BY_HAND,
                 pricing.same, pricing.KEYS, pricing.VALUES, "rows"),
    ]
    with TemporaryDirectory() as folder, wait_for_compiler():
        for question in asked:
            path = _written(question, folder)
            sources: dict[str, Callable[[], wb.Stream]] = {
                "memory": lambda question=question: wb.from_arrow(question.table, time=question.time),
                "Parquet": lambda question=question, path=path: wb.read_parquet(path, time=question.time)}
            for medium, source in sources.items():
                yield from _whole(medium, source, question, path, rows)
                if question is asked[0]:
                    yield from _steered(medium, source, rows)
        yield from ranged(rows)
        yield from _against_progressivis(_searches(QUICK_FEWER_ROWS if quick else FEWER_ROWS), folder)
    print("      share of groups of which no interval was false at 12 updates, and (the same of those that had one, "
          "how many had one at half the data, its width as a multiple of one for that update alone, half of it as a "
          "share of the value)")
    for groups in (10,) if quick else (10, 1_000):
        for data in datasets():
            shuffles = QUICK_SHUFFLES if quick else SHUFFLES
            for kind in (SUMS, RATIO, HISTOGRAM, KEPT, JOINED, NESTED):
                print(coverage(data, groups, shuffles, kind), flush=True)
            print(membership(data, groups, shuffles), flush=True)
    print("      logs as they are: paths that stated an interval at some update, those of which none was false"
          + ("" if logs else " (none without --logs FOLDER)"))
    for line in on_logs(files_of([logs]) if logs else [], QUICK_SEEDS if quick else SEEDS, sums=quick):
        print(line, flush=True)


def _searches(rows: int) -> Question:
    chance = np.random.default_rng(5)
    table = pa.table({"at": np.arange(rows), "term": np.minimum(chance.zipf(1.2, rows), TERMS) - 1,
                      "ms": chance.exponential(40, rows), "clicks": chance.integers(0, 6, rows)})
    return Question(
        "searches", table, "at", lambda source: _popularity(source, rows),
        "SELECT term, count(*) AS n, sum(clicks)::BIGINT AS total, avg(ms) AS mean FROM {} GROUP BY term",
        Asked(("term",), "n", sums={"total": pl.col("clicks")}, means={"mean": pl.col("ms")}),
        same_rows("term", "n", "total", "mean"), ("term",), ("total", "mean"), "n")


def _written(question: Question, folder: str) -> Path:
    path = Path(folder) / f"{question.time}-{question.table.num_rows}.parquet"
    pq.write_table(question.table, path, row_group_size=65_536)
    return path


def _popularity(source: wb.Stream, window: int) -> wb.Stream:
    return source.group_by("term").tumbling_window(window).aggregate(n=wb.count(), total=wb.sum(col.clicks),
                                                                   mean=wb.mean(col.ms))


def _whole(medium: str, source: Callable[[], wb.Stream], question: Question, path: Path, rows: int) -> Iterator[Row]:
    case = f"{question.name}, {medium}"

    def query() -> wb.Stream:
        return question.ask(source())

    connection = duckdb.connect()
    connection.register("asked", question.table)
    sql = question.sql.format("asked" if medium == "memory" else f"'{path}'")
    frame = _frame(question.table) if medium == "memory" else pl.scan_parquet(path)
    one_shot = collected(query, "whole")
    peers: Peers = {"one-shot": one_shot, "DuckDB one-shot": lambda: connection.sql(sql).to_arrow_table(),
                    "Polars one-shot": lambda: question.by_hand.exact(frame).to_arrow()}
    for every, shown in (("100%", "1 answer"), ("50%", "2 answers"), ("10%", "10 answers"), ("1%", "100 answers")):
        yield from compare("H", f"{case}, {shown}", rows, Ours(query, partial(_answered, every=every), shown),
                           peers, question.same)

    def unread(asked: wb.Stream) -> pa.Table:
        for answer in asked.progressive(every="1%"):
            last = answer
        return last.table

    yield from compare("H", f"{case}, 100 unread", rows, Ours(query, unread, "100 answers"), {"one-shot": one_shot},
                       question.same)
    yield from _times_to(case, query, peers, question, path if medium == "Parquet" else None)
    connection.close()


def _frame(table: pa.Table) -> pl.LazyFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()


def _times_to(case: str, build: Callable[[], wb.Stream], peers: Peers, question: Question,
              path: Path | None) -> Iterator[Row]:
    """Time to a first answer, and to errors of the commonest groups, with the time of a peer for these or for all."""
    query = build()
    exact = _rows_by_key(query.collect(), question.keys)
    common = _common(exact, question)
    frame = pl.from_arrow(question.table)
    assert isinstance(frame, pl.DataFrame)

    def widest(found: pa.Table) -> float:
        rows = _rows_by_key(found, question.keys)
        return max((rows[key][f"{name}_off"] if key in rows else np.inf for key in common for name in question.values),
                   default=np.inf)

    def by_hand(error: float) -> None:
        for _, found in question.by_hand.samples(frame if path is None else path):
            if widest(found.to_arrow()) <= error:
                break

    others: Peers = {"all 100 answers": Ours(build, _answered, "all 100 answers"), **peers}
    goals: Peers = {goal: Ours(build, partial(_until, error=error, common=common, question=question), goal)
                    for goal, error in GOALS.items()}
    hands: Peers = {f"by hand {goal}": partial(by_hand, error) for goal, error in GOALS.items()}
    sides = {name: ready(side) for name, side in {**goals, **hands, **others}.items()}
    for run, ran in sides.values():
        warm(run, ran)
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(REPEATS):
        for name, (run, _) in sides.items():
            times[name].append(_seconds(run))
    for goal in GOALS:
        for name in (*others, f"by hand {goal}"):
            yield taken("H", f"{case}, {goal}", times[goal], "Polars by hand" if name in hands else name, times[name],
                        ran=(sides[goal][1], sides[name][1]))
    for answer in query.progressive(at=FRACTIONS):
        if not answer.final:
            found = answer.table
            off, within = _off(found, common, question, exact), _within(found, common, question)
            print(f"      {case}, {answer.fraction_read:.1%} read: groups of a fiftieth of rows are off by up to "
                  f"{off:.2%}, said to be within {within:.2%}")
    for share, sample in question.by_hand.samples(frame if path is None else path):
        if share < 1:
            found = sample.to_arrow()
            off, within = _off(found, common, question, exact), widest(found)
            print(f"      {case}, {share:.1%} sampled by hand: off by up to {off:.2%}, said to be within {within:.2%} "
                  "for this update alone")


def _common(exact: dict[tuple[Any, ...], dict[str, Any]], question: Question) -> list[tuple[Any, ...]]:
    return [key for key, row in exact.items() if row[question.counted] >= question.table.num_rows / 50]


def _until(query: wb.Stream, *, error: float, common: list[tuple[Any, ...]], question: Question) -> None:
    """To the first answer that says to be as good as that."""
    for answer in query.progressive(every="1%"):
        found = answer.table
        if error == np.inf or _within(found, common, question) <= error:
            break


def _seconds(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _answered(query: wb.Stream, every: str = "1%") -> pa.Table:
    for answer in query.progressive(every=every):
        table = answer.table
    return table


def _against_progressivis(question: Question, folder: str) -> Iterator[Row]:
    """Of one file, in turn. It gives no intervals: its errors are the true ones, ours those that are said."""
    with started() as peer:
        if peer is None:
            print(f"      {MISSING}")
            return
        path = _written(question, folder)
        query = question.ask(wb.read_parquet(path, time=question.time))
        answer = query.collect()
        exact = _rows_by_key(answer, question.keys)
        common = _common(exact, question)
        truth = {key[0]: (exact[key]["total"], exact[key]["mean"]) for key in common}
        peer.answered(path, truth)  # warm-ups
        _answered(query)
        ours: dict[str, list[float]] = {goal: [] for goal in (*GOALS, "exact")}
        theirs: dict[str, list[float]] = {goal: [] for goal in ours}
        for _ in range(REPEATS):
            for goal, error in GOALS.items():
                ours[goal].append(_seconds(partial(_until, query, error=error, common=common, question=question)))
            ours["exact"].append(_seconds(partial(_answered, query)))
            seconds, found = peer.answered(path, truth)
            assert question.same(answer, found), "ProgressiVis gives another answer"
            for goal, times in theirs.items():
                times.append(seconds[goal])
        for goal, times in ours.items():
            yield taken("H", f"searches, Parquet, {question.table.num_rows:,} rows, {goal}", times, "ProgressiVis",
                        theirs[goal], ran=(Ran(), Ran()))


def _rows_by_key(table: pa.Table, keys: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[key] for key in keys): row for row in table.to_pylist()}


def _within(found: pa.Table, common: list[tuple[Any, ...]], question: Question) -> float:
    """Half the widest interval, as a share of its value; infinite where one has none."""
    rows = _rows_by_key(found, question.keys)
    if any(key not in rows or rows[key][f"{name}_{end}"] is None
           for key in common for name in question.values for end in ("low", "high")):
        return float("inf")
    return max((rows[key][f"{name}_high"] - rows[key][f"{name}_low"]) / 2 / rows[key][name]
               for key in common for name in question.values)


def _off(found: pa.Table, common: list[tuple[Any, ...]], question: Question,
         exact: dict[tuple[Any, ...], dict[str, Any]]) -> float:
    """How far the worst value is from the truth, as a share of it."""
    rows = _rows_by_key(found, question.keys)
    return max(abs(rows[key][name] / exact[key][name] - 1) if key in rows else 1.0
               for key in common for name in question.values)


def _steered(medium: str, source: Callable[[], wb.Stream], rows: int) -> Iterator[Row]:
    """Time to windows of a chosen range, late in the log, within 2%: preferred, and in the order of time."""
    window = rows // 100
    first = rows * 9 // 10

    def build() -> wb.Stream:
        return source().tumbling_window(window).aggregate(n=wb.count(), total=wb.sum(col.clicks), mean=wb.mean(col.ms))

    def seconds(query: wb.Stream, *, steered: bool) -> float:
        began = time.perf_counter()
        progress = query.progressive(every=1, order="random" if steered else "oldest")
        if steered:
            progress.prioritize(between=(first, first + 3 * window))
        for answer in progress:
            known = answer.table.slice(0, answer.settled)["start"].to_pylist()
            if {first, first + window, first + 2 * window} <= set(known):
                break
        took = time.perf_counter() - began
        assert same_rows("start", "n", "total", "mean")(progress.finish(), exact)
        return took

    exact = build().collect()
    steered, in_order = (ready(Ours(build, partial(seconds, steered=first), "steered" if first else "in order"))
                         for first in (True, False))
    for run, ran in (steered, in_order):
        warm(run, ran)
    ours, theirs = [], []
    for _ in range(REPEATS):
        ours.append(steered[0]())
        theirs.append(in_order[0]())
    yield taken("H", f"searches, {medium}, 3 of 100 windows", ours, "in order of time", theirs,
                ran=(steered[1], in_order[1]))

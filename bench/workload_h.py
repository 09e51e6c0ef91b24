"""H. Progressive answers (after Trill, VLDB 2015, 7.4, figure 6b): early and steered ones, and what intervals hold."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import whimbrel as wb
from bench.compare import REPEATS, Row, compare, same_rows
from bench.coverage import HISTOGRAM, KEPT, RATIO, SUMS, coverage, datasets, membership
from whimbrel import col
from whimbrel.kernels import patience

ROWS, QUICK_ROWS = 20_000_000, 2_000_000
TERMS = 1_000
SHUFFLES, QUICK_SHUFFLES = 1_000, 4
Peers = dict[str, Callable[[], Any]]
COLUMNS = ("term", "n", "total", "mean")


def run(*, quick: bool) -> Iterator[Row]:
    """Popularity of search terms: all answers of a scan against one, time to an error, steering; then coverage."""
    rows = QUICK_ROWS if quick else ROWS
    table = _searches(rows)
    with TemporaryDirectory() as folder, patience():
        path = Path(folder) / "searches.parquet"
        pq.write_table(table, path, row_group_size=65_536)
        sources = {"memory": wb.from_arrow(table, time="at"), "Parquet": wb.read_parquet(path, time="at")}
        for place, source in sources.items():
            yield from _whole(place, source, table, path, rows)
            yield from _steered(place, source, rows)
    print("      share of groups of which no interval was false at 12 looks, and (the same of those that had one, "
          "how many had one at half the data, its width as a multiple of one for that look alone, half of it as a "
          "share of the value)")
    for groups in (10,) if quick else (10, 1_000):
        for data in datasets():
            shuffles = QUICK_SHUFFLES if quick else SHUFFLES
            for asked in (SUMS, RATIO, HISTOGRAM, KEPT):
                print(coverage(data, groups, shuffles, asked), flush=True)
            print(membership(data, groups, shuffles), flush=True)


def _searches(rows: int) -> pa.Table:
    chance = np.random.default_rng(5)
    return pa.table({"at": np.arange(rows), "term": np.minimum(chance.zipf(1.2, rows), TERMS) - 1,
                     "ms": chance.exponential(40, rows), "clicks": chance.integers(0, 6, rows)})


def _ask(source: wb.Stream, window: int) -> wb.Stream:
    return source.group_by("term").tumbling_window(window).aggregate(n=wb.count(), total=wb.sum(col.clicks),
                                                                   mean=wb.mean(col.ms))


def _whole(place: str, source: wb.Stream, table: pa.Table, path: Path, rows: int) -> Iterator[Row]:
    query = _ask(source, rows)
    sql = "SELECT term, count(*) AS n, sum(clicks)::BIGINT AS total, avg(ms) AS mean FROM {} GROUP BY term"
    connection = duckdb.connect()
    connection.register("searches", table)
    frame = pl.from_arrow(table) if place == "memory" else None

    def polars() -> pa.Table:
        scan = pl.scan_parquet(path) if frame is None else frame.lazy()  # type: ignore[union-attr]
        found = scan.group_by("term").agg(n=pl.len().cast(pl.Int64), total=pl.col("clicks").sum(),
                                          mean=pl.col("ms").mean())
        return found.collect().to_arrow()

    def duck() -> pa.Table:
        return connection.sql(sql.format("searches" if place == "memory" else f"'{path}'")).to_arrow_table()

    peers: Peers = {"one-shot": query.collect, "DuckDB one-shot": duck, "Polars one-shot": polars}
    for every, shown in (("100%", "1 answer"), ("10%", "10 answers"), ("1%", "100 answers")):
        def answers(every: str = every) -> pa.Table:
            for answer in query.progress(every=every):
                table = answer.table
            return table

        yield from compare("H", f"{place}, {shown}", rows, answers, peers, same_rows(*COLUMNS))

    def unread() -> pa.Table:
        for answer in query.progress(every="1%"):
            last = answer
        return last.table

    one_shot: Peers = {"one-shot": query.collect}
    yield from compare("H", f"{place}, 100 unread", rows, unread, one_shot, same_rows(*COLUMNS))
    yield from _times_to(place, query, peers, table)


def _times_to(place: str, query: wb.Stream, peers: Peers,
              table: pa.Table) -> Iterator[Row]:
    """Time to a first answer, and to errors of the twenty commonest terms, beside what a peer takes for all."""
    truth = {row["term"]: row["n"] for row in query.collect().to_pylist()}
    common = sorted(truth, key=lambda term: -truth[term])[:20]

    def until(error: float) -> float:
        began = time.perf_counter()
        for answer in query.progress(every="1%"):
            found = answer.table
            if error == np.inf or _error(found, common) <= error:
                break
        return time.perf_counter() - began

    def sampled() -> float:
        began = time.perf_counter()
        pl.from_arrow(table).sample(fraction=0.01, seed=1).group_by("term").agg(  # type: ignore[union-attr]
            n=pl.len() * 100, total=pl.col("clicks").sum() * 100, mean=pl.col("ms").mean())
        return time.perf_counter() - began

    for shown, error in (("first answer", np.inf), ("to 5%", 0.05), ("to 1%", 0.01)):
        ours = [until(error) for _ in range(REPEATS)]
        for name, peer in {**peers, "Polars 1% sample": sampled}.items():
            theirs = []
            for _ in range(REPEATS):
                began = time.perf_counter()
                peer()
                theirs.append(time.perf_counter() - began)
            yield _row(f"{place}, {shown}", ours, name, theirs)


def _error(found: pa.Table, terms: list[int]) -> float:
    rows = {row["term"]: row for row in found.to_pylist()}
    if any(term not in rows or rows[term][f"{name}_low"] is None for term in terms for name in ("total", "mean")):
        return float("inf")
    return max((rows[term][f"{name}_high"] - rows[term][f"{name}_low"]) / 2 / rows[term][name]
               for term in terms for name in ("total", "mean"))


def _steered(place: str, source: wb.Stream, rows: int) -> Iterator[Row]:
    """Time to windows of a chosen range, late in the log, within 2%: preferred, and in the order of time."""
    window = rows // 100
    first = rows * 9 // 10
    query = source.tumbling_window(window).aggregate(n=wb.count(), total=wb.sum(col.clicks), mean=wb.mean(col.ms))

    def seconds(*, steered: bool) -> float:
        began = time.perf_counter()
        progress = query.progress(every=1, order="random" if steered else "oldest")
        if steered:
            progress.prefer(between=(first, first + 3 * window))
        for answer in progress:
            known = answer.table.slice(0, answer.settled)["start"].to_pylist()
            if {first, first + window, first + 2 * window} <= set(known):
                break
        took = time.perf_counter() - began
        assert same_rows("start", "n", "total", "mean")(progress.finish(), exact)
        return took

    exact = query.collect()
    ours, theirs = [], []
    for _ in range(REPEATS):
        ours.append(seconds(steered=True))
        theirs.append(seconds(steered=False))
    yield _row(f"{place}, 3 of 100 windows", ours, "in order of time", theirs)


def _row(case: str, ours: list[float], peer: str, theirs: list[float]) -> Row:
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    return Row(workload="H", case=case, metric="ms", ours=statistics.median(ours) * 1e3, peer=peer,
               peer_value=statistics.median(theirs) * 1e3, ratio=statistics.median(ratios), ratio_min=min(ratios),
               ratio_max=max(ratios), roof_fraction=None,
               rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, verified=True)

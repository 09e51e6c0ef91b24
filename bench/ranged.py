"""Estimates where rows do not stand for themselves: a join with a small table, an aggregate of windows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

import whimbrel as wb
from bench.compare import REPEATS, Row, same_rows, taken, warm
from bench.sides import Ours, collected, ready
from whimbrel import col

TERMS, KINDS, WINDOW = 1_000, 12, 2_000
GOALS = {"first answer": math.inf, "to 5%": 0.05, "to 1%": 0.01, "exact": 0.0}
Ask = Callable[[], Any]


@dataclass(frozen=True)
class Question:
    """As every peer is asked it.

    Attributes
    ----------
    query : callable
        Builds the query.
    peers : dict of str to callable
        Each gives the whole answer.
    same : callable
        Whether two answers agree.
    """

    name: str
    query: Callable[[], wb.Stream]
    peers: dict[str, Ask | Ours[wb.Stream]]
    same: Callable[[pa.Table, pa.Table], bool]


def ranged(rows: int) -> Iterator[Row]:
    """Time to a first answer, to intervals within an error, and to the end, with the time that a peer takes for all."""
    for question in (_joined(rows), _nested(rows)):
        query = question.query()
        mine = Ours(lambda query=query: query, lambda asked: asked.progressive(every="1%").finish())
        sides = {name: ready(side) for name, side in {"ours": mine, **question.peers}.items()}
        exact = warm(*sides["ours"])
        peers = {name: run for name, (run, _) in sides.items() if name != "ours"}
        for name in peers:
            assert question.same(warm(*sides[name]), exact), f"{question.name}: {name} answers otherwise"
        ours: list[dict[str, float]] = []
        theirs: dict[str, list[float]] = {name: [] for name in peers}
        for _ in range(REPEATS):
            ours.append(_times(query))
            for name, peer in peers.items():
                began = time.perf_counter()
                peer()
                theirs[name].append(time.perf_counter() - began)
        for goal in GOALS:
            for name, times in theirs.items():
                yield taken("H", f"{question.name}, {goal}", [each[goal] for each in ours], name, times,
                            ran=(sides["ours"][1], sides[name][1]))


def _times(query: wb.Stream) -> dict[str, float]:
    """Seconds until all intervals are within an error, looking at each of a hundred answers."""
    began, found = time.perf_counter(), dict[str, float]()
    for answer in query.progressive(every="1%"):
        _ = answer.table
        error = answer.relative_error
        for goal, least in GOALS.items():
            if error <= least:
                found.setdefault(goal, time.perf_counter() - began)
    return found


def _joined(rows: int) -> Question:
    chance = np.random.default_rng(5)
    log = pa.table({"at": np.arange(rows), "term": np.minimum(chance.zipf(1.2, rows), TERMS) - 1,
                    "ms": chance.exponential(40, rows)})
    terms = pa.table({"term": np.arange(TERMS), "kind": np.arange(TERMS) % KINDS, "price": chance.uniform(1, 5, TERMS)})
    valid = {"since": np.zeros(TERMS, np.int64), "until": np.full(TERMS, rows)}

    def query() -> wb.Stream:
        small = wb.from_arrow({name: terms[name] for name in terms.column_names} | valid, time="since", end="until",
                              name="terms").select("term", "kind", "price")
        searches = wb.from_arrow(log, time="at", name="searches").join(small, on="term")
        return searches.group_by("kind").tumbling_window(rows).aggregate(
            n=wb.count(), worth=wb.sum(col.ms * col.price), mean=wb.mean(col.ms))

    frame, names = pl.from_arrow(log), pl.from_arrow(terms)
    assert isinstance(frame, pl.DataFrame)
    assert isinstance(names, pl.DataFrame)
    asked = frame.lazy().join(names.lazy(), on="term").group_by("kind").agg(
        n=pl.len().cast(pl.Int64), worth=(pl.col("ms") * pl.col("price")).sum(), mean=pl.col("ms").mean())
    connection = duckdb.connect()
    connection.register("log", log)
    connection.register("terms", terms)
    sql = ("SELECT kind, count(*) AS n, sum(ms * price) AS worth, avg(ms) AS mean FROM log JOIN terms USING (term) "
           "GROUP BY kind")
    return Question("joined with a table of 1,000 rows", query, _peers(query, connection, sql, asked),
                    same_rows("kind", "n", "worth", "mean"))


def _nested(rows: int) -> Question:
    chance = np.random.default_rng(6)
    log = pa.table({"at": np.arange(rows), "term": chance.integers(0, 100, rows), "ms": chance.exponential(40, rows)})

    def query() -> wb.Stream:
        return wb.from_arrow(log, time="at", name="searches").group_by("term").tumbling_window(WINDOW).aggregate(
            n=wb.count(), mean=wb.mean(col.ms)).tumbling_window(rows).aggregate(
                windows=wb.count().where(col.n > 20), mean=wb.mean(col.mean))

    frame = pl.from_arrow(log)
    assert isinstance(frame, pl.DataFrame)
    asked = frame.lazy().group_by("term", pl.col("at") // WINDOW).agg(
        n=pl.len().cast(pl.Int64), mean=pl.col("ms").mean()).select(
            windows=(pl.col("n") > 20).sum().cast(pl.Int64), mean=pl.col("mean").mean())
    connection = duckdb.connect()
    connection.register("log", log)
    sql = ("SELECT count(*) FILTER (n > 20) AS windows, avg(mean) AS mean "
           f'FROM (SELECT count(*) AS n, avg(ms) AS mean FROM log GROUP BY term, "at" // {WINDOW})')
    return Question("an aggregate of windows", query, _peers(query, connection, sql, asked),
                    same_rows("windows", "mean"))


def _peers(query: Callable[[], wb.Stream], connection: duckdb.DuckDBPyConnection, sql: str,
           asked: pl.LazyFrame) -> dict[str, Ask | Ours[wb.Stream]]:
    return {"one-shot": collected(query, "whole"), "DuckDB one-shot": lambda: connection.sql(sql).to_arrow_table(),
            "Polars one-shot": lambda: asked.collect().to_arrow()}

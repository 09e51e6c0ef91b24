"""M. A desk: 1,000 queries on one reading of a table in memory, against one query and against DuckDB 1,000 times.

Each query counts and sums in windows. They have 40 distinct conditions; or one condition each, of equality or of size;
or 8 sets of keys. The time is that of reading to the end and of one result. Queries are added before, and every tenth
answer is compared with DuckDB.

One query on no desk drops most rows by its filter. For 1,000 queries, each row is grouped for some of them. The limit
is therefore a hand-written loop that groups each row once, by the column of the conditions and all keys.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import whimbrel as wb
from bench.compare import Row, same_rows, taken, warm
from bench.limit import cells
from bench.sides import Ran
from whimbrel import Stream, col
from whimbrel.kernels import finish_compiling

ROWS, QUICK_ROWS = 5_000_000, 500_000
QUERIES = 1_000
WINDOWS = 20
_DRAWN = {"k": 100, "a": 8, "b": 5, "c": 4, "size": 1500, "port": 1_000, "protocol": 40}
_REPEATS = 3
_GROUPINGS = list(chain.from_iterable(combinations(("a", "b", "c"), keys) for keys in range(4)))


@dataclass(frozen=True)
class _Query:
    """A condition on a column, and keys."""

    column: str
    op: str
    constant: int
    keys: tuple[str, ...]

    def stream(self, log: Stream, window: int) -> Stream:
        value = col[self.column]
        kept = log.where(value == self.constant if self.op == "=" else value > self.constant).tumbling_window(window)
        grouped = kept.group_by(*self.keys) if self.keys else kept
        return grouped.aggregate(n=wb.count(), total=wb.sum(col.size))

    def sql(self, window: int) -> str:
        keys = "".join(f", {key}" for key in self.keys)
        return (f'SELECT "at" // {window} * {window} AS start{keys}, count(*) AS n, sum(size)::BIGINT AS total '
                f"FROM log WHERE {self.column} {self.op} {self.constant} GROUP BY start{keys}")


CASES: dict[str, Callable[[int], _Query]] = {
    "40 distinct conditions": lambda number: _Query("protocol", "=", number % 40, ("k",)),
    "one shape, port = c": lambda number: _Query("port", "=", number, ("a",)),
    "one shape, size > c": lambda number: _Query("size", ">", number, ("a",)),
    "8 groupings": lambda number: _Query("protocol", "=", number % 40, _GROUPINGS[number % len(_GROUPINGS)])}


def run(*, quick: bool) -> Iterator[Row]:
    """One figure for each case and peer."""
    rows = QUICK_ROWS if quick else ROWS
    table = _table(rows)
    for case, query in CASES.items():
        yield from _case(case, table, [query(number) for number in range(QUERIES)], rows // WINDOWS)


def _table(rows: int) -> pa.Table:
    draw = np.random.default_rng(5)
    return pa.table({"at": np.arange(rows), **{name: draw.integers(0, upto, rows) for name, upto in _DRAWN.items()}})


def _case(case: str, table: pa.Table, queries: Sequence[_Query], window: int) -> Iterator[Row]:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("given", table)
    connection.execute("CREATE TABLE log AS SELECT * FROM given")
    many, one = Ran("1,000 queries", declared=True), Ran("one query, on no desk", declared=True)
    answers = warm(lambda: _answers(table, queries, window), many)
    warm(_alone(table, queries[0], window), one)
    for number, answer in answers.items():
        names = ("start", *queries[number].keys, "n", "total")
        other = connection.sql(queries[number].sql(window)).to_arrow_table()
        assert same_rows(*names)(answer, other), f"M desk {case}: query {number} gives another answer"
    loop = _loop(table, queries, window)
    assert same_rows("start", "n", "total")(_windows(answers[10]), _windows(loop(), queries[10])), f"M {case}: the loop"
    del answers
    finish_compiling()
    ours: list[float] = []
    single: list[float] = []
    theirs: list[float] = []
    limit: list[float] = []
    for _ in range(_REPEATS):
        ours.append(_seconds(_read(table, queries, window)))
        single.append(_seconds(_alone(table, queries[0], window)))
        limit.append(_seconds(loop))
        theirs.append(_seconds(lambda: [connection.sql(query.sql(window)).to_arrow_table() for query in queries]))
    yield taken("M desk", case, ours, "one query", single, ran=(many, one))
    yield taken("M desk", case, ours, "limit: a loop", limit, ran=(many, Ran()))
    yield taken("M desk", case, ours, "DuckDB 1,000 times", theirs, ran=(many, Ran()))


def _desk(table: pa.Table, queries: Sequence[_Query], window: int) -> wb.Desk:
    log = wb.from_arrow(table, time="at", name="log")
    desk = wb.desk(log)
    for number, query in enumerate(queries):
        desk.add(f"q{number}", query.stream(log, window))
    return desk


def _alone(table: pa.Table, query: _Query, window: int) -> Callable[[], pa.Table]:
    return query.stream(wb.from_arrow(table, time="at", name="log"), window).collect


def _loop(table: pa.Table, queries: Sequence[_Query], window: int) -> Callable[[], pa.Table]:
    """Groups each row by what conditions read and by all keys."""
    names = [*dict.fromkeys(name for query in queries for name in query.keys)]
    column, sizes = queries[0].column, [_DRAWN[name] for name in names]
    given = {name: table[name].to_numpy() for name in ("at", "size", column, *names)}

    def loop() -> pa.Table:
        minor = given[names[0]]
        for name in names[1:]:
            minor = minor * _DRAWN[name] + given[name]
        return cells(given["at"], given[column], minor, given["size"], window, _DRAWN[column], int(np.prod(sizes)))

    return loop


def _windows(groups: pa.Table, query: _Query | None = None) -> pa.Table:
    """Count and sum of each window, of all groups or of those that a query reads."""
    if query is not None:
        compare = pc.equal if query.op == "=" else pc.greater
        groups = groups.filter(compare(groups["major"], query.constant))
    found = groups.group_by("start").aggregate([("n", "sum"), ("total", "sum")])
    return found.rename_columns({"n_sum": "n", "total_sum": "total"})


def _answers(table: pa.Table, queries: Sequence[_Query], window: int) -> dict[int, pa.Table]:
    desk = _desk(table, queries, window)
    desk.run()
    return {number: desk[f"q{number}"].table for number in range(0, len(queries), 10)}


def _read(table: pa.Table, queries: Sequence[_Query], window: int) -> Callable[[], pa.Table]:
    desk = _desk(table, queries, window)

    def read() -> pa.Table:
        desk.run()
        return desk["q0"].table

    return read


def _seconds(run: Callable[[], object]) -> float:
    gc.collect()
    began = time.perf_counter()
    run()
    return time.perf_counter() - began

"""Every function of a row against Polars, Arrow and DuckDB: ``python -m bench.functions``.

Options: ``--rows 10M`` (1M by default), ``--nulls`` for columns of which a tenth is null, ``--repeats 3``, and names of
functions. Each function has a table of its own, so that 10M rows take below 6 GB.
Answers are compared before anything is timed. Times are CPU times of the process, the least of several in turn, on one
thread. A table has one row for each function, the worst first. It has two ratios: of the function alone, over
batches as the engine cuts them, and of a whole query. A query also makes the columns of start and end.

These stay below 0.8 of the best peer. ``field``, ``is_null`` and ``fill_null`` without nulls take 2 to 9 microseconds
for each batch, where a peer shares the whole column at once. ``list.length`` widens the int32 with which a peer
answers. ``is_nan`` and ``nullif`` read memory as fast as a sum does, but make a byte for each row, which is packed into
bits at the end. Patterns over distinct texts are those of RE2, in which at least 91% of their time is spent.
``ip.version`` checks all of a text, and peers look for a colon. ``ip.lookup`` takes any number of prefixes, peers
compare with one.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

import whimbrel as wb
from bench.function_cases import CASES, Case, table_of
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.expr import Expr, columns_of, evaluate
from whimbrel.kernels import finish_compiling, wait_for_compiler

BATCH_ROWS = 1 << 16
DIFFERENT = {
    "hash": "other hashes", "hash of texts": "other hashes", "str.title": "words end at other marks",
    "dt.total_seconds": "",
}
"""Functions whose values are their own on each side."""


def same(ours: Any, theirs: Any) -> bool:
    """Whether two columns have equal values, floats to 12 digits."""
    one, other = (each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in (ours, theirs))
    one, other = (pa.concat_arrays(each.chunks) if isinstance(each, pa.ChunkedArray) else each for each in (one, other))
    if one.null_count != other.null_count:
        return False
    if pa.types.is_floating(one.type):
        x, y = (np.asarray(each.cast(pa.float64()).fill_null(0.0)) for each in (one, other))
        return bool(np.allclose(x, y, rtol=1e-12, atol=1e-15, equal_nan=True))
    return bool(one.equals(other.cast(one.type)))


def sides(case: Case, table: pa.Table, frame: pl.DataFrame, con: Any) -> dict[str, Callable[[], Any]]:
    """What each side runs, by its name."""
    found: dict[str, Callable[[], Any]] = {}
    if case.polars is not None:
        found["Polars"] = lambda: frame.select(y=case.polars)["y"]
    if case.arrow is not None:
        found["Arrow"] = lambda: case.arrow(table)  # type: ignore[misc]
    if case.duckdb is not None:
        found["DuckDB"] = lambda: con.sql(f"SELECT {case.duckdb} AS y FROM log").to_arrow_table()["y"]
    return found


def batches(case: Case, table: pa.Table) -> list[Batch]:
    """The columns of the table that the function reads, in batches as long as those of the engine."""
    names = sorted(columns_of(case.ours))
    columns = [Column.from_arrow(table[name].combine_chunks().chunk(0) if isinstance(
        table[name].combine_chunks(), pa.ChunkedArray) else table[name].combine_chunks()) for name in names]
    schema = Schema(tuple(Field(name, column.type) for name, column in zip(names, columns, strict=True)))
    times = np.arange(table.num_rows)
    return [Batch(schema, times[at : at + BATCH_ROWS], 1, tuple(
        column.slice(at, min(at + BATCH_ROWS, table.num_rows)) for column in columns))
        for at in range(0, table.num_rows, BATCH_ROWS)]


def in_turn(expr: Expr, parts: list[Batch]) -> None:
    """The function of each batch. What it makes is let go of, as in a query, whose results are copied or read."""
    for part in parts:
        evaluate(expr, part).to_arrow()


def best(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least CPU seconds of each side, of several in turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    gc.unfreeze()  # what the function before this one held
    gc.collect()
    gc.freeze()  # libraries and data: to look through them would take longer than most runs
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.process_time()
            run()
            times[name].append(time.process_time() - began)
    return {name: min(each) for name, each in times.items()}


Measured = tuple[str, str, float, float, float]


def measured(names: list[str], rows: int, repeats: int, *, nulls: bool) -> Iterator[Measured]:
    """Each function, its best peer, both ratios, and million rows a second of our function."""
    for name in names:
        case = CASES[name]
        table = table_of(rows, columns_of(case.ours), nulls=nulls)  # all columns of 10M rows would take too much memory
        parts = batches(case, table)
        log, frame, con = wb.from_arrow(table, time="at"), pl.from_arrow(table), duckdb.connect()
        assert isinstance(frame, pl.DataFrame)
        con.execute("SET threads = 1; SET TimeZone = 'UTC'")
        con.register("arrow", table)
        con.execute("CREATE TABLE log AS SELECT * FROM arrow")
        query = log.select(y=case.ours)
        runs = sides(case, table, frame, con)
        with wait_for_compiler():
            answer = query.collect()["y"]
            pa.chunked_array([evaluate(case.ours, part).to_arrow() for part in parts])
        for peer, run in list(runs.items()):
            theirs = run()
            theirs = theirs.to_arrow() if isinstance(theirs, pl.Series) else theirs
            if name not in DIFFERENT and not same(answer, theirs):
                print(f"   {name}: {peer} gives another answer, and is left out", flush=True)
                del runs[peer]
        finish_compiling()
        times = best({"ours": lambda parts=parts, case=case: in_turn(case.ours, parts),
                      "query": lambda query=query: query.collect(), **runs}, repeats)
        peer = min(runs, key=times.__getitem__, default="")
        fastest = times.get(peer, float("nan"))
        yield name, peer, fastest / times["ours"], fastest / times["query"], rows / times["ours"] / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES))
    parser.add_argument("--rows", default="1M")
    parser.add_argument("--nulls", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    rows = int(float(asked.rows.rstrip("M")) * (10**6 if asked.rows.endswith("M") else 1))
    found = []
    for row in measured(asked.names, rows, asked.repeats, nulls=asked.nulls):
        found.append(row)
        print("   ", *row, flush=True)
    print(f"{'function':<24}{'best peer':<10}{'ratio':>7}{'query':>7}{'M rows/s':>10}")
    for name, peer, ratio, whole, rate in sorted(found, key=lambda row: (row[2] != row[2], row[2])):
        print(f"{name:<24}{peer or 'none':<10}{ratio:>7.2f}{whole:>7.2f}{rate:>10.1f}")


if __name__ == "__main__":
    main()

"""A. Columnar operators: grouped tumbling count and sum (after Trill, VLDB 2015, figures 1, 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

import whimbrel as wb
from bench.compare import Row, compare
from bench.limit import grouped_tumbling
from whimbrel import col

ROWS, QUICK_ROWS = 20_000_000, 2_000_000
CASES = [(100, 3_600_000), (1_000, 3_600_000), (100_000, 3_600_000), (1_000, 60_000)]
"""Distinct keys, and size of a window in ticks; one row comes per tick."""


def run(*, quick: bool) -> Iterator[Row]:
    """Rows of figures. Counted are input rows; all data lie in memory; nothing is compiled inside the times."""
    rows = QUICK_ROWS if quick else ROWS
    for keys, size in CASES:
        yield from _grouped(rows, keys, size // 10 if quick else size)


def _grouped(rows: int, keys: int, size: int) -> Iterator[Row]:
    random = np.random.default_rng(7)
    time = np.arange(rows)
    key, value = random.integers(0, keys, rows), random.random(rows)
    table = pa.table({"time": time, "key": key, "value": value})
    query = (
        wb.from_arrow(table, time="time")
        .group_by("key").tumbling_window(size).aggregate(rows=wb.count(), total=wb.sum(col.value))
    )
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    lazy = (
        frame.lazy().group_by((pl.col("time") // size * size).alias("start"), "key")
        .agg(pl.len().alias("rows"), pl.col("value").sum().alias("total"))
    )
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    connection.register("log", table)
    sql = f"SELECT time // {size} * {size} AS start, key, count(*) AS rows, sum(value) AS total FROM log GROUP BY ALL"
    peers = {
        "DuckDB, 2 threads": lambda: connection.sql(sql).to_arrow_table(),
        "Polars": lambda: lazy.collect().to_arrow(),
        "Polars streaming": lambda: lazy.collect(engine="streaming").to_arrow(),
        "limit loop": lambda: pa.table(dict(zip(
            ("start", "key", "rows", "total"), grouped_tumbling(time, key, value, size, keys), strict=True))),
    }
    case = f"{keys:,} keys, {rows // size + (rows % size > 0)} windows"
    yield from compare("A grouped tumbling count+sum", case, rows, query.collect, peers, _same, roof="limit loop")
    connection.close()


def _same(ours: pa.Table, theirs: pa.Table) -> bool:
    mine, other = _normal(ours), _normal(theirs)
    return (len(mine["start"]) == len(other["start"])
            and all(np.array_equal(mine[name], other[name]) for name in ("start", "key", "rows"))
            and np.allclose(mine["total"], other["total"], rtol=1e-9))


def _normal(table: pa.Table) -> dict[str, Any]:
    columns = {name: table.column(name).to_numpy() for name in ("start", "key", "rows", "total")}
    order = np.lexsort((columns["key"], columns["start"]))
    return {name: values[order] for name, values in columns.items()}

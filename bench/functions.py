"""Functions of a row against Arrow and Polars: ``POLARS_MAX_THREADS=1 python -m bench.functions ROWS``.

Answers are compared before anything is timed. Each side makes the column from the same Arrow table in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import whimbrel as wb
from bench.compare import compare
from whimbrel import col
from whimbrel.expr import Expr

DAY, SECOND = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"
CASES: dict[str, tuple[Expr, pl.Expr, Callable[[pa.Table], Any] | None]] = {
    **{name: (getattr(col.x, name)(), getattr(pl.col("x"), name)(), None) for name in ("tanh", "cbrt", "degrees")},
    "log10": (col.x.log10(), pl.col("x").log10(), lambda table: pc.log10(table["x"])),
    "is_nan": (col.x.is_nan(), pl.col("x").is_nan(), lambda table: pc.is_nan(table["x"])),
    "round": (col.x.round(1), pl.col("x").round(1), None),
    "lower": (col.s.str.lower(), pl.col("s").str.to_lowercase(), lambda table: pc.utf8_lower(table["s"])),
    "to_integer": (col.s.str.to_integer(), pl.col("s").str.to_integer(),
                   lambda table: table["s"].cast(pa.int64())),
    "strptime": (col.d.str.strptime(DAY), pl.col("d").str.strptime(pl.Datetime("us"), DAY),
                 lambda table: pc.strptime(table["d"], format=DAY, unit="us")),
    "strftime of days": (col.t.dt.strftime(DAY), pl.col("t").dt.strftime(DAY), None),
    "strftime of seconds": (col.t.dt.strftime(SECOND), pl.col("t").dt.strftime(SECOND), None),
    "year": (col.t.dt.year, pl.col("t").dt.year(), lambda table: pc.year(table["t"])),
    **{f"list.{name}": (getattr(col.l.list, name)(), getattr(pl.col("l").list, name)(), None)
       for name in ("sum", "mean", "min", "max", "sort")},
    "list.contains": (col.l.list.contains(5), pl.col("l").list.contains(5), None),
}


def table_of(rows: int) -> pa.Table:
    """Random numbers, texts of integers and days, times of three years, and lists of three integers."""
    random = np.random.default_rng(1)
    times = pa.array(random.integers(1_600_000_000, 1_700_000_000, rows), pa.timestamp("s"))
    offsets = pa.array(np.arange(0, 3 * rows + 1, 3).astype(np.int32))
    return pa.table({
        "at": np.arange(rows), "x": random.uniform(0.1, 9.0, rows), "t": times, "d": pc.strftime(times, format=DAY),
        "s": pa.array(random.integers(-999, 999, rows)).cast(pa.string()),
        "l": pa.ListArray.from_arrays(offsets, pa.array(random.integers(0, 100, 3 * rows)))})


def same(ours: Any, theirs: Any) -> bool:
    """Whether two columns have equal values, floats to 12 digits."""
    one, other = (np.asarray(pa.chunked_array(each.chunks if isinstance(each, pa.ChunkedArray) else [each])
                             .to_pandas()) for each in (ours, theirs))
    if one.dtype == np.float64:
        return bool(np.allclose(one, other, rtol=1e-12, atol=0, equal_nan=True))
    return all(map(np.array_equal, one, other))


def main() -> None:
    """Print a row for each function and peer."""
    rows = int(sys.argv[1])
    table = table_of(rows)
    log, frame = wb.from_arrow(table, time="at"), pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    for name, (expr, theirs, arrow) in CASES.items():
        query = log.select(y=expr)
        peers: dict[str, Callable[[], Any]] = {
            "Polars": lambda theirs=theirs: frame.select(y=theirs)["y"].to_arrow()}  # type: ignore[misc]
        if arrow is not None:
            peers["Arrow"] = lambda arrow=arrow: arrow(table)  # type: ignore[misc]
        for row in compare("functions", name, rows, lambda query=query: query.collect()["y"], peers, same):
            print(row, flush=True)


if __name__ == "__main__":
    main()

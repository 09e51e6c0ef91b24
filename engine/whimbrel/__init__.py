"""Whimbrel: progressive analytics over time.

This package has the public names, nothing else.
"""

from functools import partial
from typing import TYPE_CHECKING

from whimbrel import display
from whimbrel.connect import FILE_ORDER, SEQUENCE, WALL_CLOCK, PartitionWatermarks, ReplayClock
from whimbrel.errors import WhimbrelError
from whimbrel.expr import col, end_time, first_of, greatest, last_of, least, lit, register, start_time, when
from whimbrel.migration_hints import PACKAGE, absent
from whimbrel.operators import event, sequence, simultaneous
from whimbrel.progressive import Comparison, Estimate, ProgressiveQuery
from whimbrel.run import Checkpoints, Metrics, Run, Snapshot
from whimbrel.stream import (
    LatencyBands,
    Lateness,
    Served,
    Stream,
    aggregate,
    all,
    any,
    approx_count_distinct,
    approx_quantile,
    collect,
    count,
    count_distinct,
    datasets,
    ema,
    feeds,
    first,
    from_arrow,
    from_edges,
    from_pandas,
    from_spark,
    iir,
    last,
    late_rows,
    lateness,
    max,
    mean,
    median,
    min,
    product,
    quantile,
    read_parquet,
    replay,
    restore,
    serve,
    sinks,
    start,
    std,
    sum,
    sum_of_squares,
    top_k,
    var,
    window_end,
    window_start,
)

__version__ = "0.1.0"

display.load_between_cells()

__all__ = [
    "FILE_ORDER",
    "SEQUENCE",
    "WALL_CLOCK",
    "Checkpoints",
    "Comparison",
    "Estimate",
    "LatencyBands",
    "Lateness",
    "Metrics",
    "PartitionWatermarks",
    "ProgressiveQuery",
    "ReplayClock",
    "Run",
    "Served",
    "Snapshot",
    "Stream",
    "WhimbrelError",
    "aggregate",
    "all",
    "any",
    "approx_count_distinct",
    "approx_quantile",
    "col",
    "collect",
    "count",
    "count_distinct",
    "datasets",
    "ema",
    "end_time",
    "event",
    "feeds",
    "first",
    "first_of",
    "from_arrow",
    "from_edges",
    "from_pandas",
    "from_spark",
    "greatest",
    "iir",
    "last",
    "last_of",
    "late_rows",
    "lateness",
    "least",
    "lit",
    "max",
    "mean",
    "median",
    "min",
    "product",
    "quantile",
    "read_parquet",
    "register",
    "replay",
    "restore",
    "sequence",
    "serve",
    "simultaneous",
    "sinks",
    "start",
    "start_time",
    "std",
    "sum",
    "sum_of_squares",
    "top_k",
    "var",
    "when",
    "window_end",
    "window_start",
]

if not TYPE_CHECKING:  # type checkers know what is there
    __getattr__ = partial(absent("whimbrel", PACKAGE, __all__), None)

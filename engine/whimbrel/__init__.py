"""Whimbrel: progressive analytics over time. The public names, nothing else."""

from typing import Any

from whimbrel.errors import WhimbrelError
from whimbrel.expr import col, first_of, last_of, lit, register, when
from whimbrel.operators import event, sequence
from whimbrel.run import Metrics, Run, Snapshot
from whimbrel.stream import (
    Stream,
    count,
    datasets,
    from_arrow,
    from_edges,
    from_pandas,
    max,
    mean,
    min,
    read_parquet,
    replay,
    sum,
)

__version__ = "0.1.0"

__all__ = [
    "Metrics", "Run", "Snapshot", "Stream", "WhimbrelError", "col", "count", "datasets", "event", "first_of",
    "from_arrow", "from_edges", "from_pandas", "from_spark", "last_of", "lit", "max", "mean", "min", "read_parquet",
    "register", "replay", "sequence", "sum", "when",
]


def __getattr__(name: str) -> Any:
    if name == "from_spark":  # Spark is not needed until it is asked for
        from whimbrel.spark import from_spark

        return from_spark
    raise AttributeError(f"module 'whimbrel' has no attribute {name!r}")

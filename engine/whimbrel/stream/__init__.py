"""What a notebook user types."""

from whimbrel.stream import datasets
from whimbrel.stream.measures import (
    aggregate,
    all,
    any,
    count,
    first,
    last,
    max,
    mean,
    min,
    product,
    std,
    sum,
    sum_of_squares,
    var,
)
from whimbrel.stream.read import from_arrow, from_edges, from_pandas, read_parquet, replay
from whimbrel.stream.restore import restore
from whimbrel.stream.stream import Stream

__all__ = [
    "Stream", "aggregate", "all", "any", "count", "datasets", "first", "from_arrow", "from_edges", "from_pandas",
    "last", "max", "mean", "min", "product", "read_parquet", "replay", "restore", "std", "sum", "sum_of_squares",
    "var",
]

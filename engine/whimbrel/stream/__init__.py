"""What a notebook user types."""

from whimbrel.stream import datasets
from whimbrel.stream.measures import count, max, mean, min, sum
from whimbrel.stream.read import from_arrow, from_edges, from_pandas, read_parquet, replay
from whimbrel.stream.stream import Stream

__all__ = [
    "Stream", "count", "datasets", "from_arrow", "from_edges", "from_pandas", "max", "mean", "min", "read_parquet",
    "replay", "sum",
]

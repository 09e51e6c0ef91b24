"""Where rows come from: tables in memory, files, replays. Nothing behind this door knows which."""

from whimbrel.connect.columnar import ColumnarSource, TimedSource
from whimbrel.connect.datasets import flights, flights_file
from whimbrel.connect.edges import EdgeSource
from whimbrel.connect.memory import ArrowSource, pandas_source
from whimbrel.connect.parquet import ParquetSource
from whimbrel.connect.partitions import Partitions
from whimbrel.connect.replay import Replay
from whimbrel.connect.replay_clock import ReplayClock
from whimbrel.connect.replayed import Replayed, follow
from whimbrel.connect.stated import FILE_ORDER, SEQUENCE, WALL_CLOCK
from whimbrel.connect.timeline import Timeline

__all__ = [
    "FILE_ORDER", "SEQUENCE", "WALL_CLOCK", "ArrowSource", "ColumnarSource", "EdgeSource", "ParquetSource",
    "Partitions", "Replay", "ReplayClock", "Replayed", "TimedSource", "Timeline", "flights", "flights_file", "follow",
    "pandas_source",
]

"""Sources and sinks: tables, files, replays and feeds.

The engine sees only their contract.
"""

from whimbrel.connect.datasets.catalog import flights, flights_file
from whimbrel.connect.files.parquet import ParquetSource
from whimbrel.connect.partition_watermarks import PartitionWatermarks
from whimbrel.connect.replay.replay import Replay
from whimbrel.connect.replay.replay_clock import ReplayClock
from whimbrel.connect.replay.replay_reader import ReplayReader, follow
from whimbrel.connect.tables.columnar_source import ColumnarSource, TimedSource
from whimbrel.connect.tables.edge_tables import EdgeSource
from whimbrel.connect.tables.lifetime_columns import Timeline
from whimbrel.connect.tables.memory import ArrowSource, pandas_source
from whimbrel.connect.tables.time_column_markers import FILE_ORDER, SEQUENCE, WALL_CLOCK

__all__ = [
    "FILE_ORDER", "SEQUENCE", "WALL_CLOCK", "ArrowSource", "ColumnarSource", "EdgeSource", "ParquetSource",
    "PartitionWatermarks", "Replay", "ReplayClock", "ReplayReader", "TimedSource", "Timeline", "flights",
    "flights_file", "follow",
    "pandas_source",
]

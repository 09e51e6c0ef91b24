"""Create streams from tables in the formats of lakes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from whimbrel.clock import Duration
from whimbrel.connect import PartitionWatermarks
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.table_formats.delta_source import DeltaSource
from whimbrel.plan import Node
from whimbrel.stream.stream import Stream


def read_delta(path: FilePath, *, time: str, end: str | None = None, arrival: str | None = None,
               reorder_latency: Duration | None = None, late: str | None = None,
               partition: str | PartitionWatermarks | None = None, name: str | None = None, version: int | None = None,
               timestamp: str | datetime | None = None, storage_options: Mapping[str, str] | None = None) -> Stream:
    """Create a stream from a Delta table. Needs ``whimbrel[delta]``.

    Only the log and the footers of data files are read now.

    Parameters
    ----------
    path : str or path
        The folder of the table, or its address, such as ``s3://bucket/table``.
    time : str
        The event-time column.
    end, arrival, late, partition, name
        As in :func:`whimbrel.read_parquet`.
    reorder_latency : str, timedelta or int, optional
        Default: a table has no order, so its rows are sorted in memory. Use 0 if the rows of its files are in order.
    version : int, optional
        Default: the newest version.
    timestamp : str or datetime, optional
        The version that was current then.
    storage_options : mapping of str to str, optional
        Options of the storage, such as credentials, as in the package deltalake.

    Notes
    -----
    Conditions skip files and row groups by their statistics and the values of partitions. Tables with deletion vectors
    or mapped columns are refused.

    Examples
    --------
    ``wb.read_delta("orders", time="at", version=3)``
    """
    return Stream(Node(DeltaSource(path, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency,
                                   late=late, partition=partition, name=name, version=version, timestamp=timestamp,
                                   storage_options=storage_options)))

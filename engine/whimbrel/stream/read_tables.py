"""Create streams from tables of lakes and queries of databases."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from whimbrel.clock import Duration
from whimbrel.connect import PartitionWatermarks
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.table_formats.delta_source import DeltaSource
from whimbrel.connect.table_formats.iceberg_source import IcebergSource
from whimbrel.connect.tables.sql_query import SqlQuery
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
        The version that was current then, in UTC unless it has a zone.
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


def read_iceberg(table: Any, catalog: Any = None, *, time: str, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None,
                 partition: str | PartitionWatermarks | None = None, name: str | None = None,
                 snapshot_id: int | None = None, timestamp: str | datetime | None = None) -> Stream:
    """Create a stream from an Iceberg table. Needs ``whimbrel[iceberg]``.

    Only the metadata and the footers of data files are read now.

    Parameters
    ----------
    table : str, path or pyiceberg.table.Table
        A name in the catalog, such as ``"sales.orders"``, the file of the table's metadata, or a table.
    catalog : str, mapping of str to str, or pyiceberg.catalog.Catalog, optional
        A configured name, properties such as ``{"type": "sql", "uri": "sqlite:///catalog.db"}``, or a catalog. A name
        of a table needs it.
    time : str
        The event-time column.
    end, arrival, late, partition, name
        As in :func:`whimbrel.read_parquet`.
    reorder_latency : str, timedelta or int, optional
        Default: a table has no order, so its rows are sorted in memory. Use 0 if the rows of its files are in order.
    snapshot_id : int, optional
        Default: the newest snapshot.
    timestamp : str or datetime, optional
        The snapshot that was current then.

    Notes
    -----
    Conditions skip files and row groups by their statistics. Columns are those of the table now, or, of a chosen
    snapshot, those that it had. Tables whose rows were deleted by position or value are refused, and so are tables with
    files from before a column was renamed.

    Examples
    --------
    >>> import pyarrow as pa, tempfile, whimbrel as wb
    >>> from pyiceberg.catalog import load_catalog
    >>> folder = tempfile.mkdtemp()
    >>> catalog = load_catalog("demo", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    >>> catalog.create_namespace("sales")
    >>> orders = pa.table({"at": [1, 2], "x": [10, 20]})
    >>> catalog.create_table("sales.orders", orders.schema).append(orders)
    >>> wb.read_iceberg("sales.orders", catalog, time="at").select("x").collect()["x"].to_pylist()
    [10, 20]
    """
    return Stream(Node(IcebergSource(table, catalog, time=time, end=end, arrival=arrival,
                                     reorder_latency=reorder_latency, late=late, partition=partition, name=name,
                                     snapshot_id=snapshot_id, timestamp=timestamp)))


def from_sql(query: str, connection: Any, *, time: str, end: str | None = None, arrival: str | None = None,
             reorder_latency: Duration | None = None, late: str | None = None,
             partition: str | PartitionWatermarks | None = None, name: str | None = None) -> Stream:
    """Create a stream from a query of a database, through ADBC.

    The query runs now, for its columns, and again with each read. Rows are read in batches. A file that does not
    exist is an error, and none is created.

    Parameters
    ----------
    query : str
        A query in the SQL of the database.
    connection : str or connection
        ``sqlite:///file``, ``duckdb:///file`` or ``postgresql://user:password@host/database``, or an open connection of
        ADBC. SQLite and PostgreSQL need ``whimbrel[adbc]``, DuckDB needs ``whimbrel[frames]``.
    time : str
        The event-time column: a timestamp, a date, or integers.
    end, arrival, late, partition, name
        As in :func:`whimbrel.read_parquet`.
    reorder_latency : str, timedelta or int, optional
        Default: rows are sorted in memory. Use 0 if the query sorts them by `time`.

    Notes
    -----
    A run that resumes from a checkpoint runs the query again and skips the rows that it had, so the query must give the
    same rows in the same order.

    Examples
    --------
    >>> import sqlite3, tempfile, pathlib
    >>> import whimbrel as wb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.db"
    >>> with sqlite3.connect(file) as database:
    ...     _ = database.execute("CREATE TABLE log AS SELECT 1 AS at, 10 AS x UNION SELECT 2, 20")
    >>> database.close()
    >>> log = wb.from_sql("SELECT * FROM log ORDER BY at", f"sqlite:///{file}", time="at", reorder_latency=0)
    >>> log.select("x").collect()["x"].to_pylist()
    [10, 20]
    """
    return Stream(Node(SqlQuery(query, connection, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency,
                                late=late, partition=partition, name=name)))

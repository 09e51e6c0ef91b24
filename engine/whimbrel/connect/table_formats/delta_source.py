"""Delta tables as a source."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from whimbrel.clock.duration import Duration
from whimbrel.connect.addresses import shown_address
from whimbrel.connect.files.data_file import DataFile, RemoteFile
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.connect.files.parquet import ParquetSource
from whimbrel.connect.files.parquet_files import ParquetFiles
from whimbrel.connect.files.paths import FilePath, address_of
from whimbrel.connect.partition_watermarks import PartitionWatermarks, by_of
from whimbrel.connect.table_formats.delta_table import opened_table
from whimbrel.connect.table_formats.partition_values import PartitionValues
from whimbrel.errors import SourceError

_EARLIEST = -(1 << 63)


class DeltaSource(ParquetSource):
    """Source of a version of a Delta table.

    The log of the table says which Parquet files belong to a version. They are read in the order of their earliest
    event times. Columns of a partition have the values of the log. A column that was added later is null in older rows.

    Parameters
    ----------
    path : str or path
        The folder of the table, or its address.
    time, end, arrival, late, partition, name
        As in :class:`~whimbrel.connect.files.parquet.ParquetSource`.
    reorder_latency : str, timedelta or int, optional
        Default: a table has no order, so its rows are sorted. 0 if its files are in order.
    version : int, optional
    timestamp : str or datetime, optional
        The version that was current then. Default: the newest version.
    storage_options : mapping of str to str, optional
        Options of the storage, such as credentials. They are in no plan, error or checkpoint.

    Raises
    ------
    SourceError
        For a missing table or version, and for data files or parts of the log that were removed.
    """

    def __init__(self, path: FilePath, *, time: str, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None,
                 partition: str | PartitionWatermarks | None = None, version: int | None = None,
                 timestamp: str | datetime | None = None, storage_options: Mapping[str, str] | None = None) -> None:
        address = address_of(path)
        text = address or str(Path(os.fspath(path)).expanduser())
        shown = shown_address(text)
        where = f"read_delta({shown!r}, time={time!r})"
        if version is not None and timestamp is not None:
            raise SourceError("version and timestamp exclude each other.", where=where, hint="Leave one of them out.")
        table = opened_table(text, version, timestamp, storage_options, where)
        self.version: int = table.version()
        files = _files_of(table, time, text, None if address is None else shown, storage_options)
        removed = next((file for file in files if isinstance(file, Path) and not file.exists()), None)
        if removed is not None:
            raise SourceError(f"Version {self.version:,} of {shown!r} needs files that were removed, such as "
                              f"{removed.name!r}.", where=where,
                              hint="VACUUM removes files of old versions; use a newer version.")
        schema, partitioned = pa.schema(table.schema().to_arrow()), table.metadata().partition_columns
        constants = PartitionValues([schema.field(each) for each in partitioned], files)
        self._files = ParquetFiles(list(files), where=where, folders=constants,
                                   wanted=(time, end, arrival, by_of(partition)), table=shown)
        lacking = [field for field in schema if field.name not in self._files.schema.names]
        constants.add_nulls(lacking)
        self._files.schema = pa.schema([*self._files.schema, *lacking]) if files else schema
        super(ParquetSource, self).__init__(
            self._files.schema, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
            name=name or Path(shown).name, rows=self._files.rows, where=where, partition=partition)

    def _default_latency(self) -> int | None:
        return None


def _files_of(table: Any, time: str, path: str, shown: str | None,
              options: Mapping[str, str] | None) -> dict[DataFile, dict[str, Any]]:
    """Files of a version by their earliest time, with the values of their partition."""
    rows = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    first, found = f"min.{time}", []
    if shown is None:
        made: list[tuple[dict[str, Any], DataFile]] = [(row, Path(path) / unquote(row["path"])) for row in rows]
    else:
        from deltalake.fs import DeltaStorageHandler
        from pyarrow import fs

        sizes = {unquote(row["path"]): row["size_bytes"] for row in rows}
        system = fs.PyFileSystem(DeltaStorageHandler(path, None if options is None else dict(options), sizes))
        made = [(row, RemoteFile(system, unquote(row["path"]), f"{shown.rstrip('/')}/{unquote(row['path'])}",
                                 (row["size_bytes"], row["modification_time"] // 1000))) for row in rows]
    for row, file in made:
        known = row.get(first)
        values = {name.removeprefix("partition."): value for name, value in row.items()
                  if name.startswith("partition.")}
        found.append(((known is not None, known if known is not None else _EARLIEST, natural_path(file)), file, values))
    return {file: values for _, file, values in sorted(found, key=lambda each: each[0])}

"""Iceberg tables as a source."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from whimbrel.clock.duration import Duration
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.natural_sort import natural
from whimbrel.connect.files.parquet import ParquetSource
from whimbrel.connect.files.parquet_files import ParquetFiles
from whimbrel.connect.partition_watermarks import PartitionWatermarks, by_of
from whimbrel.connect.table_formats.iceberg_table import (
    arrow_schema,
    check_ids,
    earliest,
    located,
    opened_iceberg,
    shown_table,
    snapshot_of,
    unreadable,
)
from whimbrel.connect.table_formats.partition_values import PartitionValues
from whimbrel.errors import SourceError, WhimbrelError


class IcebergSource(ParquetSource):
    """Source of a snapshot of an Iceberg table.

    The manifests of the table say which Parquet files belong to a snapshot. They are read in the order of their
    earliest event times. Columns are those of the table now, or, of a given snapshot, those that it had. A column that
    was added later is null in older rows.

    Parameters
    ----------
    table : str, path or pyiceberg.table.Table
        A name in the catalog, the file of the metadata, or a table.
    catalog : str, mapping of str to str, or pyiceberg.catalog.Catalog, optional
        Its properties may have credentials. They are in no plan, error or checkpoint.
    time, end, arrival, late, partition, name
        As in :class:`~whimbrel.connect.files.parquet.ParquetSource`.
    reorder_latency : str, timedelta or int, optional
        Default: a table has no order, so its rows are sorted. 0 if its files are in order.
    snapshot_id : int, optional
    timestamp : str or datetime, optional
        The snapshot that was current then. Default: the newest snapshot.

    Raises
    ------
    SourceError
        For a missing table or snapshot, data files that were removed, rows that were deleted by position or value, and
        columns that were renamed.
    """

    def __init__(self, table: Any, catalog: Any = None, *, time: str, end: str | None = None,
                 arrival: str | None = None, reorder_latency: Duration | None = None, late: str | None = None,
                 name: str | None = None, partition: str | PartitionWatermarks | None = None,
                 snapshot_id: int | None = None, timestamp: str | datetime | None = None) -> None:
        shown = shown_table(table)
        where = f"read_iceberg({shown!r}, time={time!r})"
        if snapshot_id is not None and timestamp is not None:
            raise SourceError("snapshot_id and timestamp exclude each other.", where=where,
                              hint="Leave one of them out.")
        opened = opened_iceberg(table, catalog, where)
        snapshot = snapshot_of(opened, snapshot_id, timestamp, where)
        old = None if snapshot_id is None and timestamp is None else snapshot.schema_id
        schema = opened.schema() if old is None else opened.schemas()[old]
        try:
            files = [] if snapshot is None else _files_of(opened, snapshot, schema, time, where)
        except WhimbrelError:
            raise
        except Exception as error:  # noqa: BLE001 - the errors of a storage are those of its client
            raise unreadable(shown, error, where, "Check the storage, its permissions and that no file was removed."
                             ) from None
        self.snapshot_id: int | None = None if snapshot is None else snapshot.snapshot_id
        columns = arrow_schema(schema)
        constants = PartitionValues([], {file: {} for file in files})
        self._files = ParquetFiles(files, where=where, folders=constants, wanted=(time, end, arrival, by_of(partition)),
                                   table=shown)
        check_ids(self._files.stored_schemas, schema, shown, where)
        constants.add_nulls([field for field in columns if field.name not in self._files.schema.names])
        held = pa.schema([*self._files.schema, *constants.fields])
        self._files.schema = pa.schema([held.field(name) for name in columns.names])
        super(ParquetSource, self).__init__(
            self._files.schema, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
            name=name or shown.rpartition(".")[2], rows=self._files.rows, where=where, partition=partition)

    def _default_latency(self) -> int | None:
        return None


def _files_of(table: Any, snapshot: Any, schema: Any, time: str, where: str) -> list[DataFile]:
    """Data files of a snapshot by their earliest time."""
    shown, found = shown_table(table), []
    for task in table.scan(snapshot_id=snapshot.snapshot_id).plan_files():
        if task.delete_files:
            raise SourceError(f"{shown!r} has rows that were deleted by position or value, which read_iceberg cannot "
                              "read.", where=where, hint="Rewrite its data files, or use wb.from_spark(...).")
        if task.file.file_format != "PARQUET":
            raise SourceError(f"{shown!r} has files of {task.file.file_format}; read_iceberg reads Parquet.",
                              where=where, hint="Rewrite its data files, or use wb.from_spark(...).")
        known = earliest(schema, time, task.file)
        found.append(((known is not None, 0 if known is None else known, natural(task.file.file_path)),
                      task.file.file_path))
    paths = [path for _, path in sorted(found, key=lambda each: each[0])]
    files = []
    for path, file in zip(paths, located(table, paths), strict=True):
        if file is None:
            raise SourceError(f"Snapshot {snapshot.snapshot_id} of {shown!r} needs files that were removed, such as "
                              f"{path.rpartition('/')[2]!r}.", where=where, hint="Use a newer snapshot.")
        files.append(file)
    return files

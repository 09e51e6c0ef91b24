"""Delta table as a sink, with a transaction for each checkpoint."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from whimbrel.connect.addresses import shown_address
from whimbrel.connect.files.paths import FilePath, address_of
from whimbrel.connect.sinks.delta_partitions import is_partition_type, partitioned
from whimbrel.connect.sinks.table_sink import TableSink
from whimbrel.connect.table_formats.delta_table import delta_library
from whimbrel.connect.table_formats.stored_types import delta_schema
from whimbrel.connect.validation import check_path
from whimbrel.errors import SinkError


class DeltaSink(TableSink):
    """Sink of a Delta table. Needs ``whimbrel[delta]``.

    Exactly once: data files are written when a checkpoint is prepared, and added to the log of the table when it is
    complete. The log has the number of rows of the run as an application transaction, so rows that are already in the
    table are not added again. The table may have other rows, and other writers. It is created if it does not exist.

    Parameters
    ----------
    path : str or path
        The folder of the table, or its address, such as ``s3://bucket/table``.
    storage_options : mapping of str to str, optional
        Options of the storage, such as credentials. They are in no error, log or checkpoint.
    partition_by : sequence of str, optional
        Columns by whose values a new table is partitioned. A table that exists keeps its own partitions. Delta reads an
        empty text of such a column as null.
    """

    method = "delta"
    storage = "the path, its permissions and the options of the storage"

    def __init__(self, path: FilePath, *, storage_options: Mapping[str, str] | None = None,
                 partition_by: Sequence[str] = ()) -> None:
        self._library = delta_library("sinks.delta()")
        check_path("path", path, where="sinks.delta(...)")
        address = address_of(path)
        self._path = address or str(Path(path).expanduser())
        self._local = address is None
        self._options = None if storage_options is None else dict(storage_options)
        super().__init__(shown_address(self._path), partition_by)

    def _open_table(self, schema: pa.Schema) -> None:
        try:
            self._table = self._opened(schema)
        except (self._library.exceptions.DeltaError, OSError) as error:
            raise self._failed(error) from None
        self._partitions = list(self._table.metadata().partition_columns)
        there = self._table_schema()
        for name in self._partitions:
            if name in there.names and not is_partition_type(there.field(name).type):
                raise SinkError(f"Column {name!r} of the table {self.name!r} is {there.field(name).type}, by which "
                                "sinks.delta cannot partition.", where=self._where,
                                hint="Partition by integers, texts, dates, times or booleans.")

    def _opened(self, schema: pa.Schema) -> Any:
        tables = self._library.DeltaTable
        try:
            return tables(self._path, storage_options=self._options)
        except self._library.exceptions.TableNotFoundError:
            if self._local:
                Path(self._path).mkdir(parents=True, exist_ok=True)
            return tables.create(self._path, delta_schema(schema), storage_options=self._options,
                                 partition_by=list(self._partition_by) or None)

    def _table_schema(self) -> pa.Schema:
        return pa.schema(self._table.schema().to_arrow())

    def _stored_schema(self, schema: pa.Schema) -> pa.Schema:
        return delta_schema(schema)

    def _committed_rows(self) -> int:
        try:
            return int(self._table.transaction_version(self.run) or 0)
        except (self._library.exceptions.DeltaError, OSError) as error:
            raise self._failed(error) from None

    def _add_files(self, token: Any) -> None:
        try:
            self._table.update_incremental()
            if self._committed_rows() < token["rows"]:
                action = self._library.transaction.AddAction
                self._table.create_write_transaction(
                    [action(**{"partition_values": {}, **file}, data_change=True) for file in token["files"]],
                    mode="append", schema=self._table.schema(), partition_by=self._partitions,
                    commit_properties=self._library.CommitProperties(app_transactions=[
                        self._library.Transaction(self.run, token["rows"])]))
                self._table.update_incremental()
        except (self._library.exceptions.DeltaError, OSError) as error:
            raise self._failed(error) from None

    def _store(self, rows: pa.Table) -> list[dict[str, Any]]:
        stem = f"part-{self.run}-{self._rows:015}-{self._rows + rows.num_rows:015}"
        files = []
        try:
            for number, (values, part) in enumerate(partitioned(rows, self._partitions)):
                name = f"{stem}-{number}.parquet" if self._partitions else f"{stem}.parquet"
                files.append({"path": name, "size": self._stored_file(name, part), "partition_values": values,
                              "modification_time": time.time_ns() // 1_000_000,
                              "stats": json.dumps(_statistics(part), default=str)})
        except OSError as error:
            raise self._failed(error) from None
        return files

    def _stored_file(self, name: str, rows: pa.Table) -> int:
        if self._local:
            with (Path(self._path) / name).open("wb") as file:
                parquet.write_table(rows, file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
                return file.tell()
        out = pa.BufferOutputStream()
        parquet.write_table(rows, out, compression="zstd")
        data = out.getvalue().to_pybytes()
        # Not through Arrow: it writes buffers, and deltalake takes bytes alone.
        system = self._library._internal.DeltaFileSystemHandler(self._path, self._options)  # noqa: SLF001
        stream = system.open_output_stream(name, None)
        stream.write(data)
        stream.close()
        return len(data)


def _statistics(rows: pa.Table) -> dict[str, Any]:
    """Statistics of a file as the log has them, for the columns whose values have an order."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for field in rows.schema:
        if pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            ends = pc.min_max(rows.column(field.name)).as_py()
            if ends["min"] is not None:
                least[field.name], most[field.name] = (_json(ends[end]) for end in ("min", "max"))
    return {"numRecords": rows.num_rows, "minValues": least, "maxValues": most,
            "nullCount": {name: rows.column(name).null_count for name in rows.column_names}}


def _json(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value

"""Iceberg table as a sink, with a snapshot for each checkpoint."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.sinks.iceberg_files import as_json, data_file
from whimbrel.connect.table_formats.iceberg_table import (
    arrow_schema,
    iceberg_library,
    opened_catalog,
    opened_iceberg,
    shown_table,
)
from whimbrel.connect.table_formats.stored_types import iceberg_schema
from whimbrel.connect.validation import column_names
from whimbrel.errors import SinkError, SourceError, WhimbrelError
from whimbrel.plan.sink import Sink, Token

_MAX_ROWS = 1 << 20
"""Rows of a file."""
_TRIES, _WAIT_S = 10, 0.05
_RUN, _ROWS = "whimbrel.run", "whimbrel.rows"


class IcebergSink(Sink):
    """Sink of an Iceberg table. Needs ``whimbrel[iceberg]``.

    Exactly once: data files are written when a checkpoint is prepared, and become a snapshot when it is complete. The
    summary of the snapshot has the id of the run and its number of rows, so rows that are already in the table are not
    added again. The table may have other rows, and other writers. It is created if it does not exist.

    Parameters
    ----------
    table : str or pyiceberg.table.Table
        A name in the catalog, such as ``"sales.orders"``, or a table.
    catalog : str, mapping of str to str, or pyiceberg.catalog.Catalog, optional
        A configured name, properties, or a catalog. A name of a table needs it. Credentials are in no error, log or
        checkpoint.
    partition_by : sequence of str, optional
        Columns by whose values a new table is partitioned. A table that exists keeps its own partitions.
    """

    guarantee: Literal["exactly once", "at least once"] = "exactly once"

    def __init__(self, table: Any, catalog: Any = None, *, partition_by: Sequence[str] = ()) -> None:
        self._library = iceberg_library("sinks.iceberg()")
        if not isinstance(table, (str, self._library.table.Table)) or table == "":
            raise SinkError(f"table must be a name or a table of pyiceberg, got {table!r}.",
                            where="sinks.iceberg(...)", hint='Use for example "sales.orders".')
        if isinstance(table, str) and catalog is None:
            raise SinkError("The name of a table needs catalog=.", where=f"sinks.iceberg({table!r})",
                            hint='Use for example catalog={"type": "sql", "uri": "sqlite:///catalog.db"}.')
        self._given, self._catalog, self.name = table, catalog, shown_table(table)
        self._partition_by = column_names("partition_by", partition_by, where=self._where)
        self._parts: list[pa.RecordBatch] = []
        self._files: list[dict[str, Any]] = []

    @property
    def _where(self) -> str:
        return f"sinks.iceberg({self.name!r})"

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._parts, self._files, self._buffered, self._rows = [], [], 0, rows
        self._table = self._opened(schema)
        self._check_columns(schema)
        if token is not None:
            self.commit(token)
        self._in_table = self._committed_rows()
        if self._in_table < rows:
            raise SinkError(f"The run wrote {rows:,} rows, and the table has {self._in_table:,} of them.",
                            where=self._where, hint="Restore the table, or start with new checkpoints.")

    def write(self, rows: pa.RecordBatch) -> None:
        known = min(max(self._in_table - self._rows - self._buffered, 0), rows.num_rows)
        self._rows += known  # an older checkpoint: these rows are in the table
        rows = rows.slice(known)
        if rows.num_rows:
            self._parts.append(rows)
            self._buffered += rows.num_rows
        if self._buffered >= _MAX_ROWS:
            self._write()

    def prepare(self) -> Token:
        self._write()
        return {"rows": self._rows, "files": list(self._files)}

    def commit(self, token: Any) -> None:
        if not token["files"]:
            return
        for attempt in range(_TRIES):
            try:
                self._table.refresh()
                if self._committed_rows() < token["rows"]:
                    self._append(token)
                break
            except self._library.exceptions.CommitFailedException as error:  # another writer was faster
                if attempt == _TRIES - 1:
                    raise self._failed(error) from None
                time.sleep(_WAIT_S * 2**attempt)
            except SinkError:
                raise
            except Exception as error:  # noqa: BLE001 - each kind of catalog raises the errors of its client
                raise self._failed(error) from None
        self._files = [file for file in self._files if file not in token["files"]]

    def close(self) -> None:
        self._parts = []

    def _append(self, token: Any) -> None:
        spec = self._table.spec()
        if any(file["spec_id"] != spec.spec_id for file in token["files"]):
            raise SinkError(f"The partitions of {self.name!r} were changed while rows were written.",
                            where=self._where, hint="Restore the earlier partitions, or start with new checkpoints.")
        types = spec.partition_type(self._table.schema())
        marks = {_RUN: self.run, _ROWS: str(token["rows"])}
        transaction = self._table.transaction()
        transaction.set_properties({f"{_ROWS}.{self.run}": str(token["rows"])})  # kept when snapshots expire
        with transaction.update_snapshot(snapshot_properties=marks).fast_append() as added:
            for file in token["files"]:
                added.append_data_file(data_file(file, types))
        transaction._snapshot_producers = []  # noqa: SLF001 - else it is tried again although the run may be in it now
        transaction.commit_transaction()

    def _committed_rows(self) -> int:
        """Rows of this run that are in the table.

        The newest of its snapshots says it, or a property of the table if that one may have expired.
        """
        metadata, snapshot, oldest = self._table.metadata, self._table.current_snapshot(), None
        while snapshot is not None:
            summary = snapshot.summary.additional_properties if snapshot.summary else {}
            if summary.get(_RUN) == self.run:
                return int(summary[_ROWS])
            oldest = snapshot
            snapshot = None if (parent := snapshot.parent_snapshot_id) is None else metadata.snapshot_by_id(parent)
        has_all = oldest is None or oldest.sequence_number == 1
        return 0 if has_all else int(metadata.properties.get(f"{_ROWS}.{self.run}", 0))

    def _opened(self, schema: pa.Schema) -> Any:
        try:
            if self._catalog is None:
                return opened_iceberg(self._given, None, self._where)
            catalog = opened_catalog(self._catalog, self._where)
            if not catalog.table_exists(self.name):
                self._create(catalog, iceberg_schema(schema))
            return catalog.load_table(self.name)
        except SourceError as error:
            raise SinkError(error.what, where=self._where, hint=error.hint) from None
        except WhimbrelError:
            raise
        except Exception as error:  # noqa: BLE001 - each kind of catalog raises the errors of its client
            raise self._failed(error) from None

    def _create(self, catalog: Any, schema: pa.Schema) -> None:
        for name in self._partition_by:
            if name not in schema.names:
                raise SinkError(f"partition_by must name columns of the result, got {name!r}.", where=self._where,
                                hint=f"Its columns are {', '.join(schema.names)}.")
        if namespace := self.name.rpartition(".")[0]:
            catalog.create_namespace_if_not_exists(namespace)
        with catalog.create_table_transaction(self.name, schema) as made, made.update_spec() as spec:
            for name in self._partition_by:
                spec.add_identity(name)

    def _check_columns(self, schema: pa.Schema) -> None:
        there = arrow_schema(self._table.schema())
        for field in iceberg_schema(schema):
            if field.name not in there.names or there.field(field.name).type != field.type:
                found = str(there.field(field.name).type) if field.name in there.names else "missing"
                raise SinkError(f"Column {field.name!r} of the result is {field.type}, and {found} in the table "
                                f"{self.name!r}.", where=self._where,
                                hint="Use another table, or cast the column to the type of the table.")
        lacking = next((field.name for field in there if not field.nullable and field.name not in schema.names), None)
        if lacking is not None:
            raise SinkError(f"The table {self.name!r} requires column {lacking!r}, which the result lacks.",
                            where=self._where, hint="Add the column, or make it optional in the table.")

    def _write(self) -> None:
        if not self._buffered:
            return
        from pyiceberg.io.pyarrow import _dataframe_to_data_files

        there = arrow_schema(self._table.schema())
        rows = pa.Table.from_batches(self._parts)
        rows = rows.cast(iceberg_schema(rows.schema), safe=False)
        last, spec = self._rows + rows.num_rows, self._table.spec()
        files: list[dict[str, Any]] = []
        name = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.run}-{self._rows}-{last}")
        try:
            rows = rows.cast(pa.schema([there.field(each) for each in rows.column_names]))
            for file in _dataframe_to_data_files(self._table.metadata, rows, self._table.io, write_uuid=name):
                _sync(file.file_path)
                files.append({"spec_id": spec.spec_id, **as_json(file, spec.partition_type(self._table.schema()))})
        except Exception as error:  # noqa: BLE001 - the errors of a storage are those of its client
            raise self._failed(error) from None
        self._files += files
        self._rows = last
        self._parts, self._buffered = [], 0

    def _failed(self, error: Exception) -> SinkError:
        return SinkError(f"Cannot write to {self.name!r}: {without_secrets(error)[:200]}", where=self._where,
                         hint=f"Check the catalog, the storage and its permissions. {self.again}")


def _sync(location: str) -> None:
    """Make a file of this machine durable; object stores are."""
    address = urlsplit(location)
    if address.scheme in {"", "file"}:
        handle = os.open(Path(unquote(address.path)), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

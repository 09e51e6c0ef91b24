"""Iceberg table as a sink, with a snapshot for each checkpoint."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from whimbrel.connect.files.disk_sync import sync_to_disk
from whimbrel.connect.sinks.iceberg_files import as_json, data_file
from whimbrel.connect.sinks.table_sink import TableSink
from whimbrel.connect.table_formats.iceberg_table import (
    arrow_schema,
    iceberg_library,
    opened_catalog,
    opened_iceberg,
    shown_table,
)
from whimbrel.connect.table_formats.stored_types import iceberg_schema
from whimbrel.errors import SinkError, SourceError, WhimbrelError

_TRIES, _WAIT_S = 10, 0.05
_RUN, _ROWS = "whimbrel.run", "whimbrel.rows"


class IcebergSink(TableSink):
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

    method = "iceberg"
    has_times = True
    storage = "the catalog, the storage and its permissions"

    def __init__(self, table: Any, catalog: Any = None, *, partition_by: Sequence[str] = ()) -> None:
        self._library = iceberg_library("sinks.iceberg()")
        if not isinstance(table, (str, self._library.table.Table)) or table == "":
            raise SinkError(f"table must be a name or a table of pyiceberg, got {table!r}.",
                            where="sinks.iceberg(...)", hint='Use for example "sales.orders".')
        if isinstance(table, str) and catalog is None:
            raise SinkError("The name of a table needs catalog=.", where=f"sinks.iceberg({table!r})",
                            hint='Use for example catalog={"type": "sql", "uri": "sqlite:///catalog.db"}.')
        self._given, self._catalog = table, catalog
        super().__init__(shown_table(table), partition_by)

    def _add_files(self, token: Any) -> None:
        for attempt in range(_TRIES):
            try:
                self._table.refresh()
                if self._committed_rows() < token["rows"]:
                    self._append(token)
            except self._library.exceptions.CommitFailedException as error:  # another writer was faster
                if attempt == _TRIES - 1:
                    raise self._failed(error) from None
                time.sleep(_WAIT_S * 2**attempt)
            except SinkError:
                raise
            except Exception as error:  # noqa: BLE001 - each kind of catalog raises the errors of its client
                raise self._failed(error) from None
            else:
                return

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

    def _open_table(self, schema: pa.Schema) -> None:
        self._table = self._opened(schema)
        there = arrow_schema(self._table.schema())
        lacking = next((field.name for field in there if not field.nullable and field.name not in schema.names), None)
        if lacking is not None:
            raise SinkError(f"The table {self.name!r} requires column {lacking!r}, which the result lacks.",
                            where=self._where, hint="Add the column, or make it optional in the table.")

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
        if namespace := self.name.rpartition(".")[0]:
            catalog.create_namespace_if_not_exists(namespace)
        with catalog.create_table_transaction(self.name, schema) as made, made.update_spec() as spec:
            for name in self._partition_by:
                spec.add_identity(name)

    def _table_schema(self) -> pa.Schema:
        return arrow_schema(self._table.schema())

    def _stored_schema(self, schema: pa.Schema) -> pa.Schema:
        return iceberg_schema(schema)

    def _store(self, rows: pa.Table) -> list[dict[str, Any]]:
        from pyiceberg.io.pyarrow import _dataframe_to_data_files

        self._check_nulls(rows)
        there, spec = self._table_schema(), self._table.spec()
        types = spec.partition_type(self._table.schema())
        name = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.run}-{self._rows}-{self._rows + rows.num_rows}")
        files: list[dict[str, Any]] = []
        try:
            rows = rows.cast(pa.schema([there.field(each) for each in rows.column_names]))
            for file in _dataframe_to_data_files(self._table.metadata, rows, self._table.io, write_uuid=name):
                _sync(file.file_path)
                files.append({"spec_id": spec.spec_id, **as_json(file, types)})
        except Exception as error:  # noqa: BLE001 - the errors of a storage are those of its client
            raise self._failed(error) from None
        return files

    def _check_nulls(self, rows: pa.Table) -> None:
        """Refuse what pyiceberg would write as empty lists."""
        lost = next((name for name in rows.column_names if any(map(_has_lost_null, rows.column(name).chunks))), None)
        if lost is not None:
            raise SinkError(f"Column {lost!r} has null in place of a list or map of structs; pyiceberg would "
                            "write an empty one.", where=self._where, hint="Leave out rows with null, or the column; "
                            "or use sinks.delta(...) or sinks.parquet(...).")


def _has_lost_null(values: pa.Array) -> bool:
    """Whether a list or map of structs is null, at any depth."""
    if pa.types.is_struct(values.type):
        return any(map(_has_lost_null, values.filter(values.is_valid()).flatten()))
    if pa.types.is_map(values.type):
        held, inner = values.type.item_type, values.filter(values.is_valid()).items
    elif pa.types.is_list(values.type):
        held, inner = values.type.value_type, values.flatten()
    else:
        return False
    return bool(pa.types.is_struct(held) and values.null_count) or _has_lost_null(inner)


def _sync(location: str) -> None:
    """Make a file of this machine durable; object stores are."""
    address = urlsplit(location)
    if address.scheme in {"", "file"}:
        sync_to_disk(Path(unquote(address.path)))

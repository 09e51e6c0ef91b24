"""Snapshots of Iceberg tables: opening, files, and errors in other words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from whimbrel.connect.addresses import shown_address, without_secrets
from whimbrel.connect.files.data_file import DataFile, RemoteFile, status_of
from whimbrel.connect.table_formats.version_time import moment_of
from whimbrel.errors import MissingExtraError, PlanError, SourceError, WhimbrelError

_FIELD_ID = b"PARQUET:field_id"
_WHAT = "Use a name such as 'sales.orders', the file of its metadata, or a table of pyiceberg."


def iceberg_library(purpose: str) -> Any:
    """The package pyiceberg.

    Raises
    ------
    MissingExtraError
    """
    try:
        import pyiceberg.catalog
        import pyiceberg.exceptions
        import pyiceberg.table
    except ImportError:
        raise MissingExtraError("pyiceberg", "iceberg", purpose) from None
    return pyiceberg


def shown_table(table: Any) -> str:
    """Name of a table without secrets."""
    name = table if isinstance(table, (str, os.PathLike)) else ".".join(table.name())
    return shown_address(os.fspath(name))


def opened_catalog(catalog: Any, where: str) -> Any:
    """A catalog by its name or properties, or the given one.

    Raises
    ------
    PlanError
        For another value.
    SourceError
        If the catalog cannot be reached.
    """
    library = iceberg_library("Iceberg")
    if isinstance(catalog, library.catalog.Catalog):
        return catalog
    try:
        if isinstance(catalog, str):
            return library.catalog.load_catalog(catalog)
        if isinstance(catalog, Mapping) and all(isinstance(text, str) for pair in catalog.items() for text in pair):
            return library.catalog.load_catalog(**{"name": "default", **catalog})
    except Exception as error:  # noqa: BLE001 - each kind of catalog raises the errors of its client
        raise SourceError(f"The catalog cannot be opened: {_said(error)}", where=where,
                          hint="Check its type, uri and credentials.") from None
    raise PlanError(f"catalog must be a name, properties or a catalog of pyiceberg, got {type(catalog).__name__}.",
                    where=where, hint='Use for example catalog={"type": "sql", "uri": "sqlite:///catalog.db"}.')


def opened_iceberg(table: Any, catalog: Any, where: str) -> Any:
    """A table by its name in a catalog, by the file of its metadata, or the given one, at its newest state.

    Raises
    ------
    SourceError
        If there is no such table.
    """
    library = iceberg_library("Iceberg")
    shown = shown_table(table)
    try:
        if isinstance(table, library.table.Table):
            return table.refresh()
        if catalog is not None:
            return opened_catalog(catalog, where).load_table(table)
        return library.table.StaticTable.from_metadata(os.fspath(table))
    except WhimbrelError:
        raise
    except (library.exceptions.NoSuchTableError, library.exceptions.NoSuchNamespaceError):
        raise SourceError(f"There is no Iceberg table {shown!r} in the catalog.", where=where, hint=_WHAT) from None
    except Exception as error:  # noqa: BLE001 - each kind of catalog raises the errors of its client
        raise unreadable(shown, error, where, _WHAT if catalog is not None else f"{_WHAT} A name needs catalog=."
                         ) from None


def unreadable(shown: str, error: Exception, where: str, hint: str) -> SourceError:
    """The error of a catalog, storage or file of metadata, without secrets."""
    return SourceError(f"{shown!r} cannot be read as an Iceberg table: {_said(error)}", where=where, hint=hint)


def snapshot_of(table: Any, snapshot: int | None, timestamp: str | datetime | None, where: str) -> Any:
    """A snapshot of a table by its id or a time; None if the table has no rows yet.

    Raises
    ------
    SourceError
        If the snapshot does not exist, or expired.
    """
    shown = shown_table(table)
    if snapshot is not None:
        found = table.snapshot_by_id(snapshot)
        if found is None:
            raise SourceError(f"Snapshot {snapshot} of {shown!r} does not exist, or expired.", where=where,
                              hint=f"Use one of its {len(table.snapshots()):,} snapshots, such as {_newest(table)}.")
        return found
    if timestamp is not None:
        at = moment_of(timestamp, where)
        entries = [entry for entry in table.history() if entry.timestamp_ms <= at.timestamp() * 1000]
        found = table.snapshot_by_id(entries[-1].snapshot_id) if entries else None
        if found is None:
            first = min((each.timestamp_ms for each in table.snapshots()), default=None)
            oldest = "it has none" if first is None else f"the oldest is of {datetime.fromtimestamp(first / 1000, UTC)}"
            raise SourceError(f"{shown!r} has no snapshot of {at} or before; {oldest}.", where=where,
                              hint="Use a later timestamp; old snapshots expire.")
        return found
    return table.current_snapshot()


def located(table: Any, paths: list[str]) -> Iterator[DataFile | None]:
    """Data files by their paths in the metadata, on this machine or elsewhere; None for those that were removed."""
    from pyiceberg.io.pyarrow import PyArrowFileIO

    io = table.io if isinstance(table.io, PyArrowFileIO) else PyArrowFileIO(table.io.properties)
    for path in paths:
        address = urlsplit(path)
        if address.scheme in {"", "file"}:
            local = Path(unquote(address.path) if address.scheme else path)
            yield local if local.exists() else None
            continue
        scheme, host, key = io.parse_location(path, io.properties)
        system = io.fs_by_scheme(scheme, host)
        info = system.get_file_info(key)
        yield RemoteFile(system, key, shown_address(path), status_of(info)) if info.is_file else None


def arrow_schema(schema: Any) -> pa.Schema:
    """Schema of a table in Arrow's types."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return pa.schema([pa.field(field.name, _small(field.type), field.nullable)
                      for field in schema_to_pyarrow(schema, include_field_ids=False)])


def earliest(schema: Any, time: str, file: Any) -> Any:
    """Smallest value of a column in a file, by the metadata of the table; None if it is unknown."""
    from pyiceberg.conversions import from_bytes

    field = next((field for field in schema.fields if field.name == time), None)
    bound = None if field is None else (file.lower_bounds or {}).get(field.field_id)
    return None if field is None or bound is None else from_bytes(field.field_type, bound)


def check_ids(stored_schemas: Iterable[pa.Schema], schema: Any, shown: str, where: str) -> None:
    """Refuse files whose columns have other names or other ids than in a schema: they are read by name.

    Raises
    ------
    SourceError
    """
    ids = {field.name: field.field_id for field in schema.fields}
    names = {number: name for name, number in ids.items()}
    for stored in stored_schemas:
        for field in stored:
            number = int((field.metadata or {}).get(_FIELD_ID, -1))
            if number >= 0 and (names.get(number, field.name) != field.name or
                                ids.get(field.name, number) != number):
                raise SourceError(f"Column {names.get(number, field.name)!r} of {shown!r} was renamed or replaced; "
                                  f"some files have it as {field.name!r}.", where=where,
                                  hint="Rewrite its data files, or use wb.from_spark(...).")


def _small(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_large_list(type_) or pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_small(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(_small(type_.key_type), _small(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_small(field.type)) for field in type_])
    return pa.binary() if pa.types.is_large_binary(type_) else type_


def _newest(table: Any) -> int | None:
    current = table.current_snapshot()
    return None if current is None else int(current.snapshot_id)


def _said(error: Exception) -> str:
    return f"{without_secrets(error)[:200].rstrip('.')}."

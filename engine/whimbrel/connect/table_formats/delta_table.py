"""Versions of Delta tables: opening, and errors in other words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from whimbrel.connect.addresses import shown_address, without_secrets
from whimbrel.connect.table_formats.version_time import moment_of
from whimbrel.errors import MissingExtraError, PlanError, SourceError

_UNSUPPORTED = {"deletionVectors": "deletion vectors", "columnMapping": "mapped columns"}


def delta_library(purpose: str) -> Any:
    """The package deltalake.

    Raises
    ------
    MissingExtraError
    """
    try:
        import deltalake
    except ImportError:
        raise MissingExtraError("deltalake", "delta", purpose) from None
    return deltalake


def opened_table(path: str, version: int | None, timestamp: str | datetime | None, options: Mapping[str, str] | None,
                 where: str) -> Any:
    """A version of a table.

    Parameters
    ----------
    path : str
    version : int, optional
    timestamp : str or datetime, optional
        The version that was current then.
    options : mapping of str to str, optional
        Options of the storage, such as credentials.
    where : str
        The user's call, without secrets.

    Raises
    ------
    SourceError
        If there is no such table or version, or the log of the version was removed.
    """
    library = delta_library("read_delta()")
    shown, table = shown_address(path), None
    moment = None if timestamp is None else moment_of(timestamp, where)
    if version is not None and (not isinstance(version, int) or version < 0):
        raise PlanError(f"version must be an integer of at least 0, got {version!r}.", where=where,
                        hint="Leave version out to read the newest one.")
    try:
        table = library.DeltaTable(path, storage_options=None if options is None else dict(options))
        newest = table.version()
        if moment is not None:
            table.load_as_version(moment)
        elif version is not None and version <= newest:
            table.load_as_version(version)
    except (library.exceptions.DeltaError, OSError, ValueError) as error:
        if table is not None and version is not None:
            raise SourceError(f"version {version:,} of {shown!r} cannot be read: its part of the log was removed.",
                              where=where, hint=f"Use a newer version; the newest is {newest:,}.") from None
        if isinstance(error, library.exceptions.TableNotFoundError):
            raise SourceError(f"There is no Delta table in {shown!r}.", where=where,
                              hint="Use the folder that has the folder _delta_log.") from None
        raise SourceError(f"{shown!r} cannot be read as a Delta table: {without_secrets(error)}.", where=where,
                          hint="Check the path, the options of the storage, and the folder _delta_log.") from None
    if version is not None and version > newest:
        raise SourceError(f"version {version:,} of {shown!r} does not exist; the newest is {newest:,}.", where=where,
                          hint=f"Use a version from 0 to {newest:,}.")
    if moment is not None and (first := _committed(path, table.version(), options)) is not None and first > moment:
        raise SourceError(f"{shown!r} has no version of {moment} or before; the oldest is of {first}.", where=where,
                          hint="Use a later timestamp; the log of old versions is removed.")
    features = table.protocol().reader_features or []
    for feature, name in _UNSUPPORTED.items():
        if feature in features and (feature != "deletionVectors" or _has_deletion_vectors(table)):
            raise SourceError(f"{shown!r} has {name}, which read_delta cannot read.", where=where,
                              hint="Rewrite the table without them, or use wb.from_spark(...).")
    return table


def _committed(path: str, version: int, options: Mapping[str, str] | None) -> datetime | None:
    """When a version was written, or said that it was; None if its part of the log was removed.

    The library finds versions by the time of the file, which is some milliseconds after the one that its history shows.
    It gives the oldest version for all moments before it. It compares whole milliseconds.
    """
    from deltalake.fs import DeltaStorageHandler
    from pyarrow import fs

    system = fs.PyFileSystem(DeltaStorageHandler(path, None if options is None else dict(options)))
    name = f"_delta_log/{version:020}.json"
    written: datetime | None = system.get_file_info(name).mtime
    if written is None:
        return None
    written = written.replace(microsecond=written.microsecond // 1_000 * 1_000)
    with system.open_input_file(name) as file:
        actions = map(json.loads, filter(None, file.read().splitlines()))
        said = next((each["commitInfo"].get("timestamp") for each in actions if "commitInfo" in each), None)
    return written if said is None else min(written, datetime.fromtimestamp(said / 1_000, UTC))


def _has_deletion_vectors(table: Any) -> bool:
    return any(len(batch) for batch in table.deletion_vectors())

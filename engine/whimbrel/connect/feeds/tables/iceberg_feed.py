"""Feed of an Iceberg table: new snapshots arrive as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack

import pyarrow as pa

from whimbrel.clock import Duration
from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.tables.table_feed import AddedFile, TableFeed
from whimbrel.connect.files.natural_sort import natural
from whimbrel.connect.table_formats.iceberg_table import (
    arrow_schema,
    check_ids,
    earliest,
    iceberg_library,
    located,
    opened_iceberg,
    shown_table,
)
from whimbrel.errors import SourceError

_AGAIN = "Keep snapshots for longer, or start again."


class IcebergFeed(TableFeed):
    """Feed of an Iceberg table. Needs ``whimbrel[iceberg]``.

    The feed reads the rows that the table has, and then those that each new snapshot adds.

    Each row is read once, also after a restart. Files that are only rewritten, as by compaction, give no rows. A
    snapshot that expired before it was read is an error that names it. Columns that are added to the table later are
    not read, and a file with a renamed column is an error.

    Parameters
    ----------
    table : str or pyiceberg.table.Table
        A name in the catalog, such as ``"sales.orders"``, or a table.
    catalog : str, mapping of str to str, or pyiceberg.catalog.Catalog, optional
        A configured name, properties, or a catalog. A name of a table needs it. Credentials are in no plan, error or
        checkpoint.
    time : str
        The event-time column.
    every : str, timedelta or float (seconds)
        Time between two looks for a new snapshot.
    start_from : {"earliest", "latest"}
        Whether the rows that are in the table at first are read.
    rewrites : {"raise", "skip"}
        Whether a snapshot that deletes or changes rows is an error or is left out.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, table: Any, catalog: Any = None, *, time: str, every: float | Duration = 5.0,
                 start_from: str = "earliest", rewrites: str = "raise", **options: Unpack[FeedOptions]) -> None:
        shown = shown_table(table)
        where = f"feeds.iceberg({shown!r}, time={time!r})"
        opened = opened_iceberg(table, catalog, where)
        if isinstance(opened, iceberg_library("feeds.iceberg()").table.StaticTable):
            raise SourceError(f"{shown!r} is the metadata of one snapshot.", where=where,
                              hint="Use the name of the table, and catalog=.")
        self._table, self._columns = opened, opened.schema()
        options.setdefault("name", shown.rpartition(".")[2])
        super().__init__("iceberg", shown, time=time, columns=arrow_schema(self._columns), every=every,
                         start_from=start_from, rewrites=rewrites, **options)

    def newest(self) -> int | None:
        snapshot = self._loaded().current_snapshot()
        return None if snapshot is None else int(snapshot.snapshot_id)

    def check_columns(self, stored: pa.Schema) -> None:
        check_ids([stored], self._columns, self.shown, self.call_text)

    def whole(self, version: int) -> list[AddedFile]:
        table = self._loaded()
        if table.snapshot_by_id(version) is None:
            raise SourceError(f"Snapshot {version} of {self.shown!r} expired before it was read.", where=self.call_text,
                              hint=_AGAIN)
        tasks = list(table.scan(snapshot_id=version).plan_files())
        if any(task.delete_files for task in tasks):
            raise SourceError(f"{self.shown!r} has rows that were deleted by position or value, which a feed cannot "
                              "read.", where=self.call_text, hint='Rewrite its data files, or use start_from="latest".')
        return self._sorted(table, [task.file for task in tasks])

    def versions_after(self, version: int | None) -> Iterator[tuple[int, list[AddedFile]]]:
        table = self._loaded()
        for snapshot in reversed(self._path(table, version)):
            operation = snapshot.summary.operation.value if snapshot.summary else "append"
            added: list[Any] = []
            if operation == "append":
                added = [entry.data_file for manifest in snapshot.manifests(table.io)
                         if manifest.added_snapshot_id == snapshot.snapshot_id
                         for entry in manifest.fetch_manifest_entry(table.io)
                         if entry.snapshot_id == snapshot.snapshot_id and entry.status.name == "ADDED"]
            elif operation in {"overwrite", "delete"}:
                self.is_left_out(snapshot.snapshot_id, "deletes or changes")
            yield snapshot.snapshot_id, self._sorted(table, added)

    def _path(self, table: Any, version: int | None) -> list[Any]:
        """Snapshots after one, newest first."""
        found, snapshot = [], table.current_snapshot()
        while snapshot is not None and snapshot.snapshot_id != version:
            found.append(snapshot)
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        begun = version is None and (not found or found[-1].sequence_number <= 1)
        if snapshot is None and not begun:
            known = "the first one" if version is None else f"snapshot {version}"
            raise SourceError(f"{self.shown!r} was rolled back, or snapshots after {known} expired before they were "
                              "read.", where=self.call_text, hint=_AGAIN)
        return found

    def _sorted(self, table: Any, files: list[Any]) -> list[AddedFile]:
        """Files by their earliest time."""
        schema = table.schema()
        keyed = [(earliest(schema, self.time, file), file.file_path) for file in files]
        keyed.sort(key=lambda each: (each[0] is not None, 0 if each[0] is None else each[0], natural(each[1])))
        paths = [path for _, path in keyed]
        return [AddedFile(path, file) for path, file in zip(paths, located(table, paths), strict=True)]

    def _loaded(self) -> Any:
        library = iceberg_library("feeds.iceberg()")
        try:
            return self._table.catalog.load_table(self._table.name())
        except library.exceptions.NoSuchTableError:
            raise SourceError(f"There is no Iceberg table {self.shown!r} any more.", where=self.call_text,
                              hint="Restore the table, or start again with another one.") from None
        except Exception as error:  # noqa: BLE001 - each kind of catalog raises the errors of its client
            raise ConnectionError(without_secrets(error)) from None

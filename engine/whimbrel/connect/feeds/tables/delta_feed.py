"""Feed of a Delta table: new versions arrive as rows."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from whimbrel.clock import Duration
from whimbrel.connect.addresses import shown_address
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.tables.table_feed import AddedFile, TableFeed
from whimbrel.connect.files.data_file import DataFile, RemoteFile
from whimbrel.connect.files.natural_sort import natural
from whimbrel.connect.files.paths import FilePath, address_of
from whimbrel.connect.table_formats.delta_table import opened_table
from whimbrel.errors import SourceError

_LOG = "_delta_log"
_VERSION = re.compile(r"\d{20}\.json")


class DeltaFeed(TableFeed):
    """Feed of a Delta table. Needs ``whimbrel[delta]``.

    The feed reads the rows that the table has, and then those that each new version adds.

    Each row is read once, also after a restart. Files that are only rewritten, as by OPTIMIZE, give no rows. A version
    whose log or files were removed before they were read is an error that names it. Columns that are added to the
    table later are not read.

    Parameters
    ----------
    path : str or path
        The folder of the table, or its address.
    time : str
        The event-time column.
    every : str, timedelta or float (seconds)
        Time between two looks for a new version.
    start_from : {"earliest", "latest"}
        Whether the rows that are in the table at first are read.
    rewrites : {"raise", "skip"}
        Whether a version that deletes or changes rows is an error or is left out.
    storage_options : mapping of str to str, optional
        Options of the storage, such as credentials. They are in no plan, error or checkpoint.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, path: FilePath, *, time: str, every: float | Duration = 5.0, start_from: str = "earliest",
                 rewrites: str = "raise", storage_options: Mapping[str, str] | None = None,
                 **options: Unpack[FeedOptions]) -> None:
        address = address_of(path)
        self._path = address or str(Path(os.fspath(path)).expanduser())
        self._local = address is None
        self._options = None if storage_options is None else dict(storage_options)
        shown = shown_address(self._path)
        table = opened_table(self._path, None, None, self._options, f"feeds.delta({shown!r}, time={time!r})")
        options.setdefault("name", Path(shown).name)
        columns = pa.schema(table.schema().to_arrow())
        super().__init__("delta", shown, time=time, columns=columns, every=every, start_from=start_from,
                         rewrites=rewrites, **options)

    def newest(self) -> int | None:
        versions = [int(name.removesuffix(".json")) for name in self._log() if _VERSION.fullmatch(name)]
        if not versions:
            raise SourceError(f"There is no Delta table in {self.shown!r} any more.", where=self.call_text,
                              hint="Restore the table, or start again with another one.")
        return max(versions)

    def _log(self) -> list[str]:
        """Names of the files of the log."""
        if self._local:
            folder = Path(self._path) / _LOG
            return [each.name for each in folder.iterdir()] if folder.is_dir() else []
        return [each.base_name for each in self._system({}).get_file_info(fs.FileSelector(_LOG))]

    def whole(self, version: int) -> list[AddedFile]:
        table = opened_table(self._path, version, None, self._options, self.call_text)
        names = table.metadata().partition_columns
        rows = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        return self._sorted([(row.get(f"min.{self.time}"), row["path"], row["size_bytes"],
                              {name: row[f"partition.{name}"] for name in names}) for row in rows])

    def versions_after(self, version: int | None) -> Iterator[tuple[int, list[AddedFile]]]:
        last, newest = -1 if version is None else version, self.newest()
        if newest is None or newest < last:
            raise SourceError(f"The feed had read version {last:,} of {self.shown!r}, whose newest is now "
                              f"{newest if newest is None else format(newest, ',')}.", where=self.call_text,
                              hint="The table was replaced: start again.")
        for number in range(last + 1, newest + 1):
            yield number, self._added(number)

    def _added(self, version: int) -> list[AddedFile]:
        """Files that a version added, by its entry in the log."""
        actions = self._actions(version)
        adds = [action["add"] for action in actions if "add" in action]
        removes = [action["remove"] for action in actions if "remove" in action]
        if any(each.get("dataChange", True) for each in removes) and self.is_left_out(version, "deletes or changes"):
            return []
        return self._sorted([
            (json.loads(add.get("stats") or "{}").get("minValues", {}).get(self.time), add["path"], add["size"],
             {name: self._value(name, text) for name, text in (add.get("partitionValues") or {}).items()})
            for add in adds if add.get("dataChange", True)])

    def _actions(self, version: int) -> list[dict[str, Any]]:
        name = f"{_LOG}/{version:020}.json"
        try:
            if self._local:
                text = (Path(self._path) / name).read_text(encoding="utf-8")
            else:
                with self._system({}).open_input_stream(name) as stream:
                    text = stream.read().decode()
        except FileNotFoundError:
            raise SourceError(f"Version {version:,} of {self.shown!r} was removed from the log before it was read.",
                              where=self.call_text,
                              hint="Keep the log of the table for longer (delta.logRetentionDuration), or start again."
                              ) from None
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    def _sorted(self, found: list[tuple[Any, str, int, dict[str, Any]]]) -> list[AddedFile]:
        """Files by their earliest time."""
        found.sort(key=lambda each: (each[0] is not None, 0 if each[0] is None else each[0], natural(each[1])))
        system = None if self._local else self._system({unquote(path): size for _, path, size, _ in found})
        return [AddedFile(path, self._located(unquote(path), system), values) for _, path, _, values in found]

    def _located(self, path: str, system: fs.FileSystem | None) -> DataFile | None:
        if system is not None:
            return RemoteFile(system, path, f"{self.shown.rstrip('/')}/{path}")
        file = Path(self._path) / path
        return file if file.exists() else None

    def _system(self, sizes: dict[str, int]) -> fs.FileSystem:
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self._path, self._options, sizes))

    def _value(self, name: str, text: str | None) -> Any:
        """A value of a partition, which the log has as text."""
        if not text:
            return None
        return pa.scalar(text).cast(self.value_fields.field(name).type).as_py()

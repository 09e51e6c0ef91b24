"""Base class of feeds of tables, whose new versions arrive as rows."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack

import pyarrow as pa

from whimbrel.clock import Duration
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset, ThreadedClient
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.files.broken_files import broken_file
from whimbrel.connect.files.common_type import as_wider
from whimbrel.connect.files.data_file import DataFile, random_access
from whimbrel.connect.tables.columnar_source import BATCH_ROWS
from whimbrel.connect.validation import check_choice, checked_seconds
from whimbrel.errors import SourceError


@dataclass(frozen=True)
class AddedFile:
    """A data file that a version added.

    Attributes
    ----------
    path : str
        Its path in the metadata of the table.
    file : DataFile or None
        None if it was removed.
    constants : mapping of str to value
        Values of columns that the file lacks.
    """

    path: str
    file: DataFile | None
    constants: Mapping[str, Any] = field(default_factory=dict)


class TableFeed(Feed):
    """Feed of a table.

    Parameters
    ----------
    kind : str
        Name of the function in ``wb.feeds``.
    shown : str
        Name of the table, without secrets.
    time : str
        The event-time column.
    columns : pyarrow.Schema
        Columns of the table.
    every : str, timedelta or float (seconds)
        Time between two looks for a new version.
    start_from : {"earliest", "latest"}
        Whether the rows that are in the table at first are read.
    rewrites : {"raise", "skip"}
        Whether a version that deletes or changes rows is an error or is left out.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, kind: str, shown: str, *, time: str, columns: pa.Schema, every: float | Duration,
                 start_from: str, rewrites: str, **options: Unpack[FeedOptions]) -> None:
        self.call_text = f"feeds.{kind}({shown!r}, time={time!r})"
        check_choice("start_from", start_from, ("earliest", "latest"), where=self.call_text)
        check_choice("rewrites", rewrites, ("raise", "skip"), where=self.call_text)
        self.every_s = checked_seconds("every", every, where=self.call_text)
        self.shown, self.start_from, self.rewrites = shown, start_from, rewrites
        super().__init__(kind, time=time, schema=columns, format=None, **options)

    @abstractmethod
    def newest(self) -> int | None:
        """The newest version; None if the table has none."""

    @abstractmethod
    def whole(self, version: int) -> list[AddedFile]:
        """All files of a version, always in the same order.

        Raises
        ------
        SourceError
            If the version was removed.
        """

    @abstractmethod
    def versions_after(self, version: int | None) -> Iterator[tuple[int, list[AddedFile]]]:
        """Versions after one, and the files that each of them added, always in the same order.

        Raises
        ------
        SourceError
            If one of them was removed.
        """

    def check_columns(self, stored: pa.Schema) -> None:
        """Refuse a file whose columns the feed would take for others.

        Raises
        ------
        SourceError
        """

    def connect(self, offset: Offset) -> Client:
        over, begins = threading.Event(), offset
        if begins is None:
            newest = self.newest()
            begins = {"after": newest} if newest is None or self.start_from == "latest" else {"whole": newest}
        client = ThreadedClient(self._deliveries(begins, over), over.set)
        client.begins = None if offset is not None else begins
        return client

    def is_left_out(self, version: int, verb: str) -> bool:
        """Whether a version that deletes or changes rows is left out; else it is an error."""
        if self.rewrites == "skip":
            return True
        raise SourceError(f"Version {version} of {self.shown!r} {verb} rows, which a feed cannot remove.",
                          where=self.call_text,
                          hint='Use rewrites="skip" to leave such versions out, or read the table.')

    def _deliveries(self, offset: dict[str, Any], over: threading.Event) -> Iterator[MessageBatch | None]:
        """Rows of versions, with offsets inside of them.

        An offset has a version that is read whole or the last one that was read, and how many files of the next one
        and rows of its next file were read.
        """
        files, rows = offset.get("files", 0), offset.get("rows", 0)
        if "whole" in offset:
            version = offset["whole"]
            yield from self._rows({"whole": version}, self.whole(version), files, rows)
            offset, files, rows = {"after": version}, 0, 0
            yield MessageBatch([], offset)
        last = offset["after"]
        while not over.is_set():
            for version, added in self.versions_after(last):
                yield from self._rows({"after": last}, added, files, rows)
                last, files, rows = version, 0, 0
                yield MessageBatch([], {"after": last})
            yield None
            over.wait(self.every_s)

    def _rows(self, offset: dict[str, Any], added: list[AddedFile], files: int, rows: int) -> Iterator[MessageBatch]:
        for number, each in enumerate(added[files:], files):
            for batch in self._read(each, rows):
                rows += batch.num_rows
                yield MessageBatch(batch, {**offset, "files": number, "rows": rows})
            rows = 0

    def _read(self, added: AddedFile, skip: int) -> Iterator[pa.RecordBatch]:
        """Rows of a file after the first `skip`, with the columns of the table."""
        import pyarrow.parquet as pq

        if added.file is None:
            raise self._removed(added)
        try:
            with random_access(added.file) as source, pq.ParquetFile(source) as file:
                self.check_columns(file.schema_arrow)
                held = [name for name in self.value_fields.names if name in file.schema_arrow.names]
                for batch in file.iter_batches(BATCH_ROWS, columns=held):
                    if skip < batch.num_rows:
                        yield self._completed(batch.slice(skip), added.constants)
                    skip = max(skip - batch.num_rows, 0)
        except FileNotFoundError:
            raise self._removed(added) from None
        except pa.ArrowException as error:
            raise broken_file(added.file, error, title="Parquet", where=self.call_text) from None

    def _completed(self, rows: pa.RecordBatch, constants: Mapping[str, Any]) -> pa.RecordBatch:
        arrays = [as_wider(rows.column(each.name), each.type) if each.name in rows.schema.names else
                  pa.repeat(pa.scalar(constants.get(each.name), each.type), rows.num_rows)
                  for each in self.value_fields]
        return pa.RecordBatch.from_arrays(arrays, names=self.value_fields.names)

    def _removed(self, added: AddedFile) -> SourceError:
        return SourceError(f"{self.shown!r} lost the file {added.path.rpartition('/')[2]!r} before it was read.",
                           where=self.call_text, hint="Keep removed files and old versions for longer, or start again.")

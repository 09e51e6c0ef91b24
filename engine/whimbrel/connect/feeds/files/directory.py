"""Feed of new files in a directory, each read once."""

from __future__ import annotations

import os
import time as clock
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from csv import reader
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa
from pyarrow import csv, ipc, parquet

from whimbrel.connect.feeds.formats.arrow_format import as_batch
from whimbrel.connect.feeds.formats.csv_format import Csv
from whimbrel.connect.feeds.formats.decode import UNREADABLE, Format, decode
from whimbrel.connect.feeds.formats.line_splitter import TOO_LONG, LineSplitter
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.formats.string_records import TextColumns
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.tables.columnar_source import BATCH_ROWS
from whimbrel.connect.validation import check_path
from whimbrel.errors import PlanError

_UNFINISHED = (".", "_")
_SAY_THEIR_END = (".parquet", ".arrow")
_TRIES = 20
_QUIET_S = 1.0
_READ_BYTES = 1 << 20


class DirectoryFeed(Feed):
    """Feed of the files in a directory, each read once.

    The feed reads existing files in natural order of their names, and then new files.

    Natural order: part-2 comes before part-10. Complete files should appear by renaming. Names that begin with ``.`` or
    ``_`` are ignored, and so are empty files. JSON and CSV files have no end marker, so the feed waits until they have
    not changed for a second. Later additions to them are not read. A file that cannot be read is retried until it has
    not changed for a second. Then it becomes a dead letter, and is read again after a change. A file that was replaced
    after it was read is not read again, and counts as lost.

    Parameters
    ----------
    path : str or path
    time : str
        The event-time column.
    pattern : str
        Pattern of names: ``"*.parquet"``, ``"*.arrow"``, ``"*.jsonl"``, ``"*.csv"``. The ending selects the format. CSV
        files begin with a header line, and each further line is a row. Values are converted to the schema; strings are
        not changed.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: the schema of the existing files.
    format : Csv, optional
        How CSV files are written, such as ``wb.feeds.Csv(delimiter=";", decimal=",")``.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, path: FilePath, *, time: str, pattern: str = "*.parquet", schema: Fields | None = None,
                 format: Csv | None = None, **options: Unpack[FeedOptions]) -> None:
        check_path("path", path, where="feeds.directory(...)")
        self.path, self.pattern = Path(path), pattern
        options.setdefault("name", self.path.name)
        where = f"feeds.directory({str(path)!r}, pattern={pattern!r})"
        if not self.path.is_dir():
            raise PlanError(f"path must be an existing directory, got {str(path)!r}.", where=where,
                            hint="Create the directory first.")
        ending = Path(pattern).suffix.lower()
        if format is not None and (not isinstance(format, Csv) or format.names or ending != ".csv"):
            raise PlanError("format is for CSV files, whose header line names the columns.", where=where,
                            hint='Use pattern="*.csv", format=wb.feeds.Csv(delimiter=";", decimal=",").')
        self.csv = Csv() if format is None else format
        format_: Format | None = None
        match ending:
            case ".jsonl" | ".ndjson" | ".json":
                format_ = format_of("json", where)
            case ".csv":
                self.columns = TextColumns(self.csv.decimal)
            case ".parquet" | ".arrow":
                pass
            case _:
                raise PlanError("pattern must end with .parquet, .arrow, .jsonl, .ndjson, .json or .csv, got "
                                f"{ending!r}.", where=where, hint='Use for example pattern="*.parquet".')
        super().__init__("directory", time=time, schema=schema, format=format_, **options)

    def connect(self, offset: Offset) -> Client:
        return _Visitor(self, offset or {})


class _Visitor(Client):
    """A client that lists the directory and reads its files.

    Its offset has the files that were done and new at the last listing, the number of new files read since, the rows
    read of the current file, and the bad files. The lists are never changed, so that offsets share them, and an offset
    has a constant cost.
    """

    def __init__(self, feed: DirectoryFeed, offset: dict[str, Any]) -> None:
        self._feed = feed
        self._known = {*offset.get("done", ()), *offset.get("new", ())[:offset.get("read", 0)]}
        self._done: list[str] = sorted(self._known)
        self._new: list[str] = []
        self._read = 0
        self._file: str | None = offset.get("file")
        self._items = int(offset.get("items", 0))
        self._parts: Iterator[list[bytes] | pa.RecordBatch] | None = None
        self._tries: dict[str, int] = {}
        self._bad_files: dict[str, list[int]] = offset.get("bad_files", {})
        self._files: dict[str, int] = {}
        self.lost: Counter[str] = Counter()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if self._parts is None and not self._next():
            clock.sleep(timeout_s)
            return None
        assert self._file is not None
        assert self._parts is not None
        try:
            part = next(self._parts, None)
        except (OSError, ValueError, pa.ArrowException) as error:
            self._parts = None
            return self._failed(error)
        if part is None:
            self._parts = None
            return self._leave(self._file)
        self._items += len(part)
        return MessageBatch(part, self._offset())

    def _next(self) -> bool:
        """Open the next file."""
        if self._file is not None or self._read == len(self._new):
            self._look()
        if not self._new:
            return False
        name = self._new[self._read]
        if name != self._file:
            self._file, self._items = name, 0
        self._parts = _parts(self._feed.path / name, self._items, self._feed)
        return True

    def _look(self) -> None:
        """List the directory; the current file comes first."""
        with os.scandir(self._feed.path) as entries:
            files = {each.name: each.inode() for each in entries
                     if fnmatch(each.name, self._feed.pattern) and not each.name.startswith(_UNFINISHED)}
        changed = {name for name, written in self._bad_files.items()
                   if name in files and self._written(name) != written}
        self._bad_files = {name: written for name, written in self._bad_files.items() if name in files.keys() - changed}
        known = (self._known & files.keys()) - changed
        if replaced := sum(self._files.get(name, files[name]) != files[name] for name in known):
            self.lost["a file was replaced when it was read"] += replaced
        if self._read or len(known) < len(self._known):
            self._done = sorted(known)
        self._files, self._known, self._read = files, known, 0
        new = (name for name in files.keys() - known if not self._is_to_wait_for(name))
        self._new = sorted(new, key=lambda name: (name != self._file, natural_path(Path(name))))

    def _is_to_wait_for(self, name: str) -> bool:
        """Whether an unread file may still be incomplete."""
        if name == self._file and self._items > 0:
            return False
        at_ns, size = self._written(name)
        may_lack = name in self._tries or not name.endswith(_SAY_THEIR_END)
        return size == 0 or (may_lack and _is_recent(at_ns))

    def _written(self, name: str) -> list[int]:
        """Time of the last change of a file, and its size."""
        try:
            status = (self._feed.path / name).stat()
        except FileNotFoundError:  # it was removed meanwhile
            return [0, 0]
        return [status.st_mtime_ns, status.st_size]

    def _leave(self, name: str) -> MessageBatch:
        self._known.add(name)
        self._read += 1
        self._file, self._items = None, 0
        return MessageBatch([], self._offset())

    def _failed(self, error: Exception) -> MessageBatch | None:
        assert self._file is not None
        self._tries[self._file] = tries = self._tries.get(self._file, 0) + 1
        written = self._written(self._file)
        if tries < _TRIES or _is_recent(written[0]):
            clock.sleep(1 / _TRIES)
            return None
        self._feed.dead_letters.refuse(f"{self._file}: {error}".encode(), "a file cannot be read")
        if self._items == 0:
            self._bad_files = {**self._bad_files, self._file: written}
            del self._tries[self._file]
        return self._leave(self._file)

    def _offset(self) -> Offset:
        return {"done": self._done, "new": self._new, "read": self._read, "file": self._file, "items": self._items,
                "bad_files": self._bad_files}

    def close(self) -> None:
        self._parts = None


def _is_recent(at_ns: int) -> bool:
    return 0 <= clock.time() - at_ns / 1e9 < _QUIET_S


def _parts(path: Path, skip: int, feed: DirectoryFeed) -> Iterator[list[bytes] | pa.RecordBatch]:
    """Rows or lines of a file, without the first `skip`."""
    match path.suffix.lower():
        case ".parquet":
            with parquet.ParquetFile(path) as file:
                yield from _after(file.iter_batches(BATCH_ROWS), skip)
        case ".arrow":
            with pa.memory_map(str(path)) as memory, ipc.open_file(memory) as file:
                yield from _after((file.get_batch(number) for number in range(file.num_record_batches)), skip)
        case ".csv" if not hasattr(feed, "value_fields"):  # no schema yet: infer the columns
            with csv.open_csv(path, csv.ReadOptions(use_threads=False), feed.csv.parse_options(),
                              csv.ConvertOptions(decimal_point=feed.csv.decimal)) as rows:
                yield from rows
        case ".csv":
            yield from _after(_csv(path, feed), skip)
        case _:
            for lines in _lines(path, feed):
                if skip < len(lines):
                    yield lines[skip:]
                skip = max(skip - len(lines), 0)


def _lines(path: Path, feed: DirectoryFeed) -> Iterator[list[bytes]]:
    text = LineSplitter()
    with path.open("rb") as file:
        while data := file.read(_READ_BYTES):
            yield text.add(data)
            while text.too_long:
                feed.dead_letters.refuse(text.too_long.pop(), TOO_LONG)
    yield text.end()


def _csv(path: Path, feed: DirectoryFeed) -> Iterator[pa.RecordBatch]:
    """String columns, one row per line, so that a malformed line affects only its own row."""
    with path.open("rb") as file:
        mark = feed.csv.delimiter
        names = next(reader([file.readline().decode("utf-8-sig")], delimiter=mark), [])
        texts = pa.schema([(name, pa.binary()) for name in feed.value_fields.names])
        if missing := {*texts.names}.difference(names):
            raise ValueError(f"it has no column {min(missing)!r}")
        rest, format_ = b"", Csv(names, delimiter=mark)
        while data := file.read(_READ_BYTES):
            text, end, rest = (rest + data).rpartition(b"\n")
            if end:
                yield _rows(text, format_, texts, feed)
        if rest:
            yield _rows(rest, format_, texts, feed)


def _rows(text: bytes, format_: Csv, schema: pa.Schema, feed: DirectoryFeed) -> pa.RecordBatch:
    """Rows of complete lines: parsed together if each line is a row, else line by line."""
    text = text.rstrip(b"\r\n")
    if text.count(b"\r") == text.count(b"\r\n"):
        with suppress(*UNREADABLE):
            rows = format_.block(text, schema)
            if len(rows) == text.count(b"\n") + 1:
                return rows
    lines = [line for line in text.split(b"\n") if line.strip()]
    found = decode(format_, lines, schema)
    for number, why in found.malformed:
        feed.dead_letters.refuse(lines[number], why)
    return as_batch(found.rows)


def _after(batches: Iterator[pa.RecordBatch], skip: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if skip < batch.num_rows:
            yield batch.slice(skip)
        skip = max(skip - batch.num_rows, 0)

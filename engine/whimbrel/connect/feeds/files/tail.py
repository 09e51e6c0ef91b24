"""Feed of the lines of a growing file, with log rotation."""

from __future__ import annotations

import os
import time as clock
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import IO, Unpack

from whimbrel.connect.feeds.files.gzip_members import GzipMembers
from whimbrel.connect.feeds.files.rotation import HEAD_BYTES, Identity, RotatedFiles
from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.formats.line_splitter import TOO_LONG, LineSplitter
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.dead_letter_queue import DeadLetterQueue
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.validation import check_path

_READ_BYTES = 1 << 20
_LOOK_S = 0.05
_LINGER_S = 1.0
_LONG_AGO_NS = 60 * 10**9


class TailFeed(Feed):
    """Feed of existing and new lines of a file.

    When the file is renamed and a new one starts (logrotate), the feed reads the old file until it has not changed for
    a second. Then it reads the files that were started after it, in order of their last change. Files are identified
    by their beginning, so it also follows a file that was compressed (``.gz``), or copied and truncated.

    A file that was truncated, overwritten or removed before its end was read counts as lost. So does an empty file that
    was written and truncated without a copy. An overwritten file is detected by its first kilobyte and by the last one
    that was read. ``.gz`` files may grow by members; other bytes in them become dead letters. An incomplete last line
    waits for its end while its file is the log.

    Parameters
    ----------
    path : str or path
    time : str
        The event-time column.
    format : {"json", "csv"} or Format
        Format of a line.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: inferred from the existing lines.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, path: FilePath, *, time: str, format: str | Format = "json", schema: Fields | None = None,
                 **options: Unpack[FeedOptions]) -> None:
        check_path("path", path, where="feeds.tail(...)")
        self.path = Path(path)
        options.setdefault("name", self.path.name)
        super().__init__("tail", time=time, schema=schema, format=format_of(format, f"feeds.tail({str(path)!r})"),
                         **options)

    def connect(self, offset: Offset) -> Client:
        return _Follower(self.path, offset, self.dead_letters)


class _Follower(Client):
    """A client that reads the files in order. Its offset has the identity of the file and the bytes of its lines."""

    def __init__(self, path: Path, offset: Offset, letters: DeadLetterQueue) -> None:
        self._path, self._letters = path, letters
        self._file: IO[bytes] | None = None
        self.lost: Counter[str] = Counter()
        if offset is None:
            self._open(path, 0)
        else:
            self._resume(Identity(**offset["file"]), offset["bytes"])

    def _resume(self, known: Identity, text_bytes: int) -> None:
        """Resume in a file, wherever it is now; if it does not exist, in the next one."""
        found = known.found(self._path, text_bytes)
        if found is not None:
            self._open(found, text_bytes)
        else:
            self.lost["a file was truncated, overwritten or removed before its end was read"] += 1
            self._open(next(iter(known.followed_by(self._path)), self._path), 0)

    def _open(self, path: Path, skip: int) -> None:
        self.close()
        self._file = path.open("rb", buffering=0)
        self._unzip = GzipMembers() if path.suffix == ".gz" else None
        self._lines = LineSplitter()
        self._lines.bytes = skip
        self._head = b"" if self._unzip else self._file.read(min(skip, HEAD_BYTES))
        self._lines.last = b"" if self._unzip else self._read_before(skip, min(skip, HEAD_BYTES))
        self._skip = skip if self._unzip else 0
        self._file.seek(skip - self._skip)
        self._left: Identity | None = None
        self._rotated = RotatedFiles.of(path) if path == self._path and skip == 0 else None
        self._written_ns = self._empty_ns = os.fstat(self._file.fileno()).st_mtime_ns
        self._quiet_since = monotonic()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        text = self._text()
        if self._was_cut():  # check after the read, which may have returned another text
            self._resume(self._identity(), self._lines.bytes)
            return None
        if self._rotated is not None and (copies := self._copies(self._rotated)):
            self._open(copies[0], 0)
            return None
        lines = self._lines.add(text)
        while self._lines.too_long:
            self._letters.refuse(self._lines.too_long.pop(), TOO_LONG)
        if text:
            self._quiet_since = monotonic()
        elif not (later := self._later()):
            clock.sleep(min(timeout_s, _LOOK_S))
        elif not (lines := self._lines.end()):
            self._open(later[0], 0)
        return MessageBatch(lines, {"file": asdict(self._identity()), "bytes": self._lines.bytes}) if lines else None

    def _text(self) -> bytes:
        assert self._file is not None
        data = self._file.read(_READ_BYTES)
        text, breaks = self._unzip.add(data) if self._unzip else (data, [])
        for at in breaks:
            if at >= self._skip:  # else it was counted before
                self._letters.refuse(data, "bytes that are not gzip")
        self._head += text[:HEAD_BYTES - len(self._head)]
        skipped = min(self._skip, len(text))
        self._skip -= skipped
        return text[skipped:]

    def _was_cut(self) -> bool:
        """Whether the file was truncated or overwritten, by its size, its beginning and the last bytes read."""
        assert self._file is not None
        position, status = self._file.tell(), os.fstat(self._file.fileno())
        if status.st_size < position:
            return True
        if not self._unzip:  # the head of a gzip is that of its text
            self._file.seek(0)
            head = self._file.read(len(self._head))
            last = self._read_before(self._lines.bytes, len(self._lines.last))
            self._file.seek(position)
            if head != self._head or last != self._lines.last:
                return True
        self._written_ns = status.st_mtime_ns
        return False

    def _read_before(self, end: int, count: int) -> bytes:
        assert self._file is not None
        self._file.seek(end - count)
        return self._file.read(count)

    def _copies(self, before: RotatedFiles) -> list[Path]:
        """Copies of a log that was empty, if it was written, copied and truncated between two polls."""
        assert self._file is not None
        status = os.fstat(self._file.fileno())
        if status.st_mtime_ns == self._empty_ns and not self._head:
            return []
        self._empty_ns = status.st_mtime_ns
        copies = before.copies(self._path, self._head)
        if self._head:
            self._rotated = None
        elif not copies and status.st_size == 0:
            self.lost["an empty file was cut, and may have been written to before"] += 1
        return copies

    def _later(self) -> list[Path]:
        """Files that follow this one; none while it is the log or may still be written."""
        here = self._identity()
        try:
            if here.is_at(self._path.stat()):
                return []
        except FileNotFoundError:  # the next file does not exist yet
            return []
        if self._left is None:
            self._left, self._quiet_since = here, monotonic()
        if monotonic() - self._quiet_since < _LINGER_S and clock.time_ns() - here.written_ns < _LONG_AGO_NS:
            return []
        return self._left.followed_by(self._path)

    def _identity(self) -> Identity:
        assert self._file is not None
        return Identity.of(os.fstat(self._file.fileno()), self._written_ns, self._head[:self._lines.bytes],
                           self._lines.last)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

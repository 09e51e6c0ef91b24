"""A file that grows, such as a log: its lines as they are written, also when it is rotated."""

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

_READ_BYTES = 1 << 20
_LOOK_S = 0.05
_LINGER_S = 1.0
_LONG_AGO_NS = 60 * 10**9


class TailFeed(Feed):
    """Lines of a file, those that are there and those that are written behind them.

    When the file is renamed and a new one begins (logrotate), the old one is read until nobody has written to it for a
    second, then those that were begun after it, in the order in which they were last written to. Files are known by
    what they begin with, so that one is read on, too, that was compressed (``.gz``) or copied and cut meanwhile. One
    that was cut, written anew or removed before its end was read is counted in the feed's state, as missed; so is one
    that was empty, and is so after somebody wrote to it, without a copy. A file that was written anew under its name is
    known by its first kilobyte, and by the last one that was read. ``.gz`` files may grow, member by member; what is
    none of these is a dead letter. A line without its end waits for it while its file is the log.

    Parameters
    ----------
    path : str or path
    time : str
        The event-time column.
    format : {"json", "csv"} or Format
        Of a line.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: inferred from the lines that are there.
    **told
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, path: FilePath, *, time: str, format: str | Format = "json", schema: Fields | None = None,
                 **options: Unpack[FeedOptions]) -> None:
        self.path = Path(path)
        options.setdefault("name", self.path.name)
        super().__init__("tail", time=time, schema=schema, format=format_of(format, f"feeds.tail({str(path)!r})"),
                         **options)

    def connect(self, offset: Offset) -> Client:
        return _Follower(self.path, offset, self.dead_letters)


class _Follower(Client):
    """Reads files one after the other. Its place: which file, and how many bytes of its text were lines."""

    def __init__(self, path: Path, offset: Offset, letters: DeadLetterQueue) -> None:
        self._path, self._letters = path, letters
        self._file: IO[bytes] | None = None
        self.lost: Counter[str] = Counter()
        if offset is None:
            self._open(path, 0)
        else:
            self._go_on(Identity(**offset["file"]), offset["bytes"])

    def _go_on(self, known: Identity, text_bytes: int) -> None:
        """Read on behind so much of a file, wherever it is now; what was begun after it, if it is gone."""
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
        self._beside = RotatedFiles.of(path) if path == self._path and skip == 0 else None
        self._written_ns = self._empty_ns = os.fstat(self._file.fileno()).st_mtime_ns
        self._quiet_since = monotonic()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        text = self._text()
        if self._was_cut():  # looked at behind the reading: what was read may be of another text
            self._go_on(self._identity(), self._lines.bytes)
            return None
        if self._beside is not None and (copies := self._copies(self._beside)):
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
            if at >= self._skip:  # else it was told before
                self._letters.refuse(data, "bytes that are no gzip")
        self._head += text[:HEAD_BYTES - len(self._head)]
        skipped = min(self._skip, len(text))
        self._skip -= skipped
        return text[skipped:]

    def _was_cut(self) -> bool:
        """Whether the file is shorter than what was read of it, begins otherwise, or does not have what was read."""
        assert self._file is not None
        behind, status = self._file.tell(), os.fstat(self._file.fileno())
        if status.st_size < behind:
            return True
        if not self._unzip:  # its head is of another text than what is in the file
            self._file.seek(0)
            head = self._file.read(len(self._head))
            last = self._read_before(self._lines.bytes, len(self._lines.last))
            self._file.seek(behind)
            if head != self._head or last != self._lines.last:
                return True
        self._written_ns = status.st_mtime_ns
        return False

    def _read_before(self, end: int, count: int) -> bytes:
        assert self._file is not None
        self._file.seek(end - count)
        return self._file.read(count)

    def _copies(self, beside: RotatedFiles) -> list[Path]:
        """Copies of a log that was empty until now, if it was written to, copied and cut between two looks."""
        assert self._file is not None
        status = os.fstat(self._file.fileno())
        if status.st_mtime_ns == self._empty_ns and not self._head:
            return []
        self._empty_ns = status.st_mtime_ns
        copies = beside.copies(self._path, self._head)
        if self._head:
            self._beside = None
        elif not copies and status.st_size == 0:
            self.lost["an empty file was cut, and may have been written to before"] += 1
        return copies

    def _later(self) -> list[Path]:
        """Files that go on where this one ends; none while it is the log, or somebody may be writing to it still."""
        here = self._identity()
        try:
            if here.is_at(self._path.stat()):
                return []
        except FileNotFoundError:  # the next one is not begun yet
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

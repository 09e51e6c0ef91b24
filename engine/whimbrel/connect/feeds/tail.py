"""A file that grows, such as a log: its lines as they are written, also when it is rotated."""

from __future__ import annotations

import os
import time as clock
import zlib
from collections import deque
from pathlib import Path
from typing import IO, Unpack

from whimbrel.connect.feeds.client import Client, Delivery, Place
from whimbrel.connect.feeds.decoding import Format, format_of
from whimbrel.connect.feeds.enforce import Fields
from whimbrel.connect.feeds.feed import Feed, Usual
from whimbrel.connect.feeds.lines import Lines
from whimbrel.connect.files import FilePath

_READ_BYTES = 1 << 20
_LOOK_S = 0.05
_GZIP = 31


class TailFeed(Feed):
    """Lines of a file, those that are there and those that are written behind them.

    When the file is renamed and a new one begins (logrotate), the old one is read to its end, then the new one from
    its start; when it is cut to nothing, from its start. ``.gz`` files may grow, too, member by member. A line without
    its end waits for it.

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
        What every feed can be told. See :class:`whimbrel.connect.feeds.feed.Usual`.
    """

    def __init__(self, path: FilePath, *, time: str, format: str | Format = "json", schema: Fields | None = None,
                 **told: Unpack[Usual]) -> None:
        self.path = Path(path)
        told.setdefault("name", self.path.name)
        super().__init__("tail", time=time, schema=schema, format=format_of(format, f"feeds.tail({str(path)!r})"),
                         **told)

    def connect(self, place: Place) -> Client:
        return _Follower(self.path, place)


class _Follower(Client):
    """Reads files one after the other. Its place: which file, and how many bytes of its text were lines."""

    def __init__(self, path: Path, place: Place) -> None:
        self._path = path
        self._coming: deque[Path] = deque()
        self._file: IO[bytes] | None = None
        if place is None:
            self._open(path, 0)
            return
        found, *later = _since(path, place["file"]) or [path]
        self._coming.extend(later)
        self._open(found, place["bytes"] if _number(found) == place["file"] else 0)

    def _open(self, path: Path, skip: int) -> None:
        self.close()
        self._file = path.open("rb")
        status = os.fstat(self._file.fileno())
        self._number, self._lines = status.st_ino, Lines()
        self._gzip = path.suffix == ".gz"
        self._unzip = zlib.decompressobj(_GZIP) if self._gzip else None
        self._skip = skip if self._gzip else 0
        self._lines.bytes = skip
        if not self._gzip:
            self._file.seek(skip)

    def receive(self, timeout_s: float) -> Delivery | None:
        assert self._file is not None
        lines = self._lines.add(self._text())
        if lines:
            return Delivery(lines, {"file": self._number, "bytes": self._lines.bytes})
        if self._at_end() and not self._next():
            clock.sleep(min(timeout_s, _LOOK_S))
        return None

    def _text(self) -> bytes:
        assert self._file is not None
        if self._unzip is None:
            return self._file.read(_READ_BYTES)
        text, data = b"", self._file.read(_READ_BYTES)
        while data:
            text += self._unzip.decompress(data)
            data = self._unzip.unused_data
            if self._unzip.eof:
                self._unzip = zlib.decompressobj(_GZIP)
        skipped = min(self._skip, len(text))
        self._skip -= skipped
        return text[skipped:]

    def _at_end(self) -> bool:
        assert self._file is not None
        return self._file.tell() >= os.fstat(self._file.fileno()).st_size

    def _next(self) -> bool:
        """Go on with the file that came after this one, if there is one."""
        if self._coming:
            self._open(self._coming.popleft(), 0)
            return True
        assert self._file is not None
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return False
        if status.st_ino != self._number or status.st_size < self._file.tell():
            self._open(self._path, 0)
            return True
        return False

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _number(path: Path) -> int:
    return path.stat().st_ino


def _since(path: Path, number: int) -> list[Path]:
    """The file of this number, wherever it was renamed to, and those that were begun after it."""
    beside = {each for each in path.parent.iterdir() if each.name.startswith(path.name)}
    files = sorted((each for each in beside if each.is_file()), key=lambda each: each.stat().st_mtime_ns)
    numbers = [_number(each) for each in files]
    if number not in numbers:
        return []
    found = files[numbers.index(number):]
    return [found[0], *(each for each in found[1:] if each != path), *([path] if path in found[1:] else [])]

"""Log rotation: identity of a file, and the files that follow it."""

from __future__ import annotations

import os
import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from whimbrel.connect.feeds.files.gzip_members import GzipMembers

HEAD_BYTES = 1024
_READ_BYTES = 1 << 13
_ROTATED = re.compile(r"[-._:T0-9]*(\.old)?(\.gz)?")
"""Suffixes that rotation adds to the name of the log."""


@dataclass(frozen=True)
class Identity:
    """Identity of a file that may be renamed, copied or compressed.

    Parameters
    ----------
    device, inode : int
        The file.
    head_bytes, head : int
        Number of first bytes, uncompressed, and their checksum. They detect a file that was truncated and filled again,
        and a reused inode.
    written_ns : int
        Time of the last change. A copy is at least as new.
    last_bytes, last : int
        Number of last bytes that were read, and their checksum. They detect a file that was overwritten with the same
        beginning. They are not checked in compressed files.
    """

    device: int
    inode: int
    head_bytes: int
    head: int
    written_ns: int
    last_bytes: int = 0
    last: int = 0

    @staticmethod
    def of(status: os.stat_result, written_ns: int, head: bytes, last: bytes) -> Identity:
        """Identity of an open file, with the first and the last bytes that were read."""
        return Identity(status.st_dev, status.st_ino, len(head), zlib.crc32(head), written_ns, len(last),
                        zlib.crc32(last))

    def begins(self, path: Path) -> bool:
        """Whether the text of a file has the same beginning."""
        head = _head(path, self.head_bytes)
        return len(head) == self.head_bytes and zlib.crc32(head) == self.head

    def _goes_to(self, path: Path, text_bytes: int) -> bool:
        """Whether a file is long enough and has the last bytes that were read."""
        at = text_bytes - self.last_bytes
        try:
            with path.open("rb") as file:
                file.seek(at)
                last = file.read(self.last_bytes)
                return file.seek(0, os.SEEK_END) >= text_bytes and zlib.crc32(last) == self.last
        except OSError:
            return False

    def is_at(self, status: os.stat_result) -> bool:
        """Whether it is this file, with any text."""
        return (status.st_dev, status.st_ino) == (self.device, self.inode)

    def found(self, log: Path, text_bytes: int) -> Path | None:
        """Path of this file, or else of a copy, if it has this much text; None otherwise."""
        alike = {path: status for path, status in _rotated(log).items()
                 if (path.suffix == ".gz" or self._goes_to(path, text_bytes)) and self._is(path, status)}
        copies = (path for path, status in alike.items() if status.st_mtime_ns >= self.written_ns)
        return next((path for path, status in alike.items() if self.is_at(status)), None) or next(copies, None)

    def followed_by(self, log: Path) -> list[Path]:
        """Files that were started after this one, in order; the log itself is last."""
        later = [path for path, status in _rotated(log).items()
                 if status.st_mtime_ns >= self.written_ns and path != log and not self._is(path, status)]
        return [*later, *([log] if log.exists() else [])]

    def _is(self, path: Path, status: os.stat_result) -> bool:
        """Whether it is this file or a copy of it."""
        return (self.head_bytes > 0 or self.is_at(status)) and self.begins(path)


@dataclass(frozen=True)
class RotatedFiles:
    """The rotated files of a log when it was opened. A later copy holds rows that were truncated before they were read.

    Parameters
    ----------
    files : frozenset of (int, int)
        Device and inode of each file, including the log.
    heads : frozenset of bytes
        First bytes of the files, to recognize one that is compressed later.
    """

    files: frozenset[tuple[int, int]]
    heads: frozenset[bytes]

    @staticmethod
    def of(log: Path) -> RotatedFiles:
        found = _rotated(log)
        return RotatedFiles(frozenset((status.st_dev, status.st_ino) for status in found.values()),
                      frozenset(_head(path, HEAD_BYTES) for path in found if path != log))

    def copies(self, log: Path, head: bytes) -> list[Path]:
        """New files with a text that differs from the beginning of the log now, oldest first."""
        new = {path: _head(path, HEAD_BYTES) for path, status in _rotated(log).items()
               if path != log and (status.st_dev, status.st_ino) not in self.files}
        return [path for path, begins in new.items() if not head.startswith(begins) and begins not in self.heads]


def _rotated(log: Path) -> dict[Path, os.stat_result]:
    """The log and its rotated files, in order of their last change."""
    files: dict[Path, os.stat_result] = {}
    for path in log.parent.iterdir():
        if path.name.startswith(log.name) and _ROTATED.fullmatch(path.name, len(log.name)):
            try:
                status = path.stat()
            except FileNotFoundError:  # it was rotated meanwhile
                continue
            if stat.S_ISREG(status.st_mode):
                files[path] = status
    whole = {path: status for path, status in files.items()
             if path == log or path.suffix != ".gz" or path.with_suffix("") not in files}  # else gzip still writes it
    return dict(sorted(whole.items(), key=lambda each: each[1].st_mtime_ns))


def _head(path: Path, count: int) -> bytes:
    """The first bytes of the text of a file; fewer if the text is shorter."""
    try:
        with path.open("rb") as file:
            if path.suffix != ".gz":
                return file.read(count)
            members, head = GzipMembers(), b""
            while len(head) < count and (data := file.read(_READ_BYTES)):
                head += members.add(data)[0]
            return head[:count]
    except OSError:
        return b""

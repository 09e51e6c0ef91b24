"""A log that is rotated: what a file is known by, and which of those beside it were begun after it."""

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
"""How names of rotated files go on behind that of the log."""


@dataclass(frozen=True)
class Identity:
    """What a file is known by when it was renamed, copied or compressed meanwhile.

    Parameters
    ----------
    device, inode : int
        The file.
    head_bytes, head : int
        How many of its first bytes, uncompressed, are known, and their checksum: they are another text's in a file
        that was cut and filled again, and in one that was given the number of a file that is gone.
    written_ns : int
        When it was last written to before it was looked at: a copy that was made then, or later, is as new.
    last_bytes, last : int
        How many of the bytes are known that were read last, and their checksum: they tell a file that was written anew
        with the same beginning. Of one that is compressed they are not looked for.
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
        """Of an open file, with what its text begins with, and ends with as far as it was read."""
        return Identity(status.st_dev, status.st_ino, len(head), zlib.crc32(head), written_ns, len(last),
                        zlib.crc32(last))

    def begins(self, path: Path) -> bool:
        """Whether a file's text begins like this one's."""
        head = _head(path, self.head_bytes)
        return len(head) == self.head_bytes and zlib.crc32(head) == self.head

    def _goes_to(self, path: Path, text_bytes: int) -> bool:
        """Whether a file has so much text, and what was read last is there."""
        at = text_bytes - self.last_bytes
        try:
            with path.open("rb") as file:
                file.seek(at)
                last = file.read(self.last_bytes)
                return file.seek(0, os.SEEK_END) >= text_bytes and zlib.crc32(last) == self.last
        except OSError:
            return False

    def is_at(self, status: os.stat_result) -> bool:
        """Whether it is this file, whatever its text is now."""
        return (status.st_dev, status.st_ino) == (self.device, self.inode)

    def found(self, log: Path, text_bytes: int) -> Path | None:
        """Where this file is now, if so much of its text is there: itself, or else a copy of it."""
        alike = {path: status for path, status in _beside(log).items()
                 if (path.suffix == ".gz" or self._goes_to(path, text_bytes)) and self._is(path, status)}
        copies = (path for path, status in alike.items() if status.st_mtime_ns >= self.written_ns)
        return next((path for path, status in alike.items() if self.is_at(status)), None) or next(copies, None)

    def followed_by(self, log: Path) -> list[Path]:
        """The files that were begun after this one, in their order: at last the log itself."""
        later = [path for path, status in _beside(log).items()
                 if status.st_mtime_ns >= self.written_ns and path != log and not self._is(path, status)]
        return [*later, *([log] if log.exists() else [])]

    def _is(self, path: Path, status: os.stat_result) -> bool:
        """Whether it is this file or a copy of it."""
        return (self.head_bytes > 0 or self.is_at(status)) and self.begins(path)


@dataclass(frozen=True)
class RotatedFiles:
    """What was beside a log when it was opened: a copy that comes later is of rows that were cut before they were read.

    Parameters
    ----------
    files : frozenset of (int, int)
        Device and inode of each file, also of the log.
    heads : frozenset of bytes
        What they begin with: one that is compressed meanwhile is known by it.
    """

    files: frozenset[tuple[int, int]]
    heads: frozenset[bytes]

    @staticmethod
    def of(log: Path) -> RotatedFiles:
        found = _beside(log)
        return RotatedFiles(frozenset((status.st_dev, status.st_ino) for status in found.values()),
                      frozenset(_head(path, HEAD_BYTES) for path in found if path != log))

    def copies(self, log: Path, head: bytes) -> list[Path]:
        """Files that came since then, of another text than what the log begins with now: the oldest first."""
        new = {path: _head(path, HEAD_BYTES) for path, status in _beside(log).items()
               if path != log and (status.st_dev, status.st_ino) not in self.files}
        return [path for path, begins in new.items() if not head.startswith(begins) and begins not in self.heads]


def _beside(log: Path) -> dict[Path, os.stat_result]:
    """The log, and what it was rotated to, in the order in which they were last written to."""
    files: dict[Path, os.stat_result] = {}
    for path in log.parent.iterdir():
        if path.name.startswith(log.name) and _ROTATED.fullmatch(path.name, len(log.name)):
            try:
                status = path.stat()
            except FileNotFoundError:  # it is being rotated now
                continue
            if stat.S_ISREG(status.st_mode):
                files[path] = status
    whole = {path: status for path, status in files.items()
             if path == log or path.suffix != ".gz" or path.with_suffix("") not in files}  # else not finished
    return dict(sorted(whole.items(), key=lambda each: each[1].st_mtime_ns))


def _head(path: Path, count: int) -> bytes:
    """The first bytes of a file's text; fewer, if there are not so many that can be read."""
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

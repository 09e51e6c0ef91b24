"""Follow capture files that grow, are rotated and overwritten."""

from __future__ import annotations

import os
import stat
import time as clock
from dataclasses import asdict, dataclass
from glob import glob
from pathlib import Path
from time import monotonic
from typing import Any, Final

from whimbrel.connect.feeds.files.gzip_members import GzipMembers
from whimbrel.connect.feeds.files.rotation import HEAD_BYTES, Identity
from whimbrel.connect.feeds.runtime.client import Offset
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.connect.packets.capture import CUT
from whimbrel.connect.packets.capture_client import POLL_S, READ_BYTES, CaptureClient

_QUIET_S = 0.5
_REMOVED: Final = "a file was truncated, overwritten or removed before its end was read"
_NO_GZIP: Final = "bytes that are not gzip"


@dataclass(frozen=True, slots=True)
class _Left:
    """A file whose end was read, as it was then."""

    status: os.stat_result
    known: Identity
    bytes: int
    packets: int | None  # None: not counted, in a run before

    def is_unchanged(self, status: os.stat_result) -> bool:
        return (status.st_size, status.st_mtime_ns) == (self.status.st_size, self.status.st_mtime_ns)


class FollowedCaptures(CaptureClient):
    """Reads capture files in order, each while it grows.

    An offset has the name of a file, packets and bytes that were read, and the file's identity. Offsets of versions
    before have only the name and the packets.

    Parameters
    ----------
    pattern : Path
        A file, which may be renamed and begun again, or a pattern of files that follow each other.
    columns, where : tuple of str, str
        As in :class:`~whimbrel.connect.packets.capture_client.CaptureClient`.
    offset : JSON value
    """

    def __init__(self, pattern: Path, columns: tuple[str, ...], where: str, offset: Offset) -> None:
        super().__init__(columns, where)
        self._pattern = pattern
        self._is_one = pattern.exists() or not any(sign in str(pattern) for sign in "*?[")
        self._left: dict[tuple[int, int], _Left] = {}
        self._newest_ns, self._by_change = 0, False
        if offset is not None:
            self._resume(offset)

    def _resume(self, offset: dict[str, Any]) -> None:
        name, skip = Path(offset["file"]), offset["packets"]
        known = Identity(**offset["identity"]) if "identity" in offset else None
        self._newest_ns, self._by_change = offset.get("newest_ns", clock.time_ns()), offset.get("by_change", False)
        self._begin(str(name), skip)
        if known is None:
            found = name if name.exists() else None
        else:
            found = self._found(known, name, offset["bytes"]) if name.parent.is_dir() else None
            self._by_change |= found not in (None, name)
        for path, status in self._matching().items():  # those before the file were read
            is_before = self._by_change or natural_path(path) < natural_path(name)
            if is_before and status.st_mtime_ns <= self._newest_ns and path not in (name, found):
                self._left[_key(status)] = _as_it_is(path, status)
        self._continue(found, known, skip)

    def _found(self, known: Identity, name: Path, text_bytes: int) -> Path | None:
        """Path of a file, wherever it is now."""
        if self._is_one:
            return known.found(self._pattern, text_bytes)
        here = (path for path, status in self._matching().items() if known.is_at(status))
        return next((path for path in here if known.found(path, text_bytes) == path), known.found(name, text_bytes))

    def _continue(self, found: Path | None, known: Identity | None, skip: int) -> None:
        """Continue in a file, or after it if it does not exist any more."""
        if found is not None:
            self._open(found, skip)
            return
        self.lost[_REMOVED] += 1
        self.close()
        if self._is_one and known is not None and (later := known.followed_by(self._pattern)):
            self._open(later[0], 0)

    def _open(self, path: Path, skip: int) -> None:
        self.close()
        self._opened = os.open(path, os.O_RDONLY)
        self._begin(str(path), skip)
        self._unzip = GzipMembers() if path.suffix == ".gz" else None
        self._bytes, self._head, self._last = 0, b"", b""
        self._written_ns = os.fstat(self._opened).st_mtime_ns
        self._quiet_since = monotonic()

    def _place(self) -> dict[str, Any]:
        return {"file": self._name, "bytes": self._bytes, "identity": asdict(self._identity()),
                "newest_ns": max(self._newest_ns, self._written_ns), "by_change": self._by_change}

    def _identity(self) -> Identity:
        # Captures begin alike: without a packet, only the inode tells one from another.
        head, last = (self._head, self._last) if self._packets else (b"", b"")
        return Identity.of(os.fstat(self._opened), self._written_ns, head, last)

    def _read(self, timeout_s: float) -> None:
        if self._opened < 0 and not self._next():
            clock.sleep(min(timeout_s, POLL_S))
            return
        data = os.read(self._opened, READ_BYTES)
        if self._was_cut():  # check after the read, which may have returned bytes of another capture
            known = self._identity()
            found = self._found(known, Path(self._name), self._bytes if self._packets else 0)
            self._continue(found, known, max(self._skip, self._packets))
        elif data:
            self._quiet_since = monotonic()
            text, breaks = self._unzip.add(data) if self._unzip else (data, [])
            if breaks:
                self.lost[_NO_GZIP] += len(breaks)
            self._bytes += len(text)
            self._head += text[:HEAD_BYTES - len(self._head)]
            self._last = b"" if self._unzip else (self._last + text[-HEAD_BYTES:])[-HEAD_BYTES:]
            self._add(text)
        elif monotonic() - self._quiet_since < _QUIET_S or not self._next():
            clock.sleep(min(timeout_s, POLL_S))

    def _was_cut(self) -> bool:
        """Whether the file was truncated or overwritten, by its size, its beginning and the last bytes read."""
        status = os.fstat(self._opened)
        if status.st_size < os.lseek(self._opened, 0, os.SEEK_CUR):
            return True
        if not self._unzip:
            head = os.pread(self._opened, len(self._head), 0)
            last = os.pread(self._opened, len(self._last), self._bytes - len(self._last))
            if (head, last) != (self._head, self._last):
                return True
        self._written_ns = status.st_mtime_ns
        return False

    def _next(self) -> bool:
        """Open the file after this one, if there is one."""
        later = self._later_of_one() if self._is_one else self._later_of_pattern()
        if not later:
            return False
        if self._opened >= 0:
            if self._capture.waiting:
                self.lost[CUT] += self._capture.waiting
            status = os.fstat(self._opened)
            self._left[_key(status)] = _Left(status, self._identity(), self._bytes, max(self._packets, self._skip))
            self._newest_ns = max(self._newest_ns, self._written_ns)
        path, is_after = later[0], self._is_after(later[0])
        status = path.stat()
        before = self._left.pop(_key(status), None)
        if before is None or before.known.found(path, before.bytes) != path:
            self._by_change |= not is_after
            self._open(path, 0)
        elif before.packets is not None:
            self._open(path, before.packets)
        else:  # nobody knows how many packets were read of a file that has grown
            self._left[_key(status)] = _as_it_is(path, status)
            return False
        return True

    def _later_of_one(self) -> list[Path]:
        """Files that follow this one; none while it has the name that was given."""
        if not self._pattern.exists():
            return []
        if self._opened < 0:
            return [self._pattern]
        here = self._identity()
        return [] if here.is_at(self._pattern.stat()) else [
            path for path in here.followed_by(self._pattern) if self._is_new(path.stat())]

    def _later_of_pattern(self) -> list[Path]:
        """Files with packets that were not read: by name, then such as were written again, by their last change."""
        matching = self._matching()
        keys = {_key(status) for status in matching.values()}
        self._left = {key: left for key, left in self._left.items() if key in keys}
        here = _key(os.fstat(self._opened)) if self._opened >= 0 else None
        if any(_key(status) == here and str(path) != self._name for path, status in matching.items()):
            self._by_change = True  # files are renamed
        unread = [path for path, status in matching.items() if _key(status) != here and self._is_new(status)]
        again = [path for path in unread if not self._is_after(path)]
        return [*(path for path in unread if self._is_after(path)),
                *sorted(again, key=lambda path: matching[path].st_mtime_ns)]

    def _is_after(self, path: Path) -> bool:
        """Whether a file follows by its name. Names do not count after files were written again."""
        return not self._by_change and (not self._name or natural_path(path) > natural_path(Path(self._name)))

    def _is_new(self, status: os.stat_result) -> bool:
        left = self._left.get(_key(status))
        return left is None or not left.is_unchanged(status)

    def _matching(self) -> dict[Path, os.stat_result]:
        """The files of the pattern, in natural order of their names."""
        files: dict[Path, os.stat_result] = {}
        if not self._is_one:
            for path in sorted(map(Path, glob(str(self._pattern), recursive=True)), key=natural_path):  # noqa: PTH207
                try:
                    status = path.stat()
                except FileNotFoundError:  # it was renamed meanwhile
                    continue
                if stat.S_ISREG(status.st_mode):
                    files[path] = status
        return files


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _as_it_is(path: Path, status: os.stat_result) -> _Left:
    """A file that was read in a run before."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        at = max(0, status.st_size - HEAD_BYTES)
        file.seek(at)
        last = file.read(status.st_size - at)
    known = Identity.of(status, status.st_mtime_ns, head, last)
    return _Left(status, known, status.st_size, None)

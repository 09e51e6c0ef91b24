"""Feed of the packets of captures that grow."""

from __future__ import annotations

import os
import select
import stat
import time as clock
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from time import monotonic
from typing import Final, Unpack

import pyarrow as pa

from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.packets.capture import CUT, Capture, CaptureError
from whimbrel.connect.packets.decoded_layers import Packets
from whimbrel.connect.packets.packet_columns import COLUMNS, PacketReader
from whimbrel.connect.validation import check_path
from whimbrel.errors import PlanError, SourceError, near_match

_READ_BYTES: Final = 1 << 20
_LOOK_S, _QUIET_S = 0.05, 0.5
_REMOVED: Final = "a file was truncated or removed before its end was read"


class PacketFeed(Feed):
    """Feed of packets.

    It reads a growing capture, captures that follow each other, or a pipe.

    With a pattern, files are read in natural order of their names, as ``tcpdump -C`` makes them: ``log.pcap2`` before
    ``log.pcap10``. A later file is opened when the one before has not grown for half a second. A pipe ends when its
    writer does.

    Parameters
    ----------
    path : str or path
        A file, a pattern such as ``"log.pcap*"``, or a named pipe.
    columns : sequence of str, optional
        The columns to decode, with ``time``. Default: all but ``payload``.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

    Notes
    -----
    A feed of files resumes after the last packet that was read. A pipe has no offsets: packets that are sent while the
    feed is disconnected are lost. A file that was truncated or removed before its end was read counts as lost.
    """

    def __init__(self, path: FilePath, *, columns: Sequence[str] | None = None, **options: Unpack[FeedOptions]) -> None:
        where = f"feeds.pcap({str(path)!r})"
        check_path("path", path, where=where)
        self.path = Path(path)
        chosen = [name for name in COLUMNS if name != "payload"] if columns is None else ["time", *columns]
        unknown = next((name for name in chosen if name not in COLUMNS), None)
        if unknown is not None:
            raise PlanError(f"Packets have no column {unknown!r}.", where=where, hint=near_match(unknown, COLUMNS))
        self._decoded = tuple(dict.fromkeys(chosen))
        options.setdefault("name", self.path.name)
        fields = pa.schema([pa.field(name, COLUMNS[name].type) for name in self._decoded])
        super().__init__("pcap", time="time", schema=fields, format=None, **options)

    def connect(self, offset: Offset) -> Client:
        if self.path.exists() and stat.S_ISFIFO(self.path.stat().st_mode):
            return _Pipe(self.path, self._decoded, self.call)
        return _Files(self.path, self._decoded, self.call, offset)


class _CaptureClient(Client):
    """Decodes the packets of bytes that arrive."""

    def __init__(self, columns: tuple[str, ...], where: str) -> None:
        self.lost: Counter[str] = Counter()
        self._columns, self._where, self._reader = columns, where, PacketReader()
        self._ready: deque[MessageBatch] = deque()
        self._opened = -1
        self._begin("", 0)

    def _begin(self, name: str, skip: int) -> None:
        """Expect the beginning of a capture, of which so many packets were read before."""
        self._capture, self._name, self._packets, self._skip = Capture(self.lost), name, 0, skip

    def _add(self, data: bytes) -> None:
        try:
            for found in self._capture.add(data):
                new = found.after(max(0, self._skip - self._packets))
                self._packets += len(found)
                if len(new):
                    columns = self._reader.columns(Packets(new), self._columns)
                    rows = pa.RecordBatch.from_arrays([each.to_arrow() for each in columns], list(self._columns))
                    self._ready.append(MessageBatch(rows, self._offset()))
        except CaptureError as error:
            raise SourceError(f"{self._name!r} cannot be read as a capture: {error}.", where=self._where,
                              hint="Write it with tcpdump -U -w.") from None

    def _offset(self) -> Offset:
        return {"file": self._name, "packets": self._packets}

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if not self._ready:
            self._read(timeout_s)
        return self._ready.popleft() if self._ready else None

    @abstractmethod
    def _read(self, timeout_s: float) -> None:
        """Add bytes, waiting at most this long."""

    def close(self) -> None:
        if self._opened >= 0:
            os.close(self._opened)
            self._opened = -1


class _Files(_CaptureClient):
    """Reads files in order, each while it grows."""

    def __init__(self, pattern: Path, columns: tuple[str, ...], where: str, offset: Offset) -> None:
        super().__init__(columns, where)
        self._pattern = pattern
        self._quiet_since = monotonic()
        if offset is not None:
            self._begin(offset["file"], offset["packets"])
            if Path(self._name).exists():
                self._open(Path(self._name), offset["packets"])
            else:
                self.lost[_REMOVED] += 1

    def _open(self, path: Path, skip: int) -> None:
        self.close()
        self._opened = os.open(path, os.O_RDONLY)
        self._begin(str(path), skip)

    def _read(self, timeout_s: float) -> None:
        if self._opened < 0 and not self._next():
            clock.sleep(min(timeout_s, _LOOK_S))
            return
        if os.fstat(self._opened).st_size < os.lseek(self._opened, 0, os.SEEK_CUR):
            self.lost[_REMOVED] += 1
            self._open(Path(self._name), 0)
        if data := os.read(self._opened, _READ_BYTES):
            self._quiet_since = monotonic()
            self._add(data)
        elif monotonic() - self._quiet_since < _QUIET_S or not self._next():
            clock.sleep(min(timeout_s, _LOOK_S))

    def _next(self) -> bool:
        """Open the file after this one, if there is one."""
        found = glob(str(self._pattern), recursive=True)  # noqa: PTH207 - from any root
        paths = [self._pattern] if self._pattern.exists() else sorted(map(Path, found), key=natural_path)
        after = [path for path in paths if not self._name or natural_path(path) > natural_path(Path(self._name))]
        if not after:
            return False
        if self._capture.waiting:
            self.lost[CUT] += self._capture.waiting
        self._open(after[0], 0)
        return True


class _Pipe(_CaptureClient):
    """Reads a pipe until its writer ends."""

    def __init__(self, path: Path, columns: tuple[str, ...], where: str) -> None:
        super().__init__(columns, where)
        self._begin(str(path), 0)
        self._opened, self._has_begun = os.open(path, os.O_RDONLY | os.O_NONBLOCK), False

    def _offset(self) -> Offset:
        return None

    def _read(self, timeout_s: float) -> None:
        poll = select.poll()
        poll.register(self._opened, select.POLLIN)
        found = poll.poll(1000 * min(timeout_s, _LOOK_S))
        if not found:
            return
        if data := os.read(self._opened, _READ_BYTES):
            self._has_begun = True
            self._add(data)
        elif self._has_begun:
            raise EOFError
        else:  # no writer has opened it yet
            clock.sleep(min(timeout_s, _LOOK_S))

"""Feed of the packets of captures that grow."""

from __future__ import annotations

import os
import select
import stat
import time as clock
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import pyarrow as pa

from whimbrel.connect.feeds.runtime.client import Client, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.packets.capture_client import POLL_S, READ_BYTES, CaptureClient
from whimbrel.connect.packets.followed_captures import FollowedCaptures
from whimbrel.connect.packets.packet_columns import COLUMNS
from whimbrel.connect.validation import check_path
from whimbrel.errors import PlanError, near_match


class PacketFeed(Feed):
    """Feed of packets.

    It reads a growing capture, captures that follow each other, or a pipe.

    With a pattern, files are read in natural order of their names, as ``tcpdump -C`` makes them: ``log.pcap2`` before
    ``log.pcap10``. A later file is opened when the one before has not grown for half a second. A file that is written
    again, as by ``tcpdump -W``, is read again from its beginning. A file without a pattern may be renamed and begun
    again: the feed reads the old one to its end, then the new one. A pipe ends when its writer does.

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
    feed is disconnected are lost. A file that was truncated, overwritten or removed before its end was read counts as
    lost. A file is recognized by its inode, its first kilobyte, and the last one that was read.
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
        return FollowedCaptures(self.path, self._decoded, self.call, offset)


class _Pipe(CaptureClient):
    """Reads a pipe until its writer ends."""

    def __init__(self, path: Path, columns: tuple[str, ...], where: str) -> None:
        super().__init__(columns, where)
        self._begin(str(path), 0)
        self._opened, self._has_begun = os.open(path, os.O_RDONLY | os.O_NONBLOCK), False

    def _read(self, timeout_s: float) -> None:
        poll = select.poll()
        poll.register(self._opened, select.POLLIN)
        found = poll.poll(1000 * min(timeout_s, POLL_S))
        if not found:
            return
        if data := os.read(self._opened, READ_BYTES):
            self._has_begun = True
            self._add(data)
        elif self._has_begun:
            raise EOFError
        else:  # no writer has opened it yet
            clock.sleep(min(timeout_s, POLL_S))

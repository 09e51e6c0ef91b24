"""Arrow IPC streams over TCP or Unix sockets as feeds."""

from __future__ import annotations

import io
import socket as sockets
from collections.abc import Iterator
from typing import Unpack
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import ipc

from whimbrel.connect.addresses import checked_url, without_secrets
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset, ThreadedClient
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.errors import PlanError

_CONNECT_S = 5.0
_MAX_BYTES = 1 << 30


class SocketFeed(Feed):
    """Feed of an Arrow IPC stream over a socket.

    A program sends record batches.

    A socket has no offsets: data sent while the feed is disconnected is lost. The feed reconnects after a lost
    connection, and ends at Arrow's end-of-stream marker.

    Parameters
    ----------
    address : str
        ``"tcp://host:port"`` or ``"unix:///path"``.
    time : str
        The event-time column.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: the schema of the stream, from a first connection that is made now.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    lost = (OSError, EOFError, TimeoutError, pa.ArrowException)

    def __init__(self, address: str, *, time: str, schema: Fields | None = None,
                 **options: Unpack[FeedOptions]) -> None:
        self._address = urlsplit(checked_url(address, "tcp", "unix"))
        if self._address.scheme == "tcp" and self._address.port is None:
            shown = without_secrets(address)
            raise PlanError(f"address must have a port, got {shown!r}.", where=f"feeds.socket({shown!r})",
                            hint="Use tcp://host:port.")
        super().__init__("socket", time=time, schema=schema, format=None, **options)

    def connect(self, offset: Offset) -> Client:
        if self._address.scheme == "unix":
            link = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
            link.settimeout(_CONNECT_S)
            link.connect(self._address.path)
        else:
            link = sockets.create_connection((self._address.hostname or "127.0.0.1", self._address.port or 0),
                                             timeout=_CONNECT_S)
        link.settimeout(None)

        def unblock() -> None:
            link.shutdown(sockets.SHUT_RDWR)
            link.close()

        return ThreadedClient(_received(link), unblock)


def _received(link: sockets.socket) -> Iterator[MessageBatch]:
    file = _Exactly(link)
    with ipc.open_stream(pa.PythonFile(file, "r")) as stream:
        while True:
            try:
                rows = stream.read_next_batch()
            except StopIteration:
                if file.cut:  # closed without Arrow's end-of-stream marker
                    raise ConnectionError("the connection was closed") from None
                return
            rows.validate(full=True)
            yield MessageBatch(rows)


class _Exactly(io.RawIOBase):
    """A file that reads exactly the requested bytes, or to the end."""

    def __init__(self, link: sockets.socket) -> None:
        self._link = link
        self.cut = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_BYTES:
            raise ConnectionError(f"a message has an invalid length of {size:,} bytes")
        parts = bytearray()
        while len(parts) < size:
            part = self._link.recv(min(size - len(parts), 1 << 20))
            if not part:
                self.cut = True
                break
            parts += part
        return bytes(parts)

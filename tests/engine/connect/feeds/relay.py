"""A relay between clients and a real server, which cuts connections within a message."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque


class Relay:
    """Hands bytes on, and cuts the connection on which a number of bytes has come from the server.

    Parameters
    ----------
    server : int
        Its port.
    *cuts : int
        After how many bytes each, counted from the cut before; then nothing is cut.

    Attributes
    ----------
    server : int
        May be set later: a server that sends clients its address must know the address of the relay first.
    cuts : deque of int
        Those that are still to come.
    """

    def __init__(self, server: int, *cuts: int) -> None:
        self.cuts = deque(cuts)
        self.server, self._came, self._counting = server, 0, threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.server))
                except OSError:  # it is down; the next one may find it
                    client.close()
                    continue
                for ends in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._hand_on, args=ends, daemon=True).start()

    def _hand_on(self, source: socket.socket, sink: socket.socket, counts: bool) -> None:
        with source, contextlib.suppress(OSError):
            uncut = True
            while uncut and (data := source.recv(1 << 16)):
                if counts:
                    data, uncut = self._counted(data)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def _counted(self, data: bytes) -> tuple[bytes, bool]:
        """What is handed on of these bytes, and whether more is."""
        with self._counting:
            self._came += len(data)
            if not self.cuts or self._came < self.cuts[0]:
                return data, True
            over, self._came = self._came - self.cuts.popleft(), 0
            return data[: len(data) - over], False

"""Sockets that receive datagrams."""

from __future__ import annotations

import socket
from typing import Final

from whimbrel.errors import SourceError

MAX_DATAGRAM: Final = 65_536
_RECEIVE_BUFFER: Final = 8 << 20


def open_datagram_socket(host: str, port: int, where: str) -> socket.socket:
    """A socket that receives at an address of this machine.

    Raises
    ------
    SourceError
        For an address or a port that the machine does not give.
    OSError
        For a port that is in use, which a later attempt may get.
    """
    link = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        link.bind((host, port))
    except OSError as error:
        link.close()
        if error.errno in (13, 99):  # no permission, or no address of this machine: retries change nothing
            raise SourceError(f"Cannot receive at {host}:{port}: {error.strerror}.", where=where,
                              hint="Use an address of this machine and a free port.") from None
        raise
    return link

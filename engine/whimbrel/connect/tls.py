"""TLS contexts that close their socket when a handshake fails."""

from __future__ import annotations

import ssl
from contextlib import suppress


class _ClosedIfRefused(ssl.SSLSocket):
    """paho drops the socket of a failed handshake without closing it; a server tried again leaks one each time."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except BaseException:
            with suppress(OSError):
                self.close()
            raise


def closing_context(context: ssl.SSLContext | None = None) -> ssl.SSLContext:
    """Make a context, or the default one, close its sockets when their handshake fails."""
    context = context or ssl.create_default_context()
    context.sslsocket_class = _ClosedIfRefused
    return context

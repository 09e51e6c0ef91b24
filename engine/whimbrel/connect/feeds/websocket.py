"""Messages of a WebSocket."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Unpack

from whimbrel.connect.addresses import checked_url, without_secrets
from whimbrel.connect.feeds.client import Client, Delivery, Place
from whimbrel.connect.feeds.decoding import Format, format_of
from whimbrel.connect.feeds.enforce import Fields
from whimbrel.connect.feeds.feed import Feed, Usual
from whimbrel.errors import MissingExtraError

_MOST_BYTES = 64 << 20
_MOST_MESSAGES = 8192


class WebSocketFeed(Feed):
    """Messages of a WebSocket, one a row; needs ``whimbrel[websocket]``.

    A WebSocket has no memory: what was sent while the connection was lost is not seen.

    Parameters
    ----------
    url : str
        ``ws://`` or ``wss://``.
    time : str
        The event-time column.
    hello : str, optional
        Sent when a connection is made, such as a subscription.
    headers, format, schema
        As in :class:`whimbrel.connect.feeds.http.HttpFeed`.
    **told
        What every feed can be told. See :class:`whimbrel.connect.feeds.feed.Usual`.
    """

    def __init__(self, url: str, *, time: str, hello: str | None = None, headers: Mapping[str, str] | None = None,
                 format: str | Format = "json", schema: Fields | None = None, **told: Unpack[Usual]) -> None:
        try:
            from websockets.exceptions import WebSocketException
            from websockets.sync.client import connect
        except ImportError:
            raise MissingExtraError("websockets", "websocket", "feeds.websocket()") from None
        self._connect: Any = connect
        self.lost = (OSError, EOFError, TimeoutError, WebSocketException)
        self.url, self.hello = checked_url(url, "ws", "wss"), hello
        self.headers = dict(headers or {})
        super().__init__("websocket", time=time, schema=schema,
                         format=format_of(format, f"feeds.websocket({without_secrets(url)!r})"), **told)

    def connect(self, place: Place) -> Client:
        return _Socket(self._connect(self.url, additional_headers=self.headers, max_size=_MOST_BYTES), self.hello)


class _Socket(Client):
    def __init__(self, connection: Any, hello: str | None) -> None:
        self._open = ExitStack()
        self._link = self._open.enter_context(connection)
        if hello is not None:
            self._link.send(hello)

    def receive(self, timeout_s: float) -> Delivery | None:
        messages: list[bytes] = []
        try:
            while len(messages) < _MOST_MESSAGES:
                message = self._link.recv(timeout=timeout_s if not messages else 0)
                messages.append(message.encode() if isinstance(message, str) else message)
        except TimeoutError:
            pass
        except Exception:
            if not messages:
                raise
        return Delivery(messages) if messages else None

    def close(self) -> None:
        self._open.close()

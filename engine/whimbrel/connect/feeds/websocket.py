"""WebSocket messages as feeds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from time import monotonic
from typing import Any, Unpack

from whimbrel.connect.addresses import checked_url, without_secrets
from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.library_logging import info_logger
from whimbrel.connect.serve_protocol import FAILED, FINISHED, POLICY_VIOLATION, ROW, RUN
from whimbrel.connect.validation import checked_mapping
from whimbrel.errors import MissingExtraError, SourceError

_MAX_BYTES = 64 << 20
_MAX_MESSAGES = 8192
_REFUSED = (401, 403)
_MAX_WORDS = 200
_SILENCE_S = 10.0
_CLOSE_S = 2.0


class WebSocketFeed(Feed):
    """Feed of WebSocket messages, one per row; needs ``whimbrel[websocket]``.

    A WebSocket has no offsets: messages sent while the feed is disconnected are lost. The feed reconnects when a
    connection ends. A server of :func:`whimbrel.serve` numbers its rows, so a reconnect resumes after the last row, and
    the feed ends with the query.

    Parameters
    ----------
    url : str
        ``ws://`` or ``wss://``.
    time : str
        The event-time column.
    hello : str, optional
        A message to send after connecting, such as a subscription.
    headers, format, schema
        As in :class:`whimbrel.connect.feeds.http.http_feed.HttpFeed`.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, url: str, *, time: str, hello: str | None = None, headers: Mapping[str, str] | None = None,
                 format: str | Format = "json", schema: Fields | None = None, **options: Unpack[FeedOptions]) -> None:
        try:
            from websockets.exceptions import InvalidStatus, WebSocketException
            from websockets.sync.client import connect
        except ImportError:
            raise MissingExtraError("websockets", "websocket", "feeds.websocket()") from None
        self._connect: Any = connect
        self._not_let_in = InvalidStatus
        self.lost = (OSError, EOFError, TimeoutError, WebSocketException)
        self.url, self.hello = checked_url(url, "ws", "wss"), hello
        self.headers = checked_mapping("headers", headers, where=f"feeds.websocket({without_secrets(url)!r})")
        super().__init__("websocket", time=time, schema=schema,
                         format=format_of(format, f"feeds.websocket({without_secrets(url)!r})"), **options)

    def connect(self, offset: Offset) -> Client:
        headers = self.headers if offset is None else {**self.headers, ROW: str(offset[0]), RUN: offset[1]}
        try:
            link = self._connect(self.url, additional_headers=headers, max_size=_MAX_BYTES, close_timeout=_CLOSE_S,
                                 ping_interval=None, logger=info_logger("websocket"))
        except self._not_let_in as error:
            if error.response.status_code not in _REFUSED:
                raise
            hint = "Use headers= with the token or login of the server."
            raise self.server_error(_words(error.response), hint) from None
        return _Socket(self, link)

    def server_error(self, why: str,
                     hint: str = "Fix the cause on the server, which reported this error.") -> SourceError:
        """Make an error from what a server reports."""
        shown = without_secrets(self.url)
        return SourceError(f"{shown} refused to send rows: {why.rstrip('.')}.", where=f"feeds.websocket({shown!r})",
                           hint=hint)


class _Socket(Client):
    """A connection. With a Whimbrel server, its offset has the number of the next row and the run."""

    def __init__(self, feed: WebSocketFeed, connection: Any) -> None:
        self._feed = feed
        self._open = ExitStack()
        self._link = self._open.enter_context(connection)
        options = self._link.response.headers
        self._run: str | None = options.get(RUN)
        self._row = int(options.get(ROW, 0))
        self._received_at = monotonic()
        self._asked_at, self._pong = 0.0, None
        if feed.hello is not None:
            self._link.send(feed.hello)

    def receive(self, timeout_s: float) -> MessageBatch | None:
        messages: list[bytes] = []
        left = MAX_BYTES
        try:
            while len(messages) < _MAX_MESSAGES and left > 0:
                message = self._link.recv(timeout=timeout_s if not messages else 0)
                messages.append(message.encode() if isinstance(message, str) else message)
                left -= len(messages[-1])
        except TimeoutError:
            pass
        except Exception as error:  # noqa: BLE001 - it is raised when nothing is left to hand on
            if not messages:
                raise self._ended(error) from None
        if not messages:
            self._check_after_silence()
            return None
        self._received_at, self._pong = monotonic(), None
        self._row += len(messages)
        return MessageBatch(messages, None if self._run is None else [self._row, self._run])

    def _check_after_silence(self) -> None:
        """Ping a silent server, and fail if it does not respond within the same time.

        The keepalive of the library fails under backpressure, since the response waits for unread messages.
        """
        now = monotonic()
        if self._pong is not None and self._pong.is_set():
            self._received_at, self._pong = now, None
        elif self._pong is not None and now - self._asked_at > _SILENCE_S:
            raise ConnectionError(f"the server does not answer for {_SILENCE_S:.0f} s")
        elif self._pong is None and now - self._received_at > _SILENCE_S:
            self._pong, self._asked_at = self._link.ping(), now

    def _ended(self, error: Exception) -> Exception:
        """Interpret a close: only a Whimbrel server reports the end of its query."""
        frame = getattr(error, "rcvd", None)
        if self._run is None or frame is None or frame.code not in (FINISHED, POLICY_VIOLATION, FAILED):
            return error
        return EOFError() if frame.code == FINISHED else self._feed.server_error(frame.reason)

    def close(self) -> None:
        self._open.close()


def _words(response: Any) -> str:
    """The first line of a response that denies access, or else its status."""
    said = (response.body or b"").decode(errors="replace").strip().partition("\n")[0]
    return said[:_MAX_WORDS] or f"{response.status_code} {response.reason_phrase}"

"""Feeds of polled HTTP pages and of server-sent events."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import urllib.error
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.client import HTTPException, IncompleteRead
from operator import itemgetter
from typing import Any, Unpack
from urllib.parse import urlencode, urlsplit

from whimbrel.clock import Duration
from whimbrel.connect.addresses import checked_url, without_secrets
from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.formats.line_splitter import LineSplitter
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.http.http_request import opened
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset, ThreadedClient
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.validation import checked_mapping, checked_seconds

_CONNECT_S = 10.0
_STALL_S = 60.0
_READ_BYTES = 1 << 20
_MAX_BYTES = 64 << 20
_ENDS = re.compile(rb"\r\n|\r|\n")
_EVENTS = "text/event-stream"
_NO_MORE = 204


class HttpFeed(Feed):
    """Feed of an HTTP page, by polling.

    The page is a JSON array, or lines of JSON or CSV.

    A page with an unchanged ETag is not read. With `cursor`, the feed requests only new rows, and drops rows at or
    before the largest cursor of the previous page. A page of more than 64 MiB becomes a dead letter.

    Parameters
    ----------
    url : str
        The address. A user and password, ``http://user:password@host``, are sent as basic authentication.
    time : str
        The event-time column.
    every : str, timedelta or float (seconds)
        Time between two requests.
    cursor : str, optional
        A column that is larger in newer rows, in any order within a page. The largest value is sent as the query
        parameter of this name.
    headers : mapping, optional
        Request headers, such as ``{"Authorization": ...}``. They are in no plan, log or checkpoint, and are not sent to
        another scheme, host or port after a redirect.
    format, schema
        Format and schema of a row. Default schema: inferred from the first page.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    lost = (*Feed.lost, HTTPException)  # a body that ends before its length is no OSError

    def __init__(self, url: str, *, time: str, every: float | Duration = 5.0,
                 cursor: str | None = None, headers: Mapping[str, str] | None = None,
                 format: str | Format = "json", schema: Fields | None = None, **options: Unpack[FeedOptions]) -> None:
        where = f"feeds.http({without_secrets(url)!r})"
        every_s = checked_seconds("every", every, where=where)
        self.url, self.every, self.cursor = checked_url(url, "http", "https"), every_s, cursor
        self.headers = checked_mapping("headers", headers, where=where)
        super().__init__("http", time=time, schema=schema, format=format_of(format, where), **options)

    def connect(self, offset: Offset) -> Client:
        over = threading.Event()
        return ThreadedClient(_Poller(self, offset or {}).pages(over), over.set, answered=False)


class _Poller:
    """A polling client. Its offset has the last cursor, the last ETag and digests of unreadable rows."""

    def __init__(self, feed: HttpFeed, offset: dict[str, Any]) -> None:
        self._feed = feed
        self._cursor, self._tag = offset.get("cursor"), offset.get("tag")
        self._unread: set[str] = set(offset.get("unread", ()))

    def pages(self, over: threading.Event) -> Iterator[MessageBatch | None]:
        """Poll until the client is closed."""
        while not over.is_set():
            messages = self._asked()
            offset = {"cursor": self._cursor, "tag": self._tag, "unread": sorted(self._unread)}
            yield MessageBatch(messages, offset) if messages else None
            over.wait(self._feed.every)

    def _asked(self) -> list[bytes]:
        """Request the page; return new messages."""
        url = self._feed.url
        if self._cursor is not None and self._feed.cursor is not None:
            url += ("&" if urlsplit(url).query else "?") + urlencode({self._feed.cursor: self._cursor})
        headers = dict(self._feed.headers) | ({"If-None-Match": self._tag} if self._tag else {})
        try:
            with opened(url, headers, self._feed.headers, _CONNECT_S) as page:
                text, self._tag = page.read(_MAX_BYTES + 1), page.headers.get("ETag")
                if page.length and len(text) <= _MAX_BYTES:
                    raise IncompleteRead(text, page.length)
        except urllib.error.HTTPError as error:
            if error.code == 304:
                return []
            raise
        unread, self._unread = self._unread, set()
        if len(text) > _MAX_BYTES:
            for letter in self._unreadable(text, unread):
                self._feed.dead_letters.refuse(letter, "a page is longer than 64 MiB")
            return []
        try:
            messages = _rows(text)
        except (ValueError, RecursionError):  # a dead letter; the page is requested again
            self._tag = None
            return self._unreadable(text, unread)
        return messages if self._feed.cursor is None else self._new(messages, unread)

    def _new(self, messages: list[bytes], unread: set[str]) -> list[bytes]:
        """Rows after the previous cursor, in its order. Unreadable rows are left to the format."""
        newest = self._cursor
        new: list[tuple[Any, bytes]] = []
        letters = []
        for message in messages:
            try:
                value = json.loads(message)[self._feed.cursor]
                if self._cursor is None or value > self._cursor:
                    newest = value if newest is None or value > newest else newest
                    new.append((value, message))
            except (ValueError, KeyError, TypeError, RecursionError):
                letters += self._unreadable(message, unread)
        self._cursor = newest
        return [message for _, message in sorted(new, key=itemgetter(0))] + letters

    def _unreadable(self, text: bytes, before: set[str]) -> list[bytes]:
        """Return an unreadable text, unless the previous page had it as well."""
        digest = hashlib.blake2b(text, digest_size=16).hexdigest()
        self._unread.add(digest)
        return [] if digest in before else [text]


def _rows(page: bytes) -> list[bytes]:
    """Rows of a JSON array, or lines."""
    if page.lstrip()[:1] == b"[":
        return [json.dumps(row).encode() for row in json.loads(page)]
    text = LineSplitter()
    return text.add(page) + text.end()


class SseFeed(Feed):
    """Feed of server-sent events.

    Each ``data:`` is a row. A reconnect resumes after the id of the last event.

    An event of more than 64 MiB becomes a dead letter. The feed ends when the server responds with 204 (no content). If
    the page is not a ``text/event-stream``, the feed retries as after a lost connection.

    Parameters
    ----------
    url : str
    time : str
        The event-time column.
    event : str, optional
        Read only events of this name. Events without a name have the name ``"message"``.
    headers, format, schema
        As in :class:`HttpFeed`.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    lost = HttpFeed.lost

    def __init__(self, url: str, *, time: str, event: str | None = None, headers: Mapping[str, str] | None = None,
                 format: str | Format = "json", schema: Fields | None = None, **options: Unpack[FeedOptions]) -> None:
        self.url, self.event = checked_url(url, "http", "https"), event
        where = f"feeds.sse({without_secrets(url)!r})"
        self.headers = checked_mapping("headers", headers, where=where)
        super().__init__("sse", time=time, schema=schema, format=format_of(format, where), **options)

    def connect(self, offset: Offset) -> Client:
        closing = ExitStack()
        return ThreadedClient(self._received(closing, offset), closing.close, answered=False, together=True)

    def _received(self, closing: ExitStack, offset: Offset) -> Iterator[MessageBatch | None]:
        headers = {"Accept": _EVENTS, **self.headers}
        if offset is not None:
            headers["Last-Event-ID"] = offset.encode().decode("latin-1")  # in which headers are written, byte by byte
        with opened(self.url, headers, self.headers, _STALL_S) as page:
            closing.callback(page.close)
            if page.status == _NO_MORE:
                return
            if (kind := page.headers.get_content_type()) != _EVENTS:
                raise ConnectionError(f"no event stream: {kind}")
            yield None
            yield from self._events(page, offset)

    def _events(self, page: Any, offset: Offset) -> Iterator[MessageBatch]:
        data: list[bytes] = []
        name, long = b"", 0
        for line in _lines(page):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                long += len(line)
                data.append(value)
                if long > _MAX_BYTES:
                    del data[1:]
            elif field == b"id":
                if b"\0" not in value:  # as the standard says
                    offset = value.decode(errors="replace")
            elif field == b"event":
                name = value
            elif not field and not value:
                if long > _MAX_BYTES:
                    self.dead_letters.refuse(data[0], "an event is longer than 64 MiB")
                elif data and (self.event is None or (name or b"message") == self.event.encode()):
                    yield MessageBatch([b"\n".join(data)], offset)
                data, name, long = [], b"", 0
        raise ConnectionError("the page has ended")


def _lines(page: Any) -> Iterator[bytes]:
    """Lines that end with CR, LF or both; a line that ends with CR is returned at once.

    The rest of a line that is too long is dropped.
    """
    begun: list[bytes] = []
    long, last = 0, b""
    while text := page.read1(_READ_BYTES):
        *lines, rest = _ENDS.split(text.removeprefix(b"\n") if last == b"\r" else text)
        last = text[-1:]
        for line in lines:
            yield b"".join((*begun, line))
            begun, long = [], 0
        if long <= _MAX_BYTES:
            begun.append(rest)
            long += len(rest)

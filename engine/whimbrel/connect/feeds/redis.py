"""Redis streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, Unpack

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.arguments import check_choice, check_name
from whimbrel.connect.feeds.client import MOST_BYTES, Client, Delivery, Place, size
from whimbrel.connect.feeds.decoding import Format, format_of
from whimbrel.connect.feeds.enforce import Fields
from whimbrel.connect.feeds.feed import Feed, Usual
from whimbrel.connect.feeds.text_records import TextRecords
from whimbrel.errors import MissingExtraError

_MOST_MESSAGES = 5_000
_FIRST, _TOGETHER = 1, 64
"""Entries asked for at first, and at most: nobody can tell how long they are before they are here."""


class RedisFeed(Feed):
    """Entries of a Redis stream; needs ``whimbrel[redis]``.

    Entries that were trimmed or deleted while nobody read are counted as missed, without a group and from Redis 7 on.

    Parameters
    ----------
    stream : str
        The stream's key.
    url : str
        ``redis://host:port``. A password in it is in no plan, log or checkpoint.
    time : str
        The event-time column.
    begin : {"earliest", "latest"}
        Where to begin without a place.
    group : str, optional
        Share the entries with all others of the group. What was read and not acknowledged before comes again.
    consumer : str
        Who this is, in the group.
    field : str, optional
        The field that holds a whole row, written in `format`. Default: each field is a column.
    format : str or Format
    with_id : bool
        Add the entry's id as the column ``id``.
    schema : pyarrow.Schema or mapping of str to type, optional
    **told
        What every feed can be told. See :class:`whimbrel.connect.feeds.feed.Usual`.
    """

    def __init__(self, stream: str, url: str = "redis://127.0.0.1:6379", *, time: str,
                 begin: Literal["earliest", "latest"] = "earliest", group: str | None = None,
                 consumer: str = "whimbrel", field: str | None = None, format: str | Format = "json",
                 with_id: bool = False, schema: Fields | None = None, **told: Unpack[Usual]) -> None:
        try:
            import redis
        except ImportError:
            raise MissingExtraError("redis", "redis", "feeds.redis()") from None
        check_name("stream", stream, where=f"feeds.redis({stream!r})")
        check_choice("begin", begin, ("earliest", "latest"), where=f"feeds.redis({stream!r})")
        self.library: Any = redis
        self.lost = (OSError, EOFError, TimeoutError, redis.ConnectionError, redis.TimeoutError)
        self.stream, self.url, self.begin = stream, checked_url(url, "redis", "rediss", "unix"), begin
        self.group, self.consumer, self.field = group, consumer, field
        told.setdefault("name", stream)
        super().__init__("redis", time=time, schema=schema,
                         format=TextRecords() if field is None else format_of(format, f"feeds.redis({stream!r})"),
                         beside=pa.schema([("id", pa.string())] if with_id else []), **told)

    def connect(self, place: Place) -> Client:
        return _Stream(self, place)


class _Stream(Client):
    """Its place: the id of the last entry; without a group also how many had been added with it, if that is known."""

    def __init__(self, feed: RedisFeed, place: str | list[Any] | None) -> None:
        self._feed = feed
        self._link = feed.library.Redis.from_url(feed.url, socket_timeout=10, retry=None)
        self._place: str | None
        self._number: int | None
        self._place, self._number = place if isinstance(place, list) else (place, None)
        self.missed: Counter[str] = Counter()
        self._pending = feed.group is not None
        self._count = _FIRST
        try:
            if feed.group is not None:
                self._join(feed.group, self._place)
            else:
                self._begin()
            self._link.ping()  # until there is an answer, it is not connected
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        try:
            told = self._link.xinfo_stream(self._feed.stream)
        except self._feed.library.ResponseError as error:
            if "no such key" not in str(error):
                raise
            told = {"length": 0, "entries-added": 0, "first-entry": None, "last-generated-id": b"0-0"}
        added = told.get("entries-added")
        if self._place is None:
            latest = self._feed.begin == "latest"
            self._place = told["last-generated-id"].decode() if latest else "0-0"
            self._number = None if added is None else added if latest else added - told["length"]
        elif added is None or self._number is None or not self._looked_behind(self._place, self._number, told):
            return
        self.begins = [self._place, self._number]

    def _looked_behind(self, place: str, number: int, told: dict[str, Any]) -> bool:
        """Whether some of what comes behind a place is gone; then it stands behind that."""
        added, first = told["entries-added"], told["first-entry"]
        anew = _parts(told["last-generated-id"]) < _parts(place.encode())
        if anew or added < number:
            self.missed["a stream that began anew"] += 1
            self._place, self._number = "0-0" if anew else place, added - told["length"]
            return True
        gone = added - number - told["length"] if first is None or _parts(first[0]) > _parts(place.encode()) else 0
        if gone > 0:
            self.missed["entries that the stream no longer had"] += gone
            self._number = number + gone
        return gone > 0

    def _join(self, group: str, place: str | None) -> None:
        begin = "0-0" if self._feed.begin == "earliest" else "$"
        try:
            self._link.xgroup_create(self._feed.stream, group, id=place or begin, mkstream=True)
        except self._feed.library.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._asked = "0-0" if place is None else place

    def receive(self, timeout_s: float) -> Delivery | None:
        came: list[tuple[str, Any]] = []
        before, long, wait_ms = self._place, 0, max(int(timeout_s * 1000), 1)
        while long < MOST_BYTES and len(came) < _MOST_MESSAGES:
            asked = self._count
            entries = self._next(asked, None if came else wait_ms)
            here = [(id_.decode(), _value(fields, self._feed.field)) for id_, fields in entries if fields]
            if here:  # some may have been deleted while they were pending
                bytes_ = sum(size(value) for _, value in here)
                self._count = max(min(MOST_BYTES * len(here) // max(bytes_, 1), _TOGETHER), 1)
                came, long = came + here, long + bytes_
            if len(entries) < asked:
                break
        if self._place == before:
            return None
        return Delivery([value for _, value in came],
                        self._place if self._feed.group is not None else [self._place, self._number],
                        {field.name: [id_ for id_, _ in came] for field in self._feed.beside}, long)

    def _next(self, count: int, wait_ms: int | None) -> Sequence[tuple[bytes, dict[bytes, bytes]]]:
        """Further entries, waiting for them where that is said; the place is behind them."""
        try:
            entries = _entries(self._read(count, wait_ms))
        except self._feed.library.ResponseError as error:
            if _is_gone(error):
                raise ConnectionError(str(error)) from error
            raise
        if not entries:
            self._pending = False  # from now on what nobody has read
            return []
        self._place = self._asked = entries[-1][0].decode()
        if self._number is not None:
            self._number += len(entries)
        return entries

    def _read(self, count: int, wait_ms: int | None) -> Any:
        if self._feed.group is None:
            return self._link.xread({self._feed.stream: self._place}, count=count, block=wait_ms)
        asked = {self._feed.stream: self._asked if self._pending else ">"}
        return self._link.xreadgroup(self._feed.group, self._feed.consumer, asked, count=count, block=wait_ms)

    def acknowledge(self, place: Place) -> None:
        if self._feed.group is None:
            return
        try:
            self._acknowledge(place)
        except self._feed.library.ResponseError as error:
            if not _is_gone(error):
                raise

    def _acknowledge(self, place: Place) -> None:
        waiting = self._link.xpending_range(self._feed.stream, self._feed.group, "-", place, _MOST_MESSAGES,
                                            consumername=self._feed.consumer)
        while waiting:
            self._link.xack(self._feed.stream, self._feed.group, *(each["message_id"] for each in waiting))
            waiting = self._link.xpending_range(self._feed.stream, self._feed.group, "-", place, _MOST_MESSAGES,
                                                consumername=self._feed.consumer)

    def close(self) -> None:
        self._link.close()


def _is_gone(error: Exception) -> bool:
    """Whether the stream or its group was deleted: connecting again makes them anew."""
    return str(error).startswith(("NOGROUP", "UNBLOCKED the stream"))


def _parts(id_: bytes) -> tuple[int, ...]:
    """By which ids are ordered."""
    return tuple(map(int, id_.split(b"-")))


def _entries(came: Any) -> Sequence[tuple[bytes, dict[bytes, bytes]]]:
    """Entries of the one stream that was asked for, in either of the protocol's forms."""
    if not came:
        return []
    found = next(iter(came.values())) if isinstance(came, dict) else came[0][1]
    return found[0] if found and isinstance(found[0], list) else found


def _value(fields: dict[bytes, bytes], field: str | None) -> Any:
    if field is not None:
        return fields.get(field.encode(), b"")
    return {name.decode(errors="replace"): value for name, value in fields.items()}

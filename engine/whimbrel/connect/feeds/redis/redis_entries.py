"""A connection that reads entries of a Redis stream, few at a time where they are long."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

from whimbrel.connect.feeds.redis.redis_settings import RedisSettings
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset, size

Entry = tuple[bytes, dict[bytes, bytes]]
"""Its id and its fields; no fields where it was deleted while it was pending."""

_MAX_MESSAGES = 5_000
_FIRST, _TOGETHER = 1, 64
"""Entries asked for at first, and at most: nobody can tell how long they are before they are here."""


class Entries(Client):
    """What readers of a stream share, alone or in a group.

    Parameters
    ----------
    settings : RedisSettings
    """

    def __init__(self, settings: RedisSettings) -> None:
        self.settings, self.stream, self.library = settings, settings.stream, settings.library
        self.link: Any = self.library.Redis.from_url(settings.url, socket_timeout=10, retry=None)
        self.lost: Counter[str] = Counter()
        self.together = _FIRST
        try:
            self.begin()
            self.link.ping()  # until there is an answer, it is not connected
        except BaseException:
            self.close()
            raise

    @property
    @abstractmethod
    def offset(self) -> Offset:
        """Where to read on."""

    @abstractmethod
    def begin(self) -> None:
        """Look where to read on."""

    @abstractmethod
    def next(self, count: int, wait_ms: int | None) -> Sequence[Entry]:
        """Further entries, waiting for them where that is said; the place is behind them."""

    def receive(self, timeout_s: float) -> MessageBatch | None:
        try:
            return self.take(timeout_s)
        except self.library.ResponseError as error:
            if is_deleted(error):
                raise ConnectionError(str(error)) from error
            raise

    def take(self, timeout_s: float) -> MessageBatch | None:
        """What has come, up to as many bytes as may be on their way."""
        found: list[Entry] = []
        long, wait_ms = 0, max(int(timeout_s * 1000), 1)
        while long < MAX_BYTES and len(found) < _MAX_MESSAGES:
            asked = self.together
            entries = self.next(asked, None if found else wait_ms)
            found += entries
            long += self.measured(entries)
            if len(entries) < asked:
                break
        return self.delivery(found, long) if found else None

    def measured(self, entries: Sequence[Entry]) -> int:
        """Their bytes, by which it is known how many to ask for."""
        long = sum(size(fields) for _, fields in entries if fields)
        if long:
            self.together = max(min(MAX_BYTES * len(entries) // long, _TOGETHER), 1)
        return long

    def delivery(self, entries: Sequence[Entry], long: int) -> MessageBatch:
        """What has come, up to here."""
        here = [(id_, fields) for id_, fields in entries if fields]
        field = None if self.settings.field is None else self.settings.field.encode()
        values = [{name.decode(errors="replace"): value for name, value in fields.items()} if field is None
                  else fields.get(field, b"") for _, fields in here]
        metadata_columns = {name: [id_.decode() for id_, _ in here] for name in self.settings.metadata_columns}
        return MessageBatch(values, self.offset, metadata_columns, long)

    @property
    def newest(self) -> bytes | None:
        """The highest id that the stream has given; None if there is no stream."""
        try:
            last_id: bytes = self.link.xinfo_stream(self.stream)["last-generated-id"]
        except self.library.ResponseError as error:
            if "no such key" not in str(error):
                raise
            return None
        return last_id

    def of(self, reply: Any) -> Sequence[Entry]:
        """Entries of the one stream that was asked for, in either of the protocol's forms."""
        if not reply:
            return []
        found = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
        return found[0] if found and isinstance(found[0], list) else found

    def close(self) -> None:
        self.link.close()


def is_deleted(error: Exception) -> bool:
    """Whether the stream or its group was deleted: connecting again makes them anew."""
    return str(error).startswith(("NOGROUP", "UNBLOCKED the stream"))


def parts(id_: bytes) -> tuple[int, ...]:
    """By which ids are ordered."""
    return tuple(map(int, id_.split(b"-")))

"""Reader of Redis stream entries in batches of bounded size."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

from whimbrel.connect.feeds.redis.redis_settings import RedisSettings
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset, size

Entry = tuple[bytes, dict[bytes, bytes]]
"""The id and the fields of an entry; no fields if it was deleted while pending."""

_MAX_MESSAGES = 5_000
_FIRST, _TOGETHER = 1, 64
"""First and largest number of entries per request; the size of entries is unknown before they arrive."""


class Entries(Client):
    """Base class of readers of a stream, with and without a group.

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
            self.link.ping()  # the library connects lazily
        except BaseException:
            self.close()
            raise

    @property
    @abstractmethod
    def offset(self) -> Offset:
        """The offset after the entries that were read."""

    @abstractmethod
    def begin(self) -> None:
        """Find the offset at which to start."""

    @abstractmethod
    def next(self, count: int, wait_ms: int | None) -> Sequence[Entry]:
        """Read further entries, waiting if `wait_ms` is given, and advance the offset."""

    def receive(self, timeout_s: float) -> MessageBatch | None:
        try:
            return self.take(timeout_s)
        except self.library.ResponseError as error:
            if is_deleted(error):
                raise ConnectionError(str(error)) from error
            raise

    def take(self, timeout_s: float) -> MessageBatch | None:
        """Read entries up to the limit of prefetched bytes."""
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
        """Size of entries in bytes; adapts the number of entries per request."""
        long = sum(size(fields) for _, fields in entries if fields)
        if long:
            self.together = max(min(MAX_BYTES * len(entries) // long, _TOGETHER), 1)
        return long

    def delivery(self, entries: Sequence[Entry], long: int) -> MessageBatch:
        """Make a message batch of entries."""
        here = [(id_, fields) for id_, fields in entries if fields]
        field = None if self.settings.field is None else self.settings.field.encode()
        values = [{name.decode(errors="replace"): value for name, value in fields.items()} if field is None
                  else fields.get(field, b"") for _, fields in here]
        metadata_columns = {name: [id_.decode() for id_, _ in here] for name in self.settings.metadata_columns}
        return MessageBatch(values, self.offset, metadata_columns, long)

    @property
    def newest(self) -> bytes | None:
        """The last generated id of the stream; None without a stream."""
        try:
            last_id: bytes = self.link.xinfo_stream(self.stream)["last-generated-id"]
        except self.library.ResponseError as error:
            if "no such key" not in str(error):
                raise
            return None
        return last_id

    def of(self, reply: Any) -> Sequence[Entry]:
        """Entries of a reply about one stream, in both forms of the protocol."""
        if not reply:
            return []
        found = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
        return found[0] if found and isinstance(found[0], list) else found

    def close(self) -> None:
        self.link.close()


def is_deleted(error: Exception) -> bool:
    """Whether the stream or its group was deleted; a reconnect creates them again."""
    return str(error).startswith(("NOGROUP", "UNBLOCKED the stream"))


def parts(id_: bytes) -> tuple[int, ...]:
    """Sort key of an id."""
    return tuple(map(int, id_.split(b"-")))

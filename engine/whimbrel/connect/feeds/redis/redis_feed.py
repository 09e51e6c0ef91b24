"""Redis streams as feeds."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from time import monotonic
from typing import Any, Literal, Unpack

import pyarrow as pa

from whimbrel.clock import Duration
from whimbrel.connect.addresses import checked_url
from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.formats.string_records import TextRecords
from whimbrel.connect.feeds.redis.redis_entries import Entries, Entry, parts
from whimbrel.connect.feeds.redis.redis_group import RedisConsumer
from whimbrel.connect.feeds.redis.redis_settings import RedisSettings
from whimbrel.connect.feeds.runtime.client import Client, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.validation import check_choice, check_name, checked_seconds
from whimbrel.errors import MissingExtraError, PlanError

_LOOK_S = 1.0


class RedisFeed(Feed):
    """Feed of a Redis stream; needs ``whimbrel[redis]``.

    Entries that were trimmed or deleted before they were read are counted as lost, without a group and from Redis 7 on.

    Parameters
    ----------
    stream : str
        Key of the stream.
    url : str
        ``redis://host:port``. A password in it is in no plan, log or checkpoint.
    time : str
        The event-time column.
    start_from : {"earliest", "latest"}
        Where to start without an offset.
    group : str, optional
        The consumer group that shares the entries. Entries that were read and not acknowledged are delivered again.
    consumer : str, optional
        Name of this reader in the group: unique, and the same after a restart. Default: the host name.
    claim_idle : str, timedelta, float (seconds) or None
        Idle time after which entries of another consumer are claimed, from Redis 6.2 on. A running consumer keeps its
        entries, even under backpressure. None: entries wait for their own consumer. Default: 60 seconds.
    field : str, optional
        The field with the whole row, in `format`. Default: each field is a column.
    format : str or Format
    with_id : bool
        Add the id of the entry as the column ``id``.
    schema : pyarrow.Schema or mapping of str to type, optional
    **feed_options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, stream: str, url: str = "redis://127.0.0.1:6379", *, time: str,
                 start_from: Literal["earliest", "latest"] = "earliest", group: str | None = None,
                 consumer: str | None = None, claim_idle: float | Duration | None = 60.0, field: str | None = None,
                 format: str | Format = "json", with_id: bool = False, schema: Fields | None = None,
                 **options: Unpack[FeedOptions]) -> None:
        try:
            import redis
        except ImportError:
            raise MissingExtraError("redis", "redis", "feeds.redis()") from None
        where = f"feeds.redis({stream!r})"
        check_name("stream", stream, where=where)
        for name, value in (("group", group), ("consumer", consumer)):
            if value is not None:
                check_name(name, value, where=where)
        if consumer is not None and group is None:
            raise PlanError(f"consumer={consumer!r} needs group=.", where=where,
                            hint='Use group="...", or remove consumer=.')
        claim_after_s = None if claim_idle is None else checked_seconds("claim_idle", claim_idle, where=where)
        check_choice("start_from", start_from, ("earliest", "latest"), where=where)
        self.library: Any = redis
        self.lost = (OSError, EOFError, TimeoutError, redis.ConnectionError, redis.TimeoutError)
        self.stream, self.url, self.start_from = stream, checked_url(url, "redis", "rediss", "unix"), start_from
        self.group, self.consumer, self.field = group, platform.node() if consumer is None else consumer, field
        self.claim_after_s, self.forgets = claim_after_s, group is not None
        options.setdefault("name", stream)
        super().__init__("redis", time=time, schema=schema,
                         format=TextRecords() if field is None else format_of(format, where),
                         metadata_columns=pa.schema([("id", pa.string())] if with_id else []), **options)

    def connect(self, offset: Offset) -> Client:
        return _Alone(self._settings, offset) if self.group is None else RedisConsumer(self._settings, offset)

    @property
    def _settings(self) -> RedisSettings:
        return RedisSettings(self.library, self.stream, self.url, self.start_from, self.group, self.consumer,
                             self.claim_after_s, self.field, tuple(self.metadata_columns.names), self.call)

    def connect_for_sample(self) -> Client:
        return _Alone(self._settings, "0-0")


class _Alone(Entries):
    """A reader without a group. Its offset has the last id, and the number of entries added until then, if known."""

    def __init__(self, settings: RedisSettings, offset: str | list[Any] | None) -> None:
        self._last: str | None
        self._number: int | None
        self._last, self._number = offset if isinstance(offset, list) else (offset, None)
        self._look_at = 0.0
        super().__init__(settings)

    @property
    def offset(self) -> Offset:
        return [self._last, self._number]

    def begin(self) -> None:
        try:
            info = self.link.xinfo_stream(self.stream)
        except self.library.ResponseError as error:
            if "no such key" not in str(error):
                raise
            info = {"length": 0, "entries-added": 0, "first-entry": None, "last-generated-id": b"0-0"}
        added = info.get("entries-added")
        if self._last is None:
            latest = self.settings.start_from == "latest"
            self._last = info["last-generated-id"].decode() if latest else "0-0"
            self._number = None if added is None else added if latest else added - info["length"]
        elif added is None or self._number is None or not self._looked_behind(self._last, self._number, info):
            return
        self.begins = self.offset

    def next(self, count: int, wait_ms: int | None) -> Sequence[Entry]:
        entries = self.of(self.link.xread({self.stream: self._last}, count=count, block=wait_ms))
        if not entries and monotonic() > self._look_at:
            self._look_at = monotonic() + _LOOK_S
            newest = self.newest
            if newest is not None and self._last is not None and parts(newest) < parts(self._last.encode()):
                raise ConnectionError(f"the stream {self.stream!r} was deleted and recreated")
        if entries:
            self._last = entries[-1][0].decode()
            if self._number is not None:
                self._number += len(entries)
        return entries

    def _looked_behind(self, offset: str, number: int, info: dict[str, Any]) -> bool:
        """Whether entries after an offset are lost; then advance the offset past them."""
        added, first = info["entries-added"], info["first-entry"]
        recreated = parts(info["last-generated-id"]) < parts(offset.encode())
        if recreated or added < number:
            self.lost["a stream was recreated"] += 1
            self._last, self._number = "0-0" if recreated else offset, added - info["length"]
            return True
        lost = added - number - info["length"] if first is None or parts(first[0]) > parts(offset.encode()) else 0
        if lost > 0:
            self.lost["entries that the stream no longer had"] += lost
            self._number = number + lost
        return lost > 0

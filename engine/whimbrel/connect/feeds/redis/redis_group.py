"""Consumer of a Redis group that claims entries of lost consumers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

from whimbrel.connect.feeds.redis.redis_entries import Entries, Entry, is_deleted, parts
from whimbrel.connect.feeds.redis.redis_settings import RedisSettings
from whimbrel.connect.feeds.runtime.client import MessageBatch, Offset
from whimbrel.errors import SourceError

_SILENT_S = 2
"""A running consumer sends requests more often than this, even under backpressure."""
_LOOKS_S = 0.1
_MAX_IDS = 50_000  # each is in checkpoints until it is claimed
_NONE_BEHIND = f"{2**63}-0"


class RedisConsumer(Entries):
    """A consumer of a group.

    Its offset has the last id, the ids to claim from lost consumers, and how many of these it has claimed. Ids are in
    a saved offset first, and claimed after that. Otherwise a claimed entry could not be distinguished after a restart
    from one that is already in the result: both are pending under this name with an id before the last one.

    Parameters
    ----------
    settings : RedisSettings
    offset : str or list, optional
    """

    def __init__(self, settings: RedisSettings, offset: str | list[Any] | None) -> None:
        self._group: Any = settings.group
        self._given: Offset = offset
        self._last, ids, claimed = [*offset, 0][:3] if isinstance(offset, list) else (offset, [], 0)
        self._to_claim: list[str] = ids[claimed:]
        self._claimed = 0
        self._held: deque[tuple[Offset, bytes]] = deque()
        self._own = True  # first its own pending entries, then new ones
        self._said, self._safe, self._idle_ms = not self._to_claim, False, 0
        self._look_at = 0.0 if settings.claim_after_s is not None else inf
        super().__init__(settings)

    @property
    def offset(self) -> Offset:
        return [self._last, self._to_claim, self._claimed]

    def begin(self) -> None:
        newest = self.newest
        if self._last is not None and newest is not None and parts(newest) < parts(self._last.encode()):
            self.lost["a stream was recreated"] += 1
            self._last, self._to_claim = "0-0", []
            self.begins = self.offset
        first = "0-0" if newest is None or self.settings.start_from == "earliest" else "$"
        try:
            self.link.xgroup_create(self.stream, self._group, mkstream=True,
                                    id=first if newest is None else self._last or first)
        except self.library.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._take_name()
        if self._last is None:
            self._last = "0-0"
            return
        claimed = {id_.encode() for id_ in self._to_claim}
        before = self._pending_before(self._last)
        self._hold(self._given, [id_ for id_ in before if id_ not in claimed])
        self._to_claim = [id_.decode() for id_ in before if id_ in claimed]  # the others are found again

    def _take_name(self) -> None:
        """Claim the consumer name. If two readers start at once, the older connection wins."""
        name = ":".join(quote(part, safe="") for part in ("whimbrel", self.stream, self._group, self.settings.consumer))
        coming, here = f"{name}:coming", f"{name}:here"
        until = monotonic() + _SILENT_S + 0.5
        try:
            self.link.client_setname(coming)
            mine = self.link.client_id()
            while any(each["name"] == here or (each["name"] == coming and int(each["id"]) < mine)
                      for each in self.link.client_list() if int(each["idle"]) < _SILENT_S):
                if monotonic() > until:
                    raise SourceError(f"consumer must be unique in the group {self._group!r}, but another reader is "
                                      f"called {self.settings.consumer!r}.", where=self.settings.call,
                                      hint="Use consumer= with a name for each reader that stays after a restart.")
                sleep(_LOOKS_S)
            self.link.client_setname(here)
        except self.library.ResponseError:  # the user may not list clients
            return

    def stay(self) -> None:
        with suppress(self.library.RedisError, OSError):
            self._read(_NONE_BEHIND, 1)

    def _pending_before(self, last: str) -> list[bytes]:
        found: list[bytes] = []
        while more := self._pending_of(self.settings.consumer, _behind(found[-1]) if found else "-", last):
            found += more
        return found

    def _pending_of(self, consumer: str | bytes, first: str, last: str, idle_ms: int | None = None) -> list[bytes]:
        return [each["message_id"] for each in self.link.xpending_range(
            self.stream, self._group, first, last, _MAX_IDS, consumername=consumer, idle=idle_ms)]

    def take(self, timeout_s: float) -> MessageBatch | None:
        if self._to_claim and self._safe:
            return self._claim()
        if self._said and not self._to_claim and not self._own and monotonic() >= self._look_at:
            try:
                self._look_for_members_that_are_gone()
            except self.library.ResponseError as error:
                if "syntax error" not in str(error):
                    raise
                self._look_at = inf  # Redis before 6.2 has no idle filter
        if not self._said:
            self._said = True
            self._hold(self.offset, [])
            return MessageBatch([], self.offset)
        return super().take(timeout_s)

    def next(self, count: int, wait_ms: int | None) -> Sequence[Entry]:
        entries = self._read(self._last if self._own else ">", count, wait_ms)
        if entries:
            self._last = entries[-1][0].decode()
        elif self._own:
            self._own = False
        else:
            self._read(_NONE_BEHIND, 1)  # before Redis 7.2, a read without new entries does not reset the idle time
        return entries

    def _read(self, behind: str, count: int, wait_ms: int | None = None) -> Sequence[Entry]:
        return self.of(self.link.xreadgroup(self._group, self.settings.consumer, {self.stream: behind}, count, wait_ms))

    def delivery(self, entries: Sequence[Entry], long: int) -> MessageBatch:
        self._hold(self.offset, [id_ for id_, _ in entries])
        return super().delivery(entries, long)

    def _look_for_members_that_are_gone(self) -> None:
        after_s = self.settings.claim_after_s
        assert after_s is not None
        self._look_at, self._idle_ms = monotonic() + after_s / 10, int(after_s * 1000)
        for each in self.link.xinfo_consumers(self.stream, self._group):
            if each["pending"] and each["idle"] >= self._idle_ms and each["name"] != self.settings.consumer.encode():
                self._to_claim = [id_.decode() for id_ in self._pending_of(each["name"], "-", "+", self._idle_ms)]
                if self._to_claim:
                    self._said = self._safe = False
                    return

    def _claim(self) -> MessageBatch:
        """Claim one batch of entries; entries that another consumer claimed first are skipped."""
        now = self._to_claim[self._claimed : self._claimed + self.together]
        self._claimed += len(now)
        if self._claimed == len(self._to_claim):
            self._to_claim, self._claimed = [], 0
        claimed = self.link.xclaim(self.stream, self._group, self.settings.consumer, self._idle_ms, now)
        entries = [entry for entry in claimed if entry[0] is not None]
        for id_, _ in entries:
            self._last = max(self._last.encode(), id_, key=parts).decode()
        return self.delivery(entries, self.measured(entries))

    def _hold(self, offset: Offset, ids: Sequence[bytes]) -> None:
        self._held.append((offset, b" ".join(ids)))  # joined ids take a third of the memory

    def acknowledge(self, offset: Offset) -> None:
        if all(offset != behind for behind, _ in self._held):
            return
        behind: Offset = None
        while behind != offset:
            behind, ids = self._held.popleft()
            if ids:
                self._acknowledge(ids.split())
        self._safe = self._safe or (isinstance(offset, list) and offset[1] == self._to_claim)

    def _acknowledge(self, ids: list[bytes]) -> None:
        try:
            self.link.xack(self.stream, self._group, *ids)
        except self.library.ResponseError as error:
            if not is_deleted(error):
                raise


def _behind(id_: bytes) -> str:
    """The next possible id.

    >>> _behind(b"12-3")
    '12-4'
    """
    at, number = parts(id_)
    return f"{at}-{number + 1}"

"""Merge of Kafka partitions by timestamp while a backlog is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

_MAX_HELD = 200_000
_MAX_BYTES = 64 << 20
_MAX_IDLE_S = 10.0


class TimestampMerge:
    """Merge partitions by message timestamp until each has been read to its end once.

    A broker delivers long runs of one partition before another, so the other rows would be late. A message is emitted
    when no partition that is not yet at its end can deliver an older one. Partitions alternate at equal timestamps.
    The order within a partition never changes.

    Parameters
    ----------
    numbers : iterable of int
        The partitions.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._held: dict[int, deque[tuple[int, int, Any]]] = {}
        self._bytes: dict[int, int] = {}
        self._newest: dict[int, int] = {}
        self._alike: dict[int, int] = {}
        self._behind: set[int] = set()
        self._ordered: deque[Any] = deque()
        self._waited_s = 0.0
        self.paused: set[int] = set()
        self.include(numbers)

    def include(self, numbers: Iterable[int]) -> None:
        """Add partitions."""
        for number in numbers:
            self._held[number], self._bytes[number] = deque(), 0
            self._newest[number], self._alike[number] = -1, 0
            self._behind.add(number)

    def add(self, message: Any) -> None:
        """Buffer a message."""
        number, stamp = message.partition(), message.timestamp()[1]
        if stamp > self._newest[number]:
            self._newest[number], self._alike[number] = stamp, 0
        self._alike[number] += 1
        self._held[number].append((self._newest[number], self._alike[number], message))
        self._bytes[number] += len(message)

    def at_end(self, number: int) -> None:
        """Note that a partition has reached its end."""
        self._behind.discard(number)

    def note_idle(self, seconds: float) -> None:
        """Note time without messages; after a limit, no partition is waited for."""
        self._waited_s += seconds
        if self._waited_s > _MAX_IDLE_S:
            self._behind.clear()

    @property
    def ready(self) -> bool:
        """Whether an ordered message is available."""
        return bool(self._ordered)

    def taken(self, max_messages: int, max_bytes: int) -> list[Any]:
        """Take messages that no older one can precede: at most this many, but at least one if available."""
        if not self._ordered:
            self._order()
        found: list[Any] = []
        while self._ordered and len(found) < max_messages and max_bytes > 0:
            found.append(self._ordered.popleft())
            max_bytes -= len(found[-1])
        return found

    def _reached(self, number: int) -> tuple[int, int]:
        """Newest timestamp of a partition, and the number of its messages at it."""
        return self._newest[number], self._alike[number]

    def _order(self) -> None:
        bound = min(map(self._reached, self._behind), default=None)
        found: list[tuple[int, int, Any]] = []
        for number, held in self._held.items():
            while held and (bound is None or held[0][:2] <= bound):
                found.append(held.popleft())
                self._bytes[number] -= len(found[-1][2])
        if found:
            self._waited_s = 0.0
        found.sort(key=itemgetter(0, 1))
        self._ordered.extend(message for *_, message in found)

    def full(self) -> set[int]:
        """Partitions to pause: those with the most buffered messages, until the buffer is half empty.

        The partition that all others wait for is never paused.
        """
        messages, size = sum(map(len, self._held.values())), sum(self._bytes.values())
        fraction = max(messages / _MAX_HELD, size / _MAX_BYTES)
        if fraction <= 0.5:
            return set()
        ahead = {number for number, held in self._held.items() if len(held) * len(self._held) > messages}
        full = self.paused | ahead if fraction > 1 else self.paused
        return full - {min(self._behind, key=self._reached)} if self._behind else full

    @property
    def over(self) -> bool:
        """Whether all partitions have reached their ends, and all messages were emitted."""
        return not self._behind and not self._ordered and not any(self._held.values())

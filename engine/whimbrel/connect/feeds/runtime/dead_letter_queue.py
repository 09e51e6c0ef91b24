"""Dead-letter queue: malformed messages with the reasons."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.plan import OrderingSpec, Source

_KEPT = 5000
_MAX_BYTES = 4096
_WAIT_S = 0.05
_KEPT_REASONS = 100


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A malformed message.

    Attributes
    ----------
    at_us : int
        Time of its arrival, in microseconds since 1970.
    reason : str
        Why it is malformed, without values of the message, so that letters can be counted by reason.
    message : bytes
        Its first 4 kB.
    size_bytes : int
        Its full size.
    """

    at_us: int
    reason: str
    message: bytes
    size_bytes: int


class DeadLetterQueue:
    """The newest 5,000 dead letters of a feed, and counts of all by reason.

    Safe to share between threads.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._kept: deque[DeadLetter] = deque(maxlen=_KEPT)
        self._changed = threading.Condition()
        self._number = 0
        self._open = 0
        self._opened = False

    def refuse(self, message: bytes, reason: str) -> None:
        """Add a malformed message."""
        with self._changed:
            counted = reason if reason in self.counts or len(self.counts) < _KEPT_REASONS else "other reasons"
            self.counts[counted] += 1
            self._kept.append(DeadLetter(time.time_ns() // 1000, reason, bytes(message[:_MAX_BYTES]), len(message)))
            self._number += 1
            self._changed.notify_all()

    def read_from(self, number: int) -> tuple[list[DeadLetter], int]:
        """Return dead letters from a number on, and the next number; one more letter counts those evicted."""
        with self._changed:
            missing = self._number - number
            if missing <= 0:
                return [], self._number
            found = list(self._kept)[max(len(self._kept) - missing, 0):]
            if lost := missing - len(found):
                found.insert(0, DeadLetter(found[0].at_us, f"{lost:,} dead letters were evicted unread", b"", 0))
            return found, self._number

    def begin(self) -> None:
        """Note that a reader of the feed has opened."""
        with self._changed:
            self._open += 1
            self._opened = True

    def end(self) -> None:
        """Note that a reader of the feed has closed."""
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    @property
    def ended(self) -> bool:
        """Whether all readers have closed."""
        with self._changed:
            return self._opened and self._open == 0

    def wait(self, number: int) -> None:
        """Wait briefly for a dead letter after this number."""
        with self._changed:
            self._changed.wait_for(lambda: self._number > number, _WAIT_S)


class DeadLetterSource(Source):
    """The dead letters of a feed as a stream with the columns at, reason, message and size.

    It starts with retained dead letters and ends with the feed. At most 5,000 dead letters are retained between two
    reads; one row counts those that were evicted.

    Parameters
    ----------
    name : str
    queue : DeadLetterQueue
    """

    live = True
    time = "at"

    def __init__(self, name: str, queue: DeadLetterQueue) -> None:
        self.name = f"dead letters of {name}"
        self.schema = Schema((Field("at", pa.timestamp("us")), Field("reason", pa.string()),
                              Field("message", pa.binary()), Field("size", pa.int64())), "us")
        self.disorder = OrderingSpec(0, "adjust")
        self.longest = 1
        self._queue = queue

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        self.schema.select(columns)
        return self._read(columns)

    def _read(self, columns: Sequence[str]) -> Iterator[Batch | None]:
        number = 0
        while True:
            over = self._queue.ended
            found, number = self._queue.read_from(number)
            if found:
                yield self._batch(found).select(columns)
            elif over:
                return
            else:
                yield None
                self._queue.wait(number)

    def _batch(self, letters: Sequence[DeadLetter]) -> Batch:
        at = np.array([letter.at_us for letter in letters], np.int64)
        return Batch(self.schema, at, 1, (
            Column(pa.timestamp("us"), at),
            Column(pa.string(), pa.array([each.reason for each in letters], pa.string())),
            Column(pa.binary(), pa.array([each.message for each in letters], pa.binary())),
            Column(pa.int64(), np.array([each.size_bytes for each in letters], np.int64))))

"""Contract of a feed's client: one connection that reads from an offset."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pyarrow as pa

_WAITING, _SMALL_WAITING = 4, 1_024
_ROOM_S = 0.01

MAX_BYTES = 16 << 20
"""Bytes that a client may prefetch, and may request at once."""
_CLOSE_S = 0.5

Offset = Any
"""A position in a feed at which it can resume, as JSON. None: the beginning, or unknown."""


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """Messages that a client has received at once.

    Attributes
    ----------
    messages : sequence of bytes (or other values that the format reads), or pyarrow.RecordBatch
        Values to decode, or rows.
    offset : JSON value
        The offset after these messages.
    metadata : mapping of str to list
        Metadata columns, such as key and offset, with one item per message.
    counted : int, optional
        Bytes of the messages, if already counted.
    """

    messages: Sequence[Any] | pa.RecordBatch
    offset: Offset = None
    metadata: Mapping[str, list[Any]] = field(default_factory=dict)
    counted: int | None = None

    @property
    def bytes(self) -> int:
        """Approximate size of the messages."""
        if self.counted is not None:
            return self.counted
        if isinstance(self.messages, pa.RecordBatch):
            return int(self.messages.nbytes)
        return sum(map(size, self.messages))


class Client(ABC):
    """A connection of a feed, used by one thread. After an error it is closed, and a new one is made.

    Attributes
    ----------
    begins : JSON value
        The offset that the client found to start at, if it was given none or an expired one. A reconnect starts there
        as well, so that no message between the two is skipped. None: the offset that was given.
    lost : mapping of str to int
        Lost messages by reason; a number of events where messages cannot be counted.
    answered : bool
        Whether the server has responded.
    waiting_for : str
        What must happen before messages can arrive, such as the assignment of partitions in a group. Usually empty.
    """

    answered: bool = True
    waiting_for: str = ""
    begins: Offset = None
    lost: Mapping[str, int] = MappingProxyType({})

    @abstractmethod
    def receive(self, timeout_s: float) -> MessageBatch | None:
        """Return received messages, waiting at most this long; None if there are none.

        Raises
        ------
        EOFError
            At the end of the feed.
        """

    def acknowledge(self, offset: Offset) -> None:  # noqa: B027 - most brokers do not ask
        """Acknowledge messages up to an offset: they are durable and never read again."""

    def stay(self) -> None:  # noqa: B027 - most brokers do not ask
        """Keep the connection alive during backpressure. Must not fail."""

    @property
    def lag_rows(self) -> int | None:
        """Consumer lag in messages; None if the broker does not report it."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Close the connection. Must not fail."""


class ThreadedClient(Client):
    """A client that reads a blocking iterator on a thread.

    Parameters
    ----------
    deliveries : iterator of MessageBatch or None
        None: the server has responded, and there are no messages.
    unblock : callable
        Makes the iterator stop waiting.
    answered : bool
        Whether the server has responded before the first item of `deliveries`.
    together : bool
        Merge waiting batches. Requires small batches without metadata.

    Notes
    -----
    A few batches are prefetched, and only one when they are large.
    """

    def __init__(self, deliveries: Iterator[MessageBatch | None], unblock: Callable[[], object], *,
                 answered: bool = True, together: bool = False) -> None:
        self._deliveries, self._unblock, self.answered, self._together = deliveries, unblock, answered, together
        self._ready: queue.Queue[MessageBatch | Exception] = queue.Queue(maxsize=_SMALL_WAITING if together else
        _WAITING)
        self._received_bytes = self._taken_bytes = 0  # each is counted by one of the threads
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._pump, name="whimbrel-pump", daemon=True)
        self._thread.start()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        try:
            came = self._ready.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if isinstance(came, Exception):
            self._ready.put(came)  # the next call raises it again
            raise came
        self._taken_bytes += came.bytes
        return self._with_others(came) if self._together else came

    def _with_others(self, first: MessageBatch) -> MessageBatch:
        messages, offset = [*first.messages], first.offset
        for _ in range(self._ready.qsize()):
            came = self._ready.get()
            if isinstance(came, Exception):
                self._ready.put(came)
                break
            messages += came.messages
            offset = came.offset
            self._taken_bytes += came.bytes
        return MessageBatch(messages, offset)

    def close(self) -> None:
        self._closed.set()
        with suppress(Exception):  # it may be closed already
            self._unblock()
        self._thread.join(_CLOSE_S)

    def _pump(self) -> None:
        last: Exception = EOFError()
        try:
            for delivery in self._deliveries:
                self.answered = True
                if self._closed.is_set() or (delivery is not None and not self._put(delivery)):
                    break
        except BaseException as error:  # noqa: BLE001 - it is raised where things are received
            last = raised(error)
        finally:
            if isinstance(self._deliveries, Generator):
                self._deliveries.close()
            self._put(last)

    def _put(self, item: MessageBatch | Exception) -> bool:
        while self._received_bytes - self._taken_bytes > MAX_BYTES and not self._closed.wait(_ROOM_S):
            pass
        if isinstance(item, MessageBatch):
            self._received_bytes += item.bytes
        while not self._closed.is_set():
            try:
                self._ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False


def raised(error: BaseException) -> Exception:
    """Convert an error of a feed's thread, so that it ends neither the feed nor the program.

    >>> raised(SystemExit(3)), raised(EOFError("cut")), raised(ValueError("no"))
    (RuntimeError('SystemExit(3) was raised'), ConnectionError("EOFError('cut') was raised"), ValueError('no'))
    """
    if isinstance(error, Exception) and not isinstance(error, EOFError):
        return error
    made = (ConnectionError if isinstance(error, EOFError) else RuntimeError)(f"{error!r} was raised")
    made.__cause__ = error
    return made


def size(message: Any) -> int:
    """Approximate size of a message in bytes; a message may be any Python value.

    >>> size(b"four"), size({"name": "four", "at": 5})
    (4, 12)
    """
    kind = type(message)  # asked of each value of each row: subclasses are looked for last
    if kind is bytes or kind is str:
        return len(message)
    if kind is int or kind is float:
        return 8
    if kind is dict:
        total = 0
        for value in message.values():
            kind = type(value)
            total += 8 if kind is int or kind is float else len(value) if kind is str else size(value)
        return total
    if isinstance(message, list | tuple):
        return sum([size(value) for value in message])
    return int(getattr(message, "nbytes", 8))


def message_bytes(message: Any) -> bytes:
    """A message as bytes for a dead letter."""
    return message if isinstance(message, bytes) else repr(message).encode()

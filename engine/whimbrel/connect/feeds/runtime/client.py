"""The contract of a feed's client: one connection, from a place on."""

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
"""So much a client may have on its way: what nobody has asked it for yet, and what it asks for at once."""
_CLOSE_S = 0.5

Offset = Any
"""Where a feed stands, as JSON: what it needs to be read on from there. None: the beginning, or unknown."""


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """What a client has received at once.

    Attributes
    ----------
    messages : sequence of bytes (or what else its format reads), or pyarrow.RecordBatch
        Values that a format makes rows of, or rows.
    offset : JSON value
        Where to read on behind them.
    metadata : mapping of str to list
        Columns that the broker knows and the value does not hold, such as key and offset: one item a message.
    counted : int, optional
        Its bytes, where somebody has counted them.
    """

    messages: Sequence[Any] | pa.RecordBatch
    offset: Offset = None
    metadata: Mapping[str, list[Any]] = field(default_factory=dict)
    counted: int | None = None

    @property
    def bytes(self) -> int:
        """About what its messages take."""
        if self.counted is not None:
            return self.counted
        if isinstance(self.messages, pa.RecordBatch):
            return int(self.messages.nbytes)
        return sum(map(size, self.messages))


class Client(ABC):
    """A connection. Used by one thread; it is closed when something fails, and another one is made.

    Attributes
    ----------
    begins : JSON value
        The place it was looked up to begin at, where it was given none, or one that is gone: the next connection begins
        there, too, or what comes between them would be left out. None: at the place that it was given.
    lost : mapping of str to int
        What was there and could not be received any more, by reason: messages, or how often where nobody counts them.
    answered : bool
        Whether the other side has said anything yet.
    waiting_for : str
        What else must happen before anything can come, such as a group that shares its partitions out; mostly nothing.
    """

    answered: bool = True
    waiting_for: str = ""
    begins: Offset = None
    lost: Mapping[str, int] = MappingProxyType({})

    @abstractmethod
    def receive(self, timeout_s: float) -> MessageBatch | None:
        """What has come, waiting at most so long for something; None if nothing has.

        Raises
        ------
        EOFError
            When nothing more can come, ever.
        """

    def acknowledge(self, offset: Offset) -> None:  # noqa: B027 - most brokers do not ask
        """Everything up to a place is safe: it will not be asked for again."""

    def stay(self) -> None:  # noqa: B027 - most brokers do not ask
        """Say that it is still there, while nobody takes what it has received. Must not fail."""

    @property
    def lag_rows(self) -> int | None:
        """Messages that the broker has and this client has not received; None where it does not say."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection. Must not fail."""


class ThreadedClient(Client):
    """A client made of something that blocks: a thread of its own waits for it.

    Parameters
    ----------
    deliveries : iterator of Delivery or None
        None: the other side has answered, and there is nothing to deliver.
    unblock : callable
        Makes it stop waiting.
    answered : bool
        Whether the other side has answered before anything comes of `deliveries`.
    together : bool
        Each is of few messages, with nothing beside them: those that wait are handed on as one.

    Notes
    -----
    Some deliveries wait, and no more than one when they take too many bytes.
    """

    def __init__(self, deliveries: Iterator[MessageBatch | None], unblock: Callable[[], object], *,
                 answered: bool = True, together: bool = False) -> None:
        self._deliveries, self._unblock, self.answered, self._together = deliveries, unblock, answered, together
        self._ready: queue.Queue[MessageBatch | Exception] = queue.Queue(maxsize=_SMALL_WAITING if together else
        _WAITING)
        self._came_bytes = self._taken_bytes = 0  # each is counted by one of the threads
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._pump, name="whimbrel-pump", daemon=True)
        self._thread.start()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        try:
            came = self._ready.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if isinstance(came, Exception):
            self._ready.put(came)  # whoever asks again hears it again
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
        with suppress(Exception):  # it is gone already
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
        while self._came_bytes - self._taken_bytes > MAX_BYTES and not self._closed.wait(_ROOM_S):
            pass
        if isinstance(item, MessageBatch):
            self._came_bytes += item.bytes
        while not self._closed.is_set():
            try:
                self._ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False


def raised(error: BaseException) -> Exception:
    """What a thread of a feed hands on of an error: none that would mean the end, of the feed or of the program.

    >>> raised(SystemExit(3)), raised(EOFError("cut")), raised(ValueError("no"))
    (RuntimeError('SystemExit(3) was raised'), ConnectionError("EOFError('cut') was raised"), ValueError('no'))
    """
    if isinstance(error, Exception) and not isinstance(error, EOFError):
        return error
    made = (ConnectionError if isinstance(error, EOFError) else RuntimeError)(f"{error!r} was raised")
    made.__cause__ = error
    return made


def size(message: Any) -> int:
    """About how many bytes a message takes, which may be a value of its own kind.

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
    """A message as bytes, for whoever reads letters."""
    return message if isinstance(message, bytes) else repr(message).encode()

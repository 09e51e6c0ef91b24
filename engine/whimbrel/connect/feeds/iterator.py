"""Python iterators and asynchronous iterators as feeds."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Unpack

import pyarrow as pa

from whimbrel.connect.addresses import shown_cause, without_secrets
from whimbrel.connect.feeds.formats.python_records import Records
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset, raised, size
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions, ReadOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.errors import SourceError

Items = Iterable[Any] | AsyncIterable[Any]

_MAX_TOGETHER = 8192
_DELIVERIES = 4  # that wait
_LOOK_S = 0.02
_STIR_S = 0.05
_CLOSE_S = 0.5


class IteratedFeed(Feed):
    """Feed of an iterator or asynchronous iterator.

    Parameters
    ----------
    items : callable, iterable or asynchronous iterable
        Yields dicts, pyarrow.RecordBatches, or bytes in a `format`. A function that makes the iterator is called again
        after a lost connection (OSError or EOFError) or to resume from a checkpoint. It must make a new iterator with
        the same items; items already read are skipped. Any other exception ends the query with an error, including
        SystemExit and CancelledError.
    time : str
        The event-time column.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: inferred from the first items, which needs one more call of `items`.
    format : str or Format, optional
        Format of bytes.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> rows = [{"at": 1, "x": 10}, {"at": 2, "x": 20}, {"at": None, "x": 30}]
    >>> feed = wb.feeds.iterator(lambda: iter(rows), time="at")
    >>> feed.aggregate(n=wb.count()).collect()["n"].to_pylist()
    [1, 1]
    """

    def __init__(self, items: Callable[[], Items] | Items, *, time: str, schema: Fields | None = None,
                 format: str | None = None, **options: Unpack[FeedOptions]) -> None:
        self._items = items
        self._read: Items | None = None  # an iterator that was read, which is exhausted
        self._first_cause: Exception | None = None
        if schema is None and not callable(items):
            raise SourceError("An iterator can be read only once, so it needs schema=.",
                              where=f"feeds.iterator(..., time={time!r})",
                              hint="Use schema=..., or a function that makes the iterator.")
        super().__init__("iterator", time=time, schema=schema,
                         format=Records() if format is None else format_of(format, "feeds.iterator(...)"), **options)

    def connect(self, offset: Offset) -> Client:
        items = self._items() if callable(self._items) else self._items
        if isinstance(items, Coroutine):
            items.close()
            raise SourceError("items must return an iterator or asynchronous iterator, got a coroutine.",
                              where=self.call, hint="Use yield for each row in the function.")
        if self._read is items:
            raise self._read_already()
        once = not callable(self._items)
        self._first_cause = None
        self._read = items if once or isinstance(items, Iterator | AsyncIterator) else None
        return _Gathering(items, int(offset or 0), self.read_options, lambda error: self._failed(error, once=once))

    def _failed(self, error: Exception, *, once: bool) -> Exception:
        """The error that ended the items; fatal if the iterator cannot be made again."""
        self._first_cause = error
        return self._read_already() if once and isinstance(error, self.lost) else error

    def _read_already(self) -> SourceError:
        cause = self._first_cause
        if cause is None:
            return SourceError(f"{self.name} is an iterator that was already read.", where=self.call,
                               hint="Use a function that makes a new iterator each time.")
        made = SourceError(f"{self.name} cannot be read: {without_secrets(cause).rstrip('.')}.", where=self.call,
                           hint=f"Use a function that makes a new iterator each time: a {type(cause).__name__} ended "
                                "this one.")
        made.__cause__ = shown_cause(cause)
        return made


class _Gathering(Client):
    """A client that reads items on a thread and merges waiting items into batches."""

    def __init__(self, items: Items, offset: int, options: ReadOptions,
                 failed: Callable[[Exception], Exception]) -> None:
        self._items, self._skip, self._offset, self._failed = items, offset, offset, failed
        self._together = min(_MAX_TOGETHER, options.queue_rows)
        self._together_bytes = min(MAX_BYTES, options.queue_bytes) // _DELIVERIES
        # Both threads use these without a lock, which would cost more than an item: each writes only its own counts.
        self._ready: deque[Any] = deque()
        self._sizes: deque[int] = deque()  # not in pairs with the items: tuples would load the garbage collector
        self._received_bytes = self._taken_bytes = 0
        self._received, self._has_room = threading.Event(), threading.Event()
        self._ended: Exception | None = None
        self._cancel: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._gather, name="whimbrel-iterator", daemon=True)
        self._thread.start()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if not self._ready:
            self._received.clear()
            if not self._ready and self._ended is None:  # an item may have arrived before the clear
                self._received.wait(timeout_s)
        ended = self._ended
        if not self._ready:
            if ended is not None:
                raise ended
            return None
        taken, bytes_ = [self._ready.popleft()], self._sizes.popleft()
        whole = isinstance(taken[0], pa.RecordBatch)
        if not whole:
            for _ in range(min(len(self._ready), self._together - 1)):
                if isinstance(self._ready[0], pa.RecordBatch) or bytes_ + self._sizes[0] > self._together_bytes:
                    break
                taken.append(self._ready.popleft())
                bytes_ += self._sizes.popleft()
        self._taken_bytes += bytes_
        self._offset += len(taken)
        self._has_room.set()
        return MessageBatch(taken[0] if whole else taken, self._offset, counted=bytes_)

    def close(self) -> None:
        self._end(EOFError())
        with suppress(RuntimeError):  # it has ended just before
            self._cancel()
        self._thread.join(_CLOSE_S)

    def _end(self, why: Exception) -> None:
        self._ended = self._ended or why
        self._received.set()
        self._has_room.set()

    # The reading thread.

    def _gather(self) -> None:
        try:
            if isinstance(self._items, AsyncIterable):
                asyncio.run(self._await(self._items))
            else:
                self._iterate(self._items)
            self._end(EOFError())
        except BaseException as error:  # noqa: BLE001 - it is raised where rows are asked for
            if self._ended is None:  # else the client was closed
                self._end(self._failed(raised(error)))

    def _iterate(self, items: Iterable[Any]) -> None:
        try:
            for item in islice(items, self._skip, None):
                while self._is_full(item):
                    self._has_room.clear()
                    if self._is_full(item):
                        self._has_room.wait()
                if self._ended is not None:
                    return
                self._add(item)
        finally:
            if isinstance(items, Generator):
                items.close()

    async def _await(self, items: AsyncIterable[Any]) -> None:
        """Iterate on an event loop; close cancels the task."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._ended is not None:
            return
        stirring = asyncio.create_task(_stir())
        skip = self._skip
        async for item in items:
            if skip:
                skip -= 1
                continue
            while self._is_full(item):  # noqa: ASYNC110 - another thread empties the queue
                await asyncio.sleep(_LOOK_S)
            self._add(item)
        stirring.cancel()

    def _is_full(self, item: object) -> bool:
        """Whether an item must wait; never after close."""
        return self._ended is None and (
            len(self._ready) >= _DELIVERIES * (1 if isinstance(item, pa.RecordBatch) else self._together)
            or self._received_bytes - self._taken_bytes > _DELIVERIES * self._together_bytes)

    def _add(self, item: object) -> None:
        bytes_ = size(item)
        self._received_bytes += bytes_
        self._sizes.append(bytes_)  # before the item: the reader needs both
        self._ready.append(item)
        if not self._received.is_set():
            self._received.set()


async def _stir() -> None:
    """Wake the loop often: an asyncio.Queue that another loop fills, such as Jupyter's, does not wake this one."""
    while True:  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(_STIR_S)

"""Rows that the user's own Python gives: an iterator, or an asynchronous one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from itertools import islice
from time import monotonic
from typing import Any, Unpack

import pyarrow as pa

from whimbrel.connect.feeds.client import Client, Delivery, Place, Pumped
from whimbrel.connect.feeds.decoding import format_of
from whimbrel.connect.feeds.enforce import Fields
from whimbrel.connect.feeds.feed import Feed, Usual
from whimbrel.connect.feeds.records import Records
from whimbrel.errors import SourceError

Items = Iterable[Any] | AsyncIterable[Any]

_MOST_ITEMS = 8192
_TOGETHER_S = 0.02


class IteratedFeed(Feed):
    """Rows of an iterator or asynchronous iterator, as it gives them.

    Parameters
    ----------
    items : callable, iterable or asynchronous iterable
        Gives dicts, pyarrow.RecordBatches, or bytes in some `format`. A function that makes it can be called again,
        after it failed or for a checkpoint: items that were read are skipped, so it must give the same ones.
    time : str
        The event-time column.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: inferred from the first items, which takes a second call of `items`.
    format : str or Format, optional
        Of bytes.
    **told
        What every feed can be told. See :class:`whimbrel.connect.feeds.feed.Usual`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> rows = [{"at": 1, "x": 10}, {"at": 2, "x": 20}, {"at": None, "x": 30}]
    >>> feed = wb.feeds.iterator(lambda: iter(rows), time="at")
    >>> feed.aggregate(n=wb.count()).collect()["n"].to_pylist()
    [1, 1]
    """

    def __init__(self, items: Callable[[], Items] | Items, *, time: str, schema: Fields | None = None,
                 format: str | None = None, **told: Unpack[Usual]) -> None:
        self._items = items
        if schema is None and not callable(items):
            raise SourceError("An iterator can be read once only, so its schema must be said.",
                              where=f"feeds.iterator(..., time={time!r})",
                              hint="give schema=...; or a function that makes the iterator")
        super().__init__("iterator", time=time, schema=schema,
                         format=Records() if format is None else format_of(format, "feeds.iterator(...)"), **told)
        self._begun = False

    def connect(self, place: Place) -> Client:
        if not callable(self._items):
            if self._begun:
                raise SourceError(f"{self.name} is an iterator, and was read already.", where=self.call,
                                  hint="give a function that makes it")
            self._begun = True
        items = self._items() if callable(self._items) else self._items
        skip = int(place or 0)
        if isinstance(items, AsyncIterable):
            awaited = _Awaited(items, skip)
            return Pumped(awaited, awaited.close)
        return Pumped(_together(islice(items, skip, None), skip), lambda: None)


def _together(items: Iterable[Any], number: int) -> Iterator[Delivery]:
    """Items that come within a moment, as one delivery."""
    held: list[Any] = []
    until = 0.0
    try:
        for item in items:
            if isinstance(item, pa.RecordBatch):
                if held:
                    yield Delivery(held, number)
                    held = []
                number += 1
                yield Delivery(item, number)
                continue
            if not held:
                until = monotonic() + _TOGETHER_S
            held.append(item)
            number += 1
            if len(held) >= _MOST_ITEMS or monotonic() >= until:
                yield Delivery(held, number)
                held = []
    except Exception:
        if held:  # the failure belongs to what would have come next
            yield Delivery(held, number)
        raise
    if held:
        yield Delivery(held, number)


class _Awaited(Iterator[Delivery]):
    """Items of an asynchronous iterator, those that wait together as one delivery."""

    def __init__(self, items: AsyncIterable[Any], skip: int) -> None:
        self._items, self._skip, self._number = items, skip, skip
        self._ready: list[Any] = []
        self._changed = threading.Condition()
        self._ended: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._cancel: Callable[[], object] = lambda: None

    def __next__(self) -> Delivery:
        with self._changed:
            if self._thread is None and self._ended is None:
                self._thread = threading.Thread(target=lambda: asyncio.run(self._collect()), daemon=True)
                self._thread.start()
            self._changed.wait_for(lambda: self._ready or self._ended)
            if not self._ready:
                assert self._ended is not None
                raise self._ended
            whole = isinstance(self._ready[0], pa.RecordBatch)
            most = 1 if whole else next((place for place, item in enumerate(self._ready)
                                         if isinstance(item, pa.RecordBatch)), len(self._ready))
            taken, self._ready = self._ready[:most], self._ready[most:]
            self._number += most
            self._changed.notify_all()
            return Delivery(taken[0] if whole else taken, self._number)

    def close(self) -> None:
        """Let the iterator wait no more: what it awaits is cancelled, as by whoever runs it."""
        with self._changed:
            self._end(StopIteration())
            self._cancel()

    def _end(self, why: BaseException) -> None:
        with self._changed:
            self._ended = self._ended or why
            self._changed.notify_all()

    async def _collect(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with self._changed:
            if self._ended is not None:
                return
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            skip = self._skip
            async for item in self._items:
                if skip:
                    skip -= 1
                    continue
                while len(self._ready) >= _MOST_ITEMS:  # noqa: ASYNC110 - another thread makes room
                    await asyncio.sleep(_TOGETHER_S)
                with self._changed:
                    self._ready.append(item)
                    self._changed.notify_all()
            self._end(StopIteration())
        except asyncio.CancelledError:
            self._end(StopIteration())
        except Exception as error:  # noqa: BLE001 - it is raised where rows are asked for
            self._end(error)
        finally:
            with self._changed:
                self._cancel = lambda: None

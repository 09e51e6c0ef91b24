"""Iterators, also asynchronous ones: items are seen as they come, and who waits is let go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, until, values
from whimbrel.errors import SourceError

FIELDS = {"at": "int64", "x": "int64"}


def test_an_asynchronous_iterator_is_read_while_it_continues() -> None:
    async def ticks() -> AsyncIterator[dict[str, int]]:
        for at in range(5):
            await asyncio.sleep(0.001)
            yield {"at": at, "x": at}

    feed = wb.feeds.iterator(ticks, time="at", schema=FIELDS)
    assert feed.collect()["at"].to_pylist() == [0, 1, 2, 3, 4]


def test_an_item_does_not_wait_for_the_next_one() -> None:
    more = threading.Event()

    def items() -> Iterator[dict[str, int]]:
        yield {"at": 1, "x": 1}
        more.wait()
        yield {"at": 2, "x": 2}

    try:
        with reading(wb.feeds.iterator(items, time="at", schema=FIELDS)) as found:
            assert values(found, 1, "at") == [1]
            more.set()
            assert values(found, 1, "at") == [2]
    finally:
        more.set()


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["awaited", "iterated", "made"])
def test_an_error_that_means_the_end_elsewhere_ends_no_query_as_if_it_were_complete(
        error: BaseException, where: str) -> None:
    async def awaited() -> AsyncIterator[dict[str, int]]:
        yield {"at": 1, "x": 1}
        raise error

    def iterated() -> Iterator[dict[str, int]]:
        yield {"at": 1, "x": 1}
        raise error

    def made() -> Iterator[dict[str, int]]:
        raise error

    items = {"awaited": awaited, "iterated": iterated, "made": made}[where]
    with reading(wb.feeds.iterator(items, time="at", schema=FIELDS)) as found:
        assert values(found, int(where != "made"), "at") == [1] * (where != "made")
        with pytest.raises(SourceError, match=f"{type(error).__name__}.* was raised"):
            values(found, 1, "at")


def test_a_stream_that_ends_within_an_item_is_read_again() -> None:
    cuts = iter([asyncio.IncompleteReadError(b"", 8)])

    async def items() -> AsyncIterator[dict[str, int]]:
        yield {"at": 1, "x": 1}
        for cut in cuts:
            raise cut
        yield {"at": 2, "x": 2}

    with reading(wb.feeds.iterator(items, time="at", schema=FIELDS, retry_backoff_s=(0.01, 0.05))) as found:
        assert values(found, 2, "at") == [1, 2]


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize("asks", [1, 0])
def test_an_asynchronous_iterator_that_waits_is_ended_with_its_run(asks: int) -> None:
    left = threading.Event()

    async def ticks() -> AsyncIterator[dict[str, int]]:
        try:
            yield {"at": 1, "x": 1}
            await asyncio.sleep(3600)
        finally:
            left.set()

    before, files = threading.active_count(), open_files()
    with reading(wb.feeds.iterator(ticks, time="at", schema=FIELDS)) as found:
        assert values(found, asks, "at") == [1] * asks
    until(lambda: threading.active_count() <= before and open_files() <= files)
    until(lambda: left.is_set() or not asks)


def test_a_queue_of_another_loop_is_read_while_it_is_filled() -> None:
    """As in a notebook, whose cells run in a loop of their own."""
    async def cell() -> int:
        waiting: asyncio.Queue[dict[str, int] | None] = asyncio.Queue()

        async def rows() -> AsyncIterator[dict[str, int]]:
            while (row := await waiting.get()) is not None:
                yield row

        run = wb.feeds.iterator(rows, time="at", schema={"at": "int64"}).start()
        for at in range(5):
            await asyncio.sleep(0.02)  # so that it waits
            waiting.put_nowait({"at": at})
        waiting.put_nowait(None)
        assert await asyncio.to_thread(run.wait, PATIENCE_S)
        return run.metrics.rows

    assert asyncio.run(cell()) == 5


def test_a_coroutine_is_refused_in_words() -> None:
    async def rows() -> list[dict[str, int]]:
        return [{"at": 1}]

    with pytest.raises(SourceError, match="got a coroutine"):
        wb.feeds.iterator(rows, time="at", schema={"at": "int64"}).collect()


def dying(error: BaseException) -> Iterator[dict[str, int]]:
    yield {"at": 1}
    raise error


async def dying_later(error: BaseException) -> AsyncIterator[dict[str, int]]:
    yield {"at": 1}
    raise error


@pytest.mark.parametrize("make", [dying, dying_later])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("error", [OSError("the line is cut"), ConnectionResetError("the line is cut"),
                                   EOFError("the line is cut"), ZeroDivisionError("the line is cut")])
def test_an_iterator_that_dies_says_why_each_time(make: Any, wrapped: bool, error: BaseException) -> None:
    items = make(error)
    feed = wb.feeds.iterator((lambda: items) if wrapped else items, time="at", schema={"at": "int64"},
                             retry_backoff_s=(0.01, 0.05))
    for _ in range(2):
        with pytest.raises(SourceError, match=r"iterator cannot be read: .*the line is cut") as caught:
            feed.collect()
        assert len(str(caught.value).splitlines()) <= 8
        assert caught.value.__cause__ is not None
    assert "was already read" not in str(caught.value)
    assert "Use a function that makes a new iterator" in str(caught.value)


def lasting() -> Iterator[dict[str, int]]:
    yield {"at": 1}


@pytest.mark.parametrize("items", [lambda: iter([{"at": 1}]), lasting])
def test_a_function_that_gives_the_same_iterator_again_is_refused(items: Any) -> None:
    kept = items()
    feed = wb.feeds.iterator(lambda: kept, time="at", schema={"at": "int64"})
    assert feed.collect().num_rows == 1
    with pytest.raises(SourceError, match="was already read"):
        feed.collect()


def test_a_function_that_makes_an_iterator_is_asked_again_after_a_loss() -> None:
    calls = iter([dying(OSError("the line is cut")), iter([{"at": 1}, {"at": 2}])])
    feed = wb.feeds.iterator(lambda: next(calls), time="at", schema={"at": "int64"}, retry_backoff_s=(0.01, 0.05))
    assert feed.collect()["at"].to_pylist() == [1, 2]

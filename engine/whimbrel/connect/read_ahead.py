"""Decode the next rows while these are being worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator
from contextlib import closing
from typing import TypeVar

T = TypeVar("T")


def read_ahead(items: Generator[T], depth: int = 4) -> Generator[T]:
    """The same items, made on a thread of their own, at most `depth` of them in advance.

    Closing the generator ends the thread and closes `items`; an error of `items` is raised here in its turn.

    >>> list(read_ahead(n * n for n in range(4)))
    [0, 1, 4, 9]
    """
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: T | None, error: BaseException | None) -> None:
        while not stopped.is_set():
            try:
                ready.put((item, error), timeout=0.05)
            except queue.Full:
                continue
            return

    def work() -> None:
        ended: BaseException = StopIteration()
        try:
            with closing(items):
                for item in items:
                    put(item, None)
                    if stopped.is_set():
                        return
        except BaseException as error:  # noqa: BLE001 - whatever went wrong goes to the reader, not to the thread's stderr
            ended = error
        put(None, ended)

    thread = threading.Thread(target=work, name="whimbrel-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()

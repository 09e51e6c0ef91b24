"""Prefetching of parts on threads."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any, TypeVar

T = TypeVar("T")


def read_ahead(parts: Iterable[Generator[T]], depth: int = 4, threads: int = 2) -> Generator[T]:
    """Yield the items of all parts in order, and compute them on threads.

    Each thread computes one part at a time, at most `depth` items in advance. Closing the generator ends the threads
    and closes the parts. The error of a part is raised when its turn comes.

    >>> def part(letter):
    ...     yield from (letter, 2 * letter)
    >>> list(read_ahead(map(part, "ab")))
    ['a', 'aa', 'b', 'bb']
    """
    waiting = deque(parts)
    begun: queue.Queue[Any] = queue.Queue(threads)  # what is made of each part, in their order; then None
    taking, stopped = threading.Lock(), threading.Event()

    def put(to: queue.Queue[Any], item: Any) -> None:
        while not stopped.is_set():
            try:
                to.put(item, timeout=0.05)
            except queue.Full:
                continue
            return

    def work() -> None:
        while not stopped.is_set():
            ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
            with taking:
                put(begun, ready if waiting else None)
                if not waiting:
                    return
                part = waiting.popleft()
            ended: BaseException = StopIteration()
            try:
                with closing(part):
                    for item in part:
                        put(ready, (item, None))
                        if stopped.is_set():
                            return
            except BaseException as error:  # noqa: BLE001 - whatever went wrong goes to the reader, not to the thread's stderr
                ended = error
            put(ready, (None, ended))

    workers = [threading.Thread(target=work, name="whimbrel-read-ahead", daemon=True)
               for _ in range(min(threads, len(waiting)))]
    for worker in workers:
        worker.start()
    try:
        while workers and (ready := begun.get()) is not None:
            item, ended = ready.get()
            while ended is None:
                yield item
                item, ended = ready.get()
            if not isinstance(ended, StopIteration):
                raise ended
    finally:
        stopped.set()
        for worker in workers:
            worker.join()

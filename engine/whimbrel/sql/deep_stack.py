"""Run recursive functions on a thread with a large stack."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from whimbrel.errors import SqlError

_STACK_BYTES: Final = 512 * 2**20
_RECURSION: Final = 60_000
"""Frames of Python: sqlglot needs some forty for each parenthesis."""

_start_lock = threading.Lock()
T = TypeVar("T")


class _DeepRecursion:
    """The limit of recursion of the process, raised while any thread recurses deeply.

    A caller that is interrupted leaves while its thread still runs, so the last thread that ends puts the limit back.
    """

    def __init__(self) -> None:
        self.lock, self.threads, self.usual = threading.Lock(), 0, 0

    def __enter__(self) -> None:
        with self.lock:
            if self.threads == 0:
                self.usual = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self.usual, _RECURSION))
            self.threads += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.threads -= 1
            if self.threads == 0:
                sys.setrecursionlimit(self.usual)


_deep_recursion = _DeepRecursion()


def on_deep_stack(function: Callable[[], T]) -> T:
    """The result of a function that may recurse deeply, or its error.

    sqlglot overflows the stack of an ordinary thread at some fifty parentheses.
    """
    found: list[Any] = []

    def work() -> None:
        with _deep_recursion:
            try:
                found.append((function(), None))
            except BaseException as error:  # noqa: BLE001 - it is raised again on the thread of the caller
                found.append((None, error))

    thread = threading.Thread(target=work, name="whimbrel-sql", daemon=True)
    with _start_lock:  # the size of stacks is that of the process
        size = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(size)
    thread.join()
    [(result, error)] = found
    if isinstance(error, RecursionError):
        raise SqlError("The query is nested too deeply.", where="wb.sql(...)",
                       hint="Use WITH for parts of the query.") from None
    if error is not None:
        raise error
    return result

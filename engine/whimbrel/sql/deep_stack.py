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


def on_deep_stack(function: Callable[[], T]) -> T:
    """The result of a function that may recurse deeply, or its error.

    sqlglot overflows the stack of an ordinary thread at some fifty parentheses.
    """
    found: list[Any] = []

    def work() -> None:
        try:
            found.append((function(), None))
        except BaseException as error:  # noqa: BLE001 - it is raised again on the thread of the caller
            found.append((None, error))

    with _start_lock:  # the size of stacks and the limit of recursion are those of the process
        size, limit = threading.stack_size(_STACK_BYTES), sys.getrecursionlimit()
        try:
            sys.setrecursionlimit(max(limit, _RECURSION))
            thread = threading.Thread(target=work, name="whimbrel-sql", daemon=True)
            thread.start()
            threading.stack_size(size)
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    [(result, error)] = found
    if isinstance(error, RecursionError):
        raise SqlError("The query is nested too deeply.", where="wb.sql(...)",
                       hint="Use WITH for parts of the query.") from None
    if error is not None:
        raise error
    return result

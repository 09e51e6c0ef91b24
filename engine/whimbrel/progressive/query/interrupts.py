"""Delay Ctrl-C while a block is counted.

A block counts completely or not at all.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

Handler = Callable[[int, FrameType | None], Any]


class Interrupts:
    """Delays Ctrl-C while the context is active, and raises it on exit.

    Only the main thread is interrupted. On other threads, and if Ctrl-C has no handler in Python, nothing happens.
    """

    def __init__(self) -> None:
        self._handler: Handler | None = None
        self._pending: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._hold)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is None:
            return
        handler, self._handler = self._handler, None
        signal.signal(signal.SIGINT, handler)
        self._tell(handler)

    def let_through(self, read: Callable[[], int]) -> int:
        """Call a long function that can be undone: Ctrl-C is raised in it."""
        handler = self._handler
        if handler is None:
            return read()
        signal.signal(signal.SIGINT, handler)
        try:
            self._tell(handler)
            return read()
        finally:
            signal.signal(signal.SIGINT, self._hold)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._pending = number, frame

    def _tell(self, handler: Handler) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            handler(*pending)

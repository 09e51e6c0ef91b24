"""Answer requests on a thread; the newest wins."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Request = TypeVar("Request")


class NewestRequest(Generic[Request]):
    """One thread while there are requests. A request that is replaced before its turn is left out.

    Parameters
    ----------
    answer : callable
        Called with a request, on that thread.
    """

    def __init__(self, answer: Callable[[Request], None]) -> None:
        self._answer = answer
        self._newest: Request | None = None
        self._changing = threading.Lock()
        self._working = self._unanswered = False

    def ask(self, request: Request) -> None:
        """Answer a request instead of all earlier ones."""
        with self._changing:
            self._newest, self._unanswered = request, True
            starts, self._working = not self._working, True
        if starts:
            threading.Thread(target=self._work, name="whimbrel-range", daemon=True).start()

    def forget(self) -> None:
        """No request is the newest any more."""
        with self._changing:
            self._newest, self._unanswered = None, False

    def wanted(self, request: Request) -> bool:
        """Whether a request is still the newest."""
        return self._newest is request

    def done(self, request: Request) -> None:
        """Forget a request that was answered, so that it can be asked again."""
        with self._changing:
            if self._newest is request and not self._unanswered:
                self._newest = None

    def _work(self) -> None:
        while True:
            with self._changing:
                request = self._newest if self._unanswered else None
                self._unanswered = False
                if request is None:
                    self._working = False
                    return
            self._answer(request)

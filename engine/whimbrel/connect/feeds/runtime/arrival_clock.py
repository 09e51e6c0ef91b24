"""When a row arrived: a clock that never goes back."""

from __future__ import annotations

import time


class ArrivalClock:
    """Wall-clock time that does not run backwards when the machine's clock is set back.

    After it was set back, time goes on from where it was as fast as the seconds pass, until the machine's clock has
    caught up. When it is set forward, this clock follows.
    """

    def __init__(self) -> None:
        self._latest_ns = time.time_ns()
        self._asked_ns = time.monotonic_ns()

    def now_ns(self) -> int:
        """Nanoseconds since 1970."""
        asked = time.monotonic_ns()
        self._latest_ns = max(time.time_ns(), self._latest_ns + asked - self._asked_ns)
        self._asked_ns = asked
        return self._latest_ns

"""Wall clock for arrival times that never decreases."""

from __future__ import annotations

import time


class ArrivalClock:
    """Wall clock that does not decrease when the system clock is set back.

    After the system clock was set back, this clock advances with monotonic time until the system clock has caught up.
    When the system clock is set forward, this clock follows.
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

"""How fast a replay's own time goes by."""

from __future__ import annotations

import time
from typing import Protocol

from whimbrel.clock import INF

_LONGEST_GAP_S = 0.25
_LONGEST_WAIT_S = 0.05
_SHORTEST_WAIT_S = 0.01


class Clock(Protocol):
    """Seconds that only grow, and a way to let some pass."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


class Pace:
    """The moment a replay has reached, in ticks of its log.

    One gap between two looks counts for at most 0.25 s: a reader that paused goes on where it was, instead of being
    flooded with all that would have come meanwhile.

    Parameters
    ----------
    start_tick : int
        Where the replay begins.
    ticks_per_s : float
        Ticks of the log per second of the clock; may be infinite.
    clock : Clock
        The machine's clock unless a test says otherwise.
    """

    def __init__(self, start_tick: int, ticks_per_s: float, clock: Clock = time) -> None:
        self._start_tick = start_tick
        self._ticks_per_s = ticks_per_s
        self._clock = clock
        self._last = clock.monotonic()
        self._elapsed_s = 0.0

    def tick(self) -> int:
        """The last tick that has come."""
        now = self._clock.monotonic()
        self._elapsed_s += min(now - self._last, _LONGEST_GAP_S)
        self._last = now
        passed = self._elapsed_s * self._ticks_per_s
        return self._start_tick + int(passed) if passed < 2**62 else INF  # also for 0 * inf, which compares as false

    def wait(self, tick: int) -> None:
        """Let time pass towards a tick: long enough for rows to gather, short enough to be stopped."""
        missing_s = (tick - self.tick()) / self._ticks_per_s
        self._clock.sleep(min(max(missing_s, _SHORTEST_WAIT_S), _LONGEST_WAIT_S))

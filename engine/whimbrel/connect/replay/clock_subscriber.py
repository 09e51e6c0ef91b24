"""One run, as the clock of its replays sees it."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.connect.replay.clock_protocol import NEVER, Arriving
from whimbrel.connect.replay.replay_clock import ReplayClock


class Follower:
    """How far one run has come on a clock.

    Attributes
    ----------
    readings : sequence of Arriving
        What it reads, with the nanosecond at which the next row of each comes; None while that is not known.
    seeks : int
        How many times the clock had been set when the run last went where it was set to.
    """

    def __init__(self, clock: ReplayClock, readings: Sequence[Arriving]) -> None:
        self.clock = clock
        self.readings = readings
        self.seeks = clock.seeks
        self.looked_s = -1e9
        self.drained: tuple[int, int | None] = (-1, -1)
        self.rejoin()

    @property
    def due(self) -> int | None:
        """When its next row comes; None while that is not known, NEVER behind its last row."""
        if self.seeks != self.clock.seeks:
            return None
        found = NEVER
        for reading in self.readings:
            due = reading.due
            if due is None:
                return None
            found = min(found, due)
        return found

    @property
    def upto(self) -> int:
        """When all rows have come of what it has at hand."""
        return min((reading.upto for reading in self.readings if reading.due != NEVER), default=NEVER)

    def rejoin(self) -> None:
        """Follow again, from where the clock was set to."""
        self.drained = (-1, -1)
        self.clock.let_in(self)

    def leave(self) -> None:
        """Follow no longer: nobody waits for it."""
        self.clock.let_go(self)

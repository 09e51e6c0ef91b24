"""Progress of a run on the clock of its replays."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.connect.replay.clock_protocol import NEVER, Arriving
from whimbrel.connect.replay.replay_clock import ReplayClock


class Follower:
    """The progress of one run on a clock.

    Attributes
    ----------
    readings : sequence of Arriving
        The replays that the run reads.
    seeks : int
        Number of seeks of the clock that the run has followed.
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
        """Arrival of the next row in nanoseconds; None while unknown, NEVER after the last row."""
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
        """Arrival of the last buffered row."""
        return min((reading.upto for reading in self.readings if reading.due != NEVER), default=NEVER)

    def rejoin(self) -> None:
        """Follow the clock again, after a seek or a close."""
        self.drained = (-1, -1)
        self.clock.attach(self)

    def leave(self) -> None:
        """Stop following the clock."""
        self.clock.detach(self)

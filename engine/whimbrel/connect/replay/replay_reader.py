"""Reader of a replay that delivers rows at their arrival times."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import numpy as np

from whimbrel.batch import Batch, Ticks
from whimbrel.connect.replay.arrival_time import ArrivalTime
from whimbrel.connect.replay.clock_protocol import NEVER
from whimbrel.connect.replay.clock_subscriber import Follower
from whimbrel.connect.replay.replay_clock import ReplayClock
from whimbrel.errors import PlanError

Chunks = Generator[tuple[Batch, Ticks] | None]
"""Rows of a log with their arrival ticks, in order; None to let the reader do other work."""

USUAL_SPEED = 1000
PIECE_ROWS = 1 << 20
"""Largest number of rows per batch."""


class ReplayReader(Iterator["Batch | None"]):
    """Reader of a replay: batches when they are due.

    None if a wait ended without any.

    Parameters
    ----------
    chunks : generator
    arrivals : ArrivalTime
        Time unit of the ticks.
    last : int, optional
        The tick of the last arrival; NEVER if unknown, None without rows.
    clock : ReplayClock, optional
        The clock of the user. Default: one clock for all replays of a query.
    speed : float, optional
        Speed of the default clock.
    whole : bool
        Deliver all rows of one tick, and only these, in one batch.

    Attributes
    ----------
    due : int or None
        Arrival of the next row in nanoseconds; None while unknown, NEVER after the last row.
    upto : int
        Arrival of the last buffered row in nanoseconds.
    last_arrival : int
        Arrival of the last delivered row in nanoseconds.
    """

    def __init__(self, chunks: Chunks, arrivals: ArrivalTime, *, last: int | None = None,
                 clock: ReplayClock | None = None, speed: float | None = None, whole: bool = False) -> None:
        self._chunks = chunks
        self._arrivals = arrivals
        self._last = last
        self._rows: Batch | None = None
        self._due: Ticks = np.empty(0, np.int64)
        self._at = 0
        self._follower: Follower | None = None
        self._has_begun = False
        self.clock, self.speed, self.whole = clock, speed, whole
        self.due: int | None = None
        self.upto = self.last_arrival = -NEVER

    def __next__(self) -> Batch | None:
        follower = self._follower or follow([self])
        self.peek()
        if self.due == NEVER:
            follower.clock.end(follower)
            raise StopIteration
        reached = follower.clock.reached(follower)
        if reached is None or self._rows is None or self.due is None:
            return None
        if self.due > reached:
            follower.clock.sleep_toward(self.due)
            return None
        return self._hand_on(self._rows, int(self._due[self._at]) if self.whole else self._arrivals.ticks(reached))

    @property
    def following(self) -> int:
        """Sort key for the order in which replays are read.

        Ended replays, and those with an unknown next arrival, are read first.
        """
        return -NEVER if self.due is None or self.due == NEVER else self.due

    def follow(self, follower: Follower) -> None:
        """Follow the clock of a run."""
        follower.clock.adopt(self._arrivals, where=f"replay(..., arrivals in {self._arrivals.name!r})")
        self._follower = follower
        if self._last is not None:
            follower.clock.reach(min(self._arrivals.nanoseconds(self._last), NEVER))

    def peek(self) -> None:
        """Buffer the next rows, so that the next arrival is known."""
        if self._rows is not None or self.due == NEVER:
            return
        try:
            chunk = next(self._chunks)
        except StopIteration:
            self.due = NEVER
            return
        if chunk is not None:
            self._rows, self._due = chunk
            self._at = 0
            self.due, self.upto = (self._arrivals.nanoseconds(int(self._due[index])) for index in (0, -1))
            self._tell()

    def _tell(self) -> None:
        """Report the first arrival to the clock, once."""
        if self._follower is not None and self.due is not None and not self._has_begun:
            self._has_begun = True
            self._follower.clock.begin(self.due)

    def close(self) -> None:
        """Close the log."""
        self._chunks.close()

    def _hand_on(self, rows: Batch, tick: int) -> Batch:
        """Deliver buffered rows up to a tick."""
        begin = self._at
        self._at = min(int(np.searchsorted(self._due, tick, side="right")), begin + PIECE_ROWS)
        self.last_arrival = self._arrivals.nanoseconds(int(self._due[self._at - 1]))
        if self._at < len(rows):
            self.due = self._arrivals.nanoseconds(int(self._due[self._at]))
        else:
            self._rows, self.due = None, None
        return rows.slice(begin, self._at)


def follow(replays: Sequence[ReplayReader], follower: Follower | None = None) -> Follower:
    """Make the replays of a run follow one clock.

    It is that of the user, a new one, or that of `follower`.

    Raises
    ------
    PlanError
        For several clocks or several speeds.
    """
    given = {id(replay.clock): replay.clock for replay in replays if replay.clock is not None}
    speeds = {replay.speed for replay in replays if replay.speed is not None}
    if len(given) > 1 or (given and speeds):
        raise PlanError("The replays of one query must follow one clock, got several.", where="replay(..., clock=...)",
                        hint="Use clock = wb.ReplayClock(speed=...) for all of them.")
    if len(speeds) > 1:
        speeds_text = ", ".join(f"{speed:g}" for speed in sorted(speeds))
        raise PlanError(f"The replays of one query must have one speed, got {speeds_text}.",
                        where="replay(..., speed=...)", hint="Use the same speed for all of them.")
    if follower is None:
        follower = Follower(next(iter(given.values()), None) or ReplayClock(*speeds or (USUAL_SPEED,)), replays)
    follower.readings = replays
    for replay in replays:
        replay.follow(follower)
    return follower

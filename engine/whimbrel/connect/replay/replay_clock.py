"""One simulated time for all replays that follow it: it can be paused, stepped, hurried and set to any instant."""

from __future__ import annotations

import threading
import time
from collections import deque
from numbers import Real
from typing import Literal, Protocol
from weakref import WeakSet

from whimbrel.clock import Duration, Instant, TickUnit, ticks_per_second
from whimbrel.clock.instant import Moment
from whimbrel.connect.replay.arrival_time import ArrivalTime
from whimbrel.connect.replay.clock_protocol import NEVER, Subscriber
from whimbrel.errors import PlanError

INFINITE = float("inf")

_LONGEST_GAP_S = 0.25
_LONGEST_WAIT_S = 0.05
_SHORTEST_WAIT_S = 0.01
_WAIT_FOR_OTHERS_S = 0.002
_LOOKS_S = 0.5

ClockState = Literal["playing", "paused", "waiting", "ended"]


class Machine(Protocol):
    """Seconds that only grow, and a way to let some pass."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


class Rewindable(Protocol):
    """Something that may have read further than an instant to which a clock was set back."""

    def sought(self) -> None: ...


class ReplayClock:
    """The simulated time of replays: all that follow one clock see the same instant, in one query or in many.

    A row is there once the clock has come to its arrival. The clock begins at the first arrival and goes `speed` times
    as fast as the machine's, as long as somebody reads; it waits for whoever has not read yet what has come, so that
    no view runs ahead of another. What is set here holds for all that follow.

        arrivals   9:00  9:01  9:05  9:30         seek("9:02")
        clock      ------------------^            rows of 9:00 and 9:01 are there, those of 9:05 and 9:30 to come

    A run that has read further goes back to where it was at that instant: it keeps states as it goes. What is
    answered to the end on the calling thread, by ``collect``, ``batches`` and ``progress``, follows the clock but
    does not go back.

    Parameters
    ----------
    speed : float
        Seconds of the log per second; ``float("inf")``: as fast as rows are read. For arrivals that are plain
        integers, ticks per second.
    paused : bool
        Wait for :meth:`resume` or :meth:`step` before the first row.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 4, 3], "seen": [1, 5, 6]}, time="at", arrival="seen", reorder_latency=2)
    >>> clock = wb.ReplayClock(paused=True)
    >>> run = wb.replay(log, clock=clock).tumbling_window(10).aggregate(n=wb.count()).start()
    >>> for _ in range(3):
    ...     clock.step()
    ...     arrived = clock.wait()
    ...     print(clock.now, run.snapshot().table["n"].to_pylist())
    1 [1]
    5 [2]
    6 [3]
    >>> clock.seek(5)
    >>> clock.wait(), clock.now, run.snapshot().table["n"].to_pylist()
    (True, 5, [2])
    """

    def __init__(self, speed: float = 1000, *, paused: bool = False, _machine: Machine = time) -> None:
        self._speed = checked_speed(speed, where=f"ReplayClock(speed={speed!r})")
        self._paused = paused
        self._machine = _machine
        self._time: ArrivalTime | None = None
        self._at: int | None = None
        self._first: int | None = None
        self._last = -NEVER
        self._moved_s = 0.0
        self._ended = False
        self._steps: deque[int | str] = deque()
        self._changed = threading.Condition()
        self.last_seek = 0, 0
        self.followers: WeakSet[Subscriber] = WeakSet()
        self.rewindable: WeakSet[Rewindable] = WeakSet()

    @property
    def seeks(self) -> int:
        """How many times it was set."""
        return self.last_seek[0]

    # What people ask of it.

    @property
    def now(self) -> Moment:
        """The simulated instant: rows that arrived up to it are there. None before the first."""
        with self._changed:
            if self._at is None or self._time is None or (self._first is not None and self._at < self._first):
                return None
            return self._time.moment(self._reached)

    @property
    def range(self) -> tuple[Moment, Moment]:
        """First and last arrival of what follows; None where it is not known."""
        first, last = (None if ns is None or self._time is None else self._time.moment(ns)
                       for ns in (self._first, self._last if self._ends else None))
        return first, last

    @property
    def fraction(self) -> float | None:
        """How much of the range has passed, 0 to 1; None while its end is not known."""
        if self._at is None or self._first is None or not self._ends:
            return None
        return min(max((self._at - self._first) / max(self._last - self._first, 1), 0.0), 1.0)

    def age_s(self, ticks: int, unit: TickUnit) -> float | None:
        """How long ago an event was, in seconds of the log, or ticks; None before the first row."""
        return None if self._at is None else self._reached / 1e9 - ticks / (ticks_per_second(unit) or 1)

    @property
    def state(self) -> ClockState:
        """Paused; playing; waiting, while nobody reads, so that time stands still; ended, behind the last row."""
        with self._changed:
            if self._ended:
                return "ended"
            if self._paused:
                return "paused"
            return "playing" if any(self._looks(follower) for follower in self.followers) else "waiting"

    @property
    def paused(self) -> bool:
        return self._paused

    @property
    def speed(self) -> float:
        """Seconds of the log per second; can be set while it plays."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        checked = checked_speed(speed, where=f"clock.speed = {speed!r}")
        with self._changed:
            self._speed = checked
            self._moved_s = self._machine.monotonic()

    def pause(self) -> None:
        """Let time stand still, for all that follow."""
        with self._changed:
            self._paused = True
            self._steps.clear()

    def resume(self) -> None:
        """Go on."""
        with self._changed:
            self._paused = False
            self._steps.clear()
            self._moved_s = self._machine.monotonic()

    def step(self, by: Duration | Literal["arrival", "batch"] = "arrival") -> None:
        """Go on by a little and pause.

        Parameters
        ----------
        by : {"arrival", "batch"}, str, timedelta or int (ticks)
            To the next instant at which rows arrive; by the rows that the log is read in at a time, or, of a replay
            with ``every=``, by its next batch; or by so much time.
        """
        with self._changed:
            self._steps.append(self._ahead(by, f"step({by!r})"))
            self._paused = True

    def seek(self, to: Instant) -> None:
        """Set the clock. Rows up to then are read at full speed; what has read further goes back.

        Parameters
        ----------
        to : str, datetime, date or int (ticks)
            What is before the first arrival means that.

        Raises
        ------
        PlanError
            When it is behind the last arrival of all logs that follow. Before one follows, and where one cannot tell
            beforehand how many rows it has, that is not known: then the clock just comes to its end.
        """
        where = f"seek({to!r})"
        with self._changed:
            at = self._known(where).instant(to, where=where)
            if self._ends and at > self._last:
                raise PlanError(f"{to!r} is after the last arrival of the log, {self.range[1]}.", where=where,
                                hint="Use an earlier time.")
            at = self._at = at if self._first is None else max(at, self._first)
            self._steps.clear()
            self._ended = False
            self._moved_s = self._machine.monotonic()
            self.last_seek = self.seeks + 1, at
            passed = list(self.rewindable)
        for each in passed:
            each.sought()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until time stands, paused or at its end, and all that follow have read what has come.

        False if that took longer than so many seconds.
        """
        with self._changed:
            return self._changed.wait_for(self._settled, timeout)

    # What those who follow ask of it.

    def adopt(self, arrivals: ArrivalTime, *, where: str) -> None:
        """Count time as the arrivals of a log do; those of all that follow must be comparable."""
        known = self._time = self._time or arrivals
        if known.kind != arrivals.kind:
            raise PlanError(f"Arrivals on one clock must be of one kind; {arrivals.name!r} has {arrivals.kind}, "
                            f"{known.name!r} has {known.kind}.", where=where, hint="Use another clock for this replay.")

    def let_in(self, follower: Subscriber) -> None:
        with self._changed:
            self.followers.add(follower)
            self._ended = False

    def let_go(self, follower: Subscriber) -> None:
        with self._changed:
            self.followers.discard(follower)
            self._changed.notify_all()

    def begin(self, first: int) -> None:
        """Learn of the first arrival of a log that follows."""
        with self._changed:
            self._first = first if self._first is None else min(self._first, first)

    def reach(self, last: int) -> None:
        """Learn of the last arrival of a log that follows; NEVER where nobody knows when it comes."""
        with self._changed:
            self._last = max(self._last, last)

    def end(self, follower: Subscriber) -> None:
        """Learn that all rows of a log that follows have been read."""
        with self._changed:
            follower.looked_s = self._machine.monotonic()
            if not self._open():
                self._ended = True
                self._steps.clear()
                if self._ends:
                    self._at = self._last if self._at is None else max(self._at, self._last)
                self._changed.notify_all()

    def reached(self, follower: Subscriber) -> int | None:
        """The instant up to which rows have come; moves on when all have read those of before. None before it began."""
        with self._changed:
            now = follower.looked_s = self._machine.monotonic()
            due = follower.due
            if self._at is None and due is not None:
                self._at = due - 1 if self._paused or self._speed == INFINITE else due
                self._moved_s = now
            if self._at is not None and not any(self._behind(each, self._at) for each in self.followers):
                self._move(self._at, min(now - self._moved_s, _LONGEST_GAP_S))
                self._moved_s = now
            if due is not None and self._at is not None and due > self._at:
                follower.drained = (self.seeks, self._at)
                self._changed.notify_all()
            return self._at

    def let_pass(self, due: int) -> None:
        """Let time pass towards an instant: long enough for rows to gather, short enough to be stopped."""
        at = self._at
        if self._paused or at is None:
            missing_s = _LONGEST_WAIT_S
        elif due <= at:
            missing_s = 0.0
        else:
            missing_s = (due - at) / (self._speed * 1e9)
        shortest_s = _WAIT_FOR_OTHERS_S if self._speed == INFINITE else _SHORTEST_WAIT_S
        self._machine.sleep(min(max(missing_s, shortest_s), _LONGEST_WAIT_S))

    @property
    def _ends(self) -> bool:
        """Whether it is known when the last row comes."""
        return abs(self._last) < NEVER

    @property
    def _reached(self) -> int:
        """The instant, once it began: no later than the last arrival."""
        assert self._at is not None
        return min(self._at, self._last) if self._ends else self._at

    def _ahead(self, by: Duration, where: str) -> int | str:
        if isinstance(by, str) and by in ("arrival", "batch"):
            return by
        known = self._known(where)
        return known.nanoseconds(known.span(by, where=where))

    def _known(self, where: str) -> ArrivalTime:
        if self._time is None:
            raise PlanError("No replay follows this clock yet.", where=where,
                            hint="Use replay(..., clock=clock) first.")
        return self._time

    def _move(self, at: int, gap_s: float) -> None:
        looking = [each for each in self._open() if self._looks(each)]
        if self._steps:
            self._at = self._step_to(at, self._steps.popleft(), looking)
        elif self._paused:
            return
        elif self._speed == INFINITE:
            self._at = max(at, min((each.upto for each in looking), default=at))
        else:
            self._at = at + round(gap_s * self._speed * 1e9)

    def _step_to(self, at: int, ahead: int | str, looking: list[Subscriber]) -> int:
        if isinstance(ahead, int):
            return at + ahead
        next_ = [each.upto if ahead == "batch" else each.due for each in looking]
        return max(at, min((due for due in next_ if due is not None), default=at))

    def _open(self) -> list[Subscriber]:
        """Those that have still rows to come."""
        return [each for each in self.followers if each.due != NEVER]

    def _looks(self, follower: Subscriber) -> bool:
        return self._machine.monotonic() - follower.looked_s < _LOOKS_S

    def _behind(self, follower: Subscriber, at: int) -> bool:
        """Whether somebody who reads has not read yet what has come."""
        due = follower.due
        return self._looks(follower) and (due is None or due <= at)

    def _settled(self) -> bool:
        open_, here = self._open(), (self.seeks, self._at)
        return not open_ or (self._paused and not self._steps and all(each.drained == here for each in open_))


def checked_speed(speed: float, *, where: str) -> float:
    """How fast a replay may go: any positive number."""
    if isinstance(speed, bool) or not isinstance(speed, Real) or not speed > 0:
        raise PlanError(f"speed must be a positive number, got {speed!r}.", where=where,
                        hint='Use for example speed=1000, or float("inf") for as fast as possible.')
    return float(speed)

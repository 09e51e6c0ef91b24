"""Simulated clock of replays, with pause, step, speed and seek."""

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
    """A monotonic clock with sleep."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


class Rewindable(Protocol):
    """A reader that may be past an instant to which a clock seeks."""

    def sought(self) -> None: ...


class ReplayClock:
    """The simulated clock of replays.

    All replays on one clock see the same instant, in one query or in many.

    A row is delivered once the clock has reached its arrival time. The clock starts at the first arrival and runs
    `speed` times as fast as real time while something reads. It waits for each reader, so that no view runs ahead of
    another. Pause, speed and seek apply to all replays on the clock.

        arrivals   9:00  9:01  9:05  9:30         seek("9:02")
        clock      ------------------^            rows of 9:00 and 9:01 are there, those of 9:05 and 9:30 to come

    A run that is past the instant of a seek returns to its rewind point there. ``collect``, ``batches`` and
    ``progressive`` follow the clock, but cannot go back.

    Parameters
    ----------
    speed : float
        Seconds of the log per second; ``float("inf")``: as fast as possible. For integer arrivals: ticks per second.
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
        """Number of seeks."""
        return self.last_seek[0]

    # Used by callers.

    @property
    def now(self) -> Moment:
        """The simulated instant; None before the first arrival.

        Rows that arrived up to it were delivered. Nanoseconds make it a pandas.Timestamp, or ticks without pandas.
        """
        with self._changed:
            if self._at is None or self._time is None or (self._first is not None and self._at < self._first):
                return None
            return self._time.moment(self._reached)

    @property
    def range(self) -> tuple[Moment, Moment]:
        """First and last arrival of the replays; None where unknown."""
        first, last = (None if ns is None or self._time is None else self._time.moment(ns)
                       for ns in (self._first, self._last if self._ends else None))
        return first, last

    @property
    def fraction(self) -> float | None:
        """Fraction of the range that has passed, 0 to 1.

        None while the end of the range is unknown.
        """
        if self._at is None or self._first is None or not self._ends:
            return None
        return min(max((self._at - self._first) / max(self._last - self._first, 1), 0.0), 1.0)

    def age_s(self, ticks: int, unit: TickUnit) -> float | None:
        """Age of an event in seconds of the log, or ticks.

        None before the first row.
        """
        return None if self._at is None else self._reached / 1e9 - ticks / (ticks_per_second(unit) or 1)

    @property
    def state(self) -> ClockState:
        """State of the clock: paused, playing, waiting or ended.

        While it waits, nothing reads, so time stands still. It is ended after the last row.
        """
        with self._changed:
            if self._ended:
                return "ended"
            if self._paused:
                return "paused"
            return "playing" if any(self._looks(follower) for follower in self.followers) else "waiting"

    @property
    def paused(self) -> bool:
        """True while the replays stand still."""
        return self._paused

    @property
    def speed(self) -> float:
        """Seconds of the log per second; can be set at any time."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        checked = checked_speed(speed, where=f"clock.speed = {speed!r}")
        with self._changed:
            self._speed = checked
            self._moved_s = self._machine.monotonic()

    def pause(self) -> None:
        """Stop time for all replays on the clock."""
        with self._changed:
            self._paused = True
            self._steps.clear()

    def resume(self) -> None:
        """Resume after a pause."""
        with self._changed:
            self._paused = False
            self._steps.clear()
            self._moved_s = self._machine.monotonic()

    def step(self, by: Duration | Literal["arrival", "batch"] = "arrival") -> None:
        """Advance by one step, then pause.

        Parameters
        ----------
        by : {"arrival", "batch"}, str, timedelta or int (ticks)
            To the next arrival; by the next batch of rows of the log (with ``every=``: of the replay); or a duration.
        """
        with self._changed:
            self._steps.append(self._ahead(by, f"step({by!r})"))
            self._paused = True

    def seek(self, to: Instant) -> None:
        """Seek to an instant.

        Rows up to this instant are read at full speed. Runs past it go back.

        Parameters
        ----------
        to : str, datetime, date or int (ticks)
            Instants before the first arrival are set to it.

        Raises
        ------
        PlanError
            For an instant after the last arrival of all logs. If it is unknown, the clock runs to its end.
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
        """Wait until the clock stops and all rows are delivered.

        The clock stops when it is paused or ended. False if this took longer than `timeout` seconds.
        """
        with self._changed:
            return self._changed.wait_for(self._settled, timeout)

    # Used by the replays.

    def adopt(self, arrivals: ArrivalTime, *, where: str) -> None:
        """Adopt the time unit of a log.

        The arrivals of all logs must be comparable.
        """
        known = self._time = self._time or arrivals
        if known.kind != arrivals.kind:
            raise PlanError(f"Arrivals on one clock must be of one kind; {arrivals.name!r} has {arrivals.kind}, "
                            f"{known.name!r} has {known.kind}.", where=where, hint="Use another clock for this replay.")

    def attach(self, follower: Subscriber) -> None:
        """Add a replay that follows this clock."""
        with self._changed:
            self.followers.add(follower)
            self._ended = False

    def detach(self, follower: Subscriber) -> None:
        """Remove a replay from this clock."""
        with self._changed:
            self.followers.discard(follower)
            self._changed.notify_all()

    def begin(self, first: int) -> None:
        """Note the first arrival of a log."""
        with self._changed:
            self._first = first if self._first is None else min(self._first, first)

    def reach(self, last: int) -> None:
        """Note the last arrival of a log; NEVER if it is unknown."""
        with self._changed:
            self._last = max(self._last, last)

    def end(self, follower: Subscriber) -> None:
        """Note that a run has read all rows."""
        with self._changed:
            follower.looked_s = self._machine.monotonic()
            if not self._open():
                self._ended = True
                self._steps.clear()
                if self._ends:
                    self._at = self._last if self._at is None else max(self._at, self._last)
                self._changed.notify_all()

    def reached(self, follower: Subscriber) -> int | None:
        """Advance the clock, and return the instant.

        It advances when all runs have read the rows so far. None before the start.
        """
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

    def sleep_toward(self, due: int) -> None:
        """Sleep towards an instant.

        The sleep is long enough for a batch of rows, and short enough to stop quickly.
        """
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
        """Whether the last arrival is known."""
        return abs(self._last) < NEVER

    @property
    def _reached(self) -> int:
        """The instant after the start, at most the last arrival."""
        assert self._at is not None
        return min(self._at, self._last) if self._ends else self._at

    def _ahead(self, by: Duration, where: str) -> int | str:
        if isinstance(by, str) and by in ("arrival", "batch"):
            return by
        known = self._known(where)
        return known.nanoseconds(known.span("by", by, where=where))

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
        """Runs with further rows."""
        return [each for each in self.followers if each.due != NEVER]

    def _looks(self, follower: Subscriber) -> bool:
        return self._machine.monotonic() - follower.looked_s < _LOOKS_S

    def _behind(self, follower: Subscriber, at: int) -> bool:
        """Whether an active run has rows to read up to an instant."""
        due = follower.due
        return self._looks(follower) and (due is None or due <= at)

    def _settled(self) -> bool:
        open_, here = self._open(), (self.seeks, self._at)
        return not open_ or (self._paused and not self._steps and all(each.drained == here for each in open_))


def checked_speed(speed: float, *, where: str) -> float:
    """Return a speed, which must be a positive number."""
    if isinstance(speed, bool) or not isinstance(speed, Real) or not speed > 0:
        raise PlanError(f"speed must be a positive number, got {speed!r}.", where=where,
                        hint='Use for example speed=1000, or float("inf") for as fast as possible.')
    return float(speed)

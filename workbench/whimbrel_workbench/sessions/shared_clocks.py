"""Share one clock between the views of a replay."""

from __future__ import annotations

import threading
from collections.abc import Collection
from weakref import WeakKeyDictionary, WeakSet

from whimbrel.connect import Replay, ReplayClock
from whimbrel.plan import Source
from whimbrel.run import Run
from whimbrel.stream import LatencyBands, Stream
from whimbrel_workbench.sessions.latency_run import LatencyRun

ReplayRun = Run | LatencyRun


class SharedClocks:
    """Which runs read a replay that was given no clock; the clock was then made for the first of them.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": list(range(100))}, time="at", reorder_latency=0)
    >>> live, clocks = wb.replay(log, speed=10), SharedClocks()
    >>> first = live.start()
    >>> clocks.going(live, first)
    >>> second = clocks.joined(live.where(wb.col.at > 5)).start()
    >>> second.clock is first.clock
    True
    >>> first.stop(), second.stop()
    (None, None)
    """

    def __init__(self) -> None:
        self._runs: WeakKeyDictionary[Replay, WeakSet[ReplayRun]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def joined(self, query: Stream | LatencyBands, instead_of: Collection[object] = ()) -> Stream | LatencyBands:
        """The query on the clock of other runs of the same replay; unchanged without any.

        Parameters
        ----------
        query : Stream or LatencyBands
        instead_of : collection of Run
            Runs that end when it starts: neither it nor a later query continues at their time.
        """
        self.left(*instead_of)
        replays = _replays(query)
        with self._lock:
            runs = [run for replay in replays for run in self._runs.get(replay, ())]
        clocks = {clock for run in runs if (clock := _clock_of(run)) is not None}
        if len(clocks) != 1:  # where the replays of a query go by several already, it could follow only one
            return query
        clock = clocks.pop()
        following: dict[Source, Source] = {replay: replay.on_clock(clock) for replay in replays}
        return query.on(following)

    def going(self, query: Stream | LatencyBands, run: ReplayRun) -> None:
        """Learn of a run of a query, as it was written."""
        with self._lock:
            for replay in _replays(query):
                self._runs.setdefault(replay, WeakSet()).add(run)

    def left(self, *runs: object) -> None:
        """Forget runs that are asked to stop: their state is "running" until their thread ends."""
        with self._lock:
            for known in self._runs.values():
                known.difference_update(run for run in runs if run is not None)


def _replays(query: Stream | LatencyBands) -> list[Replay]:
    """Those of a query; none if one of them was given a clock, by which then all go."""
    once = query if isinstance(query, Stream) else query.query
    found = [source for source in once.sources if isinstance(source, Replay)]
    return found if all(replay.clock is None for replay in found) else []


def _clock_of(run: ReplayRun) -> ReplayClock | None:
    """The clock that a run follows."""
    clock = run.clock
    return None if clock is None or clock.state == "ended" or run.state not in ("running", "paused") else clock

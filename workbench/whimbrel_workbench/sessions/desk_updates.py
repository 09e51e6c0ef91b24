"""Frames of a desk while it runs."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from whimbrel.errors import WhimbrelError
from whimbrel.run.desk import DeskCost
from whimbrel.stream.desk import Desk
from whimbrel_workbench.frames.desk import DeskFrame, QueryRows, desk_frame, query_rows, shown_queries
from whimbrel_workbench.frames.status import State

_LATELY_S: Final = 5.0
_ROWS_TAKE: Final = 0.05
"""Provisional rows of the chosen query cost a copy of its state: they are taken in so small a part of the time."""


class DeskUpdates:
    """Looks at a desk now and then, and hands frames on. It never starts or stops the desk.

    Parameters
    ----------
    desk : Desk
    on_frame : callable
        Called with each frame that differs from the last one, on a thread of its own.
    redraws_per_s : float
    rows : int
        Newest rows of the chosen query.
    """

    def __init__(self, desk: Desk, on_frame: Callable[[DeskFrame], None], *, redraws_per_s: float = 2.0,
                 rows: int = 8) -> None:
        self._desk, self._on_frame, self._rows = desk, on_frame, rows
        self._pause_s = 1.0 / redraws_per_s
        self._chosen: str | None = None
        self._chosen_rows: QueryRows | None = None
        self._rows_after = 0.0
        self._lately: deque[tuple[float, int]] = deque()
        self._looking = threading.Lock()
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._watched = True
        self._thread: threading.Thread | None = None
        self._last: DeskFrame | None = None

    def start(self) -> None:
        """Hand frames on from now on."""
        if self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self._update, name="whimbrel-desk-view", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Hand on no more."""
        self._closed.set()
        self._wake.set()

    def watch(self, watched: bool) -> None:
        """Whether somebody looks; otherwise no frames are made."""
        self._watched = watched
        if watched:
            self.refresh()

    def refresh(self) -> None:
        """Hand a frame on soon, also one that is as the last."""
        self._last = None
        self._wake.set()

    def choose(self, name: str) -> None:
        """Show the newest rows of a query; those of none if it is the chosen one."""
        self._chosen = None if self._chosen == name else name
        self._rows_after = 0.0
        self._wake.set()

    def present(self) -> DeskFrame:
        """The desk as it stands now."""
        with self._looking:
            cost = self._desk.cost
            now = time.monotonic()
            state = _state(cost)
            self._lately.append((now, cost.rows))
            while len(self._lately) > 2 and self._lately[1][0] < now - _LATELY_S:
                self._lately.popleft()
            newest = {each.query: row for each in shown_queries(cost) if (row := self._newest(each.query)) is not None}
            return desk_frame(self._desk.sources, cost, state, newest, self._rate() if state == "running" else None,
                              self._take_chosen(now))

    def _rate(self) -> float | None:
        (before_s, before), (now_s, rows) = self._lately[0], self._lately[-1]
        return (rows - before) / (now_s - before_s) if now_s > before_s else None

    def _newest(self, name: str) -> pa.Table | None:
        try:
            row = self._desk[name].newest(1)
        except WhimbrelError:  # removed meanwhile
            return None
        return row if row.num_rows else None

    def _take_chosen(self, now: float) -> QueryRows | None:
        if self._chosen is None or self._chosen not in self._desk:
            self._chosen_rows = None
        elif now >= self._rows_after:
            try:
                snapshot = self._desk[self._chosen].snapshot()
            except WhimbrelError:
                return None
            self._chosen_rows = query_rows(self._chosen, snapshot.table, snapshot.settled,
                                           self._desk[self._chosen].rows, self._rows)
            self._rows_after = now + (time.monotonic() - now) / _ROWS_TAKE
        return self._chosen_rows

    def _update(self) -> None:
        while not self._closed.is_set():
            began = time.monotonic()
            if self._watched:
                frame = self.present()
                if frame != self._last:
                    self._last = frame
                    self._on_frame(frame)
            took = time.monotonic() - began
            self._wake.wait(max(self._pause_s, 4 * took))
            self._wake.clear()


def _state(cost: DeskCost) -> State:
    """Running while any query is; else what all are, failed first."""
    states = {each.state for each in cost.queries}
    order: tuple[State, ...] = ("running", "failed", "stopped", "finished")
    return next((each for each in order if each in states), "running")

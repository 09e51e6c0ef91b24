"""Sort out-of-order rows with an Impatience sort."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.disorder.arrival_buffer import Arrivals
from whimbrel.disorder.sorted_runs import SortedRuns
from whimbrel.kernels import ascends, forced_tier, time_order

Array = np.ndarray[Any, Any]

_SLACK_ROWS = 262_144
_NONE = np.empty(0, np.int64)


class Sorter:
    """An Impatience sort: rows wait in sorted runs; a release cuts the heads off the runs and merges them.

    Only times and numbers of rows are moved; the rows themselves are gathered once, when they leave. Rows of one time
    keep the order in which they came. What leaves at the end of the stream, as a history that is read whole does, never
    sees a run: all times are put in order at once.

        time     1  2  3  5  6
        arrives  2  6  5  1  3     runs  2 6 | 5 | 1 3  (tails 6, 5, 3)
        release(3)                 gives 1 2 3; runs  6 | 5
    """

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self.runs = SortedRuns()
        self.fresh: list[tuple[Array, Array | int]] = []
        """Times and numbers of rows that are in no run yet; one number where they follow each other."""

    @property
    def rows(self) -> int:
        return self.arrivals.rows

    @property
    def nbytes(self) -> int:
        return self.arrivals.nbytes + self.runs.nbytes

    def add(self, batch: Batch) -> None:
        """Take in rows in the order of arrival."""
        batch = batch.compact()
        if len(batch):
            self.fresh.append((batch.sync, self.arrivals.add(batch)))

    def release(self, time: int) -> list[Batch]:
        """Give up all rows with ``sync <= time``, in time order."""
        if not self.rows:
            return []
        if time == INF:
            return self._all()
        if self._is_one_batch(time):
            self.fresh = []
            return self.arrivals.take_all(None)
        numbers = self._cut(time)
        out = self.arrivals.take(numbers) if len(numbers) else []
        if self.arrivals.held_rows > 2 * self.rows + _SLACK_ROWS:
            self._tighten()
        if self.runs.loose:
            self.runs = SortedRuns()
            if self.rows:
                self.runs.insert(self.arrivals.times(), self.arrivals.numbers())
        return out

    def _is_one_batch(self, time: int) -> bool:
        """Whether all rows that wait are one batch, in order and up to a time."""
        if len(self.fresh) != 1 or self.runs.rows:
            return False
        times = self.fresh[0][0]
        return len(times) == self.rows and bool(times[0] <= times[-1] <= time) and ascends(times)

    def _cut(self, time: int) -> Array:
        """The numbers of all rows up to a time, in order."""
        if forced_tier() is None and not self.runs.rows and not self.runs.ready():
            return self._cut_plainly(time)
        times, numbers = self._put_together()
        self.fresh = []
        return self.runs.release(time, times, numbers)

    def _cut_plainly(self, time: int) -> Array:
        """The same without kernels, as long as they are being compiled."""
        times, numbers = self._put_together()
        stays = times > time
        self.fresh = [(times[stays], numbers[stays])]
        return numbers[~stays][times[~stays].argsort(kind="stable")]

    def _all(self) -> list[Batch]:
        out = self.arrivals.take_all(time_order(self.arrivals.times()))
        self.runs, self.fresh = SortedRuns(), []
        return out

    def _tighten(self) -> None:
        old, new = self.arrivals.tighten()
        if len(old):
            self.runs.renumber(old, new)
        self.fresh = [(times, new[np.searchsorted(old, numbers)]) for times, numbers in self._fresh()
                      if len(numbers)]

    def _fresh(self) -> Iterator[tuple[Array, Array]]:
        for times, numbers in self.fresh:
            yield times, np.arange(numbers, numbers + len(times)) if isinstance(numbers, int) else numbers

    def _put_together(self) -> tuple[Array, Array]:
        """Times and numbers of all rows that are in no run yet."""
        fresh = list(self._fresh())
        if len(fresh) == 1:
            return fresh[0]
        times, numbers = zip(*fresh, strict=True) if fresh else ([_NONE], [_NONE])
        return np.concatenate(times), np.concatenate(numbers)

    def fork(self) -> Sorter:
        clone = Sorter()
        clone.arrivals, clone.runs, clone.fresh = self.arrivals.fork(), self.runs.fork(), list(self.fresh)
        return clone

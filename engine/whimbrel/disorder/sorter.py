"""Sort out-of-order rows with an Impatience sort."""

from __future__ import annotations

from bisect import bisect_right
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
_RUN_BYTES = 16
"""The time and the number of a row that waits in a run."""


class Sorter:
    """An Impatience sort: rows wait in sorted runs; a release cuts the heads off the runs and merges them.

    Only times and numbers of rows are moved; the rows themselves are gathered once, when they leave. Rows of one time
    keep the order in which they came. What leaves at the end of the stream, as a history that is read whole does, never
    sees a run: all times are put in order at once. Rows that arrive in order see no run either, and are not copied.

        time     1  2  3  5  6
        arrives  2  6  5  1  3     runs  2 6 | 5 | 1 3  (tails 6, 5, 3)
        release(3)                 gives 1 2 3; runs  6 | 5
    """

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self.runs = SortedRuns()
        self.fresh: list[tuple[Array, Array | int]] = []
        """Times and numbers of rows that are in no run yet; one number where they follow each other."""
        self.checked = 0
        """The first batches of these that are known to be in order."""

    @property
    def rows(self) -> int:
        return self.arrivals.rows

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in memory, without what runs have allocated for more."""
        return self.arrivals.nbytes + _RUN_BYTES * self.runs.rows

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
        if self._waits_in_order():
            return self._first(time)
        numbers = self._cut(time)
        out = self.arrivals.take(numbers) if len(numbers) else []
        if self.arrivals.held_rows > 2 * self.rows + _SLACK_ROWS:
            self._tighten()
        if self.runs.loose:
            self.runs = SortedRuns()
            if self.rows:
                self.runs.insert(self.arrivals.times(), self.arrivals.numbers())
        return out

    def _waits_in_order(self) -> bool:
        """Whether all rows that wait arrived in order."""
        if self.runs.rows:
            return False
        for index in range(self.checked, len(self.fresh)):
            times, numbers = self.fresh[index]
            if not isinstance(numbers, int) or (index and self.fresh[index - 1][0][-1] > times[0]):
                return False
            if times[0] > times[-1] or not ascends(times):
                return False
            self.checked = index + 1
        return True

    def _first(self, time: int) -> list[Batch]:
        """Rows up to a time, where all wait in order."""
        whole = bisect_right(self.fresh, time, key=lambda each: int(each[0][-1]))
        rows, stay = sum(len(times) for times, _ in self.fresh[:whole]), self.fresh[whole:]
        if stay and (cut := int(stay[0][0].searchsorted(time, "right"))):
            rows, stay[0] = rows + cut, (stay[0][0][cut:], stay[0][1] + cut)
        self.fresh, self.checked = stay, len(stay)
        return self.arrivals.take_first(rows)

    def _cut(self, time: int) -> Array:
        """The numbers of all rows up to a time, in order."""
        if forced_tier() is None and not self.runs.rows and not self.runs.ready():
            return self._cut_plainly(time)
        times, numbers = self._put_together()
        self.fresh, self.checked = [], 0
        return self.runs.release(time, times, numbers)

    def _cut_plainly(self, time: int) -> Array:
        """The same without kernels, as long as they are being compiled."""
        times, numbers = self._put_together()
        stays = times > time
        self.fresh, self.checked = [(times[stays], numbers[stays])] if stays.any() else [], 0
        return numbers[~stays][times[~stays].argsort(kind="stable")]

    def _all(self) -> list[Batch]:
        order = None if self._waits_in_order() else time_order(self.arrivals.times())
        out = self.arrivals.take_all(order)
        self.runs, self.fresh, self.checked = SortedRuns(), [], 0
        return out

    def _tighten(self) -> None:
        old, new = self.arrivals.tighten()
        if len(old):
            self.runs.renumber(old, new)
        self.fresh = [(times, new[np.searchsorted(old, numbers)]) for times, numbers in self._fresh()
                      if len(numbers)]
        self.checked = 0

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
        clone.arrivals, clone.runs = self.arrivals.fork(), self.runs.fork()
        clone.fresh, clone.checked = list(self.fresh), self.checked
        return clone

"""Queue of ordered rows that wait for the watermark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whimbrel.batch import Batch


class PendingRows:
    """A queue of batches. Taking rows from its head costs time for these rows only.

    Attributes
    ----------
    batches : list of Batch
        From `first` on they wait.
    rows, nbytes : int
        Of those that wait.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.first = self.rows = self.nbytes = 0

    def add(self, batch: Batch) -> None:
        """Take in rows that start no earlier than those that wait."""
        if len(batch):
            self.batches.append(batch)
            self.rows += len(batch)
            self.nbytes += batch.nbytes

    def before(self, time: int) -> Sequence[Batch]:
        """The rows that start before a time; they leave."""
        last = self.first
        while last < len(self.batches) and self.batches[last].sync[-1] < time:
            last += 1
        removed = self.batches[self.first : last]
        if last < len(self.batches) and self.batches[last].sync[0] < time:
            straddling = self.batches[last]
            cut = int(np.searchsorted(straddling.sync, time))
            removed.append(straddling.slice(0, cut))
            self.batches[last] = straddling.slice(cut, len(straddling))
        self.rows -= sum(map(len, removed))
        self.nbytes -= sum(batch.nbytes for batch in removed)
        self.first = last
        if 2 * last > len(self.batches):
            self.batches, self.first = self.batches[last:], 0
        return removed

    def fork(self) -> PendingRows:
        clone = PendingRows()
        clone.batches, clone.first, clone.rows, clone.nbytes = list(self.batches), self.first, self.rows, self.nbytes
        return clone

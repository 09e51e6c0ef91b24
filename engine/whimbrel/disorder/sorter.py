"""Holds rows that came out of order until nothing earlier can come."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch

Array = np.ndarray[Any, Any]

_MOST_RUNS = 64
_BATCH_ROWS = 65_536


class Sorter:
    """Sorted runs of rows; a release cuts off their heads and merges them.

    Rows of one time keep the order in which they came. Each arriving batch becomes one run; NumPy's stable sort finds
    the runs within a concatenation of heads, so a merge costs little more than a copy.
    """

    def __init__(self) -> None:
        self.runs: list[Batch] = []

    @property
    def rows(self) -> int:
        return sum(len(run) for run in self.runs)

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self.runs)

    def add(self, batch: Batch) -> None:
        """Take in rows in the order of arrival."""
        if not len(batch):
            return
        self.runs.append(_sorted([batch]))
        if len(self.runs) > _MOST_RUNS:
            self.runs = [_sorted(self.runs)]

    def release(self, time: int) -> list[Batch]:
        """Give up all rows with ``sync <= time``, in time order."""
        cuts = [int(np.searchsorted(run.sync, time, "right")) for run in self.runs]
        heads = [run.slice(0, cut) for run, cut in zip(self.runs, cuts, strict=True) if cut]
        self.runs = [run.slice(cut, len(run)) for run, cut in zip(self.runs, cuts, strict=True) if cut < len(run)]
        if not heads:
            return []
        rows = _sorted(heads)
        return [rows.slice(start, start + _BATCH_ROWS) for start in range(0, len(rows), _BATCH_ROWS)]

    def fork(self) -> Sorter:
        twin = Sorter()
        twin.runs = list(self.runs)
        return twin


def _sorted(batches: list[Batch]) -> Batch:
    rows = Batch.concat(batches)
    if (rows.sync[1:] >= rows.sync[:-1]).all():
        return rows
    return rows.take(np.argsort(rows.sync, kind="stable"))

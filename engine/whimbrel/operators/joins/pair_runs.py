"""Pairs of a join as runs.

A run is one row with all rows that it matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Storage
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.joins.join import spread

Array = np.ndarray[Any, Any]

_spread = Compiled(spread)


@dataclass(frozen=True)
class PairRuns:
    """Pairs by the slots of their rows. Columns of joined rows are written run by run.

    Parameters
    ----------
    side, row, stop : numpy.ndarray
        Per stretch: the side (0 or 1) and the slot of the row that meets others, and how many pairs there are up to its
        end.
    met : numpy.ndarray
        Per pair: the slot of the row of the other side.

    Examples
    --------
    >>> pairs = PairRuns(*(np.array(part, np.int32) for part in ([0, 1], [7, 4], [2, 3], [1, 2, 5])))
    >>> pairs.slots(0).tolist(), pairs.slots(1).tolist()
    ([7, 7, 5], [1, 2, 4])
    """

    side: Array
    row: Array
    stop: Array
    met: Array

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.met)

    def slots(self, side: int) -> Array:
        """Of each pair the slot of the row of one side."""
        long = np.diff(self.stop, prepend=0)
        return np.where(np.repeat(self.side == side, long), np.repeat(self.row, long), self.met).astype(np.int64)

    def values(self, side: int, values: Array, storage: Storage | None) -> Array:
        """Of each pair the value, by slot, of the row of one side; in a `storage`, where they stay."""
        if storage is None or values.dtype == np.bool_:  # Arrow packs them elsewhere
            out = np.empty(len(self), values.dtype)
        else:
            out = storage.empty(len(self), values.dtype)
        given, target = (each.view(f"i{values.itemsize}") for each in (values, out))  # one loop for each width
        arguments = side, given, self.side, self.row, self.stop, self.met, target
        if not _spread.ready(*arguments):
            return np.asarray(values[self.slots(side)])
        _spread(*arguments)
        return out

    def column(self, side: int, column: Column, storage: Storage | None) -> Column:
        """The same of a column."""
        if not isinstance(column.values, np.ndarray):
            return column.take(self.slots(side), storage)
        valid = None if column.valid is None else self.values(side, column.valid, None)
        return Column(column.type, self.values(side, column.values, storage), valid)

    def rows(self, side: int, rows: Batch, storage: Storage | None) -> Batch:
        """The same rows as intervals. A time column keeps its values."""
        sync = self.values(side, rows.sync, storage)
        sync.flags.writeable = False
        return Batch(rows.schema, sync,
                     rows.ends if isinstance(rows.ends, int) else self.values(side, rows.ends, storage),
                     tuple(Column(column.type, sync) if rows.is_time(column) else self.column(side, column, storage)
                           for column in rows.columns))

"""Compact the rows for which a condition is true."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Storage, frozen
from whimbrel.clock import INF
from whimbrel.kernels.compile import Compiled
from whimbrel.kernels.primitives.rows import filter_rows as primitive

Array = np.ndarray[Any, Any]

_indices_of = Compiled(primitive.indices_of)
_move_selected = Compiled(primitive.move_selected)
_count_selected = Compiled(primitive.count_selected)
_FEW_ROWS = 4_096
_SPARSE = 16
"""Where at most one row in so many is kept, their places are looked up; else all rows are walked along."""


def selected_rows(batch: Batch, kept: Mask, rows: int, storage: Storage | None = None) -> Batch:
    """What :meth:`Batch.only` does with so many rows, but by compiled loops.

    Examples
    --------
    >>> import numpy as np
    >>> from whimbrel.batch import Batch, Schema
    >>> selected_rows(Batch(Schema(()), np.arange(3), 1, ()), np.array([True, False, True]), 2).sync.tolist()
    [0, 2]
    """
    kept = frozen(kept)
    if len(kept) < _FEW_ROWS:
        return batch.only(kept, storage)
    batch = batch.having(absent=None)
    found = (batch.take(_indices(kept, rows), storage) if _SPARSE * rows <= len(kept) else
             _Moved(kept, rows, storage).batch(batch))
    return found if batch.gaps is None else found.having(gaps=(batch.gaps[0], INF))


def _indices(kept: Mask, rows: int) -> Array:
    eights, indices = kept[: len(kept) // 8 * 8].view(np.int64), np.empty(rows + 1, np.int64)
    if not _indices_of.ready(kept, eights, indices):
        return np.flatnonzero(kept)
    _indices_of(kept, eights, indices)
    return indices[:rows]


class _Moved:
    """Walks along each column: that is sooner done than to look for the places of many rows."""

    def __init__(self, kept: Mask, rows: int, storage: Storage | None) -> None:
        self.kept, self.rows, self.storage = kept, rows, storage

    def batch(self, batch: Batch) -> Batch:
        sync = frozen(self.times(batch))
        ends, ids, began = batch.ends, batch.ids, batch.began
        return Batch(batch.schema, sync, ends if isinstance(ends, int) else self.array(ends),
                     tuple(Column(column.type, sync) if batch.is_time(column) else self.column(column)
                           for column in batch.columns),
                     ids=None if ids is None else self.array(ids), began=None if began is None else self.array(began))

    def times(self, batch: Batch) -> Array:
        if batch.gaps is None or batch.gaps[0] != batch.gaps[1]:
            return self.array(batch.sync)
        first, step, moved = int(batch.sync[0]), batch.gaps[0], self.buffer(batch.sync.dtype)
        if not _count_selected.ready(self.kept, first, step, moved):
            return batch.sync[self.kept]
        _count_selected(self.kept, first, step, moved)
        return moved

    def column(self, column: Column) -> Column:
        if not isinstance(column.values, np.ndarray):
            return column.take(_indices(self.kept, self.rows))
        valid = None if column.valid is None else self.array(column.valid)
        return Column(column.type, self.array(column.values), valid)

    def array(self, array: Array) -> Array:
        moved = self.buffer(array.dtype)
        given, buffer = (each.view(f"i{array.itemsize}") for each in (array, moved))  # one loop for each width
        if not _move_selected.ready(self.kept, given, buffer):
            return array[self.kept]
        _move_selected(self.kept, given, buffer)
        return moved

    def buffer(self, dtype: np.dtype[Any]) -> Array:
        if self.storage is None or dtype == np.bool_:  # Arrow packs them elsewhere
            return np.empty(self.rows, dtype)
        return self.storage.empty(self.rows, dtype)

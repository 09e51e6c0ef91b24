"""Store rows by slot number: append batches, gather by slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Schema, Storage

Array = np.ndarray[Any, Any]


class RowStore:
    """Batches end to end. Neighbours of like size are joined: few batches, and each row is copied O(log n) times."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.chunks: list[Batch] = []

    def __len__(self) -> int:
        return sum(len(chunk) for chunk in self.chunks)

    def append(self, batch: Batch) -> None:
        """Add rows; they get the next slots."""
        self.chunks.append(batch)
        while len(self.chunks) > 1 and len(self.chunks[-2]) < 2 * len(self.chunks[-1]):
            last = self.chunks.pop()
            self.chunks[-1] = Batch.concat([self.chunks[-1], last])

    def take(self, slots: Array, names: Sequence[str] | None = None, storage: Storage | None = None) -> Batch:
        """Rows by slot, in the order asked, with these columns or all; in a `storage`, where they stay."""
        names = self.schema.names if names is None else names
        whole = self.whole(len(slots))
        if whole is not None:
            return whole.select(names).take(slots, storage)
        chunks = [chunk.select(names) for chunk in self.chunks]
        if not chunks:
            return Batch.empty(self.schema.select(names))
        indices, back = self._indices(slots)
        found = Batch.concat([chunk.take(index) for chunk, index in zip(chunks, indices, strict=True)])
        return found.take(back, storage)

    def columns(self, slots: Array, names: Sequence[str], storage: Storage | None = None) -> list[Column]:
        """These columns of rows by slot, without their lifetimes; in a `storage`, where they stay."""
        whole = self.whole(len(slots))
        if whole is not None:
            return [whole.column(name).take(slots, storage) for name in names]
        if not self.chunks:
            return [Column.nulls(self.schema.type_of(name), 0) for name in names]
        indices, back = self._indices(slots)
        return [Column.concat([chunk.column(name).take(index) for chunk, index in zip(
            self.chunks, indices, strict=True)]).take(back, storage) for name in names]

    def whole(self, rows: int) -> Batch | None:
        """All rows, if they are in one batch, or so many are asked for that this costs less than looking in each."""
        if len(self.chunks) > 1 and rows > len(self):
            self.chunks = [Batch.concat(self.chunks)]
        return self.chunks[0] if len(self.chunks) == 1 else None

    def _indices(self, slots: Array) -> tuple[list[Array], Array]:
        """The rows of each chunk that are asked for, and where each slot's is among all of them."""
        begins = np.cumsum([0, *(len(chunk) for chunk in self.chunks[:-1])])
        home = np.searchsorted(begins, slots, "right") - 1
        mine = [np.flatnonzero(home == number) for number in range(len(self.chunks))]
        back = np.empty(len(slots), np.int64)
        back[np.concatenate(mine)] = np.arange(len(slots))
        return [slots[rows] - begin for rows, begin in zip(mine, begins, strict=True)], back

    def take_or_null(self, slots: Array) -> tuple[Column, ...]:
        """The columns of rows by slot; a row of nulls where the slot is -1."""
        there: Mask = slots >= 0
        if there.all():
            return tuple(self.columns(slots, self.schema.names))
        if not there.any():
            return tuple(Column.nulls(field.type, len(slots)) for field in self.schema)
        index = np.where(there, np.cumsum(there) - 1, 0)
        return tuple(column.take_or_null(index, there) for column in self.columns(slots[there], self.schema.names))

    def fork(self) -> RowStore:
        clone = RowStore(self.schema)
        clone.chunks = list(self.chunks)
        return clone

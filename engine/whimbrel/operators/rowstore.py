"""Rows kept by slot number: appended in any amounts, gathered by slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, Schema

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

    def take(self, slots: Array, names: Sequence[str] | None = None) -> Batch:
        """Rows by slot, in the order asked; only these columns, if any are named."""
        names = self.schema.names if names is None else names
        chunks = [chunk.select(names) for chunk in self.chunks]
        if not chunks:
            return Batch.empty(self.schema.select(names))
        if len(chunks) == 1:
            return chunks[0].take(slots)
        begins = np.cumsum([0, *(len(chunk) for chunk in chunks[:-1])])
        home = np.searchsorted(begins, slots, "right") - 1
        parts = [chunk.take(slots[home == number] - begins[number]) for number, chunk in enumerate(chunks)]
        gathered = np.concatenate([np.flatnonzero(home == number) for number in range(len(chunks))])
        return Batch.concat(parts).take(np.argsort(gathered, kind="stable"))

    def take_or_null(self, slots: Array) -> tuple[Column, ...]:
        """The columns of rows by slot; a row of nulls where the slot is -1."""
        there: Mask = slots >= 0
        if there.all():
            return self.take(slots).columns
        if not there.any():
            return tuple(Column.nulls(field.type, len(slots)) for field in self.schema)
        place = np.where(there, np.cumsum(there) - 1, 0)
        return tuple(_spread(column, place, there) for column in self.take(slots[there]).columns)

    def fork(self) -> RowStore:
        twin = RowStore(self.schema)
        twin.chunks = list(self.chunks)
        return twin


def _spread(column: Column, place: Array, there: Mask) -> Column:
    if not column.fixed:
        return Column(column.type, column.values.take(Column(pa.int64(), place, there).to_arrow()))
    return Column(column.type, column.values[place], there & column.validity()[place])

"""Rows kept by slot number: appended in any amounts, gathered by slot."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema

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

    def take(self, slots: Array) -> Batch:
        """Rows by slot, in the order asked."""
        if not self.chunks:
            return Batch.empty(self.schema)
        if len(self.chunks) == 1:
            return self.chunks[0].take(slots)
        begins = np.cumsum([0, *(len(chunk) for chunk in self.chunks[:-1])])
        home = np.searchsorted(begins, slots, "right") - 1
        parts = [chunk.take(slots[home == number] - begins[number]) for number, chunk in enumerate(self.chunks)]
        gathered = np.concatenate([np.flatnonzero(home == number) for number in range(len(self.chunks))])
        return Batch.concat(parts).take(np.argsort(gathered, kind="stable"))

    def fork(self) -> RowStore:
        twin = RowStore(self.schema)
        twin.chunks = list(self.chunks)
        return twin

"""Rows that wait until their result is known."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema

Array = np.ndarray[Any, Any]


class RowResults:
    """Rows in the order of time, and a column of float64 of which some values are not known yet.

    Attributes
    ----------
    base : int
        The number of the first row that waits.
    batches : list of Batch
        Rows that wait.
    results, valid : array of float64 and bool
        Their results, and which are known and not null.
    """

    def __init__(self, out_schema: Schema) -> None:
        self.out_schema = out_schema
        self.base = 0
        self.batches: list[Batch] = []
        self.results, self.valid = np.empty(0), np.empty(0, np.bool_)

    @property
    def rows(self) -> int:
        return len(self.results)

    def add(self, batch: Batch) -> int:
        """Take in rows. Returns the number of the first one."""
        first, rows = self.base + self.rows, len(batch)
        if not self.rows:
            self.results, self.valid = np.empty(rows), np.zeros(rows, np.bool_)
        else:
            self.results = np.concatenate([self.results, np.empty(rows)])
            self.valid = np.concatenate([self.valid, np.zeros(rows, np.bool_)])
        self.batches.append(batch)
        return first

    def take(self, stop: int) -> list[Batch]:
        """The rows with smaller numbers, with their results."""
        count = min(stop - self.base, self.rows)
        if count <= 0:
            return []
        out, left = list[Batch](), count
        while left:
            batch = self.batches[0]
            rows, at = min(left, len(batch)), count - left
            valid = self.valid[at:at + rows]
            column = Column(pa.float64(), self.results[at:at + rows], None if valid.all() else valid.copy())
            part = batch if rows == len(batch) else batch.slice(0, rows)
            out.append(part.having(schema=self.out_schema, columns=(*part.columns, column)))
            if rows == len(batch):
                self.batches.pop(0)
            else:
                self.batches[0] = batch.slice(rows, len(batch))
            left -= rows
        self.base += count
        self.results, self.valid = self.results[count:].copy(), self.valid[count:].copy()
        return out

    def watermark(self, watermark: int) -> int:
        """The time before which no further row can come out."""
        return min(watermark, self.batches[0].time(0)) if self.batches else watermark

    def fork(self) -> RowResults:
        clone = copy.copy(self)
        clone.batches = list(self.batches)
        clone.results, clone.valid = self.results.copy(), self.valid.copy()
        return clone

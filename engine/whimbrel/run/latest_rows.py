"""Keep the newest rows of a time range, and count the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Schema, table_from_batches
from whimbrel.plan import LineageRequest
from whimbrel.run.query_result import in_order


class Newest:
    """Rows that are looked for, however many come by.

    Parameters
    ----------
    schema : Schema
        What the rows are made of.
    maximum : int
        How many to keep: those that start last.
    number : str, optional
        A column that tells rows apart: one that comes by twice is counted once.

    Attributes
    ----------
    rows : int
        How many there were.
    """

    def __init__(self, schema: Schema, maximum: int, number: str | None = None) -> None:
        self.rows = 0
        self._schema, self._most, self._number = schema, maximum, number
        self._kept = table_from_batches(schema, [])
        self._seen = np.zeros(0, np.uint8)

    def add(self, batch: Batch) -> None:
        """Take in rows."""
        fresh = batch if self._number is None else self._fresh(batch)
        self.rows += len(fresh)
        self._kept = pa.concat_tables([self._kept, table_from_batches(self._schema, [fresh])])
        if len(self._kept) > 2 * self._most:
            self._kept = self.table()

    def table(self) -> pa.Table:
        """The newest of them, in the order of start."""
        return in_order(self._kept).slice(max(0, len(self._kept) - self._most))

    def _fresh(self, batch: Batch) -> Batch:
        """Drop rows that were seen before, with one bit per row."""
        number = np.asarray(batch.column(self._number or "").values)
        byte, bit = number >> 3, (1 << (number & 7)).astype(np.uint8)
        if len(number) and (room := int(byte.max()) + 1 - len(self._seen)) > 0:
            self._seen = np.concatenate([self._seen, np.zeros(max(room, len(self._seen)), np.uint8)])
        fresh = np.flatnonzero((self._seen[byte] & bit) == 0)
        np.bitwise_or.at(self._seen, byte, bit)
        return batch.take(fresh)


class Search:
    """Select the wanted rows of a result.

    Parameters
    ----------
    wanted : Wanted
    found : Newest
        Where they go.
    """

    def __init__(self, wanted: LineageRequest, found: Newest) -> None:
        self._wanted, self._found = wanted, found
        self._latest: list[Batch] = []

    def add(self, batch: Batch) -> None:
        """Search some rows."""
        batch, wanted = batch.compact(), self._wanted
        inside = batch.sync < wanted.end
        inside &= (batch.sync if wanted.starting else batch.other - 1) >= wanted.start
        before = wanted.latest_before
        if before is not None:
            early = batch.take(np.flatnonzero(inside & (batch.sync < before)))
            if len(early):
                self._replace(early.take(np.flatnonzero(early.sync == early.sync.max())))
            inside &= batch.sync >= before
        self._found.add(batch.take(np.flatnonzero(inside)))

    def end(self) -> None:
        """No further rows."""
        for batch in self._latest:
            self._found.add(batch)

    def _replace(self, later: Batch) -> None:
        """Keep those of one start that are later than those before; simultaneous ones have no order."""
        known = int(self._latest[0].sync[0]) if self._latest else int(later.sync[0])
        if later.sync[0] >= known:
            self._latest = [later] if later.sync[0] > known else [*self._latest, later]

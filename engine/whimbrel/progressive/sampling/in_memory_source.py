"""Sources that are read into memory, with blocks of any size.

A source is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from whimbrel.batch import Batch
from whimbrel.plan import Blocks, OrderingSpec, Source, TimeGrid


class InMemorySource(Source):
    """Rows of a bounded source in memory, with the required columns.

    Parameters
    ----------
    source : Source
    columns : sequence of str
    """

    in_memory = True

    def __init__(self, source: Source, columns: Sequence[str]) -> None:
        self.name, self.time, self.disorder = source.name, source.time, source.disorder
        self.schema = source.schema.select(columns)
        batches = [batch for batch in source.read(columns) if batch is not None]
        self._batch = Batch.concat(batches) if batches else Batch.empty(self.schema)
        self.rows: int = len(self._batch)

    @staticmethod
    def of(source: Source, rows: Batch) -> InMemorySource:
        """These rows, in time order, instead of those of a source."""
        held = object.__new__(InMemorySource)
        held.name, held.time, held.disorder = source.name, source.time, OrderingSpec()
        held.schema, held._batch, held.rows = rows.schema, rows, len(rows)
        return held

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        times = self._batch.sync
        return Blocks.evenly(times, rows, in_order=self.disorder == OrderingSpec(), cuts=cuts) if self.rows else None

    def rows_between(self, start: int, end: int) -> tuple[int, int]:
        if self.disorder != OrderingSpec():
            return 0, self.rows
        first, stop = np.searchsorted(self._batch.sync, [start, end]).tolist()
        return first, stop

    def sorted(self) -> InMemorySource:
        """The same rows in time order: a history is sorted completely, so no row is late."""
        rows = self._batch
        order = np.argsort(rows.sync, kind="stable")
        return self._of(rows if (order[1:] > order[:-1]).all() else rows.take(order), OrderingSpec())

    def excerpt(self, first: int, stop: int) -> Source:
        return self._of(self._batch.slice(first, stop), self.disorder)

    def _of(self, rows: Batch, disorder: OrderingSpec) -> InMemorySource:
        copy = object.__new__(InMemorySource)
        vars(copy).update(vars(self), _batch=rows, rows=len(rows), disorder=disorder)
        return copy

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        yield self._batch.slice(offset, self.rows).select(columns)

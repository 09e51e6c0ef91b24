"""Sources of rows and events that a query has already read."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, columns_from_arrow
from whimbrel.batch.arrow import ticks_from_arrow
from whimbrel.clock import INF
from whimbrel.connect.tables.columnar_source import BATCH_ROWS
from whimbrel.plan.source import Source

_END: Final = object()


class ReplaySlice(Source):
    """A range of rows of a source, each with its number.

    Parameters
    ----------
    source : Source
    first, stop : int
        Rows [first, stop) of the source.
    number : str
        Name of the column that holds the number of each row, from the first of the source.

    Examples
    --------
    >>> from whimbrel.connect.tables.memory import ArrowSource
    >>> rows = ReplaySlice(ArrowSource(pa.table({"t": [1, 2, 5, 7]}), time="t"), 1, 3, "row")
    >>> [(batch.sync.tolist(), batch.column("row").values.tolist()) for batch in rows.read(["row"])]
    [([2, 5], [1, 2])]
    """

    def __init__(self, source: Source, first: int, stop: int, number: str) -> None:
        self.source, self._first, self._stop, self._number = source, first, stop, number
        self.name, self.time, self.arrival = source.name, source.time, source.arrival
        self.disorder, self.longest, self.live, self.edges = source.disorder, source.longest, source.live, source.edges
        self.sampling = source.sampling
        # End edges find their start edges by payload: a row number would separate them.
        numbered = [] if source.edges else [Field(number, pa.int64())]
        self.schema = source.schema.with_fields([*source.schema, *numbered])
        self.rows = None if source.rows is None else min(stop, source.rows) - first

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        row = self._first + offset
        kept = [name for name in columns if name != self._number]
        schema = self.schema.select(columns)
        batches = self.source.read(kept, row)
        try:
            while row < self._stop and (batch := next(batches, _END)) is not _END:
                if isinstance(batch, Batch):
                    part = batch.slice(0, min(len(batch), self._stop - row))
                    numbers = Column(pa.int64(), np.arange(row, row + len(part)))
                    yield part.having(schema=schema, columns=tuple(
                        numbers if name == self._number else part.column(name) for name in columns))
                    row += len(part)
                else:
                    yield None
        finally:
            if isinstance(batches, Generator):
                batches.close()


class Events(Source):
    """Events in order of time, with the lifetimes that a query saw.

    Parameters
    ----------
    like : Source
        The source of the events.
    table : pyarrow.Table
        start, end (null if unknown), and the columns of the source in its order.
    number : str, optional
        Name of an added column with the number of each row.
    """

    def __init__(self, like: Source, table: pa.Table, number: str | None = None) -> None:
        self._table = table
        self._number = number
        self.name, self.time, self.longest = like.name, like.time, like.longest
        self.sampling = None if like.sampling is None else like.sampling.with_gaps()
        numbered = [] if number is None else [Field(number, pa.int64())]
        self.schema = like.schema.with_fields([*like.schema, *numbered])
        self.rows = table.num_rows

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        for part in self._table.slice(offset).to_batches(max_chunksize=BATCH_ROWS):
            start, _ = ticks_from_arrow(part.column(0))
            end, known = ticks_from_arrow(part.column(1))
            values = columns_from_arrow(part)[2:]
            if self._number is not None:
                values = (*values, Column(pa.int64(), np.arange(offset, offset + len(part))))
            ends = end if known is None else np.where(known, end, INF)
            yield Batch(self.schema, start, ends, values).select(columns)
            offset += len(part)

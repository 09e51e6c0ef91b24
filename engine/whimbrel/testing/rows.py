"""A source of given batches, and conversion between events and batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import INF
from whimbrel.plan import Blocks, OrderingSpec, Source, TimeGrid
from whimbrel.testing import oracle
from whimbrel.testing.oracle import Event

EXAMPLE_SCHEMA = Schema((
    Field("time", pa.int64()), Field("key", pa.string()), Field("k2", pa.int64()), Field("x", pa.int64()),
    Field("y", pa.float64()), Field("flag", pa.bool_()),
))
"""The payload over which the laws are checked: nulls everywhere, keys of two types, plain integer time."""


Encoding = Literal["mask", "encode"] | None

_ENCODINGS: tuple[Encoding, ...] = (None, "mask", "encode")
_HISTORY = OrderingSpec(None)


class BatchedRows(Source):
    """Facts in arrival order, cut into the batches that the test wants, empty ones included.

    Parameters
    ----------
    batches : sequence of sequences of facts
    schema : Schema
    disorder : Disorder
        What is promised about the order; by default nothing, so that the whole is sorted.
    idle : bool
        Whether a None (nothing there yet) stands before every batch and at the end, as in a feed.
    dictionaries : bool
        Whether two batches in three have their strings dictionary-encoded, once with nulls outside the dictionary and
        once with null as one of its words.
    """

    time = "time"

    def __init__(self, batches: Sequence[Sequence[Event]], *, schema: Schema = EXAMPLE_SCHEMA,
                 disorder: OrderingSpec = _HISTORY, name: str = "rows", idle: bool = False,
                 dictionaries: bool = False) -> None:
        self.batches = [list(batch) for batch in batches]
        self.schema = schema
        self.disorder = disorder
        self.name = name
        self.live = idle
        self.rows = sum(len(batch) for batch in batches)
        self.dictionaries = dictionaries

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        for position, facts in enumerate(self.batches):
            skipped = min(offset, len(facts))
            offset -= skipped
            if self.live:
                yield None
            encoding = _ENCODINGS[position % 3] if self.dictionaries else None
            yield batch_from_facts(facts[skipped:], self.schema, encoding).select(columns)
        if self.live:
            yield None


class InBlocks(BatchedRows):
    """Facts of which each batch is a block whose bounds are known, as row groups of Parquet are."""

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        times = [[start for start, _, _ in batch] for batch in self.batches if batch]
        stop = np.cumsum([len(block) for block in times])
        return Blocks(stop - [len(block) for block in times], stop, np.array(list(map(min, times)), np.int64),
                      np.array(list(map(max, times)), np.int64)) if times else None


def batch_from_facts(facts: Sequence[Event], schema: Schema = EXAMPLE_SCHEMA, encoding: Encoding = None) -> Batch:
    """Facts as rows, in the order given; strings plain, or dictionary-encoded with their nulls masked or encoded."""
    arrays = [pa.array([payload[field.name] for _, _, payload in facts], field.type) for field in schema]
    if encoding:
        arrays = [array.dictionary_encode(encoding) if pa.types.is_string(array.type) else array for array in arrays]
    return Batch(schema, _ticks(start for start, _, _ in facts), _ticks(end for _, end, _ in facts),
                 tuple(Column.from_arrow(array) for array in arrays))


def facts_from_table(table: pa.Table) -> list[Event]:
    """Result rows as facts; a null end is no end known."""
    rows = table.to_pylist()
    return [(row.pop("start"), oracle.INF if (end := row.pop("end")) is None else end, row) for row in rows]


def _ticks(times: Iterable[oracle.Time]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([INF if time == oracle.INF else time for time in times], np.int64)

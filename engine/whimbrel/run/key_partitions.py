"""Partition a bounded query by key, for parallel threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask
from whimbrel.clock import MIN_TIME
from whimbrel.errors import KernelError
from whimbrel.kernels import encode_keys, ordered
from whimbrel.plan import Node, OrderingSpec, Source, partition_columns

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Spreads consecutive keys over all partitions (Knuth, The Art of Computer Programming 3, 6.4)."""


class KeyPartition(Source):
    """The rows of a source whose key hash falls into one of several partitions.

    Parameters
    ----------
    source : Source
        Bounded, in time order.
    by : str
        The key column.
    part, parts : int
    """

    def __init__(self, source: Source, by: str, part: int, parts: int) -> None:
        self.source, self.by, self.part, self.parts = source, by, part, parts
        self.name, self.time, self.schema, self.longest = source.name, source.time, source.schema, source.longest
        self.read_of = source.read_of
        self.sampling = None if source.sampling is None else source.sampling.with_gaps()

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        newest = MIN_TIME
        for batch in self.source.read(tuple(dict.fromkeys([*columns, self.by]))):
            if batch is None or not len(batch):
                continue
            if batch.sync[0] < newest or not ordered(batch):  # maybe in two different partitions
                raise KernelError(f"Rows of {self.name} are out of order.")
            newest = int(batch.sync[-1])
            mine = self._mine(batch.column(self.by))
            if offset:
                skipped = np.flatnonzero(mine)[:offset]
                mine[skipped] = False
                offset -= len(skipped)
            if mine.any():  # not moved yet: a filter downstream may leave little to move
                yield batch.with_absent(~mine).select(columns)

    def _mine(self, keys: Column) -> Mask:
        if keys.fixed:
            hashed = encode_keys(np.asarray(keys.values)).view(np.uint64) * _ODD
            if keys.valid is not None:
                hashed[~keys.valid] = 0
            return self._falls_here(hashed)
        array: pa.Array = keys.values
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        hashes = [hash(value) for value in coded.dictionary.to_pylist()]
        here = np.append(self._falls_here(np.array(hashes, np.int64).view(np.uint64) * _ODD), self.part == 0)
        codes = Column.from_arrow(coded.indices)
        return here[np.where(codes.validity(), codes.values, len(hashes))]

    def _falls_here(self, hashed: np.ndarray[Any, Any]) -> Mask:
        return (hashed >> np.uint64(40)) % np.uint64(self.parts) == self.part


def partition_by_key(plan: Node, parts: int) -> list[Node]:
    """Partition a query by key; empty when rows of different keys meet.

    Together the parts give the result. Rows that start together may come in another order.
    """
    ways = partition_columns(plan)
    sources = plan.sources()
    if not ways or any(source.disorder != OrderingSpec() or source.live or source.edges or source.as_it_comes
                       for source in sources):
        return []
    by = ways[0]
    return [plan.rewrite(lambda node, part=part: Node(KeyPartition(node.op, by[node.op], part, parts))  # type: ignore[misc]
                         if isinstance(node.op, Source) else node) for part in range(parts)]

"""Tables of start edges, end edges, intervals and punctuations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Ticks
from whimbrel.clock import INF
from whimbrel.clock.duration import Duration
from whimbrel.connect.partition_watermarks import PartitionWatermarks, by_of, in_partitions
from whimbrel.connect.tables.lifetime_columns import Named, Timeline
from whimbrel.connect.tables.memory import ArrowSource
from whimbrel.errors import SchemaError, SourceError


class EdgeSource(ArrowSource):
    """A table in memory with start edges, end edges, intervals and punctuations.

    The columns that carry time are no payload here: an end edge has the payload of its start edge, and by it the two
    find each other.

    Parameters
    ----------
    data : pyarrow.Table or anything that :class:`~whimbrel.connect.tables.memory.ArrowSource` takes
    sync, other, punctuation, reorder_latency, late, partition, name
        As in :func:`whimbrel.from_edges`.

    Raises
    ------
    SchemaError
        For a missing column or one of a wrong type.

    Examples
    --------
    >>> source = EdgeSource({"sync": [1, 5], "other": [None, 1], "x": [10, 10]}, sync="sync", other="other")
    >>> source.schema.show()
    'x: int64'
    """

    edges = True

    def __init__(self, data: Any, *, sync: str, other: str, punctuation: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None,
                 partition: str | PartitionWatermarks | None = None) -> None:
        super().__init__(data, time=sync, end=other, reorder_latency=reorder_latency, late=late, name=name or "edges",
                         _call="from_edges", _also=(punctuation, by_of(partition)))
        known = self.timeline
        if punctuation is not None:
            type_ = known.schema.type_of(punctuation, where=known.where)
            if not pa.types.is_boolean(type_):
                raise SchemaError(f"The punctuation column must be bool, but {punctuation!r} is {type_}.",
                                  where=known.where,
                                  hint="Use a bool column that is true for rows that only advance the watermark.")
        self.timeline = EdgeTimeline(known.schema, known.time, known.end, known.where, punctuation)
        self.schema = known.schema.select(column for column in known.schema.names
                                          if column not in (sync, other, punctuation))
        self.disorder = in_partitions(self.disorder, partition, self.schema, where=known.where)


@dataclass(frozen=True)
class EdgeTimeline(Timeline):
    """Read the other time of each row: the end of an interval, the start of an end edge, null for a start edge.

    A punctuation is handed on as a row with ``other == sync``, which no event can have.
    """

    punctuation: str | None

    def needed(self, columns: Sequence[str]) -> list[str]:
        named = super().needed(columns)
        return named if self.punctuation is None else [*named, self.punctuation]

    def _ends(self, data: pa.RecordBatch, sync: Ticks, named: Named) -> Ticks:
        assert self.end is not None
        other, valid = self._ticks(data.column(self.end), self.end, named)
        if valid is not None:
            other = np.where(valid, other, INF)
        is_punctuation = np.zeros(len(sync), np.bool_)
        if self.punctuation is not None:
            column = Column.from_arrow(data.column(self.punctuation))
            is_punctuation = np.asarray(column.values) & column.validity()
        wrong = (other == sync) & ~is_punctuation
        if wrong.any():
            row = int(np.argmax(wrong))
            raise SourceError(f"{named(row)} must end after it starts, but {self.time!r} and {self.end!r} are both "
                              f"{data.column(self.time)[row]}.", where=self.where,
                              hint="Use an end after the start, or punctuation= for rows that only advance the "
                                   "watermark (rows count from 0).")
        return np.where(is_punctuation, sync, other)

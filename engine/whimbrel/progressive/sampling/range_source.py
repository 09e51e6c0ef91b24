"""A source of a query that runs over one time range after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from whimbrel.batch import Batch, elapsed
from whimbrel.clock import INF
from whimbrel.connect import ArrowSource
from whimbrel.plan import Excerpts, OrderingSpec, Source
from whimbrel.progressive.sampling.in_memory_source import InMemorySource

_MAX_HELD = 1 << 24
"""Values of a source that are kept in memory, so that they are decoded once."""


class RangeSource(Source):
    """Stands in a plan for a finished source, and reads as much of it as the range of time needs that comes next.

    Where it is not in the order of time it is read whole for each.

    Parameters
    ----------
    source : Source

    Attributes
    ----------
    log : Source
        What is read.
    columns : sequence of str
        Those that are read.
    """

    def __init__(self, source: Source) -> None:
        self.log = source
        self.name, self.time, self.schema, self.longest = source.name, source.time, source.schema, source.longest
        self.arrival, self.disorder, self.hidden = source.arrival, source.disorder, source.hidden
        self.rows: int = source.rows or 0
        self.columns: Sequence[str] = source.schema.names
        self._first, self._stop = 0, self.rows
        self._excerpts: dict[tuple[str, ...], Excerpts] = {}

    def hold(self, columns: Sequence[str], fewest_blocks: int) -> None:
        """Read these columns into memory, where they fit: a history in the order of time.

        A log that is in that order is left where it is, if it has so many blocks there.
        """
        self.columns = columns
        history = self.disorder == OrderingSpec(None)
        if history or not isinstance(self.log, ArrowSource):
            blocks = None if history else self.log.blocks(1)
            if self.rows * len(columns) > _MAX_HELD or (blocks is not None and len(blocks) >= fewest_blocks > 0):
                return
            held = InMemorySource(self.log, columns)
            self.log = held.sorted() if history else held
            self.disorder, self.arrival = self.log.disorder, None
        if self.longest is None:
            self.longest = _longest(self.log)

    @cached_property
    def cut(self) -> bool:
        """Whether a range of time can be read without the rest."""
        return self.disorder == OrderingSpec() and self.log.blocks(self.rows) is not None

    def part(self, start: int, end: int) -> tuple[int, int]:
        """The rows (from, up to) that are read for those that start in a range of time."""
        return self.log.rows_between(start, end) if self.cut else (0, self.rows)

    def turn_to(self, start: int, end: int) -> None:
        """Read next what starts in this range of time."""
        self._first, self._stop = self.part(start, end)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        if (self._first, self._stop) == (0, self.rows):
            return self.log.read(columns, offset)
        names = tuple(columns)
        if names not in self._excerpts:
            self._excerpts[names] = self.log.excerpts(names)
        if self._excerpts[names].in_one_piece is None:  # decoded as it is worked on, however long the range is
            return self.log.excerpt(self._first, self._stop).read(columns, offset)
        return self._excerpts[names].read(self._first + offset, self._stop)


def _longest(log: Source) -> int | None:
    """Most ticks that a row lasts; None where one has no end."""
    longest = 1
    for batch in log.read(()):
        if batch is not None and len(batch):
            if batch.other.max() == INF:
                return None
            longest = max(longest, int(elapsed(batch.other, batch.sync).max()))
    return longest

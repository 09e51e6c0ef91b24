"""A source for queries that run over successive time ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from whimbrel.batch import Batch, elapsed
from whimbrel.clock import INF
from whimbrel.connect import ArrowSource
from whimbrel.plan import Excerpts, OrderingSpec, Source
from whimbrel.progressive.sampling.in_memory_source import InMemorySource

_MAX_HELD = 1 << 24
"""The largest number of values of a source to keep in memory, so that they are decoded once."""


class RangeSource(Source):
    """A bounded source in a plan, of which only the rows for the next time range are read.

    A source that is not in time order is read completely for each range.

    Parameters
    ----------
    source : Source

    Attributes
    ----------
    log : Source
        The source itself, or its copy in memory.
    columns : sequence of str
        The columns to read.
    """

    def __init__(self, source: Source) -> None:
        self.log = source
        self.name, self.time, self.schema, self.longest = source.name, source.time, source.schema, source.longest
        self.arrival, self.disorder, self.hidden = source.arrival, source.disorder, source.hidden
        self.sampling = None if source.sampling is None else source.sampling.with_gaps()
        self.rows: int = source.rows or 0
        self.columns: Sequence[str] = source.schema.names
        self._first, self._stop = 0, self.rows
        self._excerpts: dict[tuple[str, ...], Excerpts] = {}

    def hold(self, columns: Sequence[str], fewest_blocks: int) -> None:
        """Read these columns into memory, if they fit; a history is sorted by time.

        An ordered log with at least this many blocks is not read into memory.
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
        """Whether a time range can be read without the other rows."""
        return self.disorder == OrderingSpec() and self.log.blocks(self.rows) is not None

    def part(self, start: int, end: int) -> tuple[int, int]:
        """The rows (first, stop) to read for those that start in a time range."""
        return self.log.rows_between(start, end) if self.cut else (0, self.rows)

    def turn_to(self, start: int, end: int) -> None:
        """Set the time range to read next."""
        self._first, self._stop = self.part(start, end)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        if (self._first, self._stop) == (0, self.rows):
            return self.log.read(columns, offset)
        names = tuple(columns)
        if names not in self._excerpts:
            self._excerpts[names] = self.log.excerpts(names)
        if self._excerpts[names].in_one_piece is None:  # decoded while it is used, for ranges of any length
            return self.log.excerpt(self._first, self._stop).read(columns, offset)
        return self._excerpts[names].read(self._first + offset, self._stop)


def _longest(log: Source) -> int | None:
    """The longest lifetime of a row in ticks; None if a row has no end."""
    longest = 1
    for batch in log.read(()):
        if batch is not None and len(batch):
            if batch.other.max() == INF:
                return None
            longest = max(longest, int(elapsed(batch.other, batch.sync).max()))
    return longest

"""The contract of sources, and wrappers of sources."""

from __future__ import annotations

import itertools
import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, Ticks
from whimbrel.clock import MIN_TIME
from whimbrel.clock.lateness import late_before
from whimbrel.errors import PlanError
from whimbrel.expr import Expr
from whimbrel.plan.block_reader import Excerpts
from whimbrel.plan.overload_signal import OverloadSignal
from whimbrel.plan.properties import LatePolicy, Sampling, TimeGrid

_FEWEST_BETWEEN_CUTS = 4
"""Blocks that must fit between two cuts."""


@dataclass(frozen=True, slots=True)
class OrderingSpec:
    """What a source promises about order.

    Parameters
    ----------
    reorder_latency : int, optional
        Maximum lateness, in ticks, of a row that is still sorted in. None: no bound is promised, the source is read
        whole and sorted (history), so every row is on time.
    late : {"raise", "drop", "adjust", "side_output"}
        What happens to a late row. "side_output" drops it too, and gives it to the side output.
    partition : str, optional
        The column by which order is promised: rows with another value there have nothing to do with it. Without it
        the promise is about all rows together.
    lag : int, optional
        Ticks from the low watermark of a partitioned source to its newest row. Rows before the low watermark are late
        in every partition. None: it moves only when the source says so.
    every : int
        The low watermark moves in multiples of so many ticks.
    """

    reorder_latency: int | None = 0
    late: LatePolicy = "raise"
    partition: str | None = None
    lag: int | None = None
    every: int = 1

    @property
    def drops(self) -> bool:
        """Whether late rows are left out."""
        return self.late in ("drop", "side_output")

    def passed(self, time: int) -> int:
        """What is before no row that follows, where nobody is waited for whose newest row is before this time.

        The lag is not waited for: it is for partitions that nobody has looked at one by one.
        """
        passed = late_before(time, self.reorder_latency or 0)
        return passed - passed % self.every if passed >= MIN_TIME + self.every else MIN_TIME


class SourceOffset(int):
    """Number of rows read from a feed, and the offset after them in its broker's terms.

    Parameters
    ----------
    rows : int
    offset : JSON value
        Where the feed resumes, such as the offset of each partition. None: the feed cannot resume.

    Examples
    --------
    >>> at = SourceOffset(1000, {"0": 731, "1": 269})
    >>> at + 1, at.offset["1"]
    (1001, 269)
    """

    offset: Any

    def __new__(cls, rows: int, offset: Any) -> SourceOffset:  # noqa: PYI034 - there is no other kind
        made = super().__new__(cls, rows)
        made.offset = offset
        return made


@dataclass(frozen=True)
class Blocks:
    """Rows of a source in parts that can be read in any order, each whole.

    Parameters
    ----------
    first, stop : numpy.ndarray of int64
        The rows of each, in the order of the source.
    earliest, latest : numpy.ndarray of int64
        Bounds of their times, in ticks.
    """

    first: Ticks
    stop: Ticks
    earliest: Ticks
    latest: Ticks

    def __len__(self) -> int:
        return len(self.first)

    @staticmethod
    def evenly(times: Ticks, rows: int, *, in_order: bool = False, cuts: TimeGrid | None = None) -> Blocks:
        """Blocks of about so many rows, as equal as can be, of rows with these times; cut here if they are in order."""
        ends = np.array([0, len(times)])
        if in_order and cuts is not None:
            begins = int(times[0]) - (int(times[0]) - cuts.offset) % cuts.hop
            between = (int(times[-1]) - begins) // cuts.hop
            if 0 < between * rows * _FEWEST_BETWEEN_CUTS <= len(times):
                ends = np.insert(ends, 1, np.searchsorted(times, begins + cuts.hop * np.arange(1, between + 1)))
        first = np.concatenate([_starts(begin, end, rows) for begin, end in itertools.pairwise(ends.tolist())])
        stop = np.append(first[1:], len(times))
        if in_order:
            return Blocks(first, stop, times[first], times[stop - 1])
        return Blocks(first, stop, np.minimum.reduceat(times, first), np.maximum.reduceat(times, first))

    def cut(self, index: int, parts: Blocks) -> Blocks:
        """Cut one of them in two, after the first of its parts, which count rows from its start."""
        middle = self.first[index] + parts.stop[0]

        def instead(values: Ticks, *two: int) -> Ticks:
            return np.concatenate([values[:index], two, values[index + 1 :]])

        return Blocks(instead(self.first, self.first[index], middle), instead(self.stop, middle, self.stop[index]),
                      instead(self.earliest, parts.earliest[0], parts.earliest[1:].min()),
                      instead(self.latest, parts.latest[0], parts.latest[1:].max()))

    @property
    def rows(self) -> Ticks:
        """How many rows each has."""
        return self.stop - self.first

    @property
    def in_order(self) -> bool:
        """Whether no row of a block comes after one of the next."""
        return bool((self.earliest[1:] >= self.latest[:-1]).all())


def _starts(begin: int, end: int, rows: int) -> Ticks:
    """Where equal blocks of at most so many rows begin: a short last one would be no sample of the others."""
    count = -(-(end - begin) // rows)
    return begin + np.arange(count) * (end - begin) // max(count, 1)


class Source(ABC):
    """Source of rows; immutable.

    Reading it twice gives the same rows, unless it is a feed.

    Attributes
    ----------
    name : str
        What the user calls it, for plans, errors and ``on({...})``.
    schema : Schema
        Payload columns (the event-time column is one of them) and the unit of time.
    time : str
        The event-time column.
    arrival : str or None
        The column with the arrival time of a row; rows are in its order.
    disorder : OrderingSpec
        Reorder latency and late policy, and the partitions for which they hold.
    rows : int or None
        How many rows there are; None when that is not known beforehand.
    edges : bool
        Whether rows may be start edges, end edges (``other < sync``) and punctuations (``other == sync``); then all
        columns are read, since an end edge is found by its payload. Where there are partitions, a punctuation is for
        the partition it names, and for all, as their low watermark, if it names none.
    in_order : bool
        Whether its rows have been looked at, and come in the order of time: nobody need look again.
    as_it_comes : bool
        Whether rows enter a plan in the order of arrival, late ones already judged, since something in it sorts them.
    read_of : str
        What part of it is read, for plans; empty: all.
    longest : int or None
        Most ticks that a row's lifetime has; None when that is not known beforehand.
    live : bool
        True for a feed: rows become known as time passes, and :meth:`read` yields None while there is none.
    relief : OverloadSignal or None
        The overload signal to the windows after it.
    file_order : bool
        Whether rows lie in the order in which they arrived, though no column says when.
    hidden : tuple of str
        Columns called ``start`` or ``end`` that are not the start or the end of its rows.
    after : str
        What is read before it and where that ends, as a checkpoint knows it; empty: nothing.
    in_memory : bool
        Whether its rows lie in memory, so that some of them are found as fast as all.
    remote : bool
        Whether each of its blocks is fetched from another process.
    malformed : mapping of str to int
        Malformed rows that its last read, which may still run, has left out so far, by reason.
    sampling : Sampling or None
        The samples that its rows are, if they are on a timebase. Such a source needs no event-time column.
    """

    name: str
    schema: Schema
    time: str
    arrival: str | None = None
    file_order: bool = False
    disorder: OrderingSpec = OrderingSpec()
    rows: int | None = None
    edges: bool = False
    in_order: bool = False
    as_it_comes: bool = False
    longest: int | None = None
    read_of: str = ""
    malformed: Mapping[str, int] = MappingProxyType({})
    live: bool = False
    relief: OverloadSignal | None = None
    hidden: tuple[str, ...] = ()
    after: str = ""
    in_memory: bool = False
    remote: bool = False
    sampling: Sampling | None = None

    def again(self) -> Source | None:
        """Copy of the source that reads the same rows without waiting.

        None if the rows can be read only once.
        """
        return None if self.live else self

    def where(self, conditions: Sequence[Expr]) -> Source:
        """Push predicates down: leave out rows that fail a condition.

        Rows are left out as far as the result is known without reading them.
        """
        return self

    def cuts(self, parts: int) -> list[int]:
        """Times that cut the rows into ranges of similar size.

        They are in order. There are fewer than `parts`, or none, if the source does not know them.
        """
        return []

    def rows_between(self, start: int, end: int) -> tuple[int, int]:
        """Range of rows that includes all with ``start <= time < end``.

        It is all rows if the source does not know.
        """
        return 0, sys.maxsize if self.rows is None else self.rows

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        """Blocks of about this many rows.

        None if the rows can only be read from the first to the last.

        Where blocks can be cut anywhere, none holds rows from both sides of such a cut, if several fit between two.
        """
        return None

    def check_latency(self) -> None:  # noqa: B027 - most promise an order whenever they are made
        """Check that the source has a reorder latency.

        A plan may declare it instead.

        Raises
        ------
        PlanError
        """

    def in_parts(self) -> Source:
        """Copy of the source that is best for reads in blocks.

        It may have to count first where they lie.
        """
        return self

    def measured(self) -> Source:
        """Copy of the source with the longest lifetime of its rows.

        The source itself, if that is known already or if its rows would have to be read.
        """
        return self

    def excerpt(self, first: int, stop: int) -> Source:
        """The rows from `first` up to `stop`, which are whole blocks."""
        return SourceSlice(self, first, stop)

    def excerpts(self, columns: Sequence[str]) -> Excerpts:
        """Reader of successive excerpts, with these columns."""
        return Excerpts(self, columns)

    def holding(self, blocks: Blocks, conditions: Sequence[Expr]) -> Mask:
        """Mask of the blocks that may have rows that meet all conditions.

        It is True for a block of which this is not known.
        """
        return np.ones(len(blocks), np.bool_)

    def extremes(self, blocks: Blocks, name: str) -> tuple[Ticks, Ticks] | None:
        """Smallest and largest number of a column in each block.

        They come from statistics; None if there are none.

        Of floats they are those of the values that are not NaN.
        """
        return None

    def lies_in(self, row: int) -> str:
        """Location of a row in a source of several files, for errors.

        It also names what is read before. It is empty for other sources.
        """
        return ""

    def stamp(self) -> str | None:
        """Stamp that changes with the rows, without reading them.

        None if only the rows show a change.
        """
        return None

    @abstractmethod
    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        """Read rows in arrival order from row `offset`.

        The rows have these payload columns in this order.

        A feed resumes from a :class:`SourceOffset`.

        ``sync`` and ``other`` carry the lifetime in ticks, not yet sorted. A feed yields None at least every 50 ms
        while it has nothing, so that the reader can pause, stop or show the current result. Closing the iterator
        releases what it holds.
        """


class FilteredSource(Source):
    """A source of which only some columns are read."""

    def __init__(self, source: Source, columns: tuple[str, ...]) -> None:
        self.source = source
        self.columns = columns
        self.name, self.time, self.arrival = source.name, source.time, source.arrival
        self.disorder, self.rows, self.live = source.disorder, source.rows, source.live
        self.in_order, self.as_it_comes, self.read_of = source.in_order, source.as_it_comes, source.read_of
        self.longest, self.after, self.sampling = source.longest, source.after, source.sampling
        self.schema = source.schema.select(columns)

    def cuts(self, parts: int) -> list[int]:
        return self.source.cuts(parts)

    def lies_in(self, row: int) -> str:
        return self.source.lies_in(row)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        return self.source.read(columns, offset)


class PushSource(Source):
    """Placeholder of a source whose rows are pushed by the caller that runs the plan.

    The caller pushes its batches and advances its time; nothing is read.
    """

    def __init__(self, name: str, time: str, schema: Schema, longest: int | None) -> None:
        self.name, self.time, self.schema, self.longest = name, time, schema, longest

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        raise PlanError(f"Cannot read {self.name} because its rows are pushed.", where="read(...)",
                        hint="Push its rows: Pipeline(plan).push(0, batch).")
        yield None  # asked for its first row it fails, not when a plan over it is taken up


class SourceSlice(Source):
    """Some rows of a source that has them in the order of time."""

    def __init__(self, source: Source, first: int, stop: int) -> None:
        self.source, self.first, self.stop = source, first, stop
        self.name, self.time, self.schema, self.longest = source.name, source.time, source.schema, source.longest
        self.rows, self.read_of, self.sampling = stop - first, source.read_of, source.sampling

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        left = self.stop - self.first - offset
        batches = self.source.read(columns, self.first + offset)
        try:
            while left > 0 and (batch := next(batches, None)) is not None:  # it is no feed
                yield batch if len(batch) <= left else batch.slice(0, left)
                left -= len(batch)
        finally:
            if isinstance(batches, Generator):
                batches.close()


class WithOrdering(Source):
    """A source with another promise about its order."""

    def __init__(self, source: Source, disorder: OrderingSpec) -> None:
        self.source = source
        self.name, self.time, self.arrival = source.name, source.time, source.arrival
        self.schema, self.rows, self.live, self.edges = source.schema, source.rows, source.live, source.edges
        self.disorder, self.longest, self.after = disorder, source.longest, source.after
        self.sampling = source.sampling
        self.hidden = source.hidden

    def lies_in(self, row: int) -> str:
        return self.source.lies_in(row)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        return self.source.read(columns, offset)


class UnsortedSource(Source):
    """A source whose rows are sorted further on in the plan."""

    as_it_comes = True

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name, self.time, self.arrival = source.name, source.time, source.arrival
        self.schema, self.rows, self.live = source.schema, source.rows, source.live
        self.disorder, self.longest, self.read_of = source.disorder, source.longest, source.read_of
        self.after, self.sampling = source.after, source.sampling

    def lies_in(self, row: int) -> str:
        return self.source.lies_in(row)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        return self.source.read(columns, offset)

"""Evaluate a subplan by time ranges, and use the ranges as blocks.

In joins and nested aggregates, one result row depends on many input rows. An operator knows which times of its inputs a
range of its output needs. A part of a query can therefore run over one time range: with the rows near it of a large
source, and with all rows of a small one, such as a lookup table. The results of that part are a source like any other,
and its ranges are the blocks of a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from hashlib import blake2b

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, elapsed
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Col, Expr
from whimbrel.operators import (
    Changelog,
    GroupAggregate,
    HoppingWindow,
    LatenessBand,
    LateRows,
    Results,
    Select,
    SetDuration,
    Where,
)
from whimbrel.optimize import optimize
from whimbrel.plan import Blocks, FilteredSource, Node, Source, TimeGrid, UnsortedSource, times_needed
from whimbrel.progressive.plan.plan_chain import chain_of
from whimbrel.progressive.plan.subplan_source import SubplanSource
from whimbrel.progressive.sample_thresholds import MIN_BLOCKS_TO_SAMPLE
from whimbrel.progressive.sampling.fingerprint import fingerprint
from whimbrel.progressive.sampling.range_source import RangeSource
from whimbrel.run import Pipeline, SourceReader

_COUNTS = (200, 100, 50, 32)
"""Numbers of ranges to try; more ranges read more additional rows."""
_MAX_EXTRA = 1.0
"""The largest number of additional rows of all ranges, as a fraction of the rows of the log."""
_TESTED = 5
"""Ranges that are read to count their additional rows."""


def in_ranges(plan: Node) -> Node | str:
    """The query with the part before its last windows as a source that is read by time ranges; or why it cannot be.

    The reason is empty if the query has no such part.
    """
    below = _part(plan)
    if below is None:
        return ""
    if any(isinstance(node.op, LatenessBand | LateRows | Changelog) for node in below.walk()):
        return "whether a row is late depends on all rows before it"
    sources = below.sources()
    if not all(source.rows is not None and not (source.live or source.edges) for source in sources):
        return "one of its sources is unbounded, has edges, or an unknown number of rows"
    if not all(source.rows for source in sources):
        return "one of its sources has no rows"
    log = max(sources, key=lambda source: source.rows or 0)
    if log.longest is None or times_needed(below, 0, 1)[log][0] > MIN_TIME:  # otherwise it is known without reading
        ranged = TimeRangeSource(below)
        if ranged.can_be_cut:
            return plan.rewrite(lambda node: Node(ranged) if node is below else node)
    return "its time ranges need rows from all over its source"


def _part(plan: Node) -> Node | None:
    """The input of the windows of the last aggregate."""
    last = next((node for node in chain_of(plan) if isinstance(node.op, GroupAggregate)), None)
    window = None if last is None else last.inputs[0]
    return window.inputs[0] if window is not None and isinstance(window.op, HoppingWindow) else None


class TimeRangeSource(SubplanSource):
    """The results of a plan as a source that is read by time ranges; rows are counted in rows of its largest log.

    Parameters
    ----------
    plan : Node
        As written, over bounded sources. A result row belongs to the range in which it starts.
    """

    longest = 1

    def __init__(self, plan: Node) -> None:
        sides = {source: RangeSource(source) for source in plan.sources()}
        self._sides = list(sides.values())
        self._log = log = max(self._sides, key=lambda side: side.rows)
        _hold(_over(plan, sides), log)
        self.remote = any(side.log.remote for side in self._sides)
        self.plan = _over(plan, sides)  # again: more is known of sources in memory
        self.name, self.time, self.schema, self.rows = log.name, log.time, plan.schema, log.rows
        self._least_rows = 1
        self._longest_ticks = 0
        self._times: dict[int, int] = {}
        self._readers: dict[tuple[str, ...], _RangeReader] = {}

    @cached_property
    def can_be_cut(self) -> bool:
        """Whether ranges need few additional rows; sets the smallest number of rows of a range."""
        for count in _COUNTS if self._log.cut else ():
            self._least_rows = -(-self._log.rows // count)
            blocks = self.blocks(self._least_rows)
            if blocks is None or len(blocks) < MIN_BLOCKS_TO_SAMPLE:
                return False
            some = np.unique(np.linspace(0, len(blocks) - 1, _TESTED).astype(np.int64))
            needed = sum(self._rows_for(start, last + 1) for start, last in zip(
                blocks.earliest[some].tolist(), blocks.latest[some].tolist(), strict=True))
            if needed - int(blocks.rows[some].sum()) <= _MAX_EXTRA * self._log.rows * len(some) / len(blocks):
                return True
        return False

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        self._times |= {0: self._extent[0], self._log.rows: self._extent[1]}
        return self.within(0, self._log.rows, max(rows, self._least_rows), cuts)

    def within(self, first: int, stop: int, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        """A range, or all of them, cut into ranges of about this many rows of the log."""
        whole = (first, stop) == (0, self._log.rows)
        blocks = (self._log.log if whole else self._log.log.excerpt(first, stop)).blocks(rows, cuts)
        if blocks is None or not blocks.in_order:
            return None
        apart = np.append(True, blocks.earliest[1:] > blocks.earliest[:-1])
        firsts, begins = blocks.first[apart], blocks.earliest[apart]
        if whole:
            self._longest_ticks = int(elapsed(np.append(begins[1:], blocks.latest[-1]), begins).max()) + 1
        begins[0], end = self._times[first], self._times[stop]
        self._times |= dict(zip((first + firsts).tolist(), begins.tolist(), strict=True))
        return Blocks(firsts, np.append(firsts[1:], blocks.stop[-1]), begins, np.append(begins[1:], end) - 1)

    def max_of_group(self, keys: frozenset[str]) -> float:
        """The largest number of result rows with the same values of these columns in a range; infinite: not known.

        Known for windows of an aggregate whose keys are among them: each window has one row.
        """
        node = self.plan
        while isinstance(node.op, Where | Select | Results):
            if isinstance(node.op, Select):
                keys = frozenset(expr.name for name, expr in node.op.columns if name in keys and isinstance(expr, Col))
            node = node.inputs[0]
        window = node.inputs[0].op if isinstance(node.op, GroupAggregate) else None
        if (not isinstance(node.op, GroupAggregate) or not isinstance(window, HoppingWindow)
                or not {name for name, _ in node.op.keys} <= keys):
            return float("inf")
        return (self._longest_ticks + window.size) // window.hop + 2.0

    def excerpt(self, first: int, stop: int) -> Source:
        return _Range(self, first, stop)

    def times(self, first: int, stop: int) -> tuple[int, int]:
        """The time range of these rows of the log."""
        return self._times[first], self._times[stop]

    def holding(self, blocks: Blocks, conditions: Sequence[Expr]) -> Mask:
        return self._log.log.holding(blocks, conditions)

    @property
    def condition_schema(self) -> Schema:
        """The columns that conditions may use: those of the log, and those of the results."""
        log = self._log.schema
        return log.with_fields([*log, *(field for field in self.schema if field.name not in log)])

    def stamp(self) -> str:
        digest = blake2b(digest_size=16)
        for side in self._sides:
            digest.update(fingerprint(side.log, side.columns, [(0, side.rows)]).encode())
        return digest.hexdigest()

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch]:
        return self.read_range(columns, *self._extent)

    def read_range(self, columns: Sequence[str], start: int, end: int) -> Iterator[Batch]:
        """The rows that start in a time range, in order."""
        names = tuple(columns)
        if names not in self._readers:
            self._readers[names] = _RangeReader(self.plan, names)
        return self._readers[names].read(start, end)

    def _rows_for(self, start: int, end: int) -> int:
        """The number of rows to read for a time range."""
        needed = times_needed(self.plan, start, end)
        return sum(max(0, stop - first) for side in self._sides for first, stop in [side.part(*needed[side])])

    @cached_property
    def _extent(self) -> tuple[int, int]:
        """The times between which each row starts: no row of an ordered source is needed for other times."""
        blocks = self._log.log.blocks(self._log.rows)
        assert blocks is not None
        whole = sum(side.rows for side in self._sides if not side.cut)
        steps = [1 << each for each in range(63)]
        early, late = int(blocks.earliest.min()), int(blocks.latest.max())
        begin = next((early - step for step in steps if self._rows_for(MIN_TIME, early - step) == whole), MIN_TIME)
        end = next((late + step for step in steps if self._rows_for(late + step, INF) == whole), INF)
        return begin, end


class _Range(Source):
    """The rows of one time range, or of consecutive ones."""

    longest = 1

    def __init__(self, of: TimeRangeSource, first: int, stop: int) -> None:
        self._of, self._first, self._stop = of, first, stop
        self.name, self.time, self.schema, self.rows = of.name, of.time, of.schema, stop - first

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        return self._of.within(self._first, self._stop, rows, cuts)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch]:
        return self._of.read_range(columns, *self._of.times(self._first, self._stop))


class _RangeReader:
    """Runs a plan, optimized once, over one time range after the other."""

    def __init__(self, plan: Node, columns: tuple[str, ...]) -> None:
        self._plan, self._columns = plan, columns
        self._pipeline = Pipeline(_of_columns(plan, columns))
        self._sides = [source for source in plan.sources() if isinstance(source, RangeSource)]

    def read(self, start: int, end: int) -> Iterator[Batch]:
        """The rows that start in this time range."""
        needed = times_needed(self._plan, start, end)
        for side in self._sides:
            side.turn_to(*needed[side])
        with closing(SourceReader(self._pipeline.fork([0]), hurry=True)) as reader:
            while not reader.finished:
                for batch in (reader.step() or [[]])[0]:
                    first, stop = np.searchsorted(batch.sync, [start, end])
                    if first < stop:
                        rows = batch.slice(int(first), int(stop)).select(self._columns)
                        yield rows if rows.absent is None else rows.only(~rows.absent)


def _over(plan: Node, sides: Mapping[Source, RangeSource]) -> Node:
    """The plan over these sources instead of its own."""
    return plan.rewrite(lambda node: Node(sides[node.op]) if isinstance(node.op, Source) else node)


def _hold(plan: Node, log: RangeSource) -> None:
    """Read the smaller sources before the log, so that each row of the log can be evaluated at once."""
    for source in _of_columns(plan, plan.schema.names).sources():
        side = source
        while isinstance(side, FilteredSource | UnsortedSource):
            side = side.source
        assert isinstance(side, RangeSource)
        side.hold(source.schema.names, MIN_BLOCKS_TO_SAMPLE if side is log else 0)


def _of_columns(plan: Node, columns: Sequence[str]) -> Node:
    """The plan for these columns only: windows need nothing else but the starts of rows."""
    chosen = Node(Select(columns=tuple((name, Col(name)) for name in columns or plan.schema.names[:1])), (plan,))
    return optimize(Node(SetDuration(size=1), (chosen,)))

"""Evaluate blocks of rows to states of panes, with the engine's kernels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from whimbrel.batch import Batch
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels import ordered
from whimbrel.operators.aggregation.operation_log import OperationLog
from whimbrel.operators.aggregation.pane_batches import PaneParts
from whimbrel.operators.aggregation.pane_kernel import PaneKernel
from whimbrel.plan import Blocks, Excerpts, FilteredSource, Node, OrderingSpec, Source, TimeGrid, UnsortedSource
from whimbrel.progressive.plan.subplan_source import SubplanSource
from whimbrel.progressive.sampling.in_memory_source import InMemorySource
from whimbrel.run import Pipeline

Rows = tuple[int, int]
"""The first row of a block, and the row after its last."""
_FEW_BATCHES = 4
"""Blocks with fewer batches are gathered first."""
MAX_WAITING = 1 << 18
"""The largest number of states that wait to be merged: 8 bytes for each of their numbers."""


class BlockStates:
    """A pipeline that evaluates each block of a source alone, and keeps only the keys.

    Parameters
    ----------
    plan : Node
        Optimized: from rows to states of panes, over one source.

    Attributes
    ----------
    condition_schema : Schema
        The columns that conditions on blocks may use.
    waiting : int
        The number of states that were made and not taken.
    """

    def __init__(self, plan: Node) -> None:
        self._plan = plan
        self._made: list[Batch] = []
        self.waiting = 0
        self._whole: Batch | None = None
        self._parts: PaneParts | None = None
        self._panes: PaneKernel | None = None
        self._start()
        seen, = self.pipeline.sources
        self.columns = seen.schema.names
        self.source = _unwrapped(seen)
        source = self.source
        self.condition_schema = source.condition_schema if isinstance(source, SubplanSource) else source.schema
        self._excerpts: Excerpts | None = None

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        """The blocks of the source; None if they cannot be read in any order."""
        blocks = self.source.blocks(rows, cuts)
        if blocks is None or len(blocks) == 0:
            return None
        return blocks if blocks.in_order or self.source.disorder != OrderingSpec() else None

    def of_same_rows(self) -> BlockStates:
        """A second pipeline for the same source, without states."""
        copy = BlockStates(self._plan)
        copy.source = self.source
        return copy

    def hold(self) -> None:
        """Read all rows into memory once, so that blocks may have any size."""
        self.source, self._excerpts = InMemorySource(self.source, self.columns), None

    def read(self, block: Rows, then: Sequence[Rows]) -> int:
        """Make states of the rows of one block, and prefetch the next ones. Returns the number of states."""
        excerpts = self._opened()
        if self._parts is not None and excerpts.ordered(*block):
            states = self._read_part(*block)
            if states is not None:
                return states
        if then:
            excerpts.expect((block, *then))
        batches = excerpts.read(*block)
        few = list(itertools.islice(batches, _FEW_BATCHES)) if self._straight else []
        if 0 < len(few) < _FEW_BATCHES and _in_order(few):
            return self._read_straight(few)
        return self._read([(block[0], itertools.chain(few, batches))])

    def read_rest(self, parts: Sequence[Rows]) -> int:
        """Make states of several parts of the source, in time order, as if they were one block."""
        excerpts = self._opened()
        if excerpts.in_one_piece is not None:  # rows in memory may be known to be in order
            return self._read((part[0], excerpts.read(*part)) for part in parts)
        return self._read((part[0], self.source.excerpt(*part).read(self.columns)) for part in parts)

    def _opened(self) -> Excerpts:
        """The reader of blocks, opened on first use."""
        if self._excerpts is None:
            self._excerpts = self.source.excerpts(self.columns)
            self._whole = self._excerpts.in_one_piece if self._straight else None
            self._look_for_parts()
        return self._excerpts

    def _look_for_parts(self) -> None:
        """Check whether rows in memory can be read without copies: once their loop is compiled."""
        if self._whole is not None:
            assert self._panes is not None
            self._parts = self._panes.parts_of(self._whole)

    def _count_new(self) -> int:
        """The number of states since the last call."""
        before = self.waiting
        self.waiting = sum(map(len, self._made)) + (0 if self._panes is None else self._panes.waiting)
        return self.waiting - before

    def take(self) -> Batch:
        """The states since the last call, block by block."""
        made = self._made if self._panes is None else [*self._made, *self._panes.gathered()]
        self._made, self.waiting = [], 0
        return Batch.concat(made) if made else Batch.empty(self._plan.schema)

    def discard(self, states: int) -> None:
        """Keep only these waiting states: a block was interrupted, and its rows will be read again."""
        self._made, self.waiting = [self.take().slice(0, states)], states
        self._start()

    def _read_part(self, first: int, stop: int) -> int | None:
        """Make states of a whole block of ordered rows in memory; None if that is not possible."""
        assert self._panes is not None
        assert self._parts is not None
        return self._count_new() if self._parts.take_in(first, stop) else None

    def _read_straight(self, batches: Sequence[Batch]) -> int:
        """Make states of a whole block of ordered rows: no late rows, no watermark."""
        assert self._panes is not None
        self._panes.push_whole(batches)
        self._look_for_parts()
        return self._count_new()

    def _read(self, parts: Iterable[tuple[int, Iterator[Batch | None]]]) -> int:
        """Make states of these parts of the source."""
        self.pipeline.begin_again()
        for first, batches in parts:
            for entrance in self._entrances:
                entrance.rows = first
            for batch in batches:
                if batch is not None:
                    self._made += self.pipeline.push(0, batch)[0]
        self._made += self.pipeline.finish(0)[0]
        return self._count_new()

    def _start(self) -> None:
        """Start a pipeline; it gathers states, because making a batch for each block takes time."""
        self.pipeline = Pipeline(self._plan)
        self._parts = None
        self._entrances = self.pipeline.ingresses
        panes = self.pipeline.kernels[self.pipeline.position(self._plan)]
        self._panes = panes if isinstance(panes, PaneKernel) else None
        if self._panes is not None:
            self._panes.gathers, self._panes.schedule = True, OperationLog(MAX_WAITING)
        below = self._plan.inputs[0].op
        self._straight = (self._panes is not None and isinstance(below, Source) and below.disorder == OrderingSpec())


def _in_order(batches: Sequence[Batch | None]) -> TypeGuard[Sequence[Batch]]:
    """Whether all rows are present, and in time order."""
    last = MIN_TIME
    for batch in batches:
        if batch is None or not len(batch) or batch.sync[0] < last or not ordered(batch):
            return False
        last = batch.sync[-1]
    return last < INF


def _unwrapped(source: Source) -> Source:
    """The source itself, without the wrappers of the planner."""
    while isinstance(source, (FilteredSource, UnsortedSource)):
        source = source.source
    return source

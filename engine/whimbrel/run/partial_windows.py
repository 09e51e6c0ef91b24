"""Compute window states of row ranges in parallel, and merge them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from whimbrel.batch import Batch, table_from_batches
from whimbrel.kernels import wait_for_compiler
from whimbrel.operators import GroupAggregate, HoppingWindow
from whimbrel.optimize import optimize
from whimbrel.optimize.two_phase_aggregate import above, states_of_windows, takes_any_order
from whimbrel.plan import Node, Operator, OrderingSpec, PushSource, Source, SourceSlice
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.source_reader import SourceReader

_SAMPLE = 1 << 15
_FEWER = 4
"""So many times fewer states than rows are worth merging."""


@dataclass(frozen=True)
class CutWindows:
    """A query in parts.

    Attributes
    ----------
    parts : list of Node
        What makes states of windows, over parts of the source that follow each other.
    rest : Node
        What merges them, and the rest of the query, over one source to which they are handed.
    """

    parts: list[Node]
    rest: Node

    @property
    def few(self) -> bool:
        """Whether states are far fewer than rows, going by the first rows; else to merge them takes as long."""
        source, = self.parts[0].sources()
        rows = min(_SAMPLE, source.rows or 0)
        sample = _over(self.parts[0], SourceSlice(source, 0, rows))
        return sum(map(len, states_of(sample, threading.Event()))) * _FEWER < rows

    def answer(self, states: Sequence[list[Batch]]) -> pa.Table:
        """Of the states of all parts, in their order."""
        pipeline = Pipeline(optimize(self.rest))
        with wait_for_compiler():
            out = [batch for part in states for each in part for batch in pipeline.push(0, each)[0]]
            out += pipeline.finish(0)[0]
        return table_from_batches(self.rest.schema, out)


def states_of(part: Node, stop: threading.Event) -> list[Batch]:
    """The result of one part; incomplete after a stop."""
    made: list[Batch] = []
    with closing(SourceReader(Pipeline(optimize(part)), hurry=True)) as reader, wait_for_compiler():
        while not reader.finished and not stop.is_set():
            for out in reader.step() or []:
                made += out
    return made


def cut_windows(plan: Node, parts: int) -> CutWindows | None:
    """A query over windows, of rows that each stand for themselves, in parts with as many rows; None if it is none."""
    chain = [plan]
    while len(chain[-1].inputs) == 1:
        chain.append(chain[-1].inputs[0])
    source = chain[-1].op
    position = max((at for at, node in enumerate(chain) if isinstance(node.op, GroupAggregate)), default=None)
    if position is None or not isinstance(source, Source) or source.disorder != OrderingSpec() or (
            source.live or source.edges or source.as_it_comes):
        return None
    split = states_of_windows(chain[position])
    if split is None or not takes_any_order(split[0]):
        return None
    cuts = _cuts(source, parts)
    if cuts is None:
        return None
    _, states, after = split
    window = chain[position].inputs[0].op
    assert isinstance(window, HoppingWindow)
    downstream = [node.op for node in reversed(chain[:position]) if isinstance(node.op, Operator)]
    handed = Node(PushSource("states", source.time, states.schema, window.hop))
    merged = above(handed, (*after, *downstream))
    return CutWindows([_over(states, SourceSlice(source, *rows)) for rows in cuts], merged)


def _over(plan: Node, source: Source) -> Node:
    """The same over another source."""
    return plan.rewrite(lambda node: Node(source) if isinstance(node.op, Source) else node)


def _cuts(source: Source, parts: int) -> list[tuple[int, int]] | None:
    """Rows from one up to another, so that there are as many in each part; none comes after one of the next part."""
    blocks = source.blocks(-(-(source.rows or 0) // parts)) if source.rows else None
    if blocks is None or len(blocks) < 2 or not blocks.in_order:
        return None
    return list(zip(blocks.first.tolist(), blocks.stop.tolist(), strict=True))

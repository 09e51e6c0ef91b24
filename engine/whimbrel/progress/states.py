"""Blocks of rows become states of panes: the engine's kernels, on one block after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from whimbrel.batch import Batch
from whimbrel.optimize import optimize
from whimbrel.plan import Beat, Blocks, Disorder, Excerpts, Node, Pruned, Source, Unsorted
from whimbrel.progress.held import Held
from whimbrel.run import Pipeline

Rows = tuple[int, int]
"""From a row of the source up to another one."""


class BlockStates:
    """A pipeline that answers each block of a source alone, and remembers nothing of it but the keys.

    Parameters
    ----------
    states : Node
        From rows to states of panes, over one source.
    """

    def __init__(self, states: Node) -> None:
        self._plan = optimize(states)
        self.pipeline = Pipeline(self._plan)
        seen, = self.pipeline.sources
        self.columns = seen.schema.names
        self.source = _unwrapped(seen)
        self._excerpts: Excerpts | None = None

    def blocks(self, rows: int, cuts: Beat | None = None) -> Blocks | None:
        """The blocks of the source; None where they cannot be read in any order."""
        blocks = self.source.blocks(rows, cuts)
        if blocks is None or len(blocks) == 0:
            return None
        return blocks if blocks.in_order or self.source.disorder != Disorder() else None

    def hold(self) -> None:
        """Read all rows, once, into memory: then blocks may be of any size."""
        self.source, self._excerpts = Held(self.source, self.columns), None

    def of_block(self, block: Rows, then: Rows | None) -> list[Batch]:
        """States of the rows of one block, while the one that is probably next is read."""
        if self._excerpts is None:
            self._excerpts = self.source.excerpts(self.columns)
        batches = self._excerpts.read(*block)
        if then is not None:
            self._excerpts.expect(*then)
        return self._states([(block[0], batches)])

    def of_rest(self, parts: Sequence[Rows]) -> list[Batch]:
        """States of several parts of the source, in the order of time, as if of one block."""
        return self._states((part[0], self.source.excerpt(*part).read(self.columns)) for part in parts)

    def _states(self, parts: Iterable[tuple[int, Iterator[Batch | None]]]) -> list[Batch]:
        """States of rows that begin at these rows of the source."""
        self.pipeline.begin_again()
        out: list[Batch] = []
        try:
            for first, batches in parts:
                for entrance in self.pipeline.ingresses:
                    entrance.rows = first
                for batch in batches:
                    if batch is not None:
                        out += self.pipeline.push(0, batch)[0]
            return [*out, *self.pipeline.finish(0)[0]]
        except BaseException:  # interrupted, maybe: some of the rows are in it, and will be read once more
            self.pipeline = Pipeline(self._plan)
            raise


def _unwrapped(source: Source) -> Source:
    """Behind what the planner put before it."""
    while isinstance(source, (Pruned, Unsorted)):
        source = source.source
    return source

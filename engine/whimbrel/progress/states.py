"""Blocks of rows become states of panes: the engine's kernels, on one block after the other."""

from __future__ import annotations

from whimbrel.batch import Batch
from whimbrel.optimize import optimize
from whimbrel.plan import Beat, Blocks, Disorder, Node, Pruned, Source, Unsorted
from whimbrel.progress.held import Held
from whimbrel.run import Pipeline


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

    def blocks(self, rows: int, cuts: Beat | None = None) -> Blocks | None:
        """The blocks of the source; None where they cannot be read in any order."""
        blocks = self.source.blocks(rows, cuts)
        if blocks is None or len(blocks) == 0:
            return None
        return blocks if blocks.in_order or self.source.disorder != Disorder() else None

    def hold(self) -> None:
        """Read all rows, once, into memory: then blocks may be of any size."""
        self.source = Held(self.source, self.columns)

    def of(self, *parts: tuple[int, int]) -> list[Batch]:
        """States of the rows of one block, or of several parts of the source, in the order of time, as if of one."""
        self.pipeline.begin_again()
        out: list[Batch] = []
        try:
            for first, stop in parts:
                for entrance in self.pipeline.ingresses:
                    entrance.rows = first
                for batch in self.source.excerpt(first, stop).read(self.columns):
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

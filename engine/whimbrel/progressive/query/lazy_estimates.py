"""Lazy estimates, computed on first use.

An estimate uses the blocks that were read when it was made.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence

import numpy as np

from whimbrel.kernels import wait_for_compiler
from whimbrel.progressive.estimation.block_sample import BlockSample
from whimbrel.progressive.estimation.merged_state import Merged
from whimbrel.progressive.intervals.value_state import Drawn
from whimbrel.progressive.query.interrupts import Interrupts
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.block_states import BlockStates

_INTERPRETED_S = 2e-5
"""The time of a state in interpreted code; many states wait as long for the compiler."""


class LazyEstimates:
    """Blocks that were read but not merged, and the estimates between them.

    Merging the states of many blocks at once is faster, and an unused estimate costs only its blocks. The sample of an
    estimate is made before later blocks are merged, unless the estimate was garbage-collected.

    Parameters
    ----------
    states : BlockStates
        The states of unmerged blocks.
    merged : Merged
        The merged states. The last blocks are merged without the variance between blocks.

    Attributes
    ----------
    lock : threading.RLock
        Held while states are made, merged or copied: any thread may use an estimate.
    """

    def __init__(self, states: BlockStates, merged: Merged) -> None:
        self.lock = threading.RLock()
        self.states, self._merged = states, merged
        self._blocks: list[tuple[int, int, int]] = []
        self._open: list[weakref.ref[LazyEstimate]] = []
        self._failed: Exception | None = None

    def read(self, rows: int, before: int, states: int) -> None:
        """Count a block with its rows, the number of blocks of the phase before it, and its states."""
        self._blocks.append((rows, before, states))

    def now(self, position: ScanPosition, *, last: bool = False) -> LazyEstimate:
        """An estimate at this position, whose sample can be made at any time."""
        with self.lock:
            pending = LazyEstimate(self, position, len(self._blocks), last=last)
            self._open.append(weakref.ref(pending))
        return pending

    def merge(self) -> None:
        """Merge all unmerged blocks."""
        with self.lock, Interrupts():
            if self._failed is not None:  # only some states were merged
                raise self._failed
            found = (each() for each in self._open)
            asked = [pending for pending in found if pending is not None]
            blocks, self._blocks, self._open = self._blocks, [], []
            try:
                self._merge(blocks, asked)
            except Exception as error:
                self._failed = error
                raise

    def _merge(self, blocks: Sequence[tuple[int, int, int]], asked: Sequence[LazyEstimate]) -> None:
        """Merge blocks up to each estimate, make its sample, and merge the others."""
        states = self.states.take() if blocks else None
        merged = begun = 0
        for upto, pending in [*((pending.blocks, pending) for pending in asked), (len(blocks), None)]:
            if states is not None and upto > merged:
                *drawn, counts = np.array(blocks[merged:upto]).T
                end = begun + int(counts.sum())
                last = pending is not None and pending.last
                result_columns = None if last else Drawn(*(np.repeat(each, counts) for each in drawn))
                with wait_for_compiler(_INTERPRETED_S * (end - begun)):
                    self._merged.add(states.slice(begun, end), result_columns)
                merged, begun = upto, end
            if pending is not None:
                pending.set_sample(self._merged.sample(pending.position))


class LazyEstimate:
    """An estimate whose sample is not made yet.

    Parameters
    ----------
    of : LazyEstimates
    position : ScanPosition
    blocks : int
        The number of unmerged blocks at that time.
    last : bool
        Whether all rows were read.

    """

    def __init__(self, of: LazyEstimates, position: ScanPosition, blocks: int, *, last: bool) -> None:
        self._of: LazyEstimates | None = of
        self.position, self.blocks, self.last = position, blocks, last
        self._sample: BlockSample | None = None

    @property
    def sample(self) -> BlockSample:
        """The sample at that time."""
        of = self._of
        if of is not None:
            of.merge()
        assert self._sample is not None
        return self._sample

    def set_sample(self, sample: BlockSample) -> None:
        """Set the sample; unmerged blocks are not needed any more."""
        self._sample, self._of = sample, None

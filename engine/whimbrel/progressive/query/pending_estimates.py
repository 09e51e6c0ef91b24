"""Estimates that are computed on first use, from the blocks read until then."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence

import numpy as np

from whimbrel.kernels import wait_for_compiler
from whimbrel.progressive.estimation.merged_state import Merged
from whimbrel.progressive.estimation.sample import Sample
from whimbrel.progressive.intervals.value_state import Drawn
from whimbrel.progressive.query.interrupts import Interrupts
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.block_states import BlockStates

_INTERPRETED_S = 2e-5
"""What a state takes at least where nothing is compiled: so long many of them wait for the compiler."""


class PendingEstimates:
    """Blocks that were read but not merged, and the estimates between them.

    Merging the states of many blocks at once is faster, and an unused estimate costs only its blocks. The sample of an
    estimate is made before later blocks are merged, unless the estimate was garbage-collected.

    Parameters
    ----------
    states : BlockStates
        Where blocks wait.
    merged : Merged
        What they are merged into; before the last moment, of which nobody asks how much blocks differ, without saying
        which block a state is of.

    Attributes
    ----------
    lock : threading.RLock
        Held while states are made, merged or copied: moments are asked for on any thread.
    """

    def __init__(self, states: BlockStates, merged: Merged) -> None:
        self.lock = threading.RLock()
        self.states, self._merged = states, merged
        self._blocks: list[tuple[int, int, int]] = []
        self._open: list[weakref.ref[PendingEstimate]] = []
        self._failed: Exception | None = None

    def read(self, rows: int, before: int, states: int) -> None:
        """Count a block of so many rows, after so many of its phase, of which so many states were made."""
        self._blocks.append((rows, before, states))

    def now(self, position: ScanPosition, *, last: bool = False) -> PendingEstimate:
        """Give this moment, whose sample can be asked for at any time; after the last one nothing is left to read."""
        with self.lock:
            pending = PendingEstimate(self, position, len(self._blocks), last=last)
            self._open.append(weakref.ref(pending))
        return pending

    def merge(self) -> None:
        """Merge all blocks that wait."""
        with self.lock, Interrupts():
            if self._failed is not None:  # some states are merged and some are not: nothing can be said of them
                raise self._failed
            found = (each() for each in self._open)
            asked = [pending for pending in found if pending is not None]
            blocks, self._blocks, self._open = self._blocks, [], []
            try:
                self._merge(blocks, asked)
            except Exception as error:
                self._failed = error
                raise

    def _merge(self, blocks: Sequence[tuple[int, int, int]], asked: Sequence[PendingEstimate]) -> None:
        """Merge blocks up to each moment, make its sample, and merge the others."""
        states = self.states.take() if blocks else None
        merged = begun = 0
        for upto, pending in [*((pending.blocks, pending) for pending in asked), (len(blocks), None)]:
            if states is not None and upto > merged:
                *drawn, counts = np.array(blocks[merged:upto]).T
                end = begun + int(counts.sum())
                last = pending is not None and pending.last
                result_columns = None if last else Drawn(*(np.repeat(each, counts) for each in drawn))
                with patience(_INTERPRETED_S * (end - begun)):
                    self._merged.add(states.slice(begun, end), result_columns)
                merged, begun = upto, end
            if pending is not None:
                pending.tell(self._merged.sample(pending.position))


class PendingEstimate:
    """An estimate whose sample is not made yet.

    Parameters
    ----------
    of : PendingEstimates
    position : ScanPosition
    blocks : int
        How many blocks waited then.
    last : bool
        Whether all was read.

    """

    def __init__(self, of: PendingEstimates, position: ScanPosition, blocks: int, *, last: bool) -> None:
        self._of: PendingEstimates | None = of
        self.position, self.blocks, self.last = position, blocks, last
        self._sample: Sample | None = None

    @property
    def sample(self) -> Sample:
        """What was known then."""
        of = self._of
        if of is not None:
            of.merge()
        assert self._sample is not None
        return self._sample

    def tell(self, sample: Sample) -> None:
        """Give its sample: then it holds no blocks any more."""
        self._sample, self._of = sample, None

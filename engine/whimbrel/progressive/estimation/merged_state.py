"""Merge the states of blocks into windows.

If windows overlap, the states are merged into panes, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch
from whimbrel.progressive.estimation.block_sample import BlockSample
from whimbrel.progressive.estimation.block_totals import Totals
from whimbrel.progressive.intervals.sample_values import states_batch
from whimbrel.progressive.intervals.value_state import Drawn
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.block_bounds import BlockBounds
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.evidence import Statistics

Array = np.ndarray[Any, Any]


class Merged:
    """States of all blocks, group by group.

    Parameters
    ----------
    split : SplitQuery
    usual : float
        The average number of rows of a block.
    bounds : BlockBounds, optional
        What blocks may add: then intervals are valid for any data within these bounds.

    Attributes
    ----------
    windows, panes : Totals
        The same object if windows do not overlap.
    before : tuple of numpy.ndarray or None
        Intervals (low, high), by row and value, from earlier phases of the scan.
    statistics : Statistics or None
        Of all blocks.
    """

    def __init__(self, split: SplitQuery, usual: float, bounds: BlockBounds | None = None) -> None:
        window = split.window
        hops = window.size // window.hop
        self._split, self.bounds = split, bounds
        self.windows = Totals(split, compares=True, usual=usual, keeps_blocks=bounds is not None)
        self.panes = self.windows if hops == 1 else Totals(split, compares=False)
        self._shifts = None if hops == 1 else np.arange(hops) * window.hop
        self.before: tuple[Array, Array] | None = None
        self.statistics: Statistics | None = None

    @property
    def overlap(self) -> bool:
        """Whether windows overlap."""
        return self._shifts is not None

    def add(self, states: Batch, drawn: Drawn | None) -> None:
        """Merge states of blocks; of one block at a time if windows overlap."""
        if not len(states):
            return
        self.panes.add(states, drawn)
        if self._shifts is not None:
            self.windows.add(states, drawn, shifts=self._shifts)  # panes of one block are one sum of it

    def sample(self, position: ScanPosition) -> BlockSample:
        """A sample of the totals, for this position of the scan."""
        return BlockSample(self.windows, position, self.before, self.statistics, self.bounds)

    @property
    def states(self) -> Batch:
        """States of panes, of all blocks."""
        panes = self.panes
        rows = panes.keys.values(np.arange(len(panes), dtype=np.int32))
        fields = [field[: len(panes)] for field in panes.fields]
        return states_batch(self._split.merged, fields, {}, rows, self._split.window.hop)

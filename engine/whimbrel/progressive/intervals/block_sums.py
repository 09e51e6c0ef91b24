"""Confidence sequences for sums of block numbers, by group.

Each block adds one number to the sum of a group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.sampling.block_variance import between_blocks
from whimbrel.kernels.primitives.sampling.co_moments import add_block
from whimbrel.kernels.primitives.sampling.confidence_intervals import half_widths
from whimbrel.progressive.intervals.confidence_sequence import boundary
from whimbrel.progressive.sample_thresholds import LIGHT_TAILS, MIN_BLOCKS_OF_GROUP, MIN_DEGREES
from whimbrel.progressive.sampling.read_blocks import Read
from whimbrel.progressive.sampling.sample_state import SampleState

Array = np.ndarray[Any, Any]

_add_block, _between_blocks, _half_widths = Compiled(add_block), Compiled(between_blocks), Compiled(half_widths)


class BlockSums:
    """Sums over blocks of one number that is no larger than the events of the block.

    Parameters
    ----------
    usual : float
        The average number of rows of a block.

    Attributes
    ----------
    blocks, sums, products, crosses, powers : numpy.ndarray
        As those of :class:`~whimbrel.progressive.estimation.block_totals.Totals`, of one field.
    """

    def __init__(self, usual: float) -> None:
        self.usual = usual
        self.blocks = np.zeros(0, np.int64)
        self.sums, self.products, self.crosses, self.powers = (np.zeros(0) for _ in range(4))

    def add(self, ids: Array, numbers: Array, rows: Array) -> None:
        """Add the numbers of blocks, with their rows, to groups."""
        _add_block(ids, numbers, rows, self.usual, 1, self.blocks, self.sums, self.products, self.crosses, self.powers)

    def grow(self, groups: int) -> None:
        """Make the arrays long enough for these groups."""
        if groups > len(self.blocks):
            self.blocks = extend(self.blocks, groups, 0)
            self.sums, self.products, self.crosses = (
                extend(array, groups, 0.0) for array in (self.sums, self.products, self.crosses))
            self.powers = extend(self.powers, groups * 4, 0.0)

    def first(self, groups: int) -> BlockSums:
        """A copy for the first groups."""
        copy = BlockSums(self.usual)
        copy.blocks = self.blocks[:groups].copy()
        copy.sums, copy.products, copy.crosses = (
            array[:groups].copy() for array in (self.sums, self.products, self.crosses))
        copy.powers = self.powers[: groups * 4].copy()
        return copy

    def widths(self, state: SampleState, read: Read, alpha: float, name: str) -> Array:
        """Half the intervals of the sums of all blocks, valid at every update; infinite if too little is known.

        As in :class:`~whimbrel.progressive.intervals.interval_widths.IntervalWidths`, for a value of this aggregate
        that is one sum.
        """
        groups, scan = len(self.blocks), state.scan
        errors, degrees, widths = np.empty((3, groups))
        _between_blocks(np.ones(groups), np.ones(1, np.bool_), np.zeros(1, np.int64), 1, scan.uneven, self.blocks,
                        self.sums, self.products, self.crosses, self.powers, read.window, read.exact_windows,
                        read.sampled, read.drawn.blocks, read.drawn.rows, read.drawn.squares, read.left.rows,
                        read.phase, errors, degrees)
        blocks = self.blocks
        if (evidence := state.evidence_of(read)) is not None:
            value = next(value for value, kept in state.split.values.kept.items() if kept == name)
            degrees, blocks = evidence.degrees[value], evidence.blocks
        _half_widths(errors, degrees, np.full(1, MIN_DEGREES), np.full(1, LIGHT_TAILS), np.zeros(1),
                     np.ones(1, np.bool_), blocks, MIN_BLOCKS_OF_GROUP, read.window, read.exact_windows,
                     read.drawn.blocks, read.left.blocks, read.fraction, state.max_in_block, alpha, *boundary(alpha),
                     widths)
        return widths

    def state_parts(self) -> dict[str, Any]:
        """The whole state."""
        return vars(self)

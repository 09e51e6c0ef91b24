"""How far estimates may be off, from how much blocks differ; and where blocks tell too little to say."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.aggregates import Var
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.sampling.block_variance import between_blocks
from whimbrel.kernels.primitives.sampling.confidence_intervals import half_widths
from whimbrel.progressive.intervals.confidence_sequence import boundary
from whimbrel.progressive.intervals.linearization_check import bent

if TYPE_CHECKING:
    from whimbrel.progressive.sampling.sample_state import SampleState

Array = np.ndarray[Any, Any]

FEWEST_BLOCKS = 10
"""With rows of a group, before an interval is given."""
_between_blocks, _half_widths = Compiled(between_blocks), Compiled(half_widths)


class IntervalWidths:
    """Errors of the values of a sample, computed once for all that ask.

    Parameters
    ----------
    sample : Sample
    """

    def __init__(self, sample: SampleState) -> None:
        # The sample owns this: in a cycle the arrays of each look would stay until the collector of cycles comes.
        self.sample: SampleState = weakref.proxy(sample)
        self._known_widths: dict[float, Array] = {}
        self._known_ends: dict[float, tuple[Array, Array]] = {}

    def widths(self, alpha: float) -> Array:
        """Half the intervals, by value and row, that each hold at every look with probability 1 - alpha.

        Infinite where too few blocks have rows of the group, or few of them make most of what blocks differ by, or none
        has differed: what is rare may not have been seen. Where rows of all blocks were looked at, that is known of all
        blocks; elsewhere only of those that were drawn.
        """
        if alpha not in self._known_widths:
            self._known_widths[alpha] = self._widths(alpha)
        return self._known_widths[alpha]

    def ends(self, alpha: float) -> tuple[Array, Array]:
        """The ends of the intervals, by value and row; what is certain, or was known before, may make them narrower."""
        guaranteed = self.sample.guaranteed
        if alpha not in self._known_ends and guaranteed is not None:
            unknown = ~np.isfinite(self.sample.numbers)
            low, high = guaranteed.ends(alpha)
            self._known_ends[alpha] = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
        if alpha not in self._known_ends:
            sample, values = self.sample, self.sample.division.values
            widths = self.widths(alpha) if values.adds_up.any() else np.full(sample.numbers.shape, np.inf)
            widths = widths + np.where(widths > 0, sample.rounding, 0.0)
            with np.errstate(invalid="ignore"):  # inf - inf: not known
                low, high = sample.numbers - widths, sample.numbers + widths
            for value, name in values.kept.items():
                low[value], high[value] = sample.kept[name].ends(sample, alpha)
            self._known_ends[alpha] = low, high
        return self._known_ends[alpha]

    def _widths(self, alpha: float) -> Array:
        sample, read, values = self.sample, self.sample.read, self.sample.division.values
        evidence = sample.evidence_of(read)
        if (sample.blocks if evidence is None else evidence.blocks).max(initial=0) < FEWEST_BLOCKS:
            return np.broadcast_to(np.where(read.exact, 0.0, np.inf), sample.numbers.shape)
        widths = self._widths_of(*self._found, np.arange(len(sample.values)), alpha)
        for value, slopes in sample.means.items():
            # What squares are taken around is an estimate, too, off by its error: beside the first order its square is
            # nothing, but where values lie equally far from their mean, so that blocks hardly differ to first order.
            mean = self._widths_of(*self._errors(slopes[None], [value]), np.array([value]), alpha)[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                more = mean**2 if isinstance(values.made_of[value], Var) else mean**2 / (2 * sample.numbers[value])
            widths[value] = np.hypot(widths[value], np.where(np.isnan(more), 0.0, more))
        if sample.division.results is not None:
            for value in np.flatnonzero(values.adds_up & ~values.straight).tolist():
                widths[value] = bent(sample, value, self._errors_beside(value), widths[value])
        return widths

    def _errors_beside(self, value: int) -> Callable[[Array], Array]:
        """Standard errors of numbers that are made of the fields of a value."""
        return lambda slopes: self._errors(slopes, [value] * len(slopes))[0]

    def _widths_of(self, errors: Array, degrees: Array, of: Array, alpha: float) -> Array:
        """Half the intervals of these values, which have such errors."""
        sample, read, values = self.sample, self.sample.read, self.sample.division.values
        widths, blocks, of_all = np.empty_like(errors), sample.blocks, values.of_all[of]
        if (evidence := sample.evidence_of(read)) is not None:
            degrees, blocks, of_all = evidence.degrees[of], evidence.blocks, np.zeros(len(of))
        with sample.waiting:
            _half_widths(errors.reshape(-1), degrees.reshape(-1), *(each[of] for each in values.enough),
                         of_all, values.counts[of], blocks, FEWEST_BLOCKS, read.window, read.exact_windows,
                         read.drawn.blocks, read.left.blocks, read.fraction, sample.max_in_block, alpha,
                         *boundary(alpha), widths.reshape(-1))
        return widths

    def deviations(self, value: int) -> Array:
        """Standard errors of a value, by row: how much it differs from block to block (linearised, as of a ratio).

        The variance between blocks is that of what each block adds to the value, to first order, beyond what its size
        lets one expect; blocks without rows of the group add nothing, and count. Infinite where fewer than two blocks
        say so; 0 where no block has differed.
        """
        return np.asarray(self._found[0][value])

    @cached_property
    def _found(self) -> tuple[Array, Array]:
        """Standard errors, and the degrees of freedom of their squares, by value and row."""
        return self._errors(self.sample.slopes, range(len(self.sample.values)))

    def _errors(self, slopes: Array, of: Sequence[int]) -> tuple[Array, Array]:
        """The same of what grows so with the fields of these values."""
        sample, read, values = self.sample, self.sample.read, self.sample.division.values
        errors, degrees = np.empty((2, len(of), len(sample)))
        with sample.waiting:
            _between_blocks(
                slopes.reshape(-1), values.needed[list(of)].reshape(-1), values.parts, sample.totals.width,
                sample.scan.uneven, sample.blocks, sample.sums, sample.products,
                sample.crosses, sample.powers, read.window, read.exact_windows, read.sampled, read.drawn.blocks,
                read.drawn.rows, read.drawn.squares, read.left.rows, read.phase, errors.reshape(-1),
                degrees.reshape(-1))
        return errors, degrees

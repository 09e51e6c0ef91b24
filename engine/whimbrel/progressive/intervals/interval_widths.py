"""Interval widths from the variance between blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from whimbrel.aggregates import Var
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.sampling.block_variance import between_blocks
from whimbrel.kernels.primitives.sampling.confidence_intervals import half_widths
from whimbrel.progressive.intervals.confidence_sequence import boundary
from whimbrel.progressive.intervals.guaranteed import Guaranteed
from whimbrel.progressive.intervals.linearization_check import checked_widths
from whimbrel.progressive.intervals.sample_values import SampleValues
from whimbrel.progressive.sample_thresholds import MIN_BLOCKS_OF_GROUP

Array = np.ndarray[Any, Any]

_between_blocks, _half_widths = Compiled(between_blocks), Compiled(half_widths)


class IntervalWidths:
    """Intervals of the values of a sample, computed once for each level.

    Parameters
    ----------
    values : SampleValues
    guaranteed : Guaranteed or None
        What makes guaranteed intervals, if the query asks for them.
    """

    def __init__(self, values: SampleValues, guaranteed: Guaranteed | None) -> None:
        self.values, self.state, self._guaranteed = values, values.state, guaranteed
        self._known_widths: dict[float, Array] = {}
        self._known_ends: dict[float, tuple[Array, Array]] = {}

    def widths(self, alpha: float) -> Array:
        """Half the intervals, by value and row: a confidence sequence of level 1 - alpha for each.

        Infinite if too few blocks have rows of the group, if few of them make most of the variance between blocks, or
        if no block has differed: rare rows may be unseen. With a pilot sample, this is decided for all blocks, else
        only for the drawn ones.
        """
        if alpha not in self._known_widths:
            self._known_widths[alpha] = self._widths(alpha)
        return self._known_widths[alpha]

    def ends(self, alpha: float) -> tuple[Array, Array]:
        """The ends of the intervals, by value and row, before certain ends and earlier phases narrow them."""
        if alpha not in self._known_ends and self._guaranteed is not None:
            unknown = ~np.isfinite(self.values.numbers)
            low, high = self._guaranteed.ends(alpha)
            self._known_ends[alpha] = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
        if alpha not in self._known_ends:
            values, known = self.values, self.values.split.values
            widths = self.widths(alpha) if known.adds_up.any() else np.full(values.numbers.shape, np.inf)
            widths = widths + np.where(widths > 0, values.rounding, 0.0)
            with np.errstate(invalid="ignore"):  # inf - inf: no bound
                low, high = values.numbers - widths, values.numbers + widths
            for value, name in known.kept.items():
                low[value], high[value] = values.kept[name].ends(self.state, alpha)
            self._known_ends[alpha] = low, high
        return self._known_ends[alpha]

    def _widths(self, alpha: float) -> Array:
        state, read, values, known = self.state, self.state.read, self.values, self.values.split.values
        evidence = state.evidence_of(read)
        if (state.blocks if evidence is None else evidence.blocks).max(initial=0) < MIN_BLOCKS_OF_GROUP:
            return np.broadcast_to(np.where(read.exact, 0.0, np.inf), values.numbers.shape)
        widths = self._widths_of(*self._found, np.arange(len(values.names)), alpha)
        for value, slopes in values.means.items():
            # The mean has an error of its own, which enters as its square. That matters only if values are equally far
            # from their mean, so that blocks hardly differ to first order.
            mean = self._widths_of(*self._errors(slopes[None], [value]), np.array([value]), alpha)[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                more = mean**2 if isinstance(known.made_of[value], Var) else mean**2 / (2 * values.numbers[value])
            widths[value] = np.hypot(widths[value], np.where(np.isnan(more), 0.0, more))
        if values.split.results is not None:
            for value in np.flatnonzero(known.adds_up & ~known.straight).tolist():
                widths[value] = checked_widths(values, value, self._errors_of(value), widths[value])
        return widths

    def _errors_of(self, value: int) -> Callable[[Array], Array]:
        """The standard errors of linear functions of a value's fields."""
        return lambda slopes: self._errors(slopes, [value] * len(slopes))[0]

    def _widths_of(self, errors: Array, degrees: Array, of: Array, alpha: float) -> Array:
        """Half the intervals of values with these standard errors."""
        state, read, known = self.state, self.state.read, self.values.split.values
        widths, blocks, of_all = np.empty_like(errors), state.blocks, known.of_all[of]
        if (evidence := state.evidence_of(read)) is not None:
            degrees, blocks, of_all = evidence.degrees[of], evidence.blocks, np.zeros(len(of))
        with state.waiting:
            _half_widths(errors.reshape(-1), degrees.reshape(-1), *(each[of] for each in known.enough),
                         of_all, known.counts[of], blocks, MIN_BLOCKS_OF_GROUP, read.window, read.exact_windows,
                         read.drawn.blocks, read.left.blocks, read.fraction, state.max_in_block, alpha,
                         *boundary(alpha), widths.reshape(-1))
        return widths

    def deviations(self, value: int) -> Array:
        """The standard errors of a value, by row, from the variance between blocks (linearized, as for a ratio).

        The variance is that of what each block adds to the value, to first order, beyond what its size explains. Blocks
        without rows of the group add nothing, and count. Infinite with fewer than two blocks; 0 if no block differs.
        """
        return np.asarray(self._found[0][value])

    @cached_property
    def _found(self) -> tuple[Array, Array]:
        """Standard errors, and the degrees of freedom of their squares, by value and row."""
        return self._errors(self.values.slopes, range(len(self.values.names)))

    def _errors(self, slopes: Array, of: Sequence[int]) -> tuple[Array, Array]:
        """The same for linear functions, with these slopes, of the fields of these values."""
        state, read, known = self.state, self.state.read, self.values.split.values
        errors, degrees = np.empty((2, len(of), len(state)))
        with state.waiting:
            _between_blocks(
                slopes.reshape(-1), known.needed[list(of)].reshape(-1), known.parts, state.width,
                state.scan.uneven, state.blocks, state.sums, state.products,
                state.crosses, state.powers, read.window, read.exact_windows, read.sampled, read.drawn.blocks,
                read.drawn.rows, read.drawn.squares, read.left.rows, read.phase, errors.reshape(-1),
                degrees.reshape(-1))
        return errors, degrees

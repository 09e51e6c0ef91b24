"""How far estimates may be off, from how much blocks differ; and where blocks tell too little to say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.aggregates import Count, Std, SumOfSquares, Var
from whimbrel.kernels import Compiled, patience
from whimbrel.kernels.primitives.between_blocks import between_blocks
from whimbrel.progress.sequence import multiplier, students

if TYPE_CHECKING:
    from whimbrel.progress.sample import Sample

Array = np.ndarray[Any, Any]

_STEP = 1e-4
"""Of a field, by which it is changed to see how much a value depends on it."""
_FEWEST_BLOCKS = 10
"""With rows of a group, before an interval is given."""
_FEWEST_DEGREES, _FEWEST_OF_SQUARES, _LIGHT_TAILS = 25, 40, 0.8
"""Degrees of freedom of a variance between blocks, before an interval is given: where so few blocks make it, one that
was not read may make as much. Of few blocks fewer will do, where their tails are about as light as the normal
distribution's; not so for values made of squares."""
_FEW = 2_000
"""Rows for which nobody waits for the compiler."""

_between_blocks = Compiled(between_blocks)


class Spread:
    """Errors of the values of a sample, computed once for all that ask.

    Parameters
    ----------
    sample : Sample
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._multipliers: dict[float, Array] = {}

    def widths(self, value: int, alpha: float) -> Array:
        """Half the interval of a value, by row, that holds at every look with probability 1 - alpha.

        Infinite where too few blocks had rows of the group, or few of them make most of what blocks differ by, or none
        has differed: what is rare may not have been seen.
        """
        sample, read = self.sample, self.sample.read
        error, degrees = self._errors[value], self._degrees[value]
        squares = any(isinstance(measure.aggregate, Var | Std | SumOfSquares) for measure in sample.totals.measures
                      if measure.name in sample.needs[value])
        fewest = _FEWEST_OF_SQUARES if squares else np.minimum(_FEWEST_DEGREES, _LIGHT_TAILS * read.drawn.blocks)
        enough = (sample.blocks >= _FEWEST_BLOCKS) & (degrees >= fewest)
        wide = students(self._multiplier(alpha), np.maximum(degrees, 1)) * error
        width = np.where(enough & np.isfinite(error) & (error > 0), wide, np.inf)
        if isinstance(sample.of(value), Count):
            width = np.where(error == 0, self._strange(alpha), width)
        return np.where(read.exact, 0.0, width)

    def deviations(self, value: int) -> Array:
        """Standard errors of a value, by row: how much it differs from block to block (linearised, as of a ratio).

        The variance between blocks is that of what each block adds to the value, to first order, beyond what its size
        lets one expect; blocks without rows of the group add nothing, and count. Infinite where fewer than two blocks
        say so; 0 where no block has differed.
        """
        return np.asarray(self._errors[value])

    @cached_property
    def _share(self) -> Array:
        """Of the blocks that may hold rows of a group, how many were drawn."""
        return self.sample.read.drawn.blocks / np.maximum(self.sample.read.phase, 1)

    def _multiplier(self, alpha: float) -> Array:
        if alpha not in self._multipliers:
            self._multipliers[alpha] = multiplier(self._share, alpha)
        return self._multipliers[alpha]

    def _strange(self, alpha: float) -> Array:
        """Rows of as many blocks as may be unlike all that were read, which were alike, while none has been drawn.

        Of k such blocks none is among this share of all with a probability of at most ``(1 - share) ** k``.
        """
        with np.errstate(divide="ignore"):
            blocks = np.ceil(np.log(alpha) / np.log1p(-self._share))
        return np.minimum(blocks, self.sample.read.left.blocks) * self.sample.scan.blocks.rows.max()

    @property
    def _errors(self) -> Array:
        return self._found[0]

    @property
    def _degrees(self) -> Array:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[Array, Array]:
        """Standard errors, and the degrees of freedom of their squares, by value and row."""
        sample, read = self.sample, self.sample.read
        shape = len(sample.values), len(sample)
        errors, degrees = np.empty((2, shape[0] * shape[1]))
        sizes = sample.scan.blocks.rows.astype(np.float64)
        with patience() if len(sample) > _FEW else nullcontext():
            _between_blocks(
                self._slopes.reshape(-1), self._needed.reshape(-1), self._parts, sample.totals.width,
                float((sizes**4).mean() / (sizes**2).mean() ** 2), sample.blocks, sample.sums, sample.products,
                sample.crosses, sample.powers, read.drawn.blocks, read.drawn.rows, read.drawn.squares, read.left.rows,
                read.phase, errors, degrees)
        known = read.random & (read.drawn.blocks >= 2) & (read.later.blocks == 0)
        return np.where(read.exact, 0.0, np.where(known, errors.reshape(shape), np.inf)), degrees.reshape(shape)

    @cached_property
    def _parts(self) -> Array:
        """By field, the number of its aggregate."""
        return np.array([number for number, measure in enumerate(self.sample.totals.measures)
                         for _ in measure.steps.init], np.int64)

    @cached_property
    def _needed(self) -> Array:
        """By value and field, whether the value is made of it."""
        return np.array([[name in needs for name in self.sample.names] for needs in self.sample.needs], np.bool_)

    @cached_property
    def _slopes(self) -> Array:
        """By value, field and row: how much the value grows with the field, seen by changing it."""
        sample = self.sample
        slopes = np.zeros((len(sample.values), sample.totals.width, len(sample)))
        for place, (additive, field) in enumerate(zip(sample.totals.additive, sample.scaled, strict=True)):
            if additive and field.any():
                step = _step(field)
                for value, moved in self._moved(place, field + step):
                    slope = (moved - sample.numbers(value)) / step
                    slopes[value, place] = np.where(np.isfinite(slope), slope, 0.0)
        return slopes

    def _moved(self, place: int, field: Array) -> Iterator[tuple[int, Array]]:
        """Values that a field is part of, as they would be if it were this one."""
        sample = self.sample
        if sample.division.results is None:  # every value is one aggregate
            value = int(self._parts[place])
            own = np.flatnonzero(self._parts == value).tolist()
            yield value, sample.values_alone(value, [field if at == place else sample.scaled[at] for at in own])
            return
        moved = sample.values_of([field if at == place else other for at, other in enumerate(sample.scaled)])
        for value in np.flatnonzero(self._needed[:, place]).tolist():
            yield value, sample.numbers_of(moved, value)


def _step(field: Array) -> Array:
    step = np.abs(field) * _STEP
    if field.dtype.kind != "f":
        return np.maximum(np.rint(step), 1).astype(np.int64)
    step[step == 0] = 1.0
    return step


def ratio(above: Array, below: Array) -> Array:
    """One by the other; 0 where the other is 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)

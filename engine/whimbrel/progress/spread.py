"""How far estimates may be off, from how much blocks differ; and where blocks tell too little to say."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.aggregates import Count, Std, SumOfSquares, Var
from whimbrel.progress.sequence import multiplier, students

if TYPE_CHECKING:
    from whimbrel.progress.sample import Sample

Array = np.ndarray[Any, Any]

_STEP = 1e-4
"""Of a field, by which it is changed to see how much a value depends on it."""
_ROUNDING = 1e-15
_CONSTANT = 1e-6
"""Of the square of a field: when it varies less than that between blocks, its fourth moment is rounding."""
_NEGLIGIBLE = 1e-12
"""Of the largest field's part of a variance: less than that, such as what rounding took, is not looked at."""
_FEWEST_BLOCKS = 10
"""With rows of a group, before an interval is given."""
_FEWEST_DEGREES, _FEWEST_OF_SQUARES, _LIGHT_TAILS = 25, 40, 0.8
"""Degrees of freedom of a variance between blocks, before an interval is given: where so few blocks make it, one that
was not read may make as much. Of few blocks fewer will do, where their tails are about as light as the normal
distribution's; not so for values made of squares."""


class Spread:
    """Errors of the values of a sample, computed once for all that ask.

    Parameters
    ----------
    sample : Sample
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        measures = sample.totals.measures
        self._field_of = np.array([number for number, measure in enumerate(measures) for _ in measure.steps.init])
        self._of_measure = {measure.name: np.flatnonzero(self._field_of == number)
                            for number, measure in enumerate(measures)}
        self._known: dict[int, tuple[Array, Array]] = {}

    def widths(self, value: int, alpha: float) -> Array:
        """Half the interval of a value, by row, that holds at every look with probability 1 - alpha.

        Infinite where too few blocks had rows of the group, or few of them make most of what blocks differ by, or none
        has differed: what is rare may not have been seen.
        """
        sample, read = self.sample, self.sample.read
        error, degrees = self._of(value)
        share = read.drawn.blocks / np.maximum(read.phase, 1)
        squares = any(isinstance(measure.aggregate, Var | Std | SumOfSquares) for measure in sample.totals.measures
                      if measure.name in sample.needs[value])
        fewest = _FEWEST_OF_SQUARES if squares else np.minimum(_FEWEST_DEGREES, _LIGHT_TAILS * read.drawn.blocks)
        enough = (sample.blocks >= _FEWEST_BLOCKS) & (degrees >= fewest)
        wide = students(multiplier(share, alpha), np.maximum(degrees, 1)) * error
        width = np.where(enough & np.isfinite(error) & (error > 0), wide, np.inf)
        if isinstance(sample.of(value), Count):
            width = np.where(error == 0, self._strange(share, alpha), width)
        return np.where(read.exact, 0.0, width)

    def deviations(self, value: int) -> Array:
        """Standard errors of a value, by row: how much it differs from block to block (linearised, as of a ratio).

        The variance between blocks is that of what each block adds to the value, to first order, beyond what its size
        lets one expect; blocks without rows of the group add nothing, and count. Infinite where fewer than two blocks
        say so; 0 where no block has differed.
        """
        return self._of(value)[0]

    def _of(self, value: int) -> tuple[Array, Array]:
        if value not in self._known:
            self._known[value] = self._error(value), self._freedom(value)
        return self._known[value]

    def _error(self, value: int) -> Array:
        sample, read = self.sample, self.sample.read
        slopes = self._slopes[value]
        used = np.flatnonzero((slopes != 0).any(axis=1)).tolist()
        total, crossed, squares, largest = np.zeros((4, len(sample)))
        for left in used:
            total += slopes[left] * sample.sums[left]
            crossed += slopes[left] * sample.crosses[left]
            for right in [right for right in used if right >= left]:
                product = slopes[left] * slopes[right] * sample.products[self._places[left, right]]
                squares += product if left == right else 2 * product
                largest += product if left == right else 0.0
        drawn = np.maximum(read.drawn.blocks, 2)
        each = ratio(total, read.drawn.rows)
        apart = squares - 2 * each * crossed + each**2 * read.drawn.squares
        variance = np.where(apart > _ROUNDING * drawn * largest, apart, 0.0) / (drawn - 1)
        size = ratio(read.drawn.rows + read.left.rows, read.drawn.rows) * drawn
        error = size * np.sqrt(variance * np.maximum(1 / drawn - 1 / np.maximum(read.phase, 1), 0.0))
        known = read.random & (read.drawn.blocks >= 2) & (read.later.blocks == 0)
        return np.where(read.exact, 0.0, np.where(known, error, np.inf))

    def _freedom(self, value: int) -> Array:
        """By row, the degrees of freedom of a value: the fewest of the fields that make its variance.

        None at all where nothing is there to vary, as when no row has met the condition of a count.
        """
        sample = self.sample
        second = sample.powers[1::4]
        share = self._slopes[value] ** 2 * second
        counted = share > _NEGLIGIBLE * share.max(axis=0, initial=0.0)
        degrees = np.where(counted, self._degrees, np.inf).min(axis=0, initial=np.inf)
        for name in sample.needs[value]:
            degrees = np.where((second[self._of_measure[name]] > 0).any(axis=0), degrees, 0.0)
        return np.minimum(degrees, sample.blocks - 1)

    def _strange(self, share: Array, alpha: float) -> Array:
        """Rows of as many blocks as may be unlike all that were read, which were alike, while none has been drawn.

        Of k such blocks none is among this share of all with a probability of at most ``(1 - share) ** k``.
        """
        with np.errstate(divide="ignore"):
            blocks = np.ceil(np.log(alpha) / np.log1p(-share))
        return np.minimum(blocks, self.sample.read.left.blocks) * self.sample.scan.blocks.rows.max()

    @cached_property
    def _places(self) -> dict[tuple[int, int], int]:
        """Where the products of two fields are."""
        lefts, rights = (ends.tolist() for ends in np.triu_indices(self.sample.totals.width))
        return {pair: place for place, pair in enumerate(zip(lefts, rights, strict=True))}

    @cached_property
    def _degrees(self) -> Array:
        """By field and row, the degrees of freedom of its variance between blocks, by its fourth moment.

        As many as those of normal values whose sample variance is as uncertain (Satterthwaite 1946): few, where few
        blocks make most of the variance.
        """
        sample = self.sample
        blocks = np.maximum(sample.read.drawn.blocks, 1)
        first, second, third, fourth = (sample.powers / blocks).reshape(-1, 4, len(sample)).swapaxes(0, 1)
        square = first * first
        variance = second - square
        moment = fourth - 4 * first * third + (6 * second - 3 * square) * square
        sizes = sample.scan.blocks.rows.astype(np.float64)
        uneven = (sizes**4).mean() / (sizes**2).mean() ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            kurtosis = np.where(variance > _CONSTANT * second, moment / variance**2, 3.0)
        return np.asarray(2 * blocks / np.maximum(kurtosis * uneven - 1, 1e-3))

    @cached_property
    def _slopes(self) -> Array:
        """By value, field and row: how much the value grows with the field, seen by changing it."""
        sample = self.sample
        usable = [bool(additive) and bool((field != 0).any())
                  for additive, field in zip(sample.totals.additive, sample.scaled, strict=True)]
        slopes = np.zeros((len(sample.values), sample.totals.width, len(sample)))
        base = [sample.numbers(value) for value in range(len(sample.values))]
        for places in self._changed_at_once(usable):
            steps = {place: _step(sample.scaled[place]) for place in places}
            moved = sample.values_of([field + steps[place] if place in steps else field
                                      for place, field in enumerate(sample.scaled)])
            for value, needs in enumerate(sample.needs):
                for place in places:
                    if sample.names[place] in needs:
                        slopes[value, place] = (sample.numbers_of(moved, value) - base[value]) / steps[place]
        return np.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0)

    def _changed_at_once(self, usable: list[bool]) -> list[list[int]]:
        """Fields, one of each aggregate where every value is one aggregate, else one alone."""
        places = [place for place, good in enumerate(usable) if good]
        if self.sample.division.results is not None:
            return [[place] for place in places]
        number = {place: place - int(np.argmax(self._field_of == self._field_of[place])) for place in places}
        return [[place for place in places if number[place] == which] for which in sorted(set(number.values()))]


def _step(field: Array) -> Array:
    step = np.abs(field) * _STEP
    return np.where(step == 0, 1.0, step) if field.dtype.kind == "f" else np.maximum(np.rint(step), 1).astype(np.int64)


def ratio(above: Array, below: Array) -> Array:
    """One by the other; 0 where the other is 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)

"""What a scan knows at one look: totals of the blocks read, and of how many blocks more each row may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column
from whimbrel.clock import INF, MIN_TIME
from whimbrel.operators.results import reduced_in
from whimbrel.plan import Aggregate
from whimbrel.progress.division import Division
from whimbrel.progress.scan import Scan
from whimbrel.progress.sequence import multiplier, students
from whimbrel.progress.totals import Totals

Array = np.ndarray[Any, Any]

_STEP = 1e-4
"""Of a field, by which it is changed to see how much a value depends on it."""
_ROUNDING = 1e-15
_CONSTANT = 1e-6
"""Of the square of a field: when it varies less than that between blocks, its fourth moment is rounding."""
_FEWEST_BLOCKS = 10
"""With rows of a group, before an interval is given."""


@dataclass(frozen=True)
class Read:
    """Of each row, the blocks that may hold events of it.

    Attributes
    ----------
    drawn, phase, later, before : numpy.ndarray
        Read in this phase; of this phase, read or not; of later phases; read in earlier ones.
    rows_left : numpy.ndarray
        Source rows of those that were not read.
    random : bool
        Whether what was drawn is a random sample of the phase.
    """

    drawn: Array
    phase: Array
    later: Array
    before: Array
    rows_left: Array
    random: bool

    @property
    def exact(self) -> Array:
        """Rows of which no block is left."""
        return (self.drawn == self.phase) & (self.later == 0)


class Sample:
    """The state of a scan, kept as it was, from which values and intervals are computed when somebody looks.

    Parameters
    ----------
    division : Division
    totals : Totals
        Of windows.
    scan : Scan
    before : tuple of numpy.ndarray, optional
        Intervals (low, high), by row and value, that hold since this phase began.
    """

    def __init__(self, division: Division, totals: Totals, scan: Scan, before: tuple[Array, Array] | None) -> None:
        rows = len(totals)
        self.division, self.totals, self.before = division, totals, before
        self.fields = [array[:rows].copy() for array in totals.fields]
        self.known = [array[:rows].copy() for array in totals.known]
        self.blocks = totals.blocks[:rows].copy()
        self.sums = totals.sums[: rows * totals.width].reshape(rows, -1).copy()
        self.products = totals.products[: rows * totals.width * (totals.width + 1) // 2].reshape(rows, -1).copy()
        self.powers = totals.powers[: rows * totals.width * 2].reshape(rows, -1, 2).copy()
        self._scan = scan
        self._drawn, self._left, self._later, self._random = scan.drawn, scan.left, scan.later, scan.random
        self._read = np.flatnonzero(scan.read)

    def __len__(self) -> int:
        return len(self.blocks)

    @cached_property
    def starts(self) -> Array:
        return np.asarray(self.totals.keys.values(np.arange(len(self), dtype=np.int32))[0].values)

    @cached_property
    def read(self) -> Read:
        first, last = times_behind(self.division, self.starts)

        def count(blocks: Array, *, rows: bool = False) -> Array:
            return self._scan.overlapping(blocks, first, last, rows=rows)

        drawn, left, later = count(self._drawn), count(self._left), count(self._later)
        return Read(drawn, drawn + left, later, count(self._read) - drawn,
                    count(self._left, rows=True) + count(self._later, rows=True), self._random)

    @cached_property
    def scaled(self) -> list[Array]:
        """The fields as they would be if all blocks were like those that were read."""
        read = self.read
        more = _ratio(read.phase - read.drawn, read.drawn)
        density = _ratio(read.later + np.where(read.drawn == 0, read.phase, 0), read.drawn + read.before)
        out = []
        for known, now, additive in zip(self.known, self.fields, self.totals.additive, strict=True):
            grown = now + (now.astype(np.float64) - known) * more + now * density
            kept = not additive or not (now != 0).any()
            out.append(now if kept else np.where(read.exact, now, grown) if now.dtype.kind == "f"
                       else np.where(read.exact, now, np.rint(np.clip(grown, -(2.0**62), 2.0**62)).astype(np.int64)))
        return out

    @cached_property
    def answer(self) -> Batch:
        """Keys and values, with scaled states."""
        return self._values(self.scaled)

    @cached_property
    def values(self) -> Sequence[str]:
        """The names of the answer's values."""
        return self.division.answer.names[len(self.totals.key_fields) :]

    @cached_property
    def _needs(self) -> list[set[str]]:
        """The aggregates of which each value is made, by name."""
        results = self.division.results
        if results is None:
            return [{name} for name in self.values]
        return [{part.show() for part in reduced_in(expr) if isinstance(part, Aggregate)}
                for _, expr in results.columns]

    def of(self, value: int) -> Aggregate | None:
        """The aggregate that a value is; None where it is computed of several, or of one."""
        results, measures = self.division.results, dict(self.division.finish.of.measures)
        if results is None:
            return measures[self.values[value]]
        expr = dict(results.columns)[self.values[value]]
        return measures[expr.show()] if isinstance(expr, Aggregate) else None

    def adds_up(self, value: int) -> bool:
        """Whether a value is made of states that add up, so that there is an interval."""
        return all(measure.steps.additive for measure in self.totals.measures if measure.name in self._needs[value])

    def deviations(self, value: int) -> Array:
        """Standard errors of a value, by row: how much it differs from block to block (linearised, as of a ratio).

        The variance between blocks is that of what each block adds to the value, to first order; blocks without rows of
        the group add nothing, and count. Infinite where fewer than two blocks say so.
        """
        read = self.read
        used = np.flatnonzero((self._slopes[value] != 0).any(axis=0))
        slopes, products = self._slopes[value][:, used], self._square[:, used][:, :, used]
        drawn = np.maximum(read.drawn, 2).astype(np.float64)
        total = np.einsum("rw,rw->r", slopes, self.sums[:, used])
        squares = np.einsum("rw,rwv,rv->r", slopes, products, slopes)
        largest = np.einsum("rw,rww->r", slopes**2, products)
        variance = np.maximum(squares - total**2 / drawn, _ROUNDING * drawn * largest) / (drawn - 1)
        error = read.phase * np.sqrt(variance * np.maximum(1 / drawn - 1 / np.maximum(read.phase, 1), 0.0))
        known = read.random & (read.drawn >= 2) & (read.later == 0)
        return np.where(read.exact, 0.0, np.where(known, error, np.inf))

    @cached_property
    def _square(self) -> Array:
        """The products of fields as one symmetric matrix for each row."""
        width = self.totals.width
        products = np.empty((len(self), width, width))
        left, right = np.triu_indices(width)
        products[:, left, right] = products[:, right, left] = self.products
        return products

    def widths(self, value: int, alpha: float) -> Array:
        """Half the interval of a value, by row, that holds at every look with probability 1 - alpha.

        Infinite where the group was in too few blocks.
        """
        read = self.read
        error = self.deviations(value)
        normal = multiplier(read.drawn / np.maximum(read.phase, 1), alpha)
        used = (self._slopes[value] != 0) & self._sampled
        degrees = np.where(used, self._degrees, np.inf).min(axis=1, initial=np.inf)
        degrees = np.clip(np.minimum(degrees, np.minimum(read.drawn, self.blocks) - 1), 1, None)
        known = np.isfinite(error) & (self.blocks >= _FEWEST_BLOCKS)
        width = np.where(known, students(normal, degrees) * np.where(known, error, 0.0), np.inf)
        return np.where(read.exact, 0.0, width)

    @cached_property
    def _sampled(self) -> Array:
        """By field, whether it adds up and is anything at all."""
        return self.totals.additive & (self.sums != 0).any(axis=0)

    @cached_property
    def _degrees(self) -> Array:
        """By row and field, the degrees of freedom of its variance between blocks, by its fourth moment.

        As many as those of normal values whose sample variance is as uncertain (Satterthwaite 1946): few, where few
        blocks make most of the variance.
        """
        blocks = np.maximum(self.read.drawn, 1)[:, None].astype(np.float64)
        width = self.totals.width
        diagonal = [place for place, (left, right) in enumerate(zip(*np.triu_indices(width), strict=True))
                    if left == right]
        first, second = self.sums / blocks, self.products[:, diagonal] / blocks
        third, fourth = self.powers[:, :, 0] / blocks, self.powers[:, :, 1] / blocks
        variance = second - first**2
        moment = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        with np.errstate(divide="ignore", invalid="ignore"):
            kurtosis = np.where(variance > _CONSTANT * second, moment / variance**2, 3.0)
        return 2 * blocks / np.maximum(kurtosis - 1, 1e-3)

    @cached_property
    def _slopes(self) -> Array:
        """By value, row and field: how much the value grows with the field, seen by changing it."""
        names = list(self.values)
        fields = [(number, name) for measure in self.totals.measures for number, name in
                  enumerate([measure.name] * len(measure.steps.init))]
        alone = self.division.results is None  # then one field of each aggregate is changed at a time, of all at once
        slopes = np.zeros((len(names), len(self), self.totals.width))
        usable = [bool(additive) and bool((field != 0).any())
                  for additive, field in zip(self.totals.additive, self.scaled, strict=True)]
        at_once = ([[place for place, (number, _) in enumerate(fields) if number == which and usable[place]]
                    for which in sorted({number for number, _ in fields})] if alone
                   else [[place] for place in range(len(fields)) if usable[place]])
        base = [self._numbers(self.answer, value) for value in range(len(names))]
        for places in at_once:
            if not places:
                continue
            steps = {place: _step(self.scaled[place]) for place in places}
            moved = self._values([field + steps[place] if place in steps else field
                                  for place, field in enumerate(self.scaled)])
            for value in range(len(names)):
                for place in places:
                    if fields[place][1] in self._needs[value]:
                        slopes[value, :, place] = (self._numbers(moved, value) - base[value]) / steps[place]
        return np.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0)

    def seen(self, value: int) -> Array:
        """What a count has counted so far, by row."""
        place = next(number for number, measure in enumerate(self.totals.measures)
                     if measure.name in self._needs[value])
        return self.fields[sum(len(measure.steps.init) for measure in self.totals.measures[:place])]

    def unseen(self, alpha: float) -> float:
        """The largest share of the blocks of a phase that a group may be in, and be in none that was drawn.

        So many draws without replacement all miss it with probability alpha (hypergeometric).
        """
        drawn, left = len(self._drawn), len(self._left) + len(self._later)
        if not self._random or len(self._later):
            return 1.0
        total, missed = drawn + left, 1.0
        for number in range(left + 1):
            if missed <= alpha:
                return number / total
            missed *= max(left - number, 0) / (total - number) if total > number else 0.0
        return (left + 1) / total

    def numbers(self, value: int) -> Array:
        """A value of the answer as floats, by row; NaN for null."""
        return self._numbers(self.answer, value)

    def _numbers(self, batch: Batch, value: int) -> Array:
        return as_floats(batch.columns[len(self.totals.key_fields) + value])

    def _values(self, fields: Sequence[Array]) -> Batch:
        batch = self.totals.batch(fields, np.arange(len(self)), self.division.window.hop)
        for step in self.division.to_values:
            batch = step.apply(batch)
        return batch


def as_floats(column: Column) -> Array:
    """Numbers; NaN where there is none."""
    if not column.fixed or column.values.dtype.kind not in "iufb":
        return np.full(len(column), np.nan)
    values = np.asarray(column.values, np.float64)
    return values if column.valid is None else np.where(column.valid, values, np.nan)


def times_behind(division: Division, starts: Array) -> tuple[Array, Array]:
    """The first and the last time of an event that is in the window of the row that starts there."""
    window = division.window
    if not division.keeps_time:
        return np.full(len(starts), MIN_TIME), np.full(len(starts), INF)
    if window.label == "end":
        return starts - window.size + 1, starts
    return starts - window.size + window.hop, starts + window.hop - 1


def _step(field: Array) -> Array:
    step = np.abs(field) * _STEP
    return np.where(step == 0, 1.0, step) if field.dtype.kind == "f" else np.maximum(np.rint(step), 1).astype(np.int64)


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)

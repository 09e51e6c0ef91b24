"""What a scan knows at one look: totals of the blocks read, and of how many blocks more each row may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from whimbrel.aggregates import Count, Max, Min, Std, SumOfSquares, Var
from whimbrel.batch import Batch, Column
from whimbrel.clock import INF, MIN_TIME
from whimbrel.operators.finish import FinishKernel
from whimbrel.operators.results import reduced_in
from whimbrel.plan import Aggregate
from whimbrel.progress.division import Division
from whimbrel.progress.scan import Scan
from whimbrel.progress.spread import Spread, ratio
from whimbrel.progress.totals import Totals

Array = np.ndarray[Any, Any]


class Part(NamedTuple):
    """Of each row of an answer, how many blocks may hold events of it; their rows, and the squares of their rows."""

    blocks: Array
    rows: Array
    squares: Array


@dataclass(frozen=True)
class Read:
    """Of each row, the blocks that may hold events of it.

    Attributes
    ----------
    drawn, left, later, before : Part
        Read in this phase; of this phase, not read yet; of later phases; read in earlier ones.
    rows_inside : numpy.ndarray
        Source rows that were not read and can be of no other row.
    random : bool
        Whether what was drawn is a random sample of the phase.
    """

    drawn: Part
    left: Part
    later: Part
    before: Part
    rows_inside: Array
    random: bool

    @cached_property
    def exact(self) -> Array:
        """Rows of which no block is left."""
        return (self.left.blocks == 0) & (self.later.blocks == 0)

    @cached_property
    def phase(self) -> Array:
        """Blocks of this phase, read or not."""
        return self.drawn.blocks + self.left.blocks

    @cached_property
    def rows_left(self) -> Array:
        """Source rows that were not read."""
        return self.left.rows + self.later.rows


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

    Attributes
    ----------
    sums, products, crosses, powers : numpy.ndarray of float64
        As those of the totals.
    """

    def __init__(self, division: Division, totals: Totals, scan: Scan, before: tuple[Array, Array] | None) -> None:
        rows = len(totals)
        self.division, self.totals, self.before = division, totals, before
        self._rows = totals.rows
        self.fields = [array[:rows].copy() for array in totals.fields]
        self.known = [array[:rows].copy() for array in totals.known]
        self.blocks = totals.blocks[:rows].copy()
        width = totals.width
        self.sums, self.products, self.crosses, self.powers = (
            array[: rows * numbers].copy() for array, numbers in (
                (totals.sums, width), (totals.products, width * (width + 1) // 2), (totals.crosses, width),
                (totals.powers, width * 4)))
        self.scan = scan
        self._drawn, self._left, self._later, self._random = scan.drawn, scan.left, scan.later, scan.random
        self._read = np.flatnonzero(scan.read)

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def keys(self) -> Sequence[Column]:
        """Starts and keys of rows."""
        return self._rows.keys

    @property
    def starts(self) -> Array:
        return np.asarray(self.keys[0].values)

    @cached_property
    def read(self) -> Read:
        first, last = times_behind(self.division, self._rows.starts)
        which = self._rows.which
        found = self.scan.overlapping([self._drawn, self._left, self._later, self._read], first, last)
        found[3] -= found[0]
        inside = self.scan.rows_within(np.concatenate([self._left, self._later]), first, last)
        drawn, left, later, before = (Part(*each) for each in found.take(which, axis=2))
        return Read(drawn, left, later, before, inside[which], self._random)

    @cached_property
    def scaled(self) -> list[Array]:
        """The fields as they would be if rows that are left were like those that were read."""
        read = self.read
        more = ratio(read.left.rows, read.drawn.rows)
        density = ratio(read.later.rows + np.where(read.drawn.rows == 0, read.left.rows, 0),
                         read.drawn.rows + read.before.rows)
        thinned, exact = density.any(), read.exact.any()
        out = []
        for place, (known, now) in enumerate(zip(self.known, self.fields, strict=True)):
            if not self.totals.additive[place] or not now.any():
                out.append(now)
                continue
            grown = now + (now.astype(np.float64) - known) * more
            if thinned:
                grown += now * density
            if self._counts[place]:
                grown = np.minimum(grown, now + read.rows_left)
            if now.dtype.kind != "f":
                grown = np.rint(np.minimum(np.maximum(grown, -(2.0**62)), 2.0**62)).astype(np.int64)
            out.append(np.where(read.exact, now, grown) if exact else grown)
        return out

    @cached_property
    def names(self) -> list[str]:
        """Of each field, the aggregate of whose state it is."""
        return [measure.name for measure in self.totals.measures for _ in measure.steps.init]

    @cached_property
    def _counts(self) -> list[bool]:
        """Of each field, whether it counts rows, so that there are no more of them than rows of the source."""
        return [isinstance(measure.aggregate, Count) for measure in self.totals.measures for _ in measure.steps.init]

    @cached_property
    def answer(self) -> Batch:
        """Keys and values, with scaled states."""
        return self.values_of(self.scaled)

    @cached_property
    def values(self) -> Sequence[str]:
        """The names of the answer's values."""
        return self.division.answer.names[len(self.totals.key_fields) :]

    @cached_property
    def needs(self) -> list[set[str]]:
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
        return all(measure.steps.additive for measure in self.totals.measures if measure.name in self.needs[value])

    @cached_property
    def spread(self) -> Spread:
        """How far the values may be off."""
        return Spread(self)

    def certain(self, value: int) -> tuple[Array | float, Array | float]:
        """Between what a value is, by row, whatever the rows hold that were not read."""
        aggregate = self.of(value)
        if isinstance(aggregate, Min):
            return -np.inf, self.numbers(value)
        if isinstance(aggregate, Max):
            return self.numbers(value), np.inf
        if isinstance(aggregate, Var | Std):
            return 0.0, np.inf
        if isinstance(aggregate, Count | SumOfSquares):
            if isinstance(aggregate, SumOfSquares):
                return self.numbers_of(self.values_of(self.fields), value), np.inf
            name, = self.needs[value]
            seen = self.fields[next(place for place, field in enumerate(self.names) if field == name)]
            inside = self.read.rows_inside if self.division.keeps_rows and aggregate.counts_rows else 0
            return seen + inside, seen + self.read.rows_left
        return -np.inf, np.inf

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
        return self.numbers_of(self.answer, value)

    def numbers_of(self, batch: Batch, value: int) -> Array:
        """A value of a batch as :meth:`values_of` makes it."""
        return as_floats(batch.columns[len(self.totals.key_fields) + value])

    def values_alone(self, value: int, states: Sequence[Array]) -> Array:
        """A value that is one aggregate, of other states of it, as floats by row; NaN for null."""
        finish = self.division.to_values[0]
        assert isinstance(finish, FinishKernel)
        if finish.measures[value].counts_rows:
            return states[0].astype(np.float64)
        values, valid = finish.values(value, states)
        return np.where(valid, values, np.nan)

    def values_of(self, fields: Sequence[Array]) -> Batch:
        """Keys and values of other states."""
        batch = self.totals.batch(fields, self.keys, self.division.window.hop)
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

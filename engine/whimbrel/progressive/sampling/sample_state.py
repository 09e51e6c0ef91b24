"""What a scan knows at one look: totals of the blocks read, and of how many blocks more each row may be."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.aggregates import Count, Max, Mean, Min, Std, Sum, SumOfSquares, Var
from whimbrel.batch import Batch, Column, table_from_batches
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import KernelError
from whimbrel.kernels import Compiled, wait_for_compiler
from whimbrel.kernels.primitives.sampling.scaled_states import scaled_states
from whimbrel.kernels.primitives.sampling.window_blocks import BEFORE, KINDS, LATER, LEFT
from whimbrel.operators.aggregation.finalize import FinishKernel
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator, explained_errors
from whimbrel.progressive.estimation.block_totals import Totals
from whimbrel.progressive.intervals.guaranteed import Guaranteed
from whimbrel.progressive.intervals.interval_widths import FEWEST_BLOCKS, IntervalWidths
from whimbrel.progressive.intervals.moment_gradients import mean_slopes, moment_slopes
from whimbrel.progressive.plan.query_split import Division
from whimbrel.progressive.sampling.block_bounds import BlockBounds
from whimbrel.progressive.sampling.block_scan import Stand
from whimbrel.progressive.sampling.evidence import Evidence, Statistics
from whimbrel.progressive.sampling.read_blocks import Part, Read

Array = np.ndarray[Any, Any]

_WRAP, _LARGEST = 2.0**64, 2.0**63 - 2**10
"""What a state of an integer sum leaves out of it each time; and how large a number an integer may be."""
_SLOPES_OFF = 1e-3
"""Of a slope: so far off it may be, as it is seen from states that are changed by a whole number."""
_FEW = 2_000
"""Rows for which nobody waits for the compiler."""

_scaled_states = Compiled(scaled_states)
_NONE = np.empty(0)


class SampleState:
    """The state of a scan, kept as it was, from which values and intervals are computed when somebody looks.

    Parameters
    ----------
    division : Division
    totals : Totals
        Of windows.
    stand : Stand
        Of the scan, when the totals were those of what it had read.
    before : tuple of numpy.ndarray, optional
        Intervals (low, high), by row and value, that hold since this phase began.
    statistics : Statistics, optional
        What is known of all blocks.
    bounds : BlockBounds, optional
        What blocks may add: then intervals are those that hold for any data within these bounds.

    Attributes
    ----------
    sums, products, crosses, powers : numpy.ndarray of float64
        As those of the totals.
    kept : dict of str to KeptLook
        By aggregate, what is known of its values.
    """

    def __init__(self, division: Division, totals: Totals, stand: Stand, before: tuple[Array, Array] | None,
                 statistics: Statistics | None = None, bounds: BlockBounds | None = None) -> None:
        rows = len(totals)
        self.statistics, self._stand = statistics, stand
        self._bounds, self._added = bounds, None if totals.added is None else totals.added.so_far
        self._evidence: Evidence | None = None
        self.division, self.totals, self.before = division, totals, before
        self._rows = totals.rows
        self.fields = [array[:rows].copy() for array in totals.fields]
        self._known = totals.known_of(rows)
        self.blocks = totals.blocks[:rows].copy()
        width = totals.width
        self.sums, self.products, self.crosses, self.powers = (
            array[: rows * numbers].copy() for array, numbers in (
                (totals.sums, width), (totals.products, width * (width + 1) // 2), (totals.crosses, width),
                (totals.powers, width * 4)))
        self.kept = {kept.name: kept.look(rows, stand) for kept in totals.kept}
        self.scan, self._random = stand.scan, stand.random
        self._kinds, self._begins = stand.kinds, stand.begins

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def keys(self) -> Sequence[Column]:
        """Starts and keys of rows."""
        return self._rows.keys

    @property
    def in_order(self) -> bool:
        """Whether no row starts before the one above it."""
        return self._rows.in_order

    @property
    def told(self) -> dict[str, pa.ChunkedArray]:
        """Starts, ends and keys of rows; the same columns until there are more rows."""
        if self._rows.told is None:
            keys = self.answer.select([field.name for field in self.totals.key_fields])
            table = table_from_batches(keys.schema, [keys])
            self._rows.told = dict(zip(table.column_names, table.columns, strict=True))
        return self._rows.told

    @property
    def starts(self) -> Array:
        return np.asarray(self.keys[0].values)

    @cached_property
    def read(self) -> Read:
        return self.read_of(self._kinds)

    @property
    def _window_times(self) -> tuple[Array, Array]:
        """The first and the last time of an event of each window."""
        return times_behind(self.division, self._rows.starts)

    def read_of(self, kinds: Array) -> Read:
        """The blocks of each window, of which so much is known."""
        found, (inside, rows_left, phase, share, more, density), flags = self.scan.overlapping(
            kinds, *self._window_times, random=self._random)
        drawn, left, later, before = (Part(*each) for each in found)
        exact, sampled = flags
        return Read(self._rows.which, drawn, left, later, before, inside, rows_left, phase, share, (more, density),
                    exact, sampled)

    def evidence_of(self, read: Read) -> Evidence | None:
        """How much blocks tell, whichever were drawn; None where that is known of none but these."""
        if self.statistics is None:
            return None
        if read is not self.read:
            return self.statistics.evidence(self.keys, read.drawn.blocks[read.window])
        if self._evidence is None:
            self._evidence = self.statistics.evidence(self.keys, read.drawn.blocks[read.window])
        return self._evidence

    @cached_property
    def max_left(self) -> Array:
        """By window, how many events of it may lie in blocks that were not read."""
        read = self.read
        return read.rows_left if self.division.one_each else np.where(read.exact_windows, 0.0, np.inf)

    @property
    def max_in_block(self) -> float:
        """Events of a group that a block holds at most; infinite where nobody knows."""
        division = self.division
        return float(self.scan.max_rows) if division.one_each else division.max_in_range

    @property
    def scaled(self) -> list[Array]:
        """The fields as they would be if rows that are left were like those that were read."""
        return self._scaled[0]

    @property
    def steps(self) -> Array:
        """By how much each may be changed to see what depends on it, by field and row."""
        return self._scaled[2]

    @property
    def unrounded(self) -> Array:
        """The scaled fields before integers among them were rounded, by field and row."""
        return self._scaled[1]

    @cached_property
    def _scaled(self) -> tuple[list[Array], Array, Array]:
        read, values = self.read, self.division.values
        shape = len(self.fields), len(self)
        scaled, unrounded, steps = np.empty((3, *shape))
        with self.waiting:
            _scaled_states(np.concatenate([_NONE, *self.fields], dtype=np.float64), self._known, values.additive,
                           values.counted, values.whole, read.window, *read.growth, read.rows_left, read.exact_windows,
                           scaled.reshape(-1), unrounded.reshape(-1), steps.reshape(-1))
        known = self.statistics if self._begins else None  # what is read first is unlike the others
        left = None if known is None else known.left(self.keys, (self._kinds == LEFT) | (self._kinds == LATER))
        if left is not None:
            unrounded = np.array([now + more for now, more in zip(self.fields, left, strict=True)]).reshape(shape)
            whole = np.rint(np.clip(unrounded, -_LARGEST / 2, _LARGEST / 2))
            scaled = np.where(values.whole[:, None], whole, unrounded)
        fields = [estimated.astype(now.dtype, copy=False) if adds_up else now
                  for now, estimated, adds_up in zip(self.fields, scaled, values.additive.tolist(), strict=True)]
        if values.rows_alone and self.division.keeps_rows:  # a sample of few blocks says less than where all blocks lie
            more, few = self._rows_to_come[read.window], self.blocks < FEWEST_BLOCKS
            fields = [np.where(few, now + more, grown) for now, grown in zip(self.fields, fields, strict=True)]
        if read.exact_windows.any():
            fields = [np.where(read.exact, now, grown) for now, grown in zip(self.fields, fields, strict=True)]
        return fields, unrounded, steps

    @property
    def _rows_to_come(self) -> Array:
        """By window, its rows among those that were not read, if each block's lie evenly from its first to its last."""
        blocks, read = self.scan.blocks, self.read
        ends = np.maximum.accumulate(np.column_stack([blocks.earliest, blocks.latest + 1]).reshape(-1))
        unread = np.cumsum(np.where((self._kinds == LEFT) | (self._kinds == LATER), blocks.rows, 0))
        before = np.column_stack([np.append(0, unread[:-1]), unread]).reshape(-1)
        first, last = self._window_times
        found = np.interp(last + 1, ends, before) - np.interp(first, ends, before)
        return np.rint(np.clip(found, read.rows_inside, read.rows_left)).astype(np.int64)

    @cached_property
    def answer(self) -> Batch:
        """Keys and values, with scaled states."""
        if self.division.results is not None:
            return self._computed
        return Batch(self.division.answer, self.starts, self.division.window.hop, (*self.keys[1:], *self._alone[0]))

    @property
    def values(self) -> Sequence[str]:
        """The names of the answer's values."""
        return self.division.values.names

    @property
    def two_ended(self) -> Array:
        """Of each value, whether its intervals have two ends once enough was read."""
        if self._bounds is not None:
            return np.isin(np.arange(len(self.values)), list(self._bounds.ends))
        return self.division.values.two_ended

    @property
    def waiting(self) -> AbstractContextManager[None]:
        """Around loops over the rows: of many, the compiler is waited for."""
        return wait_for_compiler() if len(self) > _FEW else nullcontext()

    @cached_property
    def guaranteed(self) -> Guaranteed | None:
        """What makes intervals that hold for any data within known bounds; None where nobody asked for these."""
        if self._bounds is None:
            return None
        return Guaranteed(self._bounds, self.division, self._stand, self.read, self._window_times, self.fields,
                          self._added)

    @cached_property
    def spread(self) -> IntervalWidths:
        """How far the values may be off."""
        return IntervalWidths(self)

    @cached_property
    def means(self) -> dict[int, Array]:
        """Of each value that is a variance or a standard deviation, how much the mean grows with fields, by row."""
        values, found = self.division.values, {}
        for value, aggregate in enumerate(values.made_of):
            if isinstance(aggregate, Var | Std) and self.division.results is None:
                found[value] = np.zeros((len(self.fields), len(self)))
                found[value][values.own[value]] = mean_slopes(list(self.unrounded[values.own[value]]))
        return found

    def certain(self, value: int) -> tuple[Array | float, Array | float] | None:
        """Between what a value is, by row, whatever the rows hold that were not read; None where that may be all."""
        aggregate = self.division.values.made_of[value]
        if isinstance(aggregate, Min):
            return -np.inf, self.numbers[value]
        if value in self.division.values.kept:
            return self.kept[self.division.values.kept[value]].certain(self)
        if isinstance(aggregate, Max):
            return self.numbers[value], np.inf
        if isinstance(aggregate, Var | Std):
            return 0.0, np.inf
        if isinstance(aggregate, Count | SumOfSquares):
            if isinstance(aggregate, SumOfSquares):
                return self.numbers_of(self.values_of(self.fields), value), np.inf
            seen, read = self.fields[self.division.values.own[value].start], self.read
            inside = read.rows_inside[read.window] if self.division.keeps_rows and aggregate.counts_rows else 0
            return seen + inside, seen + self.max_left[read.window]
        return None

    def unseen(self, alpha: float) -> float:
        """The largest share of the blocks of a phase that a group may be in, and be in none that was drawn.

        So many draws without replacement all miss it with probability alpha (hypergeometric).
        """
        drawn, left, later, _ = np.bincount(self._kinds, minlength=KINDS).tolist()
        if not self._random or later or not drawn:
            return 1.0
        total, missed = drawn + left, 1.0
        for number in range(left + 1):
            if missed <= alpha:
                return number / total
            missed *= max(left - number, 0) / (total - number) if total > number else 0.0
        return (left + 1) / total

    def unseen_rows(self, alpha: float) -> float:
        """As many rows as a group may have, and be in none of the blocks that were drawn."""
        kinds = self._kinds
        if not self.division.one_each and ((kinds == LEFT) | (kinds == LATER)).any():
            return float("inf")
        blocks = round(self.unseen(alpha) * (kinds != BEFORE).sum())
        left = self.scan.blocks.rows[(kinds == LEFT) | (kinds == LATER)].sum()
        return float(min(blocks * self.scan.max_rows, left))

    @cached_property
    def numbers(self) -> Array:
        """The values as floats, by value and row; NaN for null."""
        return self._all_numbers_of(self.answer)

    def _all_numbers_of(self, batch: Batch) -> Array:
        numbers = np.empty((len(self.values), len(self)))
        for value in range(len(self.values)):
            numbers[value] = self.numbers_of(batch, value)
        return numbers

    def numbers_of(self, batch: Batch, value: int) -> Array:
        """A value of a batch as :meth:`values_of` makes it."""
        return as_floats(batch.columns[len(self.totals.key_fields) + value])

    @cached_property
    def slopes(self) -> Array:
        """By value, field and row: how much the value grows with the field, seen by changing it."""
        if self.division.results is None:
            return self._alone[1]
        values, numbers = self.division.values, self._rough[1]
        slopes = np.zeros((len(self.values), len(self.fields), len(self)))
        for place, (additive, field, step) in enumerate(zip(values.additive, self.scaled, self.steps, strict=True)):
            if additive and field.any():
                moved = self.values_of([field + step.astype(field.dtype) if at == place else other
                                        for at, other in enumerate(self.scaled)])
                for value in np.flatnonzero(values.needed[:, place]).tolist():
                    with np.errstate(invalid="ignore"):  # inf - inf: a denominator is 0
                        slope = (self.numbers_of(moved, value) - numbers[value]) / step
                    slopes[value, place] = np.where(np.isfinite(slope), slope, 0.0)
        return slopes

    @cached_property
    def _rough(self) -> tuple[Batch, Array]:
        """What is computed of several aggregates, of rounded states; and as floats."""
        batch = self.values_of(self.scaled)
        return batch, self._all_numbers_of(batch)

    @cached_property
    def _moved(self) -> Array:
        """By value and row, what rounding of each state makes of a value that is computed of several aggregates."""
        off = self.unrounded - np.array([np.asarray(field, np.float64) for field in self.scaled]).reshape(
            self.unrounded.shape)
        parts = self.slopes * off
        return np.array([parts.sum(axis=1), np.abs(parts).sum(axis=1)])

    @cached_property
    def _computed(self) -> Batch:
        """What is computed of several aggregates, as of states that were not rounded."""
        batch, numbers = self._rough
        keys, columns = len(self.totals.key_fields), list(batch.columns)
        for value in range(len(self.values)):
            column = columns[keys + value]
            if column.fixed and column.values.dtype.kind == "f":
                moved = np.where(np.isfinite(numbers[value]), column.values + self._moved[0][value], column.values)
                columns[keys + value] = Column(column.type, moved.astype(column.values.dtype), column.valid)
        return batch.having(columns=tuple(columns))

    @cached_property
    def _integer_sums(self) -> dict[int, Array]:
        """Of each value that is a sum of integers, the estimate, which may be more than an integer holds."""
        values, found = self.division.values, {}
        for value, aggregate in enumerate(values.made_of):
            own = values.own[value]
            whole = values.adds_up[value] and values.whole[own].all()
            if isinstance(aggregate, Sum) and whole and self.division.results is None:
                total, wraps = self.unrounded[own]
                found[value] = total + _WRAP * wraps
        return found

    @property
    def rounding(self) -> Array:
        """By value and row, how far off a value may still be because states were rounded."""
        if self.division.results is None:
            off = np.zeros((len(self.values), len(self)))
            for value, total in self._integer_sums.items():
                off[value] = np.where(np.abs(total) > _LARGEST, np.inf, 0.0)
            return off
        size = self._moved[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(size > 0, _SLOPES_OFF * size + size**2 / np.abs(self.numbers), 0.0)

    @cached_property
    def _alone(self) -> tuple[list[Column], Array]:
        """The columns of values that each are one aggregate, and their slopes."""
        division, rows = self.division, len(self)
        finish, = division.to_values
        assert isinstance(finish, FinishKernel)
        columns, slopes = [], np.zeros((len(finish.measures), len(self.fields), rows))
        for value, measure in enumerate(finish.measures):
            own = division.values.own[value]
            states = self.scaled[own]
            if measure.counts_rows:
                slopes[value, own] = 1.0
                columns.append(Column(measure.type, states[0]))
            elif not isinstance(measure, ScalarAccumulator):
                columns.append(self._kept_columns[measure.name])
            elif measure.steps.columns is not None:
                columns.append(measure.joined(states))
            elif not measure.steps.additive:
                out, valid = self._so_far(finish, value, states)
                columns.append(measure.column(np.where(valid, out, 0), valid))
            elif value in self._integer_sums:
                columns.append(measure.column(self._sum(finish, value, states), np.ones(rows, np.bool_)))
                slopes[value, own] = np.array([[1.0], [_WRAP]])
            else:
                out, valid = np.zeros(rows, measure.out_dtypes[0]), np.empty(rows, np.bool_)
                moments = isinstance(measure.aggregate, Mean | Var | Std)
                if moments:  # a rounded number of rows would move them
                    states = list(self.unrounded[own])
                with explained_errors(finish.measures), self.waiting:
                    division.slopes[measure.name](
                        *states, *(step.astype(state.dtype, copy=False)
                                   for step, state in zip(self.steps[own], states, strict=True)),
                        *(bool(state.any()) and not moments for state in states), out, valid, *slopes[value, own])
                if moments:
                    slopes[value, own] = moment_slopes(measure.aggregate, states, out, valid)
                columns.append(measure.column(out, valid))
        return columns, slopes

    def _so_far(self, finish: FinishKernel, value: int, states: Sequence[Array]) -> tuple[Array, Array]:
        """A value of what was read, by row, and where there is one: some leave their type on the way to the whole."""
        try:
            return finish.values(value, states)
        except KernelError:
            if self.read.exact.all():
                raise
        found = np.zeros(len(self), finish.measures[value].out_dtypes[0]), np.zeros(len(self), np.bool_)
        for row in range(len(self)):
            with suppress(KernelError):
                found[0][row : row + 1], found[1][row : row + 1] = finish.values(
                    value, [state[row : row + 1] for state in states])
        return found

    def _sum(self, finish: FinishKernel, value: int, states: Sequence[Array]) -> Array:
        """A sum of integers, to the last digit where it is exact; else the nearest that there is to its estimate."""
        total = self._integer_sums[value]
        large = ~self.read.exact & ((np.abs(total) > _LARGEST / 2) | (states[1] != 0))
        exact, _ = finish.values(value, [np.where(large, 0, state) for state in states])
        near = np.rint(np.clip(total, -_LARGEST, _LARGEST)).astype(np.int64)
        return np.where(large, near, exact)

    @cached_property
    def _kept_columns(self) -> dict[str, Column]:
        return {name: look.column(self) for name, look in self.kept.items()}

    def values_of(self, fields: Sequence[Array], rows: Array | None = None) -> Batch:
        """Keys and values of other states: of all rows, or of these."""
        keys, kept = self.keys, self._kept_columns
        if rows is not None:
            keys = [key.take(rows) for key in keys]
            kept = {name: column.take(rows) for name, column in kept.items()}
        batch = self.totals.batch(fields, kept, keys, self.division.window.hop)
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

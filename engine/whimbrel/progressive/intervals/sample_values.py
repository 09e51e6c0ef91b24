"""Values scaled from a sample to all rows, and their gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from whimbrel.aggregates import Mean, Std, Sum, Var
from whimbrel.batch import Batch, Column, Schema
from whimbrel.errors import KernelError
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.sampling.scaled_states import scaled_states
from whimbrel.kernels.primitives.sampling.window_blocks import LATER, LEFT
from whimbrel.operators.aggregation.finalize import FinishKernel
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.progressive.intervals.moment_gradients import mean_slopes, moment_slopes
from whimbrel.progressive.intervals.value_state import ValueSnapshot
from whimbrel.progressive.sample_thresholds import MIN_BLOCKS_OF_GROUP
from whimbrel.progressive.sampling.sample_state import SampleState

Array = np.ndarray[Any, Any]

_WRAP, _LARGEST = 2.0**64, 2.0**63 - 2**10
"""The wrap of an integer sum, and the largest integer."""
_SLOPES_OFF = 1e-3
"""The relative error of a slope from a difference of integers."""

_scaled_states = Compiled(scaled_states)
_NONE = np.empty(0)


class SampleValues:
    """Values of a sample, computed on first use.

    Parameters
    ----------
    state : SampleState
    kept : mapping of str to ValueSnapshot
        By aggregate that keeps its values, these at this update.
    """

    def __init__(self, state: SampleState, kept: Mapping[str, ValueSnapshot]) -> None:
        self.state, self.split, self.kept = state, state.split, kept
        self.fields = state.fields

    def __len__(self) -> int:
        return len(self.state)

    @property
    def scaled(self) -> list[Array]:
        """The fields, scaled to all rows."""
        return self._scaled[0]

    @property
    def steps(self) -> Array:
        """Steps for numerical differences, by field and row."""
        return self._scaled[2]

    @property
    def unrounded(self) -> Array:
        """The scaled fields before integers were rounded, by field and row."""
        return self._scaled[1]

    @cached_property
    def _scaled(self) -> tuple[list[Array], Array, Array]:
        read, values = self.state.read, self.split.values
        shape = len(self.fields), len(self)
        scaled, unrounded, steps = np.empty((3, *shape))
        with self.state.waiting:
            _scaled_states(np.concatenate([_NONE, *self.fields], dtype=np.float64), self.state.known, values.additive,
                           values.counted, values.whole, read.window, *read.growth, read.rows_left, read.exact_windows,
                           scaled.reshape(-1), unrounded.reshape(-1), steps.reshape(-1))
        state, kinds = self.state, self.state.kinds
        known = state.statistics if state.position.begins else None  # the first blocks are not a sample
        left = None if known is None else known.left(state.keys, (kinds == LEFT) | (kinds == LATER))
        if left is not None:
            unrounded = np.array([now + more for now, more in zip(self.fields, left, strict=True)]).reshape(shape)
            whole = np.rint(np.clip(unrounded, -_LARGEST / 2, _LARGEST / 2))
            scaled = np.where(values.whole[:, None], whole, unrounded)
        fields = [estimated.astype(now.dtype, copy=False) if adds_up else now
                  for now, estimated, adds_up in zip(self.fields, scaled, values.additive.tolist(), strict=True)]
        if values.rows_alone and self.split.keeps_rows:  # times of all blocks say more than few blocks
            more, few = self._rows_to_come[read.window], self.state.blocks < MIN_BLOCKS_OF_GROUP
            fields = [np.where(few, now + more, grown) for now, grown in zip(self.fields, fields, strict=True)]
        if read.exact_windows.any():
            fields = [np.where(read.exact, now, grown) for now, grown in zip(self.fields, fields, strict=True)]
        return fields, unrounded, steps

    @property
    def _rows_to_come(self) -> Array:
        """By window, the estimated number of its unread rows, if rows are spread evenly over the times of blocks."""
        blocks, read = self.state.scan.blocks, self.state.read
        ends = np.maximum.accumulate(np.column_stack([blocks.earliest, blocks.latest + 1]).reshape(-1))
        unread = np.cumsum(np.where((self.state.kinds == LEFT) | (self.state.kinds == LATER), blocks.rows, 0))
        before = np.column_stack([np.append(0, unread[:-1]), unread]).reshape(-1)
        first, last = self.state.window_times
        found = np.interp(last + 1, ends, before) - np.interp(first, ends, before)
        return np.rint(np.clip(found, read.rows_inside, read.rows_left)).astype(np.int64)

    @cached_property
    def answer(self) -> Batch:
        """Keys and values, with scaled states."""
        if self.split.results is not None:
            return self._computed
        return Batch(self.split.answer, self.state.starts, self.split.window.hop,
                     (*self.state.keys[1:], *self._alone[0]))

    @property
    def names(self) -> Sequence[str]:
        """The names of the answer's values."""
        return self.split.values.names

    @cached_property
    def means(self) -> dict[int, Array]:
        """By value that is a variance or a standard deviation, the gradient of its mean."""
        values, found = self.split.values, {}
        for value, aggregate in enumerate(values.made_of):
            if isinstance(aggregate, Var | Std) and self.split.results is None:
                found[value] = np.zeros((len(self.fields), len(self)))
                found[value][values.own[value]] = mean_slopes(list(self.unrounded[values.own[value]]))
        return found

    @cached_property
    def numbers(self) -> Array:
        """The values as floats, by value and row; NaN for null."""
        return self._all_numbers_of(self.answer)

    def _all_numbers_of(self, batch: Batch) -> Array:
        numbers = np.empty((len(self.names), len(self)))
        for value in range(len(self.names)):
            numbers[value] = self.numbers_of(batch, value)
        return numbers

    def numbers_of(self, batch: Batch, value: int) -> Array:
        """A value of a batch as :meth:`values_of` makes it."""
        return as_floats(batch.columns[len(self.split.key_fields) + value])

    @cached_property
    def slopes(self) -> Array:
        """The gradient by value, field and row, from numerical differences."""
        if self.split.results is None:
            return self._alone[1]
        values, numbers = self.split.values, self._rough[1]
        slopes = np.zeros((len(self.names), len(self.fields), len(self)))
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
        """Expressions of several aggregates, from rounded states; and as floats."""
        batch = self.values_of(self.scaled)
        return batch, self._all_numbers_of(batch)

    @cached_property
    def _moved(self) -> Array:
        """By value and row, the effect of rounded states on expressions of several aggregates."""
        off = self.unrounded - np.array([np.asarray(field, np.float64) for field in self.scaled]).reshape(
            self.unrounded.shape)
        parts = self.slopes * off
        return np.array([parts.sum(axis=1), np.abs(parts).sum(axis=1)])

    @cached_property
    def _computed(self) -> Batch:
        """Expressions of several aggregates, corrected for the rounding of states."""
        batch, numbers = self._rough
        keys, columns = len(self.split.key_fields), list(batch.columns)
        for value in range(len(self.names)):
            column = columns[keys + value]
            if column.fixed and column.values.dtype.kind == "f":
                moved = np.where(np.isfinite(numbers[value]), column.values + self._moved[0][value], column.values)
                columns[keys + value] = Column(column.type, moved.astype(column.values.dtype), column.valid)
        return batch.having(columns=tuple(columns))

    @cached_property
    def _integer_sums(self) -> dict[int, Array]:
        """By value that is a sum of integers, the estimate as float, which may exceed the largest integer."""
        values, found = self.split.values, {}
        for value, aggregate in enumerate(values.made_of):
            own = values.own[value]
            whole = values.adds_up[value] and values.whole[own].all()
            if isinstance(aggregate, Sum) and whole and self.split.results is None:
                total, wraps = self.unrounded[own]
                found[value] = total + _WRAP * wraps
        return found

    @property
    def rounding(self) -> Array:
        """By value and row, the error from rounded states."""
        if self.split.results is None:
            off = np.zeros((len(self.names), len(self)))
            for value, total in self._integer_sums.items():
                off[value] = np.where(np.abs(total) > _LARGEST, np.inf, 0.0)
            return off
        size = self._moved[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(size > 0, _SLOPES_OFF * size + size**2 / np.abs(self.numbers), 0.0)

    @cached_property
    def _alone(self) -> tuple[list[Column], Array]:
        """The columns of values that are one aggregate each, and their gradients."""
        split, rows = self.split, len(self)
        finish, = split.to_values
        assert isinstance(finish, FinishKernel)
        columns, slopes = [], np.zeros((len(finish.measures), len(self.fields), rows))
        for value, measure in enumerate(finish.measures):
            own = split.values.own[value]
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
                if moments:  # rounded row counts would change them
                    states = list(self.unrounded[own])
                with explained_errors(finish.measures), self.state.waiting:
                    split.slopes[measure.name](
                        *states, *(step.astype(state.dtype, copy=False)
                                   for step, state in zip(self.steps[own], states, strict=True)),
                        *(bool(state.any()) and not moments for state in states), out, valid, *slopes[value, own])
                if moments:
                    slopes[value, own] = moment_slopes(measure.aggregate, states, out, valid)
                columns.append(measure.column(out, valid))
        return columns, slopes

    def _so_far(self, finish: FinishKernel, value: int, states: Sequence[Array]) -> tuple[Array, Array]:
        """A value of the rows read, and where it is valid: some exceed their type before all rows are read."""
        try:
            return finish.values(value, states)
        except KernelError:
            if self.state.read.exact.all():
                raise
        found = np.zeros(len(self), finish.measures[value].out_dtypes[0]), np.zeros(len(self), np.bool_)
        for row in range(len(self)):
            with suppress(KernelError):
                found[0][row : row + 1], found[1][row : row + 1] = finish.values(
                    value, [state[row : row + 1] for state in states])
        return found

    def _sum(self, finish: FinishKernel, value: int, states: Sequence[Array]) -> Array:
        """A sum of integers: exact if all rows were read, else the nearest integer to the estimate."""
        total = self._integer_sums[value]
        large = ~self.state.read.exact & ((np.abs(total) > _LARGEST / 2) | (states[1] != 0))
        exact, _ = finish.values(value, [np.where(large, 0, state) for state in states])
        near = np.rint(np.clip(total, -_LARGEST, _LARGEST)).astype(np.int64)
        return np.where(large, near, exact)

    @cached_property
    def _kept_columns(self) -> dict[str, Column]:
        return {name: kept.column(self.state) for name, kept in self.kept.items()}

    def values_of(self, fields: Sequence[Array], rows: Array | None = None) -> Batch:
        """Keys and values from these states, for all rows or for some."""
        keys, kept = self.state.keys, self._kept_columns
        if rows is not None:
            keys = [key.take(rows) for key in keys]
            kept = {name: column.take(rows) for name, column in kept.items()}
        batch = states_batch(self.split.merged, fields, kept, keys, self.split.window.hop)
        for step in self.split.to_values:
            batch = step.apply(batch)
        return batch


def states_batch(schema: Schema, fields: Sequence[Array], kept: Mapping[str, Column], rows: Sequence[Column],
                 duration: int) -> Batch:
    """A batch of starts and keys, with these fields as states, and the values of aggregates that keep them."""
    starts, *keys = rows
    given = iter(fields)
    columns = (kept[field.name] if field.name in kept else Column(field.type, next(given))
               for field in schema.fields[len(keys) :])
    return Batch(schema, np.asarray(starts.values), duration, (*keys, *columns))


def as_floats(column: Column) -> Array:
    """A column as floats; NaN for null, and for columns that are not numbers."""
    if not column.fixed or column.values.dtype.kind not in "iufb":
        return np.full(len(column), np.nan)
    values = np.asarray(column.values, np.float64)
    return values if column.valid is None else np.where(column.valid, values, np.nan)

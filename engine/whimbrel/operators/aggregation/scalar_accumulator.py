"""Accumulator of one aggregate with a scalar state per group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, Schema, Storage, frozen, numpy_type
from whimbrel.errors import KernelError, WhimbrelError
from whimbrel.expr import MAX_DIGITS, Call, Expr, evaluate, predicate, type_of
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend
from whimbrel.operators.aggregation.accumulator import Accumulator, Inputs, Remembered
from whimbrel.operators.aggregation.aggregate_codegen import replay_function, shows_states, two_stacks
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.plan import Aggregate, AggregateFunctions, AggregatePhase, StepFailed

Array = np.ndarray[Any, Any]

NO_MASK: Mask = np.empty(0, np.bool_)
NO_MASK.flags.writeable = False
_NONE = frozen(np.empty(0, np.int64))
NO_ROWS: Inputs = ((), NO_MASK, _NONE)
"""What is read where there are no rows."""

GROUPS_AT_FIRST = 1024

_SIGN = np.uint64(2**63)
"""Turned over, unsigned integers are in order as signed ones."""


_ARRAYS = ("stale", "shown_valid", "held_valid", "held_start")
_LISTS_OF_ARRAYS = ("state", "stacks", "suffixes", "held", "shown")


class ScalarAccumulator(Accumulator):
    """State arrays of one aggregate, one element per group, and their update.

    Parameters
    ----------
    name : str
        The result column.
    aggregate : Aggregate
    steps : AggregateFunctions
        Its algebra.
    schema : Schema
        Of the input.
    remembers : bool
        Whether rows also leave their group, so that their values must be kept until then.
    part : AggregatePhase
        Whether it makes values of rows, states of rows, or states of states. `schema` is that of the rows.

    Notes
    -----
    If rows cannot be removed but states merge, each group has two stacks while its rows leave in arrival order:
    amortised O(1) per row. `stacks` has the top and the last slot of the front stack, and the newest slot. A top of -2
    means another order: the group is recomputed until it is empty. `suffixes` has, per slot, the next newer slot of the
    front stack and the state from it on. The back stack is the state.
    """

    def __init__(self, name: str, aggregate: Aggregate, steps: AggregateFunctions, schema: Schema, *, remembers: bool,
                 part: AggregatePhase = AggregatePhase.WHOLE) -> None:
        if part is AggregatePhase.MERGED:
            assert steps.merge is not None
            steps = replace(steps, accumulate=steps.merge, remove=None, timed=False)
        if not remembers or steps.remove is None:
            steps = replace(steps, spoiled=None)
        self.name, self.part = name, part
        self.aggregate = aggregate
        input_type = None if aggregate.expr is None else type_of(aggregate.expr, schema, where=aggregate.show())
        self.type = aggregate.result_type(input_type)
        self.steps = steps
        self.unsigned = input_type == pa.uint64()  # what is computed is int64: values may be above its largest
        fields = [np.asarray(value).dtype for value in steps.init]
        self.inputs, types = inputs_of(aggregate.expr, input_type)
        if part is AggregatePhase.MERGED:
            self.value_dtypes = fields
        elif steps.columns is not None:
            self.value_dtypes = [np.dtype(np.int64)] * steps.inputs
        else:
            self.value_dtypes = [_dtype(type_) for type_ in types]
        self.out_dtypes = fields if shows_states(steps, part) else [_dtype(self.type)]
        self.field_types = state_types(steps)
        self.state = [np.full(GROUPS_AT_FIRST, value) for value in self.steps.init]
        self.stale = np.zeros(GROUPS_AT_FIRST, np.bool_)
        groups, slots = (GROUPS_AT_FIRST, GROUPS_AT_FIRST) if remembers else (0, 0)
        self.shown = [np.zeros(groups, dtype) for dtype in self.out_dtypes]
        self.held = [np.zeros(slots, dtype) for dtype in self.value_dtypes]
        self.shown_valid, self.held_valid = np.zeros(groups, np.bool_), np.zeros(slots, np.bool_)
        self.held_start = np.zeros(slots if self.steps.timed else 0, np.int64)
        self.stacks = [np.full(groups, -1, np.int64) for _ in range(3)] if two_stacks(steps) else []
        self.suffixes = ([np.zeros(slots, np.int64), *(np.full(slots, value) for value in steps.init)]
                         if self.stacks else [])

    @cached_property
    def replay(self) -> Compiled:
        """The loop that applies a schedule; where all is done by one fused loop nobody asks for it."""
        return replay_function(self.aggregate, self.steps, self.part)

    def grow_groups(self, groups: int) -> None:
        self.state = [extend(array, groups, value) for array, value in zip(self.state, self.steps.init, strict=True)]
        self.stale = extend(self.stale, groups, False)
        if len(self.shown_valid):
            self.shown = [extend(array, groups, 0) for array in self.shown]
            self.shown_valid = extend(self.shown_valid, groups, False)
            self.stacks = [extend(array, groups, -1) for array in self.stacks]

    def grow_slots(self, slots: int) -> None:
        self.held = [extend(array, slots, 0) for array in self.held]
        self.held_valid = extend(self.held_valid, slots, False)
        if self.steps.timed:
            self.held_start = extend(self.held_start, slots, 0)
        self.suffixes = [extend(array, slots, 0) for array in self.suffixes]

    @property
    def counts_rows(self) -> bool:
        return self.part is not AggregatePhase.MERGED and self.aggregate.counts_rows

    @property
    def walks_rows(self) -> bool:
        return self.steps.remove is None

    @property
    def fuses(self) -> bool:
        return (self.part is not AggregatePhase.MERGED and not self.unsigned and self.steps.inputs == 1
                and self.steps.columns is None)

    def read(self, batch: Batch) -> Inputs:
        if self.part is AggregatePhase.MERGED:
            states = [batch.column(name) for name in state_names(self.name, self.steps)]
            return tuple(frozen(np.asarray(column.values)) for column in states), NO_MASK, _NONE
        values, valid = self._values(batch)
        return values, valid, batch.first_start if self.steps.timed else _NONE

    def _values(self, batch: Batch) -> tuple[tuple[Array, ...], Mask]:
        aggregate = self.aggregate
        valid = None
        if aggregate.condition is not None:
            valid = predicate(aggregate.condition, batch)
            batch = batch.with_absent(~valid)
        if aggregate.expr is None:
            return (batch.sync,), NO_MASK if valid is None else frozen(valid)
        values = []
        if self.steps.columns is not None:
            column = evaluate(self.inputs[0], batch)
            there = column.validity()
            valid = there if valid is None else valid & there
            split = tuple(frozen(each) for each in self.steps.columns.split(column))
            return split, NO_MASK if valid.all() else frozen(valid)
        for expr, dtype in zip(self.inputs, self.value_dtypes, strict=True):
            column = evaluate(expr, batch)
            if not column.fixed or aggregate.name == "count":  # only whether a value is there matters
                column = Column(pa.int64(), np.zeros(len(column), np.int64), column.validity())
            if column.valid is not None:
                valid = column.valid if valid is None else valid & column.valid
            values.append(frozen(self._wide(np.asarray(column.values), dtype)))
        return tuple(values), NO_MASK if valid is None else frozen(valid)

    def _wide(self, values: Array, dtype: np.dtype[Any]) -> Array:
        if self.unsigned and (self.aggregate.chooses or self.aggregate.takes_turned):
            return (values ^ _SIGN).view(np.int64)
        if self.unsigned and values.size and values.max() > 2**63 - 1:
            raise KernelError("The aggregate cannot use a value above the largest int64.", where=self.aggregate.show(),
                              hint="Use sum(..., widen=True), which is exact." if self.aggregate.name == "sum" else
                              "Cast the column to float64 first.")
        return values.astype(dtype, copy=False)

    def apply(self, schedule: OperationLog, inputs: Inputs, remembered: Remembered, outs: Outs,
              first: int = 0) -> int | None:
        values, valid, start = inputs
        if not values:  # no row is read
            values = tuple(frozen(_NONE.astype(dtype)) for dtype in self.value_dtypes)
        held_sync, held_other, head, after, before = remembered
        stopped: int | None = self.replay(
            first, schedule.operations, schedule.kind, schedule.who, schedule.which, schedule.slot, schedule.target,
            *values, valid, *self.held, self.held_valid, schedule.sync, held_sync, held_other, head, after, before,
            self.stale, *self.shown, self.shown_valid, *outs, start, self.held_start,
            *self.stacks, *self.suffixes, *self.state)
        return stopped

    def columns(self, outs: Outs, rows: int, storage: Storage | None = None) -> list[Column]:
        copied = np.copy if storage is None else storage.copy
        *values, valid = (array[:rows] for array in outs)
        if self.part is not AggregatePhase.WHOLE:
            return [Column(type_, copied(array)) for type_, array in zip(self.field_types, values, strict=True)]
        if self.steps.columns is not None:
            return [self.joined(values)]
        return [self.column(copied(values[0]), valid.copy())]

    def joined(self, states: Sequence[Array]) -> Column:
        """The values of states, where whole columns of these become values."""
        assert self.steps.columns is not None
        try:
            return self.steps.columns.join(states)
        except OverflowError:
            if not pa.types.is_decimal(self.type):
                raise KernelError(f"A {self.aggregate.name} overflows {self.type}.",
                                  where=f"aggregate({self.name}={self.aggregate.show()})",
                                  hint='Cast it to a coarser unit: .cast(pa.duration("s")).') from None
            digits = self.type.precision
            raise KernelError(f"A {self.aggregate.name} needs more than {digits} digits.",
                              where=f"aggregate({self.name}={self.aggregate.show()})",
                              hint="Use sum(..., widen=True), which has 76 digits." if digits < MAX_DIGITS else
                              "Cast the column to floats: .cast(float).") from None

    def column(self, values: Array, valid: Mask) -> Column:
        """The values of the aggregate, as they were written and will stay, in the type of its column."""
        physical = numpy_type(self.type)
        assert physical is not None
        if self.unsigned and self.aggregate.chooses:
            values = values.view(np.uint64) ^ _SIGN
        if valid.all():
            return Column(self.type, values.astype(physical, copy=False))
        return Column(self.type, np.where(valid, values, 0).astype(physical, copy=False), valid)

    def fork(self) -> ScalarAccumulator:
        clone = object.__new__(ScalarAccumulator)
        clone.__dict__.update(self.__dict__)
        for name in _ARRAYS:
            setattr(clone, name, getattr(self, name).copy())
        for name in _LISTS_OF_ARRAYS:
            if arrays := getattr(self, name):
                setattr(clone, name, [array.copy() for array in arrays])
        return clone


def inputs_of(expr: Expr | None, type_: pa.DataType | None) -> tuple[list[Expr], list[pa.DataType | None]]:
    """What an aggregate reads of a row, and its types: the parts of a struct that is made for it."""
    if isinstance(expr, Call) and expr.function == "struct" and type_ is not None:
        return list(expr.args), [type_.field(index).type for index in range(type_.num_fields)]
    return [] if expr is None else [expr], [type_]


def state_names(name: str, steps: AggregateFunctions) -> list[str]:
    """The columns that hold the states of an aggregate."""
    return [f"{name}.{field}" for field in range(len(steps.init))]


def state_types(steps: AggregateFunctions) -> list[pa.DataType]:
    """What is in them."""
    return [pa.float64() if isinstance(value, float) else pa.int64() for value in steps.init]


class explained_errors:  # noqa: N801 - read as a statement; a class, since it is entered twice for every batch
    """Context manager that adds the name of the aggregate to errors.

    Parameters
    ----------
    measures : sequence of Accumulator
    read : callable, optional
        Reads the rows once more, which names an expression that left int64; without it a sum did.
    """

    __slots__ = ("measures", "read")

    def __init__(self, measures: Sequence[Accumulator], read: Callable[[], object] | None = None) -> None:
        self.measures, self.read = measures, read

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, WhimbrelError):
            return
        measures = self.measures
        if isinstance(error, StepFailed):
            raise _of_user(error, measures) from error.__cause__
        if isinstance(error, OverflowError):
            if self.read is not None:
                self.read()
            of_expression = str(error) == "integer overflow"  # then no sum has left int64
            if not of_expression and (checked := [each for each in measures if _is_checked(each)]):
                raise _overflow(checked) from error


def _of_user(error: StepFailed, measures: Sequence[Accumulator]) -> KernelError:
    own = ", ".join(f"{measure.name}={measure.aggregate.show()}" for measure in measures
                    if getattr(getattr(measure.aggregate, "functions", None), "name", None) == error.name)
    return KernelError(error.what, where=f"aggregate({own})", hint=error.hint)


def _is_checked(measure: Accumulator) -> bool:
    """Whether its value may leave int64, which is an error."""
    return measure.aggregate.name in ("sum", "sum_of_squares", "product") and measure.type == pa.int64()


def _overflow(checked: Sequence[Accumulator]) -> KernelError:
    shown = ", ".join(f"{measure.name}={measure.aggregate.show()}" for measure in checked)
    names = " or ".join(sorted({measure.aggregate.name.replace("_", " ") for measure in checked}))
    return KernelError(f"An integer {names} leaves int64.", where=f"aggregate({shown})",
                       hint="Use sum(..., widen=True), which is exact, or cast the column: .cast(float)."
                       if names == "sum" else "Cast the column to floats: .cast(float).")


def _dtype(type_: pa.DataType | None) -> np.dtype[Any]:
    return np.dtype(np.float64 if type_ is not None and pa.types.is_floating(type_) else np.int64)

"""Accumulator of one aggregate with a scalar state per group."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from whimbrel.batch import Column, Schema, Storage, frozen
from whimbrel.kernels import Compiled
from whimbrel.kernels.array_growth import extend, move
from whimbrel.operators.aggregation.accumulator import Accumulator, Remembered
from whimbrel.operators.aggregation.aggregate_codegen import replay_function, two_stacks
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.plan import Aggregate, AggregateFunctions, AggregatePhase
from whimbrel.plan.typed_aggregate import Inputs, TypedAggregate

Array = np.ndarray[Any, Any]

_NONE = frozen(np.empty(0, np.int64))

GROUPS_AT_FIRST = 1024


_ARRAYS = ("stale", "shown_valid", "held_valid", "held_start")
_LISTS_OF_ARRAYS = ("state", "stacks", "suffixes", "held", "shown")


class ScalarAccumulator(TypedAggregate, Accumulator):
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
        super().__init__(name, aggregate, steps, schema, part)
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

    def move_groups(self, old: Array, new: Array, groups: int) -> None:
        self.state = [move(array, old, new, groups, value)
                      for array, value in zip(self.state, self.steps.init, strict=True)]
        self.stale = move(self.stale, old, new, groups, False)
        if len(self.shown_valid):
            self.shown = [move(array, old, new, groups, 0) for array in self.shown]
            self.shown_valid = move(self.shown_valid, old, new, groups, False)
            self.stacks = [move(array, old, new, groups, -1) for array in self.stacks]

    def grow_slots(self, slots: int) -> None:
        self.held = [extend(array, slots, 0) for array in self.held]
        self.held_valid = extend(self.held_valid, slots, False)
        if self.steps.timed:
            self.held_start = extend(self.held_start, slots, 0)
        self.suffixes = [extend(array, slots, 0) for array in self.suffixes]

    @property
    def walks_rows(self) -> bool:
        return self.steps.remove is None

    @property
    def fuses(self) -> bool:
        if self.part is AggregatePhase.MERGED:
            return self.steps.columns is None
        return not self.unsigned and self.steps.inputs == 1 and self.steps.columns is None

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

    def fork(self) -> ScalarAccumulator:
        clone = object.__new__(ScalarAccumulator)
        clone.__dict__.update(self.__dict__)
        for name in _ARRAYS:
            setattr(clone, name, getattr(self, name).copy())
        for name in _LISTS_OF_ARRAYS:
            if arrays := getattr(self, name):
                setattr(clone, name, [array.copy() for array in arrays])
        return clone

"""Accumulator with Python objects as states, updated row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Schema, Storage, frozen
from whimbrel.errors import KernelError
from whimbrel.operators.aggregation.accumulator import Accumulator, Remembered
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.plan import Aggregate, AggregatePhase, Objects, StepFailed
from whimbrel.plan.typed_aggregate import Inputs
from whimbrel.plan.typed_python_aggregate import TypedPythonAggregate

Array = np.ndarray[Any, Any]

_NONE = frozen(np.empty(0, np.int64))
_ENTERS, _LEAVES, _SHOWS, _ENDS = range(4)


class PythonAccumulator(TypedPythonAggregate, Accumulator):
    """States of one aggregate by group, and the rows retained until they leave.

    Parameters
    ----------
    name : str
        The result column.
    aggregate : Aggregate
    steps : Objects
        Its algebra.
    schema : Schema
        Of the input.
    remembers : bool
        Whether rows also leave their group, so that their values must be kept until then.
    part : AggregatePhase
        Whether it makes values of rows, states of rows, or states of states; states travel as text.
    """

    def __init__(self, name: str, aggregate: Aggregate, steps: Objects, schema: Schema, *, remembers: bool,
                 part: AggregatePhase = AggregatePhase.WHOLE) -> None:
        super().__init__(name, aggregate, steps, schema, part)
        self.out_dtypes = [np.dtype(object)]
        self.remembers = remembers
        self.states: dict[int, Any] = {}
        self.shown: dict[int, Any] = {}
        self.held: dict[int, tuple[Any, ...]] = {}
        self.stale: set[int] = set()
        self.takes_back = steps.remove if part is not AggregatePhase.MERGED else None

    @property
    def walks_rows(self) -> bool:
        return self.takes_back is None

    def grow_groups(self, groups: int) -> None:
        """Groups have no place of their own."""

    def move_groups(self, old: Array, new: Array, groups: int) -> None:
        numbers = dict(zip(old.tolist(), new.tolist(), strict=True))
        self.states = {numbers[group]: state for group, state in self.states.items()}
        self.shown = {numbers[group]: value for group, value in self.shown.items()}
        self.stale = {numbers[group] for group in self.stale}

    def grow_slots(self, slots: int) -> None:
        """Nor have rows."""

    def apply(self, schedule: OperationLog, inputs: Inputs, remembered: Remembered, outs: Outs, first: int = 0) -> None:
        values, valid, start = inputs
        out, out_valid = outs
        columns = [*values, *([start] if len(start) else [])]
        steps, count = self.steps, schedule.operations
        accumulate = self._merge if self.part is AggregatePhase.MERGED else steps.accumulate
        kinds, groups = schedule.kind[:count].tolist(), schedule.who[:count].tolist()
        which, slots, targets = (each[:count].tolist() for each in (schedule.which, schedule.slot, schedule.target))
        for step in range(first, count):
            kind, group = kinds[step], groups[step]
            if kind == _ENTERS:
                row = which[step]
                counts = not len(valid) or valid[row]
                given = tuple(_python(column[row]) for column in columns) if counts else ()
                if self.remembers:
                    self.held[slots[step]] = given
                if counts:
                    state = self.states[group] if group in self.states else self.steps.init()
                    self.states[group] = accumulate(state, *given)
            elif kind == _LEAVES:
                given = self.held.pop(slots[step], ())
                if given and self.takes_back is None:
                    self.stale.add(group)
                elif given and self.takes_back is not None:
                    self.states[group] = self.takes_back(self.states[group], *given)
            elif kind == _SHOWS:
                if group in self.stale:
                    self._recompute(group, int(schedule.sync[targets[step]]), remembered, accumulate)
                value = self._value(group)
                out[targets[step]], out_valid[targets[step]] = value, value is not None
                if self.remembers:
                    self.shown[group] = value
            elif kind == _ENDS:
                value = self.shown.pop(group, None)
                out[targets[step]], out_valid[targets[step]] = value, value is not None
            else:
                self.states.pop(group, None)
                self.stale.discard(group)

    def columns(self, outs: Outs, rows: int, storage: Storage | None = None) -> list[Column]:
        values, valid = (array[:rows] for array in outs)
        shown = [value if there else None for value, there in zip(values.tolist(), valid.tolist(), strict=True)]
        return [Column.from_arrow(pa.array(shown, self.type))]

    def finished(self, states: Column) -> Column:
        """The values of states that were written as text."""
        values = [None if text is None else self.steps.result(self.steps.load(text))
                  for text in states.to_arrow().to_pylist()]
        return Column.from_arrow(pa.array(values, self.type))

    def fork(self) -> PythonAccumulator:
        clone = object.__new__(PythonAccumulator)
        clone.__dict__.update(vars(self))
        clone.states = {group: self.steps.copied(state) for group, state in self.states.items()}
        clone.shown, clone.held, clone.stale = dict(self.shown), dict(self.held), set(self.stale)
        return clone

    def state_parts(self) -> dict[str, Any]:
        try:
            states = [self.steps.save(state) for state in self.states.values()]
            held = [self.steps.save_row(row) for row in self.held.values()]
        except StepFailed as error:
            raise KernelError(error.what, where=f"aggregate({self.name}={self.aggregate.show()})",
                              hint=error.hint) from error.__cause__
        return {"groups": np.array(list(self.states), np.int64), "states": pa.array(states, pa.string()),
                "showing": np.array(list(self.shown), np.int64),
                "shown": pa.array(list(self.shown.values()), self.type),
                "slots": np.array(list(self.held), np.int64), "held": pa.array(held, pa.string()),
                "stale": np.array(sorted(self.stale), np.int64)}

    def restore_state(self, parts: dict[str, Any]) -> None:
        self.states = {int(group): self.steps.load(text)
                       for group, text in zip(parts["groups"], parts["states"].to_pylist(), strict=True)}
        self.shown = dict(zip(parts["showing"].tolist(), parts["shown"].to_pylist(), strict=True))
        self.held = {int(slot): self.steps.load_row(text)
                     for slot, text in zip(parts["slots"], parts["held"].to_pylist(), strict=True)}
        self.stale = set(parts["stale"].tolist())

    def _value(self, group: int) -> Any:
        state = self.states[group] if group in self.states else self.steps.init()
        return self.steps.result(state) if self.part is AggregatePhase.WHOLE else self.steps.save(state)

    def _merge(self, state: Any, other: str) -> Any:
        assert self.steps.merge is not None
        return self.steps.merge(state, self.steps.load(other))

    def _recompute(self, group: int, now: int, remembered: Remembered, accumulate: Callable[..., Any]) -> None:
        """The state of the rows of a group that are active at this moment."""
        held_sync, held_other, head, after, _ = remembered
        active, entry = list[tuple[Any, ...]](), int(head[group])
        while entry >= 0:  # from the newest row to the oldest
            if self.held.get(entry) and held_sync[entry] <= now < held_other[entry]:
                active.append(self.held[entry])
            entry = int(after[entry])
        state = self.steps.init()
        for values in reversed(active):
            state = accumulate(state, *values)
        self.states[group] = state
        self.stale.discard(group)


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value

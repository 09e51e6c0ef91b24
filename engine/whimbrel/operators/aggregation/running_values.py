"""Running values of aggregates, for the rows of a batch."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, frozen
from whimbrel.expr import predicate
from whimbrel.kernels import Compiled, SampleRuns
from whimbrel.kernels.primitives.windows.panes import ADD, CLEAR, EMIT
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.operation_log import OperationLog
from whimbrel.operators.aggregation.running_codegen import running_function
from whimbrel.operators.aggregation.running_column import RunningColumn, RunningValues
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import NO_MASK

Array = np.ndarray[Any, Any]

_NONE = frozen(np.empty(0, np.int64))
_REMEMBERS_NONE = (_NONE, _NONE, _NONE, _NONE, _NONE)
_CHUNK = 1 << 16
"""Rows whose operations are logged at once."""


class LoopValues(RunningValues):
    """Aggregates with a few numbers as state: one generated loop for all of them."""

    def __init__(self, columns: Sequence[RunningColumn], measures: Sequence[ScalarAccumulator]) -> None:
        self.columns, self.measures = tuple(columns), list(measures)

    @cached_property
    def loop(self) -> Compiled:
        return running_function(self.measures)

    def _grow(self, groups: int) -> None:
        for measure in self.measures:
            measure.grow_groups(groups)

    def take(self, batch: Batch, groups: Array, skip: Mask) -> list[Column]:
        rows, given, outs = len(batch), list[Any](), list[list[Array]]()
        resets: dict[str, Mask] = {}
        for column, measure in zip(self.columns, self.measures, strict=True):
            values, valid, start = measure.read(batch)
            outs.append([np.zeros(rows, dtype) for dtype in (*measure.out_dtypes, np.bool_)])
            given += [*values, valid, start, reset_of(column, batch, resets), *outs[-1], *measure.state]
        with explained_errors(self.measures):
            self.loop(groups, skip, *given)
        return [hide(measure.column(*buffers) if measure.steps.columns is None else measure.joined(buffers[:-1]), skip)
                for measure, buffers in zip(self.measures, outs, strict=True)]

    def fork(self) -> LoopValues:
        return LoopValues(self.columns, [measure.fork() for measure in self.measures])

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.loop.text,)


class FilteredValues(RunningValues):
    """Values of one filter, in arrays with one state per key."""

    def fork(self) -> Self:
        clone = copy.copy(self)
        clone.__dict__.update({name: value.copy() if isinstance(value, np.ndarray) else value.fork()
                               for name, value in vars(self).items() if isinstance(value, np.ndarray | SampleRuns)})
        return clone


class LoggedValues(RunningValues):
    """One aggregate with another kind of state, which replays a log of rows and resets."""

    def __init__(self, column: RunningColumn, measure: Accumulator) -> None:
        self.column, self.measure = column, measure

    def _grow(self, groups: int) -> None:
        self.measure.grow_groups(groups)

    def take(self, batch: Batch, groups: Array, skip: Mask) -> list[Column]:
        made = []
        for start in range(0, len(batch), _CHUNK):
            stop = min(start + _CHUNK, len(batch))
            made.append(self._taken(batch.slice(start, stop), groups[start:stop], skip[start:stop]))
        return [made[0] if len(made) == 1 else Column.concat(made)]

    def _taken(self, batch: Batch, groups: Array, skip: Mask) -> Column:
        inputs = self.measure.read(batch)
        log = _log_of(groups, skip, reset_of(self.column, batch, {}))
        outs = log.outs([self.measure.out_dtypes])[0]
        outs[-1][:] = False
        rows = np.flatnonzero(~skip) if len(skip) else None
        shown = len(batch) if rows is None else len(rows)
        with explained_errors([self.measure]):
            self.measure.apply(log, inputs, _REMEMBERS_NONE, outs)
        found, = self.measure.columns(outs, shown)
        return found if rows is None else spread_out(found, rows, len(batch))

    def fork(self) -> LoggedValues:
        return LoggedValues(self.column, self.measure.fork())


def _log_of(groups: Array, skip: Mask, reset: Mask) -> OperationLog:
    """For each row: clear the state of its key if it is reset, take the row in, show the value."""
    rows = np.flatnonzero(~skip) if len(skip) else np.arange(len(groups))
    operations = np.empty((len(rows), 3), np.int8)
    operations[:] = CLEAR, ADD, EMIT
    done = np.ones((len(rows), 3), np.bool_)
    done[:, 0] = reset[rows] if len(reset) else False
    kept = done.reshape(-1)
    row, target = (np.repeat(each, 3)[kept].astype(np.int32) for each in (rows, np.arange(len(rows))))
    log = OperationLog(max(len(rows), 1))
    log.kind, log.which, log.target = operations.reshape(-1)[kept], row, target
    log.who, log.slot = groups[row].astype(np.int32), np.zeros(len(row), np.int32)
    log.count[:] = len(row), len(rows)
    return log


def reset_of(column: RunningColumn, batch: Batch, known: dict[str, Mask]) -> Mask:
    """Where the state of a column starts again; empty: nowhere."""
    if column.reset is None:
        return NO_MASK
    text = column.reset.show()
    if text not in known:
        known[text] = frozen(predicate(column.reset, batch))
    return known[text]


def hide(column: Column, hidden: Mask) -> Column:
    """A column that is null where a mask is true; an empty mask is false everywhere."""
    if not len(hidden):
        return column
    if isinstance(column.values, np.ndarray):
        return Column(column.type, column.values, column.validity() & ~hidden)
    kept = np.where(hidden, -1, np.arange(len(hidden)))
    return Column.from_arrow(column.to_arrow().take(pa.array(kept, mask=hidden)))


def either(one: Mask, other: Mask) -> Mask:
    """Rows of one mask or the other; an empty mask has none."""
    if not len(one) or not len(other):
        return one if len(one) else other
    return frozen(one | other)


def spread_out(column: Column, rows: Array, length: int) -> Column:
    """A column with its values at these rows, and null elsewhere."""
    at = np.full(length, -1, np.int64)
    at[rows] = np.arange(len(rows))
    return Column.from_arrow(column.to_arrow().take(pa.array(at, mask=at < 0)))

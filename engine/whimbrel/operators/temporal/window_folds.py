"""Evaluate a window of other events for each event."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Field, Mask, Schema, frozen
from whimbrel.expr import evaluate, type_of
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.temporal.event_positions import cell_windows, count_until, time_windows
from whimbrel.operators.aggregation.scalar_accumulator import NO_MASK, ScalarAccumulator, explained_errors
from whimbrel.operators.temporal.event_history import KeyedEvents
from whimbrel.operators.temporal.fold_codegen import fold_function
from whimbrel.operators.temporal.parts import CellWindow, RowWindow, TimeWindow, WindowFold
from whimbrel.plan import Aggregate, AggregateFunctions

Array = np.ndarray[Any, Any]

_count_until, _time_windows, _cell_windows = Compiled(count_until), Compiled(time_windows), Compiled(cell_windows)


def fold_steps(aggregate: Aggregate, schema: Schema) -> AggregateFunctions | None:
    """The algebra of an aggregate, if windows of it can be folded from the states of their parts."""
    steps = aggregate.steps(None if aggregate.expr is None else type_of(aggregate.expr, schema), removable=False)
    return steps if isinstance(steps, AggregateFunctions) and steps.merge is not None else None


class WindowFolds:
    """The columns of one window."""

    def __init__(self, of: WindowFold, schema: Schema) -> None:
        self.of = of
        self.folds: list[tuple[ScalarAccumulator, Compiled | None]] = []
        for name, aggregate in of.aggregates.items():
            steps = fold_steps(aggregate, schema)
            assert steps is not None
            measure = ScalarAccumulator(name, aggregate, steps, schema, remembers=False)
            loop = None if measure.counts_rows else fold_function(aggregate, steps, len(measure.value_dtypes))
            self.folds.append((measure, loop))
        self.schema = Schema(tuple(Field(measure.name, measure.type) for measure, _ in self.folds), schema.unit,
                             schema.zone)

    def column(self, given: KeyedEvents, at: Array) -> Column:
        """The value at each of these times."""
        low, cut, high = self._bounds(given, at)
        rows = high - low
        columns = tuple(Column(measure.type, rows) if loop is None else _folded(measure, loop, given, low, cut, high)
                        for measure, loop in self.folds)
        column = evaluate(self.of.results, Batch(self.schema, at, 1, columns))
        return with_nulls(column, rows >= self.of.min_rows)

    def _bounds(self, given: KeyedEvents, at: Array) -> tuple[Array, Array, Array]:
        """Of each window the positions where it begins and ends, and of a cut between."""
        low, cut, high = (np.empty(len(at), np.int64) for _ in range(3))
        events = given.events.sync, given.ends, frozen(given.begins), frozen(at), frozen(given.marks)
        match self.of.window:
            case TimeWindow(back, lookahead):
                _time_windows(*events, back, lookahead, low, cut, high)
                return low, cut, high
            case CellWindow(size, offset):
                _cell_windows(*events, size, offset, low, high)
                return low, low, high
            case RowWindow(rows):
                high = until(given.events.sync, given, at)
                begin = given.of_key(given.begins[:-1])
                low = np.maximum(high - rows, begin)
                latest = high - 1 - begin + given.of_key(given.numbers)
                return low, np.maximum(high - 1 - latest % rows, low), high


def until(times: Array, given: KeyedEvents, at: Array) -> Array:
    """For each time the position after the last event of its key that has started, or ended, by then."""
    found = np.empty(len(at), np.int64)
    _count_until(times, frozen(given.begins), frozen(at), frozen(given.marks), found)
    return found


def with_nulls(column: Column, there: Mask) -> Column:
    """The column where something is there, null elsewhere."""
    if there.all():
        return column
    if column.fixed:
        return Column(column.type, column.values, there if column.valid is None else there & column.valid)
    return column.take_or_null(np.arange(len(there)), there)


def _folded(measure: ScalarAccumulator, loop: Compiled, given: KeyedEvents, low: Array, cut: Array, high: Array
            ) -> Column:
    with explained_errors([measure], lambda: measure.read(given.events)):
        values, valid, start = measure.read(given.events)
        suffixes = [np.empty(len(given.events), np.asarray(value).dtype) for value in measure.steps.init]
        outs = [np.zeros(len(low), dtype) for dtype in measure.out_dtypes]
        known = np.empty(len(low), np.bool_)
        loop(frozen(low), frozen(cut), frozen(high), *map(frozen, values), valid if len(valid) else NO_MASK,
             frozen(start), *suffixes, *outs, known)
    return measure.joined(outs) if measure.steps.columns is not None else measure.column(outs[0], known)

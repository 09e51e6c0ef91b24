"""Evaluate a window of other events for each event."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Mask, Schema, frozen
from whimbrel.clock import MIN_TIME
from whimbrel.expr import evaluate, type_of
from whimbrel.kernels import Compiled, scratch, wait_for_compiler
from whimbrel.kernels.primitives.temporal.event_positions import (
    cell_windows,
    count_until,
    row_windows,
    row_windows_of_events,
    time_windows,
    window_cuts,
)
from whimbrel.plan import Aggregate, AggregateFunctions, AggregateSteps, Objects
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import NO_MASK, TypedAggregate
from whimbrel.plan.typed_python_aggregate import TypedPythonAggregate
from whimbrel.temporal.bounds import Boundary, Presence, presence_of
from whimbrel.temporal.event_history import KeyedEvents
from whimbrel.temporal.parts import (
    CellWindow,
    ReadColumn,
    RowWindow,
    TimeWindow,
    WindowFold,
)
from whimbrel.temporal.window_algorithms import FEW_TWICE
from whimbrel.temporal.window_fold_codegen import fold_function

Array = np.ndarray[Any, Any]

_count_until, _time_windows = Compiled(count_until), Compiled(time_windows)
_window_cuts = Compiled(window_cuts)
_cell_windows, _row_windows = Compiled(cell_windows), Compiled(row_windows)
_row_windows_of_events = Compiled(row_windows_of_events)
_MANY_STEPS = 20_000
"""Steps that take longer when interpreted than the compiler does."""
_LONGEST_WAIT_S = 30
_NONE = frozen(np.empty(0, np.int64))


def can_fold(aggregate: Aggregate, schema: Schema) -> bool:
    """Whether an aggregate goes through the events of a window one by one, and keeps a state only."""
    return isinstance(_steps(aggregate, schema), AggregateFunctions | Objects)


def weighs_time(aggregate: Aggregate, schema: Schema) -> bool:
    """Whether an aggregate takes the part of each event that is inside the window."""
    return bool(getattr(_steps(aggregate, schema), "spans", False))


class WindowFolds:
    """The columns of one window."""

    def __init__(self, of: WindowFold, schema: Schema) -> None:
        self.of = of
        self.folds: list[tuple[TypedAggregate | TypedPythonAggregate, Compiled | None]] = []
        for name, aggregate in of.aggregates.items():
            steps = _steps(aggregate, schema)
            if isinstance(steps, Objects):
                self.folds.append((TypedPythonAggregate(name, aggregate, steps, schema), None))
                continue
            assert isinstance(steps, AggregateFunctions)
            measure = TypedAggregate(name, aggregate, steps, schema)
            loop = None if measure.counts_rows else fold_function(aggregate, steps, len(measure.value_dtypes),
                                                                  apart=_apart(of.window),
                                                              slides=not isinstance(of.window, CellWindow))
            self.folds.append((measure, loop))
        self.compiled = all(loop is None for _, loop in self.folds)
        self.spans = any(measure.steps.spans for measure, _ in self.folds)
        self.schema = Schema(tuple(Field(measure.name, measure.type) for measure, _ in self.folds), schema.unit,
                             schema.zone)

    def windows_of(self, part: ReadColumn) -> tuple[Any, ...]:
        """What :meth:`windows` depends on but for the events."""
        return self.of.window, part.lag, presence_of(part), self.spans

    def windows(self, given: KeyedEvents, part: ReadColumn) -> WindowBounds:
        """The window of each time, in arrays that the next call writes again."""
        return self._windows(given, part, presence_of(part))

    def column(self, given: KeyedEvents, part: ReadColumn, windows: WindowBounds) -> Column:
        """The value at each time. Times of one window have one value."""
        rows = windows.high - windows.low
        columns = tuple(_folded_by_python(measure, given, windows) if isinstance(measure, TypedPythonAggregate) else
                        Column(measure.type, rows) if measure.counts_rows else
                        self._folded(measure, loop, given, windows) for measure, loop in self.folds)
        column = evaluate(self.of.results, Batch(self.schema, windows.low, 1, columns))
        column = with_nulls(column, rows >= self.of.min_rows)
        return column if windows.times is None else repeated(column, windows.times)

    def _folded(self, measure: TypedAggregate, loop: Compiled | None, given: KeyedEvents, windows: WindowBounds
                ) -> Column:
        assert loop is not None
        with explained_errors([measure], lambda: measure.read(given.events)):
            values, valid, _ = measure.read(given.events)
            suffixes = [scratch(f"suffix{field}", len(given.events), np.asarray(value).dtype)
                        for field, value in enumerate(measure.steps.init)]
            outs = [np.zeros(len(windows.low), dtype) for dtype in measure.out_dtypes]
            known = np.empty(len(windows.low), np.bool_)
            arguments = (*windows[:5], *_lifetimes(measure, given), *map(frozen, values),
                         valid if len(valid) else NO_MASK, *suffixes, *outs, known)
            steps = int((windows.high - windows.low).sum()) if measure.steps.merge is None else len(windows.low)
            with wait_for_compiler(_LONGEST_WAIT_S) if steps > _MANY_STEPS else nullcontext():
                self.compiled = loop.ready(*arguments)
            loop(*arguments)
        return measure.joined(outs) if measure.steps.columns is not None else measure.column(outs[0], known)

    def _windows(self, given: KeyedEvents, part: ReadColumn, presence: Presence) -> WindowBounds:
        at = _at(given, part)
        low, cut, high = (scratch(name, len(at)) for name in ("low", "cut", "high"))
        known = presence.end is not None and {presence.begin, presence.end} <= given.passed.keys()
        if known and presence.end is not None:
            low, high = given.passed[presence.end], given.passed[presence.begin]
        events = given.events.sync, given.ends, given.lasts, frozen(given.begins), frozen(at), frozen(given.marks)
        times = None
        match self.of.window:
            case TimeWindow(back, lookahead):
                if known:
                    _window_cuts(events[0], *events[3:], lookahead, back + lookahead, cut)
                else:
                    _time_windows(*events, back, lookahead, low, cut, high)
                since, until_ = (at - back + 1, at + lookahead + 1) if self.spans else (_NONE, _NONE)
            case CellWindow(size, offset):
                if known:
                    began = at - (at - offset) % size if self.spans else _NONE
                else:
                    began, times = scratch("since", len(at)), scratch("times", len(at))
                    windows = int(_cell_windows(*events, size, offset, low, high, began, times))
                    low, high, began, times = (each[:windows] for each in (low, high, began, times))
                cut = np.minimum(low + 1, high) if self.spans else low
                since, until_ = (began, began + size) if self.spans else (_NONE, _NONE)
            case RowWindow(rows, before):
                starts, begins, marks = given.events.sync, frozen(given.begins), frozen(given.marks)
                if given.own is not None and part.lag == 0:
                    own = positions(Boundary(True, 0), given)
                    _row_windows_of_events(starts, begins, frozen(own), marks, rows, before, low, cut, high)
                else:
                    _row_windows(starts, begins, frozen(at), marks, rows, before, low, cut, high)
                since, until_ = (np.full(len(at), MIN_TIME), at + 1) if self.spans else (_NONE, _NONE)
        return WindowBounds(frozen(low), frozen(cut), frozen(high), frozen(since), frozen(until_), times)


class WindowBounds(NamedTuple):
    """Of each window the positions where it begins and ends, of a cut between, and the times that it spans.

    `times` says for how many consecutive times each window is there; None: for one.
    """

    low: Array
    cut: Array
    high: Array
    since: Array
    until: Array
    times: Array | None


def positions(boundary: Boundary, given: KeyedEvents) -> Array:
    """For each time the position after the last event of its key that has passed a boundary."""
    if boundary in given.passed:
        return given.passed[boundary]
    if given.own is not None and not (boundary.shift or boundary.size):  # events before it have ended, and it has not
        step, own = int(not boundary.of_end), given.own
        return np.arange(own.start + step, own.stop + step) if isinstance(own, range) else own + step
    times, lag = (given.ends, given.lasts) if boundary.of_end else (given.events.sync, 0)
    found = np.empty(len(given.times), np.int64)
    _count_until(times, frozen(given.begins), frozen(given.times), frozen(given.marks), lag + boundary.shift, found)
    return found


def _at(given: KeyedEvents, part: ReadColumn) -> Array:
    """The times of windows."""
    return given.times if part.lag == 0 else given.times - part.lag


def with_nulls(column: Column, there: Mask) -> Column:
    """The column where something is there, null elsewhere."""
    if there.all():
        return column
    if column.fixed:
        return Column(column.type, column.values, there if column.valid is None else there & column.valid)
    return column.take_or_null(np.arange(len(there)), there)


def repeated(column: Column, times: Array) -> Column:
    """Each value so many times."""
    if not column.fixed:
        return column.take(np.repeat(np.arange(len(times)), times))
    return Column(column.type, np.repeat(column.values, times),
                  None if column.valid is None else np.repeat(column.valid, times))


def _apart(window: TimeWindow | RowWindow | CellWindow) -> bool:
    """Whether two windows have few events in common, or all."""
    return isinstance(window, CellWindow) or (isinstance(window, RowWindow) and window.rows <= FEW_TWICE)


def _steps(aggregate: Aggregate, schema: Schema) -> AggregateSteps:
    return aggregate.steps(None if aggregate.expr is None else type_of(aggregate.expr, schema), removable=False)


def _folded_by_python(measure: TypedPythonAggregate, given: KeyedEvents, windows: WindowBounds) -> Column:
    """The same with a user's functions that are not compiled; a window that grows is folded on."""
    steps, (columns, valid, _) = measure.steps, measure.read(given.events)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    starts, ends = (times.tolist() for times in _lifetimes(measure, given))
    there = valid.tolist()
    found = list[Any]()
    first, done, state = -1, -1, None
    with explained_errors([measure]):
        for low, _, high, *span in zip(*(each.tolist() or [0] * len(windows.low) for each in windows[:5]), strict=True):
            if low >= high:
                found.append(None)
                continue
            if steps.spans or low != first or high < done:
                first, done, state = low, low, steps.init()
            for row in range(done, high):
                if not there or there[row]:
                    times = ((max(starts[row], span[0]), min(ends[row], span[1])) if steps.spans
                             else starts[row:row + steps.timed])
                    state = steps.accumulate(state, *rows[row], *times)
            done = high
            found.append(steps.result(state))
    return Column.from_arrow(pa.array(found, measure.type))


def _lifetimes(measure: TypedAggregate | TypedPythonAggregate, given: KeyedEvents) -> tuple[Array, Array]:
    """When events start and end; the start before any window rounded it, unless the ends are asked for, too."""
    events = given.events
    return (events.sync, frozen(events.other)) if measure.steps.spans else (events.first_start, _NONE)

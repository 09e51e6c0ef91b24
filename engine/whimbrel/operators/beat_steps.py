"""What is done to events on a beat, place by place: a stream is some columns, and no timeline.

A place is one point of the beat and lasts until the next. Of each place a stream says whether an event is active there,
and whether something begins or ends at it; where that is so everywhere, nothing is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Schema, frozen
from whimbrel.expr import Expr, evaluate, predicate, type_of
from whimbrel.kernels import Compiled
from whimbrel.operators.measure import NO_MASK, Measure, told_in_words
from whimbrel.operators.slide_text import adjacent_function, slide_function
from whimbrel.plan import Aggregate

Array = np.ndarray[Any, Any]
Halo = tuple[int, int]
"""How many places before and behind a range of the result its input is needed at."""


@dataclass(frozen=True)
class Dense:
    """A stream over places ``first ... first + rows - 1``.

    Parameters
    ----------
    first, rows : int
    time : numpy.ndarray of int64
        Of each place, in ticks.
    columns : tuple of Column
    present : numpy.ndarray of bool, optional
        Where an event is active; None: everywhere.
    changes : numpy.ndarray of bool, optional
        Where an event begins or ended; None: everywhere.
    """

    first: int
    rows: int
    time: Array
    columns: tuple[Column, ...]
    present: Mask | None = None
    changes: Mask | None = None

    def between(self, first: int, stop: int) -> Dense:
        """A part of it."""
        if (first, stop) == (self.first, self.first + self.rows):
            return self
        a, b = first - self.first, stop - self.first
        return Dense(first, stop - first, self.time[a:b], tuple(column.slice(a, b) for column in self.columns),
                     None if self.present is None else self.present[a:b],
                     None if self.changes is None else self.changes[a:b])

    def batch(self, schema: Schema) -> Batch:
        """Its places as rows, to evaluate expressions on."""
        return Batch(schema, self.time, 1, self.columns, None if self.present is None else ~self.present)

    @property
    def starts(self) -> Mask | None:
        """Where an event begins; None: everywhere."""
        if self.present is None or self.changes is None:
            return self.changes if self.present is None else self.present
        return self.present & self.changes


class Step(ABC):
    """One operation, made of those before it.

    Attributes
    ----------
    schema : Schema
        Of what it makes.
    inputs : tuple of Step
    """

    schema: Schema
    inputs: tuple[Step, ...]

    @property
    def halo(self) -> Halo:
        return 0, 0

    @abstractmethod
    def compute(self, first: int, stop: int, *given: Dense) -> Dense:
        """Places ``first ... stop - 1``, of inputs that have their halo too."""


@dataclass(frozen=True, eq=False)
class Given(Step):
    """An input of the loop, by number."""

    schema: Schema
    port: int
    inputs: tuple[Step, ...] = ()

    def compute(self, first: int, stop: int, *given: Dense) -> Dense:
        return given[0].between(first, stop)


@dataclass(frozen=True, eq=False)
class Mapped(Step):
    """Columns are computed of columns."""

    schema: Schema
    inputs: tuple[Step, ...]
    columns: tuple[Expr, ...]

    def compute(self, first: int, stop: int, *given: Dense) -> Dense:
        rows = given[0].batch(self.inputs[0].schema)
        columns = tuple(evaluate(expr, rows) for expr in self.columns)
        return Dense(first, stop - first, given[0].time, columns, given[0].present, given[0].changes)


@dataclass(frozen=True, eq=False)
class Kept(Step):
    """Only events for which a condition is true."""

    schema: Schema
    inputs: tuple[Step, ...]
    condition: Expr

    def compute(self, first: int, stop: int, *given: Dense) -> Dense:
        mine = given[0]
        true = predicate(self.condition, mine.batch(self.schema))
        present = true if mine.present is None else true & mine.present
        return Dense(first, stop - first, mine.time, mine.columns, present, mine.changes)


@dataclass(frozen=True, eq=False)
class Moved(Step):
    """Events come so many places later."""

    schema: Schema
    inputs: tuple[Step, ...]
    places: int

    @property
    def halo(self) -> Halo:
        return max(self.places, 0), max(-self.places, 0)

    def compute(self, first: int, stop: int, *given: Dense) -> Dense:
        moved = given[0].between(first - self.places, stop - self.places)
        later = given[0].time[1] - given[0].time[0] if given[0].rows > 1 else 0
        return Dense(first, stop - first, frozen(moved.time + self.places * later), moved.columns, moved.present,
                     moved.changes)


@dataclass(frozen=True, eq=False)
class Joined(Step):
    """Columns of two streams where both have an event; or, of the first, also where the second has none.

    Parameters
    ----------
    sources : tuple of (int, int)
        Side and position there of each column.
    outer : bool
    """

    schema: Schema
    inputs: tuple[Step, ...]
    sources: tuple[tuple[int, int], ...]
    outer: bool

    def compute(self, first: int, stop: int, *given: Dense) -> Dense:
        left, right = given
        columns = [given[side].columns[position] for side, position in self.sources]
        present = _both(left.present, right.present)
        if self.outer:
            present = left.present
            if right.present is not None:
                columns = [column if side == 0 else _where(column, right.present)
                           for (side, _), column in zip(self.sources, columns, strict=True)]
        changes = None if left.changes is None or right.changes is None else left.changes | right.changes
        return Dense(first, stop - first, left.time, tuple(columns), present, changes)


@dataclass(frozen=True, eq=False)
class _Windowed(Step):
    schema: Schema
    inputs: tuple[Step, ...]
    width: int
    aggregates: tuple[tuple[str, Aggregate], ...]
    condition: Expr | None
    measures: list[Measure] = field(init=False)
    loops: list[Compiled] = field(init=False)

    def __post_init__(self) -> None:
        rows, removable = self.inputs[0].schema, False
        measures = []
        for name, aggregate in self.aggregates:
            whole = aggregate.steps(_input_type(aggregate, rows), removable=removable)
            measures.append(Measure(name, aggregate, whole, rows, remembers=False))  # type: ignore[arg-type]
        object.__setattr__(self, "measures", measures)
        object.__setattr__(self, "loops", [self.loop(measure) for measure in measures])

    @abstractmethod
    def loop(self, measure: Measure) -> Compiled:
        """The generated loop of an aggregate."""

    def entering(self, given: Dense) -> tuple[Batch, Mask | None]:
        """Events as rows, and where one begins that counts; None: everywhere."""
        rows, starts = given.batch(self.inputs[0].schema), given.starts
        if self.condition is not None:
            true = predicate(self.condition, rows)
            starts = true if starts is None else true & starts
        return rows, starts


@dataclass(frozen=True, eq=False)
class Slid(_Windowed):
    """Aggregates over the events that began within the last `width` places."""

    @property
    def halo(self) -> Halo:
        return 2 * self.width, 0

    def loop(self, measure: Measure) -> Compiled:
        return slide_function(measure.aggregate, measure.steps)

    def compute(self, first: int, stop: int, *given: Dense) -> Dense:
        begin = (first - self.width + 1) // self.width * self.width
        mine = given[0].between(begin, stop)
        rows, starts = self.entering(mine)
        skip, there = first - begin, NO_MASK if starts is None else frozen(starts)
        columns = []
        with told_in_words(self.measures, rows):
            for measure, loop in zip(self.measures, self.loops, strict=True):
                (values,), valid, started = measure.read(rows)
                rests = [np.full(self.width, value) for value in measure.steps.init]
                out, out_valid = np.zeros(stop - first, measure.out_dtypes[0]), np.empty(stop - first, np.bool_)
                loop(values, valid, there, started, self.width, skip, *rests, out, out_valid)
                columns.append(measure.column(out, out_valid))
        if starts is None:
            return Dense(first, stop - first, mine.time[skip:], tuple(columns))
        entered = np.concatenate([np.zeros(1, np.int64), np.cumsum(starts)])  # before each place
        now = np.arange(skip, len(starts))
        before = given[0].between(first - self.width, stop - self.width)
        left = self.entering(before)[1]
        present = entered[now + 1] - entered[np.maximum(now + 1 - self.width, 0)] > 0
        changes = np.ones(stop - first, np.bool_) if left is None else starts[skip:] | left
        return Dense(first, stop - first, mine.time[skip:], tuple(columns),
                     None if present.all() else frozen(present), None if changes.all() else frozen(changes))


@dataclass(frozen=True, eq=False)
class Adjacent(_Windowed):
    """Aggregates over adjacent windows of `width` places; each holds for its whole window.

    Parameters
    ----------
    offset : int
        The place at which some window begins.
    """

    offset: int = 0

    @property
    def halo(self) -> Halo:
        return self.width, self.width

    def loop(self, measure: Measure) -> Compiled:
        return adjacent_function(measure.aggregate, measure.steps)

    def compute(self, first: int, stop: int, *given: Dense) -> Dense:
        begin = first - (first - self.offset) % self.width
        end = stop + (self.offset - stop) % self.width
        mine = given[0].between(begin, end)
        rows, starts = self.entering(mine)
        there, windows = NO_MASK if starts is None else frozen(starts), (end - begin) // self.width
        of = frozen(np.arange(first - begin, stop - begin) // self.width)
        columns = []
        with told_in_words(self.measures, rows):
            for measure, loop in zip(self.measures, self.loops, strict=True):
                (values,), valid, started = measure.read(rows)
                out, out_valid = np.zeros(windows, measure.out_dtypes[0]), np.empty(windows, np.bool_)
                loop(values, valid, there, started, self.width, out, out_valid)
                columns.append(measure.column(out, out_valid).take(of))
        some = None if starts is None else np.asarray(starts.reshape(windows, self.width).any(axis=1))
        present = None if some is None else frozen(some[of])
        changes = frozen((np.arange(first, stop) - self.offset) % self.width == 0)
        skip = first - begin
        return Dense(first, stop - first, mine.time[skip : skip + stop - first], tuple(columns),
                     None if present is None or present.all() else present, changes)


def _input_type(aggregate: Aggregate, schema: Schema) -> Any:
    return None if aggregate.expr is None else type_of(aggregate.expr, schema)


def _both(left: Mask | None, right: Mask | None) -> Mask | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _where(column: Column, there: Mask) -> Column:
    return Column(column.type, column.values, there if column.valid is None else there & column.valid)


def in_order(last: Step) -> Sequence[Step]:
    """All steps that one is made of, each once, inputs first."""
    found: dict[int, Step] = {}

    def visit(step: Step) -> None:
        for below in step.inputs:
            visit(below)
        found.setdefault(id(step), step)

    visit(last)
    return list(found.values())

"""Check what a periodic loop can run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from whimbrel.batch import Schema, numpy_type
from whimbrel.errors import shortened
from whimbrel.expr import Expr, columns_of, inlinable, type_of
from whimbrel.expr.reductions import reduced_in
from whimbrel.operators import OverTime, Results
from whimbrel.plan import Aggregate, AggregateFunctions
from whimbrel.temporal.bounds import Boundary, Presence, presence_of, slot_bounds
from whimbrel.temporal.loop_steps import Adjacent, Joined, PeriodicStep, Slid, Windowed
from whimbrel.temporal.parts import WindowFold

MAX_SLOTS = 1 << 20
"""Longest window that a loop remembers."""

_MAX_HELD = 1 << 14
"""Longest window, of those side by side, whose rows are kept for the sake of a faster loop."""

MAX_BEFORE = 64
"""Most rows of its key that a row may need: they are gone through for each key of a batch."""


class OutsideLoopError(Exception):
    """Why an operator cannot be a step of a loop."""


def require(condition: bool, otherwise: str) -> None:
    """Raise the reason why an operator is outside where a condition does not hold."""
    if not condition:
        raise OutsideLoopError(otherwise)


def require_inline(exprs: Sequence[Expr], schema: Schema) -> None:
    """Require that expressions can be written into a loop."""
    for expr in exprs:
        require(inlinable(expr, schema), f"{shortened(expr.show())} is not compiled into a loop")


def is_worthwhile(steps: Sequence[PeriodicStep]) -> bool:
    """Whether a loop is better. Tumbling windows alone would retain their rows until they end."""
    return any(isinstance(step, Slid | Joined) or (isinstance(step, Adjacent) and step.width <= _MAX_HELD)
               for step in steps)


def is_row_by_row(last: PeriodicStep, lasts: int, period: int) -> bool:
    """Whether rows of the result are of rows of one key at a time: each of one row and of a few before it."""
    bounds = slot_bounds(last)
    return lasts < period and bounds.lookahead == 0 and bounds.back <= MAX_BEFORE


def has_fixed_columns(schema: Schema) -> bool:
    """Whether all columns are numbers for a loop."""
    return all(numpy_type(column.type) is not None for column in schema)


def not_fixed(schema: Schema) -> str:
    """The first column that is not, in words."""
    words = (f"the column {column.name!r} has the type {column.type}" for column in schema
             if numpy_type(column.type) is None)
    return next(words, "")


def reads_columns(op: Results, schema: Schema) -> bool:
    """Whether it reads nothing else, such as the bounds of a window."""
    read = [name for _, expr in op.columns for name in (*columns_of(expr), *(each.show() for each in reduced_in(expr)))]
    return set(read) <= set(schema.names)


def require_slidable(aggregates: Iterable[Aggregate], schema: Schema) -> None:
    """Require that all aggregates are a few numbers that can be merged, of values that a loop can compute."""
    for aggregate in aggregates:
        type_ = None if aggregate.expr is None else type_of(aggregate.expr, schema)
        require_inline([expr for expr in (aggregate.expr, aggregate.condition) if expr is not None], schema)
        require(type_ != pa.uint64(), f"{aggregate.show()} is of unsigned 64-bit integers")
        steps = aggregate.steps(type_, removable=False)
        require(isinstance(steps, AggregateFunctions), f"{aggregate.show()} keeps all values of a window")
        assert isinstance(steps, AggregateFunctions)
        require(steps.merge is not None, f"{aggregate.show()} has no merge=")
        require(steps.columns is None and numpy_type(aggregate.result_type(type_)) is not None,
                 f"{aggregate.show()} is not a number")


def require_cells(op: OverTime) -> None:
    """Require that a function of time has one value for each window of the grid of its multiples."""
    cell = Presence(Boundary(False, 0, op.every, op.offset), Boundary(True, 0, op.every, op.offset))
    folds = [part.of for part in op.parts if isinstance(part.of, WindowFold) and part.of.min_rows == 1]
    require(set(op.presences) == {cell} and all(presence_of(part) == cell for part in op.parts)
            and len(folds) == len(op.parts), "it is not made of windows of its own multiples")


def outlasts_slots(step: PeriodicStep) -> bool:
    """Whether events of a step may last several slots."""
    match step:
        case Windowed():
            return True
        case Joined(outer=True):
            return outlasts_slots(step.inputs[0])
        case _:
            return bool(step.inputs) and all(map(outlasts_slots, step.inputs))


def reads_times(aggregates: Iterable[Aggregate], schema: Schema) -> bool:
    """Whether one of the aggregates reads when events start or end."""
    found = [aggregate.steps(None if aggregate.expr is None else type_of(aggregate.expr, schema), removable=False)
             for aggregate in aggregates]
    return any(isinstance(steps, AggregateFunctions) and (steps.timed or steps.spans) for steps in found)

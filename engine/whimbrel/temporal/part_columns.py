"""Evaluate temporal parts at the times of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Schema
from whimbrel.errors import KernelError
from whimbrel.expr import Expr, evaluate
from whimbrel.temporal.bounds import Boundary, column_bounds, known_until
from whimbrel.temporal.event_history import EventHistory, KeyedEvents, KeyedHistory
from whimbrel.temporal.parts import EventValue, ReadColumn, ReadColumns, WindowFold
from whimbrel.temporal.window_folds import WindowFolds, positions

Array = np.ndarray[Any, Any]


class PartColumns:
    """One column for each part.

    Parameters
    ----------
    parts : ReadColumns
    schema : Schema
        Of the events that they read.
    """

    def __init__(self, parts: ReadColumns, schema: Schema) -> None:
        self.parts, self.schema = parts, schema
        self.folds = [WindowFolds(part.of, schema) if isinstance(part.of, WindowFold) else None for part in parts]
        self.bounds = column_bounds(parts)

    @property
    def reads(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self.schema.names if name in self.parts.reads]

    def history(self, *, keyed: bool) -> EventHistory:
        """An empty history of what is read."""
        return (KeyedHistory if keyed else EventHistory)(self.schema.select(self.reads), self.bounds)

    def known_until(self, watermark: int) -> int:
        """Values before this tick depend on no event from the watermark on."""
        return known_until(self.parts, watermark)

    def columns(self, given: KeyedEvents, rows: int) -> tuple[Column, ...]:
        """The columns of so many rows."""
        found = []
        windows, bounds = None, None
        for part, folds in zip(self.parts, self.folds, strict=True):
            try:
                if folds is None:
                    column = _value_of_event(part, given)
                else:
                    if bounds is None or folds.windows_of(part) != windows:  # neighboring parts often have one window
                        windows, bounds = folds.windows_of(part), folds.windows(given, part)
                    column = folds.column(given, part, bounds)
            except KernelError as error:
                raise KernelError(error.what, where=part.name, hint=error.hint) from error
            found.append(_in_order(column, given.rows, rows))
        return tuple(found)

    @property
    def compiled(self) -> bool:
        """Whether all loops were compiled when they ran last."""
        return all(folds is None or folds.compiled for folds in self.folds)

    @property
    def sources(self) -> tuple[str, ...]:
        """The text of generated loops."""
        return tuple(loop.text for folds in self.folds if folds is not None for _, loop in folds.folds
                     if loop is not None)


def _value_of_event(part: ReadColumn, given: KeyedEvents) -> Column:
    """The value of the event that is active at each time, or of one before it."""
    of = part.of
    assert isinstance(of, EventValue)
    if isinstance(given.own, range) and not part.lag:
        return _of_neighbors(of.expr, given.events, given.own.start - of.before, given.own.stop - of.before)
    started = positions(Boundary(False, part.lag), given)
    event = (started - 1 if of.held else positions(Boundary(True, part.lag), given)) - of.before
    active = event + of.before < started
    if of.before or of.held:
        active &= event >= (given.of_key(given.begins[:-1]) if len(given.begins) > 2 else given.begins[0])
    return evaluate(of.expr, given.events).take_or_null(np.where(active, event, 0), active)


def _of_neighbors(expr: Expr, events: Batch, first: int, stop: int) -> Column:
    """The values of consecutive events of one key; null before the first one."""
    begin = max(first, 0)
    known = evaluate(expr, events.slice(begin, max(stop, begin)))
    return known if first >= 0 else Column.concat([Column.nulls(known.type, min(-first, stop - first)), known])


def _in_order(column: Column, rows: Array | None, length: int) -> Column:
    """A column of some rows as one of all rows, null elsewhere."""
    if rows is None:
        return column
    if len(rows) == length and column.fixed:
        return Column(column.type, _at_rows(column.values, rows),
                      None if column.valid is None else _at_rows(column.valid, rows))
    position = np.zeros(length, np.int64)
    position[rows] = np.arange(1, len(rows) + 1)
    return column.take_or_null(np.maximum(position - 1, 0), position > 0)


def _at_rows(values: Array, rows: Array) -> Array:
    """The values, each at its row."""
    out = np.empty_like(values)
    out[rows] = values
    return out

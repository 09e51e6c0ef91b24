"""Kernel of temporal columns: each event reads others of its key."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Schema, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import columns_of, evaluate
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.operators.temporal.event_history import EventHistory, KeyedEvents, KeyedHistory
from whimbrel.operators.temporal.parts import EventValue, Part, WindowFold
from whimbrel.operators.temporal.window_folds import WindowFolds, until

Array = np.ndarray[Any, Any]

_PORTION = 65_536
"""Events that are answered at once, if not many more are remembered: their columns stay in the cache."""


class TemporalKernel(Kernel):
    """Answers events in order: at once, or when the later events that they read are known.

    Parameters
    ----------
    parts : tuple of Part
    keys : tuple of str
    upstream, schema : Schema
        Of the input and of the output.
    """

    def __init__(self, parts: tuple[Part, ...], keys: tuple[str, ...], upstream: Schema, schema: Schema) -> None:
        self.parts, self.names, self.schema = parts, keys, schema
        self.shown = ", ".join(part.name for part in parts)
        self.folds = [WindowFolds(part.of, upstream) if isinstance(part.of, WindowFold) else None for part in parts]
        self.keys = KeyTable([upstream.type_of(name) for name in keys])
        read = frozenset[str]().union(*(columns_of(expr) for part in parts for expr in part.exprs))
        self.columns = [name for name in upstream.names if name in read]
        self.back, self.lookahead = (max(getattr(part, name) for part in parts) for name in ("back", "lookahead"))
        history = KeyedHistory if keys else EventHistory
        self.history = history(upstream.select(self.columns), self.back, max(part.kept for part in parts))
        self.waiting: list[Batch] = []
        self.first = 0  # slot of the first event that waits

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        check_reach(batch, 2 * (self.back + self.lookahead) + 1, self.shown, in_order=True)
        ids = self._ids(batch)
        out = []
        portion = max(_PORTION, len(self.history))
        for begin in range(0, len(batch), portion):
            rows = batch.slice(begin, begin + portion)
            self.history.append(rows.select(self.columns), ids[begin:begin + portion], len(self.keys))
            self.waiting.append(rows)
            if not self.lookahead:
                out.append(self._answer(len(self.history)))
                self.first = self.history.forget(int(rows.sync[-1]), self.first)
        return out

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if not self.lookahead or watermark in (INF, MIN_TIME):
            known = watermark
        else:
            until_now = (part.known_until(watermark) for part in self.parts if part.lookahead)
            known = max(MIN_TIME, min([watermark, *until_now]))
        self.watermark = known
        out = []
        while rows := self._known(known):
            out.append(self._answer(self.first + rows))
        self.first = self.history.forget(known, self.first)
        return out

    def _known(self, time: int) -> int:
        """How many of the first events that wait start before a time, and are answered at once."""
        rows = 0
        for batch in self.waiting:
            rows += len(batch) if time == INF else int(np.searchsorted(batch.sync, time))
            if rows > max(_PORTION, self.first) or (time < INF and batch.time(-1) >= time):
                break
        return rows

    @property
    def buffered_rows(self) -> int:
        return len(self.history)

    @property
    def buffered_bytes(self) -> int:
        return self.history.nbytes + sum(batch.nbytes for batch in self.waiting)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(loop.text for folds in self.folds if folds is not None for _, loop in folds.folds
                     if loop is not None)

    def state_parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("watermark", "keys", "history", "waiting", "first")}

    def _ids(self, batch: Batch) -> Array:
        """Keys by number; -1 where one is missing."""
        if not self.names:
            return np.empty(0, np.int32)
        columns = [batch.column(name) for name in self.names]
        ids = self.keys.ids(columns, len(batch))
        for column in columns:
            if column.valid is not None or not column.fixed:
                ids[~column.validity()] = -1
        return frozen(ids)

    def _answer(self, bound: int) -> Batch:
        """The events that wait in the slots before `bound`, with their columns."""
        rows = self._taken(bound - self.first)
        given = self.history.around(self.first, bound)
        times = given.events.sync[given.asked]
        columns = []
        for part, folds in zip(self.parts, self.folds, strict=True):
            at = times - part.lag
            column = (folds.column(given, at) if folds is not None else
                      _value_of_event(part.of, given, at) if isinstance(part.of, EventValue) else None)
            assert column is not None
            columns.append(_in_order(column, given.rows, len(rows)))
        self.first = bound
        return rows.having(schema=self.schema, columns=(*rows.columns, *columns))

    def _taken(self, rows: int) -> Batch:
        """The first rows that wait, which then do not wait any more."""
        taken: list[Batch] = []
        while rows:
            batch = self.waiting.pop(0)
            if len(batch) > rows:
                self.waiting.insert(0, batch.slice(rows, len(batch)))
                batch = batch.slice(0, rows)
            taken.append(batch)
            rows -= len(batch)
        return Batch.concat(taken)


def _value_of_event(of: EventValue, given: KeyedEvents, at: Array) -> Column:
    """The value of the event that is active at each time, or of one before it."""
    started = until(given.events.sync, given, at)
    event = (started - 1 if of.held else until(given.ends, given, at)) - of.before
    active = event + of.before < started
    if of.before or of.held:
        active &= event >= given.of_key(given.begins[:-1])
    column = evaluate(of.expr, given.events)
    return column.take_or_null(np.where(active, event, 0), active)


def _in_order(column: Column, rows: Array | None, length: int) -> Column:
    """A column of some rows as one of all rows, null elsewhere."""
    if rows is None:
        return column
    place = np.zeros(length, np.int64)
    place[rows] = np.arange(1, len(rows) + 1)
    if len(rows) == length:
        return column.take(place - 1)
    return column.take_or_null(np.maximum(place - 1, 0), place > 0) if len(rows) else Column.nulls(column.type, length)

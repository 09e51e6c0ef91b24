"""Partial aggregation of unordered rows, and the order of its results."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from whimbrel.batch import Batch, Column, Schema, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.disorder import Sorter
from whimbrel.expr import Expr, evaluate, predicate
from whimbrel.kernels import Kernel, KeyTable, decode_keys, encode_keys, forced_tier
from whimbrel.operators.aggregation.evicting_codegen import EvictingText, evicting_text
from whimbrel.operators.aggregation.evicting_table import EvictingTable, Partials
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.operators.aggregation.table_size import TableSize
from whimbrel.operators.windows.window import HoppingWindow
from whimbrel.plan.typed_aggregate import NO_MASK

Array = np.ndarray[Any, Any]

_NONE = frozen(np.empty(0, np.int64))
_MAX_PIECES = 64
_VARIES = -1


class EvictingKernel(Kernel):
    """Rows enter an evicting table; partial aggregates leave it on collision, and when time has passed their pane.

    Until the loop is compiled, and while the table saves nothing, each row leaves as the partial aggregate of itself.
    What leaves is sorted by pane. Inside a pane it needs no order, so the oldest pane is handed on as it comes.

    Parameters
    ----------
    out_schema : Schema
        Key columns, then the states of each measure.
    window : HoppingWindow
        Panes: starts are rounded to its hop, and partial aggregates last as long as it says.
    keys : sequence of Expr
    measures : sequence of ScalarAccumulator
    condition : Expr, optional
        Rows for which this is not true are left out.
    slots, max_slots : int
        Size of the table at first, and at most.

    Attributes
    ----------
    size : TableSize
        What the table saves, and its size.
    partials, singles : Sorter
        What left the table, and rows that passed it. These have only columns that differ from row to row.
    """

    def __init__(self, out_schema: Schema, window: HoppingWindow, keys: Sequence[Expr],
                 measures: Sequence[ScalarAccumulator], condition: Expr | None, slots: int, max_slots: int) -> None:
        self.out_schema, self.window, self.condition = out_schema, window, condition
        self.key_exprs, self.measures = tuple(keys), list(measures)
        # Panes that hold the times (begin - hop, begin] are those of a grid one tick later, shown at their last tick.
        self.lead = 0 if window.label == "start" else window.hop - 1
        self.offset = window.offset - self.lead
        self.keys = KeyTable([field.type for field in out_schema.fields[: len(keys)]])
        self.by_number = len(keys) > 1
        self.size = TableSize(slots, max_slots)
        self.table = EvictingTable(slots, self.measures)
        self.partials, self.singles = Sorter(), Sorter()
        self.form: tuple[int, ...] = ()
        self.texts: dict[tuple[bool, ...], EvictingText] = {}
        self.ones, self.zeros = frozen(np.empty(0, np.int64)), frozen(np.empty(0, np.int64))

    def fork(self) -> Self:
        clone = copy.copy(self)
        clone.size, clone.table = self.size.fork(), self.table.fork()
        clone.partials, clone.singles = self.partials.fork(), self.singles.fork()
        return clone

    def state_parts(self) -> dict[str, Any]:
        """The groups in the table, its size, what waits to be sorted, and what numbers stand for keys."""
        return {name: getattr(self, name) for name in
                ("watermark", "keys", "by_number", "size", "table", "partials", "singles", "form")}

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        self._check(batch)
        loop = None if self.size.pause_rows else self._loop(batch)
        row = 0
        while row < len(batch):  # a long batch must not be taken in whole where the table saves nothing
            aside = loop is None or self.size.pause_rows > 0
            stop = row + (self.size.pause_rows or len(batch) if aside else self.size.rows_to_measure)
            part = batch if row == 0 and stop >= len(batch) else batch.slice(row, stop)
            if loop is None or aside:
                self._pass_by(part)
            else:
                self._take_in(part, *loop)
            row = stop
        return self._released()

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark in (INF, MIN_TIME):
            self.watermark = watermark
        else:
            self.watermark = watermark - (watermark - self.offset) % self.window.hop + self.lead
        self._leave(self.table.flush(INF if watermark == INF else self.watermark - self.lead))
        return self._released()

    @property
    def buffered_rows(self) -> int:
        return self.table.groups + self.partials.rows + self.singles.rows

    @property
    def buffered_bytes(self) -> int:
        return self.partials.nbytes + self.singles.nbytes

    @property
    def sorted_runs(self) -> int:
        return len(self.partials.runs) + len(self.singles.runs)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(text.text for text in list(self.texts.values()))

    def _check(self, batch: Batch) -> None:
        reach = self.window.size + self.window.hop + abs(self.window.offset)
        if self.condition is None or MIN_TIME + reach < int(batch.sync.min()) <= int(batch.sync.max()) < INF - reach:
            kept = batch if batch.absent is None else batch.compact()
        else:
            kept = batch.with_absent(~predicate(self.condition, batch)).compact()
        check_reach(kept, reach, self.window.show())

    def _take_in(self, batch: Batch, text: EvictingText, loop: Callable[..., int]) -> None:
        """Let rows into the table."""
        keys = self._keys(batch)
        evicted = self.table.take(loop, self._inputs(text, batch, keys), len(batch))
        self._leave(evicted)
        slots = len(self.table)
        self.size.measured(len(batch), len(evicted[0]))
        if self.size.slots != slots:
            self._leave(self.table.resize(self.size.slots))
        elif self.size.pause_rows:  # rows in order that pass by then stay in order
            self._leave(self.table.flush())

    def _loop(self, batch: Batch) -> tuple[EvictingText, Callable[..., int]] | None:
        """The generated loop for this batch's pattern of nulls, if it may be used now."""
        tier = forced_tier()
        if tier == "primitives":
            return None
        nulls = (batch.absent is not None, *[column.valid is not None for column in batch.columns])
        text = self.texts.get(nulls)
        if text is None:
            text = self.texts[nulls] = evicting_text(self.measures, self.condition, batch)
        if tier == "interpreted":
            return text, text.step.interpreted
        nothing = batch.slice(0, 0)
        table = self.table
        arguments = (*self._inputs(text, nothing, _NONE), table.key, table.pane, table.rows, table.born, *table.states,
                     table.cursor, table.out_pane, table.out_key, table.out_rows, *table.out_states)
        return (text, text.step.best(*arguments)) if text.step.ready(*arguments) else None

    def _inputs(self, text: EvictingText, batch: Batch, keys: Array) -> list[Any]:
        inputs = [frozen(batch.sync), keys, NO_MASK if batch.absent is None else frozen(batch.absent)]
        if text.timed:
            inputs.append(frozen(batch.first_start))
        for leaf, with_nulls, under in text.leaves:
            rows = batch
            for condition in under:
                rows = rows.with_absent(~predicate(condition, rows))
            column = evaluate(leaf, rows)
            inputs += [column.values if column.fixed else _NONE, *([frozen(column.validity())] if with_nulls else [])]
        return [*inputs, *text.numbers, self.window.hop, self.offset]

    def _keys(self, batch: Batch) -> Array:
        """A number for each row's key: the key itself, until one is text or missing."""
        columns = [evaluate(expr, batch) for expr in self.key_exprs]
        if not columns:
            return self._alike(0, len(batch))
        if not self.by_number and not (columns[0].fixed and columns[0].valid is None):
            self._leave(self.table.flush())  # numbers begin to mean something else
            self.by_number = True
        if not self.by_number:
            return encode_keys(np.asarray(columns[0].values))
        if self.keys.is_crowded:
            self._leave(self.table.flush())
            self.keys, _ = self.keys.keep_only(_NONE)
        return frozen(self.keys.ids(columns, len(batch), batch.absent).astype(np.int64))

    def _leave(self, partials: Partials | None) -> None:
        """Partial aggregates become rows that wait to be sorted."""
        if partials is None or not len(partials[0]):
            return
        pane, key, rows, states = partials
        columns: list[Column] = []
        if self.by_number:
            columns += self.keys.values(key)
        elif self.key_exprs:
            type_ = self.out_schema.fields[0].type
            physical = self.keys.columns[0].physical
            assert physical is not None
            columns.append(Column(type_, decode_keys(key, physical)))
        rest = iter(states)
        for measure in self.measures:
            fields = [rows] if measure.counts_rows else [next(rest) for _ in measure.steps.init]
            columns += [Column(type_, field) for type_, field in zip(measure.field_types, fields, strict=True)]
        self.partials.add(Batch(self.out_schema, pane + self.lead, self.window.size, tuple(columns)))

    def _pass_by(self, batch: Batch) -> None:
        """Each row is the partial aggregate of itself."""
        if self.condition is not None:
            batch = batch.with_absent(~predicate(self.condition, batch))
        batch = batch.compact()
        if not len(batch):
            return
        self.size.passed(len(batch))
        ones, zeros = self._alike(1, len(batch)), self._alike(0, len(batch))
        columns = [evaluate(expr, batch) for expr in self.key_exprs]
        form = [_VARIES] * len(columns)
        for measure in self.measures:
            for type_, field in zip(measure.field_types, _states_of_rows(measure, batch, ones, zeros), strict=True):
                columns.append(Column(type_, field))
                form.append(1 if field is ones else 0 if field is zeros else _VARIES)
        pane = batch.sync - (batch.sync - self.offset) % self.window.hop
        start = pane + self.lead if self.lead else pane
        if not self.singles.rows:
            self.form = tuple(form)
        if self.form == tuple(form):
            kept = [position for position, number in enumerate(form) if number == _VARIES]
            schema = self.out_schema.select([self.out_schema.names[position] for position in kept])
            self.singles.add(Batch(schema, start, self.window.size, tuple(columns[position] for position in kept)))
        else:  # a value is missing, and none was before
            self.partials.add(Batch(self.out_schema, start, self.window.size, tuple(columns)))

    def _released(self) -> list[Batch]:
        """Rows up to the watermark, in the order of their panes."""
        if self.watermark == MIN_TIME:
            return []
        partials, singles = self.partials.release(self.watermark), self.singles.release(self.watermark)
        return in_order(partials, [self._widened(batch) for batch in singles])

    def _widened(self, batch: Batch) -> Batch:
        """Rows with the columns that are alike in all of them."""
        varying = iter(batch.columns)
        columns = tuple(next(varying) if number == _VARIES else Column(field.type, self._alike(number, len(batch)))
                        for number, field in zip(self.form, self.out_schema.fields, strict=True))
        return batch.having(schema=self.out_schema, columns=columns)

    def _alike(self, number: int, rows: int) -> Array:
        """An array of ones or zeros."""
        if rows > len(self.ones):
            self.ones, self.zeros = frozen(np.ones(rows, np.int64)), frozen(np.zeros(rows, np.int64))
        return (self.ones if number else self.zeros)[:rows]


def in_order(first: list[Batch], second: list[Batch]) -> list[Batch]:
    """Batches that are sorted each, as batches that are sorted together."""
    if not first or not second:
        return first or second
    cuts = [[0, *(np.flatnonzero(np.diff(batch.sync)) + 1).tolist(), len(batch)] for batch in (*first, *second)]
    if sum(map(len, cuts)) <= _MAX_PIECES:
        pieces = [batch.slice(start, stop) for batch, at in zip((*first, *second), cuts, strict=True)
                  for start, stop in itertools.pairwise(at)]
        return sorted(pieces, key=lambda piece: piece.time(0))
    whole = Batch.concat([*first, *second])
    return [whole.take(np.argsort(whole.sync, kind="stable"))]


def _states_of_rows(measure: ScalarAccumulator, batch: Batch, ones: Array, zeros: Array) -> Sequence[Array]:
    """The states of single rows; fields that are one or zero in all of them are the arrays given."""
    if measure.counts_rows:
        return [ones]
    values, valid, _ = measure.read(batch)
    assert measure.steps.of_rows is not None
    states = measure.steps.of_rows(*values, ones, zeros)
    if not len(valid):
        return states
    return [np.where(valid, state, nothing) for state, nothing in zip(states, measure.steps.init, strict=True)]

"""Kernel of aggregates per epoch: states of open groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Schema, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import KernelError
from whimbrel.expr import Expr, evaluate, predicate
from whimbrel.expr.reductions import reduced_in
from whimbrel.kernels import PORTION_ROWS, KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.windows.panes import ADD, CLEAR, EMIT
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.fill_windows import MAX_ROWS
from whimbrel.operators.aggregation.operation_log import OperationLog
from whimbrel.operators.aggregation.queued_kernel import QueuedKernel
from whimbrel.operators.aggregation.result_expressions import WindowBound
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import NO_ROWS, Inputs

Array = np.ndarray[Any, Any]

_NONE = frozen(np.empty(0, np.int64))
_REMEMBERS_NONE = (_NONE, _NONE, _NONE, _NONE, _NONE)


class EpochAggregateKernel(QueuedKernel):
    """Takes in the rows of one epoch after the other.

    Parameters
    ----------
    aggregates : GroupAggregate
    running : frozenset of str
        Names of the aggregates that run on.
    closing : Expr
    rows, seen : Schema
        Of the input, and of what `closing` reads: the results and the bounds of the epoch.
    size, offset : int
    where : str
        The operator, for errors.

    Attributes
    ----------
    epoch : int
        Start of the first epoch that is not shown yet.
    has_rows : bool
        Whether that epoch has rows already.
    open : numpy.ndarray
        Groups that are open.
    is_open, rows_of_epoch, rows_since_opened : numpy.ndarray
        Per group.
    """

    def __init__(self, aggregates: GroupAggregate, running: frozenset[str], closing: Expr, rows: Schema, seen: Schema,
                 size: int, offset: int, where: str) -> None:
        super().__init__()
        self.closing, self.seen, self.size, self.offset, self.where = closing, seen, size, offset, where
        self.out_schema = aggregates.schema(rows)
        self.reads_bounds = any(isinstance(part, WindowBound) for part in reduced_in(closing))
        self.key_exprs = [expr for _, expr in aggregates.keys]
        self.keys = KeyTable([field.type for field in self.out_schema.fields[: len(self.key_exprs)]])
        self.measures = [aggregates.accumulator(name, each, rows, remembers=False)
                         for name, each in aggregates.measures]
        self.running = [name in running for name, _ in aggregates.measures]
        self.log = OperationLog()
        self.epoch, self.has_rows = MIN_TIME, False
        self.open = np.empty(0, np.int32)
        self.is_open = np.zeros(GROUPS_AT_FIRST, np.bool_)
        self.rows_of_epoch, self.rows_since_opened = (np.zeros(GROUPS_AT_FIRST, np.int64) for _ in range(2))

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = starts_only(batch.compact())
        if not len(batch):
            return []
        check_reach(batch, 2 * self.size, self.where)
        groups = frozen(self.keys.ids([evaluate(expr, batch) for expr in self.key_exprs], len(batch)))
        self._grow(len(self.keys))
        return self.enqueue(batch, groups)

    @property
    def reached(self) -> int:
        return self.epoch

    @property
    def growing(self) -> str:
        return f"{len(self.open):,} groups are open in epochs without rows"

    def next_portion(self) -> list[Batch]:
        out, made = list[Batch](), 0
        while self.todo and made < PORTION_ROWS:
            batch, groups, row = self.todo[0]
            if row == len(batch):
                self.todo.pop(0)
                continue
            epoch = self._floor(int(batch.sync[row]))
            if not len(self.open):
                self.epoch = epoch
            if self.epoch < epoch:
                shown = self._show(epoch)
                out, made = out + shown, made + sum(map(len, shown))
                continue
            stop = int(np.searchsorted(batch.sync, epoch + self.size))
            self._take_in(batch.slice(row, stop), groups[row:stop])
            self.todo[0][2] = stop
        return self.after_portion(out)

    @property
    def buffered_rows(self) -> int:
        return len(self.open) + sum(len(batch) - row for batch, _, row in self.todo)

    def close(self) -> list[Batch]:
        """Show the epoch, if it is over."""
        out: list[Batch] = []
        watermark = self.input_watermark
        if self.has_rows and watermark >= self.epoch + self.size:
            out = self._show(self.epoch + self.size)
        if watermark in (INF, MIN_TIME):
            self.watermark = watermark
        else:
            self.watermark = min(watermark, self.epoch) if len(self.open) else self._floor(watermark)
        return out

    def _floor(self, time: int) -> int:
        return time - (time - self.offset) % self.size

    def _take_in(self, rows: Batch, groups: Array) -> None:
        """Rows enter their groups; groups that are not open open."""
        new = np.unique(groups[~self.is_open[groups]])
        self.is_open[new] = True
        self.open = np.concatenate([self.open, new])
        for counts in (self.rows_of_epoch, self.rows_since_opened):
            np.add.at(counts, groups, 1)
        self.has_rows = True
        for measure in self.measures:
            if not measure.counts_rows:
                self._apply(measure, ADD, groups, measure.read(rows))

    def _show(self, until: int) -> list[Batch]:
        """The results of the epoch; if it had no rows, also those of the epochs up to a time, which are the same."""
        had_rows = self.has_rows
        rows, stay = self._end_epoch()
        if had_rows or not len(stay):
            return [rows]
        left = (until - self.epoch) // self.size
        if left * len(stay) > MAX_ROWS:
            raise KernelError(f"Cannot give results of {left:,} epochs without rows for {len(stay):,} open groups.",
                              where=self.where, hint="Use longer epochs, or close groups, such as "
                              "closing_when=wb.count() == 0.")
        if self.reads_bounds:
            return [rows]
        count = min(left, max(1, PORTION_ROWS // len(stay)))
        times = np.repeat(self.epoch + self.size * np.arange(count), len(stay))
        self.epoch += count * self.size
        return [rows, rows.take(np.tile(stay, count)).having(sync=times)] if count else [rows]

    def _end_epoch(self) -> tuple[Batch, Array]:
        """The results of the epoch, and the rows of the groups that stay open."""
        groups, size = self.open, self.size
        columns = list(self.keys.values(groups))
        for measure, running in zip(self.measures, self.running, strict=True):
            if measure.counts_rows:
                counts = (self.rows_since_opened if running else self.rows_of_epoch)[groups]
                columns += measure.columns((counts, np.ones(len(groups), np.bool_)), len(groups))
                continue
            columns += self._apply(measure, EMIT, groups)
            if not running:
                self._apply(measure, CLEAR, groups)
        rows = Batch(self.out_schema, np.full(len(groups), self.epoch), size, tuple(columns))
        closed = self._closed(rows)
        for measure, running in zip(self.measures, self.running, strict=True):
            if running and not measure.counts_rows:
                self._apply(measure, CLEAR, groups[closed])
        self.is_open[groups[closed]], self.rows_since_opened[groups[closed]] = False, 0
        self.rows_of_epoch[groups] = 0
        self.open, self.epoch, self.has_rows = groups[~closed], self.epoch + size, False
        return rows, np.flatnonzero(~closed)

    def _closed(self, rows: Batch) -> Mask:
        time = self.seen.time_type
        bounds = (Column(time, rows.sync), Column(time, rows.other))
        return predicate(self.closing, rows.having(schema=self.seen, columns=(*rows.columns, *bounds)))

    def _apply(self, measure: Accumulator, kind: int, groups: Array, inputs: Inputs = NO_ROWS) -> list[Column]:
        """Do one thing to each of some groups, and answer with the columns that are shown."""
        log, count = self.log, len(groups)
        log.ensure_capacity(count)
        log.kind[:count], log.who[:count] = kind, groups
        log.which[:count] = log.target[:count] = np.arange(count)
        log.count[:] = count, count if kind == EMIT else 0
        buffers = [np.empty(count if kind == EMIT else 0, dtype) for dtype in (*measure.out_dtypes, np.bool_)]
        with explained_errors(self.measures):
            measure.apply(log, inputs, _REMEMBERS_NONE, buffers)
        return measure.columns(buffers, count) if kind == EMIT else []

    def _grow(self, groups: int) -> None:
        if groups <= len(self.is_open):
            return
        groups = max(groups, 2 * len(self.is_open))
        self.is_open = extend(self.is_open, groups, False)
        self.rows_of_epoch = extend(self.rows_of_epoch, groups, 0)
        self.rows_since_opened = extend(self.rows_since_opened, groups, 0)
        for measure in self.measures:
            measure.grow_groups(groups)

"""Grouped aggregation over tumbling windows: one open pane, one state per group."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, PreallocatedStorage, Schema, Storage, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Expr, evaluate, predicate
from whimbrel.kernels import Compiled, IntegerKeys, Kernel, KeyTable, encode_keys, forced_tier
from whimbrel.kernels.array_growth import extend, move, renumber
from whimbrel.kernels.primitives.hashing.hash_table import FAR
from whimbrel.kernels.primitives.windows.panes import CLEAR, EMIT, pane_schedule
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.operators.aggregation.pane_batches import PaneParts
from whimbrel.operators.aggregation.pane_codegen import PaneText, pane_text
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST, ScalarAccumulator
from whimbrel.plan import WindowGrid
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import NO_MASK, NO_ROWS, Inputs

Array = np.ndarray[Any, Any]

_schedule = Compiled(pane_schedule)
_NONE = frozen(np.empty(0, np.int64))
_NO_GROUPS = frozen(np.empty(0, np.int32))
_NO_KEYS = IntegerKeys()
_REMEMBERS_NONE = (_NONE, _NONE, _NONE, _NONE, _NONE)


class PaneKernel(Kernel):
    """Rows in time order fall into one open pane; when time passes its end, each group that has rows gives one row.

    Two tiers share the same state: a schedule replayed by each aggregate, and one fused loop that is generated for
    this query, compiled meanwhile, and takes over at a batch boundary.

    Parameters
    ----------
    out_schema : Schema
        Key columns, then one column a measure.
    grid : WindowGrid
        Panes begin at ``offset + k * hop`` in the input's starts; results last `size` ticks.
    lead : int
        Ticks from the beginning of a pane to the start of its result.
    keys : sequence of Expr
    measures : sequence of Accumulator
    condition : Expr, optional
        Rows for which this is not true are left out.

    Attributes
    ----------
    gathers : bool
        Whether rows that come out stay here until :meth:`gathered` is asked for them: of many panes with few rows each
        they are made into one batch.
    by_number : bool
        Whether rows that come out say the number of their group in the place of its keys.
    cells : int
        If not 0: rows say the number of their group in the place of keys, and all numbers are smaller. No keys are
        looked up, and rows that come out say these numbers.
    """

    cells = 0  # of the class: it is no state, and checkpoints have all attributes of a kernel

    def __init__(self, out_schema: Schema, grid: WindowGrid, lead: int, keys: Sequence[Expr],
                 measures: Sequence[Accumulator],
                 condition: Expr | None) -> None:
        self.out_schema, self.grid, self.lead = out_schema, grid, lead
        self.key_exprs = tuple(keys)
        self.keys = KeyTable([field.type for field in out_schema.fields[: len(keys)]])
        self.measures = list(measures)
        self.condition = condition
        self.pane = np.zeros(2, np.int64)
        self.rows = np.zeros(GROUPS_AT_FIRST, np.int64)
        self.touched = np.zeros(GROUPS_AT_FIRST, np.int64)
        self.schedule = OperationLog()
        self.full: list[Batch] = []
        self.gathers = self.by_number = False
        self.texts: dict[tuple[bool, ...], PaneText] = {}
        self.compiled: dict[tuple[bool, ...], Callable[..., int]] = {}
        self.closing: tuple[PaneText, Callable[..., int]] | None = None
        """The loop in use, given no rows: what else it is to be given is its state."""

    def fresh(self) -> PaneKernel:
        """An equal kernel, given that this one has seen no rows; what is written for one serves both."""
        clone = copy.copy(self)
        clone.keys = KeyTable([key.type for key in self.keys.columns])
        clone.measures = [measure.fork() for measure in self.measures]
        clone.pane, clone.rows, clone.touched = self.pane.copy(), self.rows.copy(), self.touched.copy()
        clone.schedule, clone.full = OperationLog(), []
        return clone

    def fork(self) -> Self:
        clone = super().fork()
        clone.share_code(self)
        return clone

    def share_code(self, other: Self) -> None:
        self.texts, self.compiled = other.texts, other.compiled  # what one of them writes serves all

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        self._take_in(batch, closes=False)
        return [] if self.gathers else self.gathered()

    @property
    def reach(self) -> int:
        """How far from either end of time rows must be."""
        return 2 * self.grid.size + abs(self.grid.offset)

    def errors_of(self, rows: Callable[[], Batch]) -> explained_errors:
        """Say which aggregate it was that failed over these rows."""
        return explained_errors(self.measures, lambda: self._read_again(rows()))

    def push_whole(self, batches: Sequence[Batch]) -> None:
        """Take in all rows of a run, in batches that are not empty, and gather the results."""
        for batch in batches:
            self._take_in(batch, closes=batch is batches[-1])

    def _take_in(self, batch: Batch, *, closes: bool) -> None:
        """Take in rows, and close the open pane after them if nothing follows."""
        check_reach(batch, self.reach, self.grid.window, in_order=True)
        if self.keys.is_crowded and not self.by_number:
            self._remove_keys()
        with self.errors_of(lambda: batch):
            fused = self._fused(batch)
            if fused is not None:
                self._run_fused(*fused, batch, closes=closes)
            else:
                self._run_schedule(batch)
                if closes and self.pane[1]:
                    self._close_pane()

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark in (INF, MIN_TIME):
            begin = self.watermark = watermark
        else:
            begin = watermark - (watermark - self.grid.offset) % self.grid.hop
            self.watermark = begin + self.lead
        with explained_errors(self.measures):
            if self.pane[1] and begin > self.pane[0]:
                self._close_pane()
        return [] if self.gathers else self.gathered()

    def parts_of(self, rows: Batch) -> PaneParts | None:
        """What takes in parts of these rows as :meth:`push_whole` does, in fewer steps; None if not now, or never."""
        nulls = self._nulls(rows)
        if nulls not in self.compiled or not PaneParts.suit(self.texts[nulls], rows):
            return None
        return PaneParts(self, self.texts[nulls], self.compiled[nulls], rows)

    def gathered(self) -> list[Batch]:
        """Rows that came out and were not handed on."""
        self._put_away()
        out, self.full = self.full, []
        return out

    @property
    def waiting(self) -> int:
        """How many these are."""
        return sum(map(len, self.full)) + self.schedule.outputs

    @property
    def buffered_rows(self) -> int:
        return int(self.pane[1])

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(text.text for text in list(self.texts.values()))

    # Fused tier: one generated loop over the raw columns.

    def _fused(self, batch: Batch) -> tuple[PaneText, Callable[..., int]] | None:
        """The generated loop for this batch's pattern of nulls, and for many groups or few, if it may be used now."""
        tier = forced_tier()
        nulls = self._nulls(batch)
        if tier is None and nulls in self.compiled:  # so is almost every batch, of few rows or many
            return self.texts[nulls], self.compiled[nulls]
        measures = [measure for measure in self.measures if isinstance(measure, ScalarAccumulator) and measure.fuses]
        if tier == "primitives" or len(measures) < len(self.measures):  # a bag is nothing for a loop of scalars
            return None
        text = self.texts.get(nulls)
        if text is None:
            text = self.texts[nulls] = pane_text(measures, self.key_exprs, self.condition, batch, many=nulls[0])
        if tier == "interpreted":
            return text, text.step.interpreted
        if nulls not in self.compiled:
            arguments = (*self.inputs(text, batch.slice(0, 0)), *self.state(text), 0, False)
            if not text.step.ready(*arguments):
                return None
            self.compiled[nulls] = text.step.best(*arguments)
        return text, self.compiled[nulls]

    def _nulls(self, batch: Batch) -> tuple[bool, ...]:
        """What a generated loop depends on: whether there are many groups, and what may be missing."""
        numbered = self.cells > 0 or len(self.rows) > FAR
        return (numbered, batch.absent is not None, *[column.valid is not None for column in batch.columns])

    def _run_fused(self, text: PaneText, loop: Callable[..., int], batch: Batch, *, closes: bool) -> None:
        if self.closing is None or self.closing[0] is not text:
            self.closing = text, functools.partial(loop, *self.inputs(text, batch.slice(0, 0)))
        read = self.inputs(text, batch)
        row, rows = 0, len(batch)
        while row < rows or (closes and self.pane[1]):
            row = int(loop(*read, *self.state(text), row, closes))
            self.ensure_capacity(done=row == rows and not (closes and self.pane[1]))

    def ensure_capacity(self, *, done: bool) -> None:
        """Grow the buffers in which the loop found no space, if it is not done."""
        if self.schedule.count[0]:  # the table was full for a new group
            self.keys.columns[0].integers.grow()
            self._grow(len(self.keys.columns[0].integers.keys))
        elif not done:
            self._ensure_output_capacity()

    def inputs(self, text: PaneText, batch: Batch) -> list[Any]:
        """The inputs of the generated loop, once a batch."""
        if text.inline_key is not None:
            groups = frozen(encode_keys(np.asarray(evaluate(text.inline_key, batch).values)))
            self._grow(len(self.keys.columns[0].integers.keys))
        elif text.alone:
            groups = _NO_GROUPS
        else:
            groups = self._groups(self._counting(batch))
        inputs = [batch.sync, groups, NO_MASK if batch.absent is None else batch.absent]
        if text.timed:
            inputs.append(batch.first_start)
        for leaf, with_nulls, under in text.leaves:
            rows = batch
            for condition in under:
                rows = rows.with_absent(~predicate(condition, rows))
            column = evaluate(leaf, rows)
            # Of texts and lists a loop of scalars asks only whether they are there.
            inputs += [column.values if column.fixed else _NONE, *([frozen(column.validity())] if with_nulls else [])]
        return inputs

    def state(self, text: PaneText) -> list[Any]:
        """The state and the outputs of the generated loop; arrays may have grown since the last call."""
        integers = _NO_KEYS if text.inline_key is None else self.keys.columns[0].integers
        stateful = [(measure, out) for measure, out in zip(self.measures, self._outs(), strict=True)
                    if isinstance(measure, ScalarAccumulator) and not measure.counts_rows]
        return [*text.numbers, self.grid.hop, self.grid.offset, integers.direct, integers.table, integers.keys,
                integers.size, self.pane, self.rows, self.touched,
                *(array for measure, _ in stateful for array in measure.state),
                self.schedule.count, self.schedule.sync, self.schedule.group, self.schedule.rows,
                *(array for _, out in stateful for array in out)]

    # First tier: a schedule of operations, replayed by each aggregate on columns that NumPy computed.

    def _run_schedule(self, batch: Batch) -> None:
        batch = self._counting(batch)
        skip, groups = batch.absent, self._groups(batch)
        self._put_away()  # what a measure reads may make it forget the values of rows that wait
        inputs = [measure.read(batch) for measure in self.measures]
        schedule = self.schedule
        row = 0
        while row < len(batch):
            self._put_away()
            row = int(_schedule(
                row, batch.sync, groups, NO_MASK if skip is None else frozen(skip), self.grid.hop, self.grid.offset,
                self.pane, self.rows, self.touched, schedule.kind, schedule.who, schedule.which, schedule.target,
                schedule.count, schedule.sync, schedule.group, schedule.rows))
            self._replay(inputs)
            if not schedule.operations and row < len(batch):
                self._ensure_output_capacity()

    def _close_pane(self) -> None:
        """Emit the open pane, as a row past its end would."""
        groups = int(self.pane[1])
        if self.closing is None or self.schedule.outputs + groups > len(self.schedule.sync):
            self._ensure_output_capacity()
        if self.closing is not None:
            text, loop = self.closing
            loop(*self.state(text), 0, True)
            return
        schedule, removed = self.schedule, self.touched[:groups]
        schedule.kind[:groups], schedule.kind[groups : 2 * groups] = EMIT, CLEAR
        schedule.who[:groups] = schedule.who[groups : 2 * groups] = removed
        schedule.target[:groups] = np.arange(groups)
        schedule.sync[:groups], schedule.group[:groups] = self.pane[0], removed
        schedule.rows[:groups] = self.rows[removed]
        schedule.count[:] = 2 * groups, groups
        self._replay([NO_ROWS] * len(self.measures))
        self.rows[removed] = 0
        self.pane[1] = 0

    def _replay(self, inputs: Sequence[Inputs]) -> None:
        for measure, given, outs in zip(self.measures, inputs, self._outs(), strict=True):
            if not measure.counts_rows:
                measure.apply(self.schedule, given, _REMEMBERS_NONE, outs)

    # Both tiers.

    def _counting(self, batch: Batch) -> Batch:
        """What the condition leaves out is absent: nothing that is computed of it can fail."""
        return batch if self.condition is None else batch.with_absent(~predicate(self.condition, batch))

    def _read_again(self, batch: Batch) -> None:
        batch = self._counting(batch)
        for measure in self.measures:
            measure.read(batch)

    def _groups(self, batch: Batch) -> Array:
        if self.cells:
            self._grow(self.cells)
            return frozen(np.asarray(evaluate(self.key_exprs[0], batch).values))
        groups = self.keys.ids([evaluate(expr, batch) for expr in self.key_exprs], len(batch), batch.absent)
        self._grow(len(self.keys))
        return frozen(groups)

    def _grow(self, groups: int) -> None:
        if groups > len(self.rows):
            groups = max(groups, 2 * len(self.rows))
            self.rows, self.touched = extend(self.rows, groups, 0), extend(self.touched, groups, 0)
            for measure in self.measures:
                measure.grow_groups(groups)

    def _remove_keys(self) -> None:
        """Keep only the keys of groups in the open pane: of keys that are always new there is no end."""
        self._put_away()
        self.keep_groups(self.touched[: int(self.pane[1])])

    def keep_groups(self, old: Array) -> Array:
        """Give these groups other numbers, which are returned, and forget the keys of all others."""
        self.keys, new = self.keys.keep_only(old)
        groups = max(GROUPS_AT_FIRST, 2 * len(old))
        self.touched = extend(renumber(self.touched[: int(self.pane[1])], old, new), groups, 0)
        self.rows = move(self.rows, old, new, groups, 0)
        for measure in self.measures:
            measure.move_groups(old, new, groups)
        return new

    def _ensure_output_capacity(self) -> None:
        self._put_away()
        self.schedule.ensure_capacity(int(self.pane[1]))

    def _outs(self) -> list[Outs]:
        return self.schedule.outs([measure.out_dtypes for measure in self.measures])

    def _put_away(self) -> None:
        """Make a batch of the output rows, to free their buffers."""
        rows = self.schedule.outputs
        if rows:
            given = self.gathers and 2 * rows >= len(self.schedule.sync)  # to copy so many takes longer
            self.full.append(self._batch(rows, PreallocatedStorage() if given else self.storage))
            self.schedule.count[1] = 0
            if given:
                self.schedule.renew()

    def _batch(self, rows: int, storage: Storage | None) -> Batch:
        """The first `rows` output rows."""
        schedule = self.schedule
        start = schedule.sync[:rows] + self.lead
        group = schedule.group[:rows]
        columns = ([Column(pa.int64(), group.copy())] if self.by_number or self.cells else
                   list(self.keys.values(group, storage)))
        for measure, outs in zip(self.measures, self._outs(), strict=True):
            columns += measure.columns((schedule.rows, np.ones(rows, np.bool_)) if measure.counts_rows else outs, rows,
                                       storage)
        return Batch(self.out_schema, start, self.grid.size, tuple(columns))

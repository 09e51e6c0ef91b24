"""Kernel of aggregation over arbitrary lifetimes: one row per snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Expr, evaluate, predicate
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend, move, move_cells, renumber
from whimbrel.kernels.primitives.aggregation.snapshots import (
    ACTIVE,
    CELL,
    CHANGED,
    DIRTY,
    DISORDERLY,
    ENDS,
    FIRST,
    NOW,
    OPEN_ID,
    OPEN_ROW,
    REMOVED,
    SINCE,
    USED,
    chain,
    snapshot_schedule,
)
from whimbrel.operators.aggregation.accumulator import Accumulator, Remembered
from whimbrel.operators.aggregation.operation_log import CAPACITY, OperationLog, Outs
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST, ScalarAccumulator
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import NO_MASK, NO_ROWS, Inputs

Array = np.ndarray[Any, Any]

_schedule, _chain = Compiled(snapshot_schedule), Compiled(chain)
_NONE = frozen(np.empty(0, np.int64))
_NO_GROUPS = frozen(np.empty(0, np.int32))
SLOTS_AT_FIRST = GROUPS_AT_FIRST

_NEW_CELL = np.zeros(CELL, np.int64)
_NEW_CELL[[SINCE, OPEN_ROW, OPEN_ID]] = INF, -1, -1


class SnapshotKernel(Kernel):
    """Events enter at their start and leave at their end; each change of a group ends one row and begins the next.

    A row is written when time moves past its start: as an interval if its end is known by then, else as a start edge
    with an end edge to follow.

    Parameters
    ----------
    out_schema : Schema
        Key columns, then one column a measure.
    keys : sequence of Expr
    measures : sequence of Accumulator
    condition : Expr, optional
        Rows for which this is not true are left out.
    """

    def __init__(self, out_schema: Schema, keys: Sequence[Expr], measures: Sequence[Accumulator],
                 condition: Expr | None) -> None:
        self.out_schema = out_schema
        self.key_exprs = tuple(keys)
        self.keys = KeyTable([field.type for field in out_schema.fields[: len(keys)]])
        self.measures = list(measures)
        self.condition = condition
        self.linked = any(measure.walks_rows for measure in self.measures)
        """Whether the rows of a group hang in a chain: from the first time on that one is walked along."""
        self.scalars = np.zeros(9, np.int64)
        self.scalars[NOW] = MIN_TIME
        self.ends, self.end_slots, self.free, self.removed = (np.zeros(SLOTS_AT_FIRST, np.int64) for _ in range(4))
        self.held_sync, self.held_other = np.zeros(SLOTS_AT_FIRST, np.int64), np.zeros(SLOTS_AT_FIRST, np.int64)
        self.after, self.before = np.zeros(SLOTS_AT_FIRST, np.int64), np.zeros(SLOTS_AT_FIRST, np.int64)
        self.held_group = np.zeros(SLOTS_AT_FIRST, np.int32)
        self.head = np.full(GROUPS_AT_FIRST, -1, np.int64)
        self.cells = np.tile(_NEW_CELL, GROUPS_AT_FIRST)
        self.dirty = np.zeros(GROUPS_AT_FIRST, np.int32)
        self.schedule = OperationLog()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        if self.condition is not None:  # what it leaves out cannot make anything fail
            batch = batch.with_absent(~predicate(self.condition, batch))
        if self.keys.is_crowded:
            self._remove_keys()
        groups = self.keys.ids([evaluate(expr, batch) for expr in self.key_exprs], len(batch), batch.absent)
        self._grow_groups(len(self.keys))
        inputs = [measure.read(batch) for measure in self.measures]
        return self._run(batch.sync, batch.other, frozen(groups), batch.absent, int(batch.sync[-1]), inputs)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return self._run(_NONE, _NONE, _NO_GROUPS, None, watermark, [NO_ROWS] * len(self.measures))

    @property
    def buffered_rows(self) -> int:
        return int(self.scalars[ENDS])

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(measure.replay.text for measure in self.measures if isinstance(measure,
                                                                                                  ScalarAccumulator)))

    def _run(self, sync: Array, other: Array, groups: Array, skip: Mask | None, limit: int,
             inputs: Sequence[Inputs]) -> list[Batch]:
        """Take in rows and all changes up to `limit`, one full buffer at a time."""
        out: list[Batch] = []
        row = 0
        while row >= 0:
            schedule = self.schedule
            row = int(_schedule(
                row, sync, other, groups, NO_MASK if skip is None else frozen(skip), limit, self.linked, self.scalars,
                self.ends, self.end_slots, self.free, self.removed, self.held_sync, self.held_other, self.held_group,
                self.head, self.after, self.before, self.cells, self.dirty,
                schedule.kind, schedule.who, schedule.which, schedule.slot, schedule.target, schedule.count,
                schedule.sync, schedule.other, schedule.group, schedule.ids))
            if schedule.operations:
                with explained_errors(self.measures):
                    out += self._replay(inputs)
            if self.scalars[DISORDERLY] and self.scalars[FIRST]:
                self._lay_ends_straight()
            if row >= 0 and not schedule.ensure_capacity(int(self.scalars[DIRTY])):
                self._grow_slots()
        return out

    def _replay(self, inputs: Sequence[Inputs]) -> list[Batch]:
        outs = self.schedule.outs([measure.out_dtypes for measure in self.measures])
        for measure, given, buffers in zip(self.measures, inputs, outs, strict=True):
            stopped = measure.apply(self.schedule, given, self._remembered, buffers)
            if stopped is not None:
                _chain(self.scalars, self.free, self.held_group, self.head, self.after, self.before)
                self.linked = True
                measure.apply(self.schedule, given, self._remembered, buffers, stopped)
        return [self._batch(outs)] if self.schedule.outputs else []

    @property
    def _remembered(self) -> Remembered:
        head = self.head if self.linked else self.head[:0]
        return self.held_sync, self.held_other, head, self.after, self.before

    def _batch(self, outs: Sequence[Outs]) -> Batch:
        schedule, rows = self.schedule, self.schedule.outputs
        values = [column for measure, buffers in zip(self.measures, outs, strict=True)
                  for column in measure.columns(buffers, rows)]
        return Batch(self.out_schema, schedule.sync[:rows].copy(), schedule.other[:rows].copy(),
                     (*self.keys.values(schedule.group[:rows]), *values), ids=schedule.ids[:rows].copy())

    def _remove_keys(self) -> None:
        """Keep only the keys of groups with active rows, an open row, or rows that were just removed."""
        cells = self.cells.reshape(-1, CELL)[: len(self.keys)]
        used = (cells[:, ACTIVE] > 0) | (cells[:, SINCE] != INF) | (cells[:, CHANGED] > 0)
        used[self.held_group[self.removed[: int(self.scalars[REMOVED])]]] = True
        old = np.flatnonzero(used)
        self.keys, new = self.keys.keep_only(old)
        groups = max(GROUPS_AT_FIRST, 2 * len(old))
        self.cells = move_cells(self.cells, old, new, groups, _NEW_CELL)
        self.head = move(self.head, old, new, groups, -1)
        self.dirty = extend(renumber(self.dirty[: int(self.scalars[DIRTY])], old, new), groups, 0)
        self.held_group = renumber(self.held_group, old, new).astype(np.int32)
        for measure in self.measures:
            measure.move_groups(old, new, groups)

    def _grow_groups(self, groups: int) -> None:
        if groups <= len(self.head):
            return
        groups = max(groups, 2 * len(self.head))
        self.cells = np.concatenate([self.cells, np.tile(_NEW_CELL, groups - len(self.head))])
        self.head, self.dirty = extend(self.head, groups, -1), extend(self.dirty, groups, 0)
        for measure in self.measures:
            measure.grow_groups(groups)

    def _grow_slots(self) -> None:
        """Free slots, unless the last step did. A step with few free slots would make the next one as short."""
        enough = max(len(self.held_sync) // 2, CAPACITY // 4)
        if self.scalars[USED] < len(self.held_sync) or self.scalars[REMOVED] >= enough:
            return
        slots = 2 * len(self.held_sync)
        self._lay_ends_straight()
        for name in ("ends", "end_slots", "free", "removed", "held_sync", "held_other", "held_group", "after",
                     "before"):
            setattr(self, name, extend(getattr(self, name), slots, 0))
        for measure in self.measures:
            measure.grow_slots(slots)

    def _lay_ends_straight(self) -> None:
        """Begin the ring of ends at the first place: then it can grow, and a sorted array is a heap."""
        for ring in (self.ends, self.end_slots):
            ring[:] = np.roll(ring, -int(self.scalars[FIRST]))
        self.scalars[FIRST] = 0

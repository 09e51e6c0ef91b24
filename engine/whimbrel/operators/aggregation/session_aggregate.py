"""Aggregate sessions incrementally, one row per closed session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME
from whimbrel.disorder import Sorter
from whimbrel.expr import evaluate, predicate
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend, move_cells, renumber
from whimbrel.kernels.primitives.windows.sessions import (
    CELL,
    DUE,
    IS_OPEN,
    LAST,
    OLDEST,
    OPEN,
    close_sessions,
    session_schedule,
)
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.operation_log import OperationLog
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST
from whimbrel.operators.windows.session_window import LONG_AGO, SessionWindow
from whimbrel.operators.windows.start_edges import starts_only
from whimbrel.plan import Operator, Properties
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import NO_MASK, NO_ROWS, Inputs

Array = np.ndarray[Any, Any]

_schedule, _close = Compiled(session_schedule), Compiled(close_sessions)
_NONE = frozen(np.empty(0, np.int64))
_REMEMBERS_NONE = (_NONE, _NONE, _NONE, _NONE, _NONE)
_NEW_CELL = np.zeros(CELL, np.int64)
_NEW_CELL[LAST] = LONG_AGO


@dataclass(frozen=True, kw_only=True, eq=False)
class SessionAggregate(Operator):
    """Give one row for each closed session of a group.

        time     0    5    10   15   20
        in       a  b         c         (points at 0, 3, 13)
        out      2───────     1────     (timeout 5; a count)

    The planner puts it where a session that is shown when it closes is aggregated by its own keys: a state for each
    open session instead of its events.

    Parameters
    ----------
    session : SessionWindow
    aggregate : GroupAggregate
        Of the rows of each session; it has the same keys.

    Notes
    -----
    Shapes: at most one row out per row in, in the order in which sessions began. State: for each key its last time and
    a state, and the results of sessions that closed before one that began earlier.
    Source: SessionTimeoutWindow of Trill's open source.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 3, 13], "user": ["a", "a", "a"]}, time="at", name="log").group_by("user")
    >>> sessions = events.session_window(5, emit="close").aggregate(n=wb.count())
    >>> print(sessions.explain().splitlines()[5].split("   ")[0])
    group_by(user).aggregate(n=count()) of session_window(5, emit='close')
    >>> sessions.collect().to_pylist()
    [{'start': 0, 'end': 8, 'user': 'a', 'n': 2}, {'start': 13, 'end': 18, 'user': 'a', 'n': 1}]
    """

    accepts_edges: ClassVar[bool] = True
    ends_grouping: ClassVar[bool] = True

    session: SessionWindow
    aggregate: GroupAggregate

    def schema(self, *upstream: Schema) -> Schema:
        return self.aggregate.schema(self.session.schema(*upstream))

    def properties(self, *upstream: Properties) -> Properties:
        return replace(self.aggregate.properties(self.session.properties(*upstream)), intervals_only=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        rows, = self.aggregate.requires(wanted, self.session.schema(*upstream))
        return self.session.requires(rows, *upstream)

    def partitioned(self, *by: str) -> str | None:
        sessions = self.session.partitioned(*by)
        return None if sessions is None else self.aggregate.partitioned(sessions)

    def kernel(self, *upstream: Schema) -> SessionAggregateKernel:
        return SessionAggregateKernel(self, self.session.schema(*upstream))

    def show(self) -> str:
        return f"{self.aggregate.show()} of {replace(self.session, keys=()).show()}"


class SessionAggregateKernel(Kernel):
    """A schedule of sessions, which each aggregate replays; results wait until no session is open that began before."""

    def __init__(self, op: SessionAggregate, rows: Schema) -> None:
        session, aggregate = op.session, op.aggregate
        self.timeout, self.longest, self.begin = session.timeout, session.max_duration or 0, session.cut_offset
        self.where = session.show()
        self.out_schema, self.condition = aggregate.schema(rows), aggregate.condition
        self.key_exprs = [expr for _, expr in aggregate.keys]
        self.keys = KeyTable([field.type for field in self.out_schema.fields[: len(self.key_exprs)]])
        self.measures = [aggregate.accumulator(name, each, rows, remembers=False) for name, each in aggregate.measures]
        self.scalars = np.zeros(5, np.int64)
        self.scalars[[DUE, OLDEST]] = INF
        self.cells = np.tile(_NEW_CELL, GROUPS_AT_FIRST)
        self.groups = np.zeros(GROUPS_AT_FIRST, np.int32)
        self.schedule = OperationLog()
        self.done = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = starts_only(batch.compact())
        if not len(batch):
            return []
        check_reach(batch, self.timeout + 2 * self.longest, self.where)
        if self.keys.is_crowded:
            self._remove_keys()
        groups = self.keys.ids([evaluate(expr, batch) for expr in self.key_exprs], len(batch), None)
        self._grow(len(self.keys))
        skip: Mask = NO_MASK
        if self.condition is not None:  # what it leaves out keeps a session open all the same
            batch = batch.with_absent(~predicate(self.condition, batch))
            skip = NO_MASK if batch.absent is None else frozen(batch.absent)
        self._take_in(batch.sync, frozen(groups), skip, [measure.read(batch) for measure in self.measures])
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        schedule, done = self.schedule, watermark < self.scalars[DUE]
        while not done:
            done = bool(_close(watermark, self.scalars, self.cells, self.groups, schedule.kind, schedule.who,
                               schedule.target, schedule.count, schedule.sync, schedule.other, schedule.group,
                               schedule.rows))
            self._replay([NO_ROWS] * len(self.measures))
        self.watermark = min(watermark, int(self.scalars[OLDEST]))
        return self.done.release(self.watermark)

    @property
    def buffered_rows(self) -> int:
        return int(self.scalars[OPEN]) + self.done.rows

    def _take_in(self, sync: Array, groups: Array, skip: Mask, inputs: Sequence[Inputs]) -> None:
        schedule, row = self.schedule, 0
        while row < len(sync):
            row = int(_schedule(
                row, sync, groups, skip, self.timeout, self.longest, self.begin, self.scalars, self.cells,
                self.groups, schedule.kind, schedule.who, schedule.which, schedule.target, schedule.count,
                schedule.sync, schedule.other, schedule.group, schedule.rows))
            self._replay(inputs)

    def _replay(self, inputs: Sequence[Inputs]) -> None:
        schedule, rows = self.schedule, self.schedule.outputs
        outs = schedule.outs([measure.out_dtypes for measure in self.measures])
        columns = list(self.keys.values(schedule.group[:rows])) if rows else []
        for measure, given, buffers in zip(self.measures, inputs, outs, strict=True):
            counts = measure.counts_rows
            if not counts and schedule.operations:
                with explained_errors(self.measures):
                    measure.apply(schedule, given, _REMEMBERS_NONE, buffers)
            if rows:
                columns += measure.columns((schedule.rows, np.ones(rows, np.bool_)) if counts else buffers, rows)
        if rows:
            self.done.add(Batch(self.out_schema, schedule.sync[:rows].copy(), schedule.other[:rows].copy(),
                                tuple(columns)))

    def _remove_keys(self) -> None:
        """Keep only the keys with an open session, or with one that was cut and may continue."""
        cells = self.cells.reshape(-1, CELL)[: len(self.keys)]
        used = cells[:, IS_OPEN] != 0
        if self.longest:
            used |= cells[:, LAST] > max(self.watermark, MIN_TIME + self.timeout) - self.timeout
        old = np.flatnonzero(used)
        self.keys, new = self.keys.keep_only(old)
        groups = max(GROUPS_AT_FIRST, 2 * len(old))
        self.cells = move_cells(self.cells, old, new, groups, _NEW_CELL)
        self.groups = extend(renumber(self.groups[: int(self.scalars[OPEN])], old, new), groups, 0)
        for measure in self.measures:
            measure.move_groups(old, new, groups)

    def _grow(self, groups: int) -> None:
        if groups <= len(self.groups):
            return
        groups = max(groups, 2 * len(self.groups))
        self.cells = np.concatenate([self.cells, np.tile(_NEW_CELL, groups - len(self.groups))])
        self.groups = extend(self.groups, groups, 0)
        for measure in self.measures:
            measure.grow_groups(groups)

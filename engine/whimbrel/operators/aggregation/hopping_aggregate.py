"""Aggregate hopping windows by merging the states of panes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.clock import MIN_TIME, TickUnit, quote_ticks
from whimbrel.expr import evaluate
from whimbrel.kernels import PORTION_ROWS, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend, move
from whimbrel.kernels.primitives.windows.hopping_windows import FIRST, FULL, NEXT, SCALARS, SHOWN, TURNED, USED
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.finalize import Finish
from whimbrel.operators.aggregation.hopping_codegen import hop_function
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.operators.aggregation.pane_kernel import PaneKernel
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST, ScalarAccumulator
from whimbrel.plan import AggregatePhase, Operator, Properties, Reach, TimeGrid, WindowGrid
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import state_names

Array = np.ndarray[Any, Any]

_NO_ROWS = frozen(np.empty(0, np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class HoppingAggregate(Operator):
    r"""Merge the states of panes into one row per group and window.

        time     0    5    10   15
        in       2─────────             (panes of 5, each as long as its windows)
                      3─────────
        out      2────5────3────        (windows of 10 every 5; a sum)

    The planner puts it where a row for each window is asked for: it is what merging while a window lasts, and cutting
    the result at the grid, would give.

    Parameters
    ----------
    merge : GroupAggregate
        What merges the states.
    finish : Finish
        What makes values of them.
    grid : WindowGrid
        Rows start on it, one pane each, and last as long as its windows.
    of_rows : tuple of Operator
        The steps from rows to states of panes that were moved in here: the aggregate, and what lets panes last.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Shapes: up to ``grid.size / grid.hop`` rows out per row in. State: a state for each group, and one for each pane of
    a group in the window. Source: Li et al., No pane, no gain (SIGMOD Record 34, 2005); for states without removal
    Tangwongsan et al., Low-latency sliding-window aggregation in worst-case constant time (DEBS 2017).

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [2, 7], "x": [2, 3]}, time="at", name="log")
    >>> windows = log.hopping_window(10, 5).aggregate(total=wb.sum(wb.col.x), emit="close")
    >>> print(windows.explain().split("runs as\n")[1].split("   ")[0])
    aggregate(total=sum(col.x)) in windows of 10 every 5
    >>> windows.collect().to_pylist()
    [{'start': 0, 'end': 5, 'total': 2}, {'start': 5, 'end': 10, 'total': 5}, {'start': 10, 'end': 15, 'total': 3}]
    """

    merge: GroupAggregate
    finish: Finish
    grid: WindowGrid
    of_rows: tuple[GroupAggregate, Operator] | None = None
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        states = upstream[0] if self.of_rows is None else self.of_rows[0].schema(*upstream)
        return self.finish.schema(self.merge.schema(states))

    def properties(self, *upstream: Properties) -> Properties:
        states = upstream[0] if self.of_rows is None else self.of_rows[0].properties(*upstream)
        held = self.merge.properties(states)
        return Properties(duration=self.grid.hop, causal=held.causal, apart=held.apart,
                          time_grid=TimeGrid(self.grid.hop, self.grid.offset))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (self.merge if self.of_rows is None else self.of_rows[0]).requires(wanted, *upstream)

    def reach(self, *inputs: Reach) -> Reach | None:
        for step in self.of_rows or ():
            reach = step.reach(*inputs)
            if reach is None:
                return None
            inputs = (reach,)
        return self.merge.reach(*inputs)

    def partitioned(self, *by: str) -> str | None:
        key = by[0] if self.of_rows is None else self.of_rows[0].partitioned(*by)
        return None if key is None else self.merge.partitioned(key)

    def kernel(self, *upstream: Schema) -> HoppingAggregateKernel:
        return HoppingAggregateKernel(self, self.schema(*upstream), *upstream)

    def show(self) -> str:
        size, hop = (quote_ticks(ticks, self.unit) for ticks in (self.grid.size, self.grid.hop))
        done = self.merge if self.of_rows is None else replace(self.of_rows[0], part=AggregatePhase.WHOLE, grid=None)
        return f"{done.show()} in windows of {size} every {hop}"


class HoppingAggregateKernel(Kernel):
    """A loop that is generated for the query walks along the groups in the window; panes are made here, or come.

    Each group has a seat. A seat has its group, what is shown for it (its key, if that is a number), its number of
    rows and its first row in the full block. It has two states: of the block that fills, and of the rest of the full
    one. Rows lie in a ring buffer: their time, the seat of their group, the next row of that group in the full block,
    and their states. In a full block each state includes all later rows.
    """

    def __init__(self, operator: HoppingAggregate, schema: Schema, upstream: Schema) -> None:
        self.grid, self.out_schema = operator.grid, schema
        self.key_exprs = [expr for _, expr in operator.merge.keys]
        self.panes = _panes(operator, upstream)
        self.own_keys = KeyTable([field.type for field in schema.fields[: len(self.key_exprs)]])
        whole = replace(operator.finish.of, part=AggregatePhase.WHOLE)
        made = (whole.accumulator(name, aggregate, operator.finish.rows, remembers=False)
                for name, aggregate in whole.measures)
        self.measures = [measure for measure in made if isinstance(measure, ScalarAccumulator)]
        self.step = hop_function(self.measures)
        self.nothing = [value for measure in self.measures for value in measure.steps.init]
        self.at = np.zeros(SCALARS, np.int64)
        self.seat_of, self.front = (np.full(GROUPS_AT_FIRST, -1, np.int32) for _ in range(2))
        self.group_of, self.rows_of, self.free = (np.zeros(GROUPS_AT_FIRST, np.int32) for _ in range(3))
        self.name_of, self.named = np.zeros(GROUPS_AT_FIRST, np.int64), self.keys.names is not None
        self.state, self.old = ([np.full(GROUPS_AT_FIRST, value) for value in self.nothing] for _ in range(2))
        self.when = np.zeros(GROUPS_AT_FIRST, np.int64)
        self.seat_at, self.after = (np.zeros(GROUPS_AT_FIRST, np.int32) for _ in range(2))
        self.held = [np.full(GROUPS_AT_FIRST, value) for value in self.nothing]
        self.schedule = OperationLog()
        self.todo: list[list[Any]] = []
        """Panes that are to enter: when they start, their groups, before what time windows are over, states, and the
        row to begin with."""
        self.input_watermark = self.shown = MIN_TIME

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if self.keys.is_crowded and not self.todo:
            self._remove_keys()
        if self.panes is not None:
            return self._take_panes(self.panes.push(batch))
        batch = batch.compact()
        if not len(batch):
            return []
        groups = self.own_keys.ids([evaluate(expr, batch) for expr in self.key_exprs], len(batch), None)
        names = [name for measure in self.measures for name in state_names(measure.name, measure.steps)]
        return self._run(batch.sync, frozen(groups.astype(np.int64)), int(batch.sync[-1]),
                         [np.asarray(batch.column(name).values) for name in names])

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        out = []
        if self.panes is not None:
            out = self._take_panes(self.panes.advance(watermark))
            watermark = self.panes.watermark
        self.input_watermark = watermark
        nothing = [frozen(np.empty(0, each.dtype)) for each in self.state]
        return out + self._run(_NO_ROWS, _NO_ROWS, watermark, nothing)

    @property
    def more(self) -> bool:
        return bool(self.todo)

    @property
    def growing(self) -> str:
        windows = -(-self.grid.size // self.grid.hop)
        return f"each event is in {windows:,} windows, and each window has its row"

    def _take_panes(self, panes: Sequence[Batch]) -> list[Batch]:
        out = []
        for batch in panes:
            groups, *states = (np.asarray(column.values) for column in batch.columns)
            out += self._run(batch.sync, groups, int(batch.sync[-1]), states)
        return out

    @property
    def keys(self) -> KeyTable:
        """Of the groups; one with the panes, so that each row's key is looked up once."""
        return self.own_keys if self.panes is None else self.panes.keys

    @property
    def buffered_rows(self) -> int:
        return int(self.at[NEXT] - self.at[FIRST]) + (0 if self.panes is None else self.panes.buffered_rows)

    @property
    def sources(self) -> tuple[str, ...]:
        return (*(() if self.panes is None else self.panes.sources), self.step.text)

    def _run(self, sync: Array, groups: Array, limit: int, states: Sequence[Array]) -> list[Batch]:
        """Let panes enter, and show windows that are over before a time."""
        self.todo.append([sync, groups, limit, list(states), 0])
        return self.next_portion() if len(self.todo) == 1 else []

    def next_portion(self) -> list[Batch]:
        out: list[Batch] = []
        capacity = PORTION_ROWS
        while self.todo and capacity > 0:
            sync, groups, limit, states, row = self.todo[0]
            out += (shown := self._enter(sync, groups, limit, states, row, capacity))
            capacity -= sum(map(len, shown))
        known = self.input_watermark
        self.watermark = max(self.watermark, min(known, self.shown)) if self.todo else known
        return out

    def _enter(self, sync: Array, groups: Array, limit: int, states: Sequence[Array], row: int,
               capacity: int) -> list[Batch]:
        """The windows that are over while the panes enter that are first to do so, or about so many rows of them."""
        if len(self.keys) > len(self.seat_of):
            self.seat_of = extend(self.seat_of, max(len(self.keys), 2 * len(self.seat_of)), -1)
        self._grow_seats(int(self.at[USED]) + len(sync) - row)
        self._grow_rows(len(sync) - row)
        names = self.keys.names
        if self.named and names is None:
            self.name_of, self.named = self.group_of.astype(np.int64), False
        schedule = self.schedule
        outs = schedule.outs([measure.out_dtypes for measure in self.measures])
        values = [array for each in outs for array in each]
        out: list[Batch] = []
        full = True
        while full and capacity > 0:
            with explained_errors(self.measures):
                row = int(self.step(row, sync, groups, limit, self.grid.size, self.grid.hop, self.grid.offset, self.at,
                                    _NO_ROWS if names is None or not self.named else names,
                                    self.seat_of, self.group_of, self.name_of, self.rows_of, self.front, self.free,
                                    self.when, self.seat_at, self.after, *states, *self.state, *self.old, *self.held,
                                    schedule.sync, schedule.group, *values))
            if rows := int(self.at[SHOWN]):
                out.append(self._batch(rows, outs))
                self.shown, capacity = int(schedule.sync[rows - 1]), capacity - rows
            full = bool(self.at[FULL])
        self.todo[0][4] = row
        if not full:
            self.todo.pop(0)
        return out

    def _batch(self, rows: int, outs: Sequence[Outs]) -> Batch:
        copied = np.copy if self.storage is None else self.storage.copy
        columns = [column for measure, mine in zip(self.measures, outs, strict=True)
                   for column in measure.columns(mine, rows, self.storage)]
        shown = self.schedule.group[:rows]
        keys = self.keys.named(copied(shown)) if self.named else self.keys.values(shown, self.storage)
        return Batch(self.out_schema, self.schedule.sync[:rows].copy(), self.grid.hop, (*keys, *columns))

    def _remove_keys(self) -> None:
        """Keep only the keys of groups that are in the window or in the open pane."""
        old = np.flatnonzero(self.seat_of >= 0)
        if self.panes is None:
            self.own_keys, new = self.own_keys.keep_only(old)
        else:
            old = np.union1d(old, self.panes.touched[: int(self.panes.pane[1])])
            new = self.panes.keep_groups(old)
        seats = self.seat_of[old]
        seated = seats >= 0
        self.group_of[seats[seated]] = new[seated]
        if not self.named:
            self.name_of[seats[seated]] = new[seated]
        self.seat_of = move(self.seat_of, old, new, max(GROUPS_AT_FIRST, 2 * len(old)), -1)

    def _grow_seats(self, maximum: int) -> None:
        if maximum <= len(self.front):
            return
        seats = max(maximum, 2 * len(self.front))
        self.front = extend(self.front, seats, -1)
        self.group_of, self.name_of, self.rows_of, self.free = (
            extend(each, seats, 0) for each in (self.group_of, self.name_of, self.rows_of, self.free))
        self.state, self.old = ([extend(each, seats, value) for each, value in zip(arrays, self.nothing, strict=True)]
                                for arrays in (self.state, self.old))

    def _grow_rows(self, more: int) -> None:
        """Ensure capacity in the ring buffer. A larger ring starts with the first row."""
        first, rows, capacity = int(self.at[FIRST]), int(self.at[NEXT] - self.at[FIRST]), len(self.when)
        if rows + more <= capacity:
            return
        longer = 1 << (rows + more - 1).bit_length()
        slots, origin = (first + np.arange(rows)) & (capacity - 1), first & (capacity - 1)
        self.when, self.seat_at, self.after = (
            extend(each[slots], longer, 0) for each in (self.when, self.seat_at, self.after))
        self.held = [extend(each[slots], longer, 0) for each in self.held]
        self.after, self.front = (np.where(each < 0, each, each - origin & capacity - 1).astype(np.int32)
                                  for each in (self.after, self.front))
        self.at[[FIRST, TURNED, NEXT]] -= first


def _panes(operator: HoppingAggregate, upstream: Schema) -> PaneKernel | None:
    """What makes states of rows, if that is done here."""
    if operator.of_rows is None:
        return None
    panes = operator.of_rows[0].kernel(upstream)
    assert isinstance(panes, PaneKernel)
    panes.by_number = True
    return panes

"""One row for each window that hops, of the states of panes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.clock import TickUnit, quote_ticks
from whimbrel.expr import evaluate
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.primitives.hops import (
    CELL,
    DONE,
    FILLING,
    FIRST,
    FRONT,
    FULL,
    NO_SLOT,
    TURN,
    WHY,
    chain_block,
    hop_schedule,
)
from whimbrel.operators.aggregate import GroupAggregate
from whimbrel.operators.hop_text import hop_function, turn_function
from whimbrel.operators.measure import GROUPS_AT_FIRST, Measure, extend, told_in_words
from whimbrel.operators.schedule import Schedule
from whimbrel.plan import Beat, Grid, Operator, Properties, Reach

Array = np.ndarray[Any, Any]

_schedule, _chain = Compiled(hop_schedule), Compiled(chain_block)
_NO_ROWS = frozen(np.empty(0, np.int64))
_NO_GROUPS = frozen(np.empty(0, np.int32))
_NEW_CELL = np.zeros(CELL, np.int32)
_NEW_CELL[FRONT] = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Hops(Operator):
    """Merge the states of panes into one row a group for each window that is not empty.

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
    grid : Grid
        Rows start on it, one pane each, and last as long as its windows.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Shapes: up to ``grid.size / grid.hop`` rows out per row in. State: a state for each group, and one for each pane of
    a group in the window. Source: Li et al., No pane, no gain (SIGMOD Record 34, 2005); for what cannot be taken back
    Tangwongsan et al., Low-latency sliding-window aggregation in worst-case constant time (DEBS 2017).

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [2, 7], "x": [2, 3]}, time="at", name="log")
    >>> windows = log.hopping_window(10, 5).aggregate(total=wb.sum(wb.col.x), emit="close")
    >>> print(windows.explain().splitlines()[7].split("   ")[0])
    └─ merge(total=sum(col.x)) in windows of 10 every 5
    >>> windows.collect().to_pylist()
    [{'start': 0, 'end': 5, 'total': 2}, {'start': 5, 'end': 10, 'total': 5}, {'start': 10, 'end': 15, 'total': 3}]
    """

    merge: GroupAggregate
    grid: Grid
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        return self.merge.schema(*upstream)

    def properties(self, *upstream: Properties) -> Properties:
        held = self.merge.properties(*upstream)
        return Properties(duration=self.grid.hop, causal=upstream[0].causal, apart=held.apart,
                          beat=Beat(self.grid.hop, self.grid.offset))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return self.merge.requires(wanted, *upstream)

    def reach(self, *inputs: Reach) -> Reach | None:
        return self.merge.reach(*inputs)

    def partitioned(self, *by: str) -> str | None:
        return self.merge.partitioned(*by)

    def kernel(self, *upstream: Schema) -> HopsKernel:
        return HopsKernel(self, self.schema(*upstream))

    def show(self) -> str:
        size, hop = (quote_ticks(ticks, self.unit) for ticks in (self.grid.size, self.grid.hop))
        return f"{self.merge.show()} in windows of {size} every {hop}"


class HopsKernel(Kernel):
    """A schedule of windows, which each aggregate follows on its states."""

    def __init__(self, hops: Hops, schema: Schema) -> None:
        self.grid, self.out_schema = hops.grid, schema
        self.key_exprs = [expr for _, expr in hops.merge.keys]
        self.keys = KeyTable([field.type for field in schema.fields[: len(self.key_exprs)]])
        rows = hops.merge.rows
        assert rows is not None
        made = (hops.merge.measurement(name, aggregate, rows, remembers=False)
                for name, aggregate in hops.merge.measures)
        self.measures = [measure for measure in made if isinstance(measure, Measure)]
        self.replays = [hop_function(measure.aggregate, measure.steps) for measure in self.measures]
        self.turns = [turn_function(measure.aggregate, measure.steps) for measure in self.measures]
        self.scalars = np.zeros(WHY + 1, np.int64)
        self.full, self.filling = _Block(self.measures), _Block(self.measures)
        self.cells = np.tile(_NEW_CELL, GROUPS_AT_FIRST)
        self.groups = np.zeros(GROUPS_AT_FIRST, np.int32)
        self.schedule = Schedule()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        groups = self.keys.ids([evaluate(expr, batch) for expr in self.key_exprs], len(batch), None)
        self._grow(len(self.keys))
        return self._run(batch.sync, frozen(groups), int(batch.sync[-1]),
                         [measure.read(batch)[0] for measure in self.measures])

    def advance(self, frontier: int, port: int = 0) -> list[Batch]:
        self.frontier = frontier
        nothing = [tuple(_NO_ROWS.astype(dtype) for dtype in measure.value_dtypes) for measure in self.measures]
        return self._run(_NO_ROWS, _NO_GROUPS, frontier, [tuple(map(frozen, each)) for each in nothing])

    @property
    def buffered_rows(self) -> int:
        return int(self.scalars[FULL] - self.scalars[FIRST] + self.scalars[FILLING])

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(loop.text for loop in (*self.replays, *self.turns)))

    def _run(self, sync: Array, groups: Array, limit: int, inputs: Sequence[Sequence[Array]]) -> list[Batch]:
        grid, schedule = self.grid, self.schedule
        out: list[Batch] = []
        row, why = 0, -1
        while why != DONE:
            full, filling = self.full, self.filling
            row = int(_schedule(
                row, sync, groups, limit, grid.size, grid.hop, grid.offset, self.scalars,
                full.sync, full.group, full.after, filling.sync, filling.group,
                self.cells, self.groups,
                schedule.kind, schedule.who, schedule.which, schedule.slot, schedule.target, schedule.count,
                schedule.sync, schedule.group))
            why = int(self.scalars[WHY])
            with told_in_words(self.measures):
                out += self._replay(inputs)
                if why == TURN:
                    self._turn()
            if why == NO_SLOT:
                filling.grow()
        return out

    def _replay(self, inputs: Sequence[Sequence[Array]]) -> list[Batch]:
        schedule = self.schedule
        outs = schedule.outs([measure.out_dtypes for measure in self.measures])
        for number, measure in enumerate(self.measures):
            self.replays[number](schedule.operations, schedule.kind, schedule.who, schedule.which, schedule.slot,
                                 schedule.target, *inputs[number], *self.filling.states[number],
                                 *self.full.states[number], *measure.state, *outs[number][:-1])
        rows = schedule.outputs
        if not rows:
            return []
        states = [column for measure, buffers in zip(self.measures, outs, strict=True)
                  for column in measure.columns(buffers, rows)]
        return [Batch(self.out_schema, schedule.sync[:rows].copy(), self.grid.hop,
                      (*self.keys.values(schedule.group[:rows]), *states))]

    def _turn(self) -> None:
        """The block that filled is full, and gives each of its rows the state from there on."""
        block, rows = self.filling, int(self.scalars[FILLING])
        _chain(rows, block.group, self.cells, block.after)
        for turn, states, measure in zip(self.turns, block.states, self.measures, strict=True):
            turn(rows, block.group, block.after, *states, *measure.state)
        self.full, self.filling = block, self.full
        self.scalars[[FIRST, FULL, FILLING]] = 0, rows, 0

    def _grow(self, groups: int) -> None:
        if groups <= len(self.groups):
            return
        groups = max(groups, 2 * len(self.groups))
        self.cells = np.concatenate([self.cells, np.tile(_NEW_CELL, groups - len(self.groups))])
        self.groups = extend(self.groups, groups, 0)
        for measure in self.measures:
            measure.grow_groups(groups)


class _Block:
    """Rows of as many panes as make a window: when, of which group, the next row of that group, the states."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.sync = np.zeros(GROUPS_AT_FIRST, np.int64)
        self.group, self.after = (np.zeros(GROUPS_AT_FIRST, np.int32) for _ in range(2))
        self.states = [[np.zeros(GROUPS_AT_FIRST, dtype) for dtype in measure.value_dtypes] for measure in measures]

    def grow(self) -> None:
        rows = 2 * len(self.sync)
        self.sync, self.group, self.after = (extend(each, rows, 0) for each in (self.sync, self.group, self.after))
        self.states = [[extend(array, rows, 0) for array in each] for each in self.states]

    def fork(self) -> _Block:
        twin = object.__new__(_Block)
        twin.sync, twin.group, twin.after = self.sync.copy(), self.group.copy(), self.after.copy()
        twin.states = [[array.copy() for array in each] for each in self.states]
        return twin

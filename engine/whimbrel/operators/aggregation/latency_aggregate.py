"""Aggregate windows at several reorder latencies in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, check_reach, frozen
from whimbrel.clock import INF, MIN_TIME, TickUnit, show_ticks
from whimbrel.disorder import AdvancesWhenIdle, LowWatermark
from whimbrel.expr import evaluate, predicate
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.primitives.windows.row_latencies import find_latencies, find_latencies_after
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.chained_cells import ChainedCells
from whimbrel.operators.aggregation.open_pages import OpenPages
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan import Operator, OrderingSpec, Properties, Reach
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import NO_MASK, NO_ROWS, Inputs

Array = np.ndarray[Any, Any]

NUMBER = ":latency"
"""The column that says of which latency a row is a result; no column of a user has such a name."""

_latencies_of, _latencies_after = Compiled(find_latencies), Compiled(find_latencies_after)
_NONE = frozen(np.empty(0, np.int64))
_NO_GROUPS = frozen(np.empty(0, np.int32))
_REMEMBERS_NONE = (_NONE, _NONE, _NONE, _NONE, _NONE)


@dataclass(frozen=True, kw_only=True, eq=False)
class LatencyAggregate(Operator):
    """Aggregate the windows of several reorder latencies in one pass.

    With hw the largest event time so far, the lateness of a row at t is hw - t. A result at a latency counts the rows
    whose lateness does not exceed it. It is given when hw has passed the end of its window by the latency.

        time     1  5  3  9  2      (in the order of arrival)
        lateness 0  0  2  0  7

        time     0    4    8
        out      2────1────1────    (latency 2: rows at 1 and 3 in the first window)
                 3────1────1────    (latency 10: the row at 2, too)

    Parameters
    ----------
    of : GroupAggregate
        Aggregates over a grid whose states do not depend on the order of rows.
    latencies : tuple of int
        In ticks, growing.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.
    partitions : OrderingSpec, optional
        Of a source with partitions: then hw is the largest time of the row's partition, or the low watermark if that is
        later. Results are given when the low watermark has passed.

    Notes
    -----
    Each row is judged, keyed and put into a pane once for all latencies, and is never sorted. ``OneLatency`` takes the
    results of one latency. The planner makes both.
    Shapes: one row out per group, window and latency. State: for each group of an open pane, one state per latency.
    Source: Chandramouli et al., Impatience (ICDE 2018), section V, with shared states.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}, time="at", arrival="seen", name="log")
    >>> early, late = log.tumbling_window(4).aggregate(n=wb.count()).at_latencies(2, 10)
    >>> early.collect()["n"].to_pylist(), late.collect()["n"].to_pylist()
    ([2, 1, 1], [3, 1, 1])
    """

    of: GroupAggregate
    latencies: tuple[int, ...]
    unit: TickUnit = None
    partitions: OrderingSpec | None = None

    def schema(self, *upstream: Schema) -> Schema:
        schema = self.of.schema(*upstream)
        return schema.with_fields([*schema.fields, Field(NUMBER, pa.int8())])

    def properties(self, *upstream: Properties) -> Properties:
        return self.of.properties(*upstream)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        needed, = self.of.requires(wanted - {NUMBER}, *upstream)
        return (needed if self.partitions is None else needed | {str(self.partitions.partition)},)

    def reach(self, *inputs: Reach) -> Reach | None:
        return self.of.reach(*inputs)

    def kernel(self, *upstream: Schema) -> Kernel:
        measures = [self.of.accumulator(name, aggregate, upstream[0], remembers=False)
                    for name, aggregate in self.of.measures]
        time = None if self.partitions is None else LowWatermark.of(self.partitions, upstream[0])
        return LatencyAggregateKernel(self, self.schema(*upstream), measures, time)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        return self.of.notes(*upstream)

    def show(self) -> str:
        latencies = ", ".join(show_ticks(latency, self.unit) for latency in self.latencies)
        by = "" if self.partitions is None else f" by {self.partitions.partition}"
        return f"{self.of.show()} at latencies {latencies}{by}"


@dataclass(frozen=True)
class SeenRows:
    """The largest time seen, the watermark, and how many rows a latency dropped or adjusted, also by partition."""

    newest: int
    watermark: int
    late_dropped: int
    late_by_partition: Callable[[int], Mapping[Any, int] | None]
    late_adjusted: int = 0


class LatencyAggregateKernel(AdvancesWhenIdle):
    """Finds the cell of each row once; closes panes for each latency as the largest time moves on.

    Its watermark is the largest time seen, or the low watermark of partitions: each ``OneLatency`` makes its own of it.

    Attributes
    ----------
    newest : int
        Largest time seen, or come to without a row.
    counts : numpy.ndarray
        How many rows each latency was the smallest for, and how many are later than all.
    late : list of numpy.ndarray
        For each latency, how many rows of each partition are later.
    """

    def __init__(self, op: LatencyAggregate, out_schema: Schema, measures: Sequence[Accumulator],
                 time: LowWatermark | None) -> None:
        assert op.of.grid is not None
        self.out_schema, self.grid, self.lead = out_schema, op.of.grid, op.of.lead
        self.key_exprs, self.condition = tuple(expr for _, expr in op.of.keys), op.of.condition
        self.time, self.newest = time, MIN_TIME
        self.latencies = frozen(np.array(op.latencies, np.int64))
        self.keys = KeyTable([field.type for field in out_schema.fields[: len(op.of.keys)]])
        self.measures = list(measures)
        self.counts = np.zeros(len(op.latencies) + 1, np.int64)
        self.late = [np.zeros(0, np.int64) for _ in op.latencies]
        self.pages = OpenPages(self.grid, len(op.latencies), keyed=bool(op.of.keys), measures=measures)
        self.chains = ChainedCells(self.grid, len(op.latencies), measures)
        self.in_pages = True
        self.schedule = OperationLog()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        if not len(batch):
            return []
        band = self._bands(batch)
        late = band == len(self.latencies)
        rows = batch.with_absent(late) if late.any() else batch
        check_reach(rows if rows.absent is None else rows.compact(), 2 * self.grid.size + abs(self.grid.offset),
                    self.grid.window)
        with explained_errors(self.measures, lambda: self._inputs(self._counting(rows))):
            self._take_in(self._counting(rows), frozen(band))
            return self._due()

    def _bands(self, batch: Batch) -> Array:
        """The number of the smallest latency that takes each row; time moves on with them."""
        band = np.empty(len(batch), np.int8)
        if self.time is None:
            self.newest = int(_latencies_of(batch.sync, self.newest, MIN_TIME, self.latencies, band, self.counts))
            self.watermark = self.newest
            return band
        _latencies_after(batch.sync, self.time.follow(batch).current, MIN_TIME, self.latencies, band, self.counts)
        self.newest, self.watermark = self.time.newest, max(self.watermark, self.time.now)
        for number in range(int(band.max())):
            late = self.time.counted(batch.take(np.flatnonzero(band > number)))
            late[: len(self.late[number])] += self.late[number]
            self.late[number] = late
        return band

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark != INF:
            return []
        self.watermark = INF
        with explained_errors(self.measures):
            return self._due()

    def advance_idle(self, time: int) -> list[Batch]:
        if self.time is None:
            self.newest = self.watermark = max(self.watermark, time)
        else:
            self.watermark = max(self.watermark, self.time.advance_idle(time))
        with explained_errors(self.measures):
            return self._due()

    def seen(self, number: int) -> SeenRows:
        """What one latency has seen of the rows."""
        reached = self.watermark
        passed = reached if reached in (INF, MIN_TIME) else max(reached - int(self.latencies[number]), MIN_TIME)
        return SeenRows(self.newest, passed, int(self.counts[number + 1 :].sum()),
                        lambda maximum: None if self.time is None else self.time.largest(self.late[number], maximum))

    @property
    def cells(self) -> OpenPages | ChainedCells:
        """Where rows are counted: in pages, but for groups that are many and mostly without rows."""
        return self.pages if self.in_pages else self.chains

    @property
    def buffered_rows(self) -> int:
        """Groups of open panes."""
        return len(self.cells)

    @property
    def buffered_bytes(self) -> int:
        states = sum(array.itemsize for measure in self.measures if isinstance(measure, ScalarAccumulator)
                     and not measure.counts_rows for array in measure.state)
        return self.cells.bytes_of(states)

    def _counting(self, batch: Batch) -> Batch:
        return batch if self.condition is None else batch.with_absent(~predicate(self.condition, batch))

    def _inputs(self, batch: Batch) -> list[Inputs]:
        return [NO_ROWS if measure.counts_rows else measure.read(batch) for measure in self.measures]

    def _take_in(self, batch: Batch, band: Array) -> None:
        """Put rows into their cells, and into the states of those."""
        inputs, groups = self._inputs(batch), _NO_GROUPS
        if self.key_exprs:
            if self.keys.is_crowded and not self.in_pages:
                old = self.chains.groups_in_use
                self.keys, new = self.keys.keep_only(old)
                self.chains.renumber_groups(old, new)
            groups = frozen(self.keys.ids([evaluate(expr, batch) for expr in self.key_exprs], len(batch),
                                          batch.absent))
            self._grow_groups(len(self.keys))
        skip = NO_MASK if batch.absent is None else frozen(batch.absent)
        row = 0
        while row < len(batch):
            row = self.cells.add(row, batch, groups, skip, band, self.schedule)
            self._replay(inputs)
            if row < len(batch):
                self._grow()

    def _grow_groups(self, groups: int) -> None:
        if self.in_pages and groups > self.pages.stride and self.pages.are_too_sparse(groups):
            self._leave_pages()
        self.cells.grow_groups(groups, self.measures)
        if self.in_pages and self.pages.adds:  # a new page begins with the states of another one
            self.schedule.ensure_capacity(groups)

    def _grow(self) -> None:
        if self.in_pages and self.pages.is_full and self.pages.are_too_sparse(self.pages.groups):
            self._leave_pages()
        self.cells.grow()

    def _leave_pages(self) -> None:
        """Have cells only for groups with rows from now on."""
        self.chains.take_over(self.pages, self.pages.groups, self.measures)
        assert self.grid is not None
        self.pages = OpenPages(self.grid, len(self.latencies), keyed=True, measures=self.measures)
        self.in_pages = False

    def _replay(self, inputs: Sequence[Inputs]) -> None:
        self.cells.grow_states(self.measures)
        if not self.schedule.operations:
            return
        for measure, given, out in zip(self.measures, inputs, self._outs(), strict=True):
            if not measure.counts_rows:
                measure.apply(self.schedule, given, _REMEMBERS_NONE, out)

    def _outs(self) -> list[Outs]:
        return self.schedule.outs([measure.out_dtypes for measure in self.measures])

    def _due(self) -> list[Batch]:
        """The results of all panes that are over, latency by latency."""
        out: list[Batch] = []
        until = frozen(np.array([first_open(self.watermark, latency, self.grid.hop, self.grid.offset)
                                 for latency in self.latencies.tolist()], np.int64))
        done = bool((until <= self.cells.closed).all())
        while not done:
            self.schedule.count[:] = 0
            done = self.cells.close(until, self.schedule)
            self._replay([NO_ROWS] * len(self.measures))
            if self.schedule.outputs:
                out.append(self._batch(self.schedule.outputs))
            if not done:
                self.cells.grow()
        return out

    def _batch(self, rows: int) -> Batch:
        schedule = self.schedule
        columns = list(self.keys.values(schedule.group[:rows], None))
        for measure, given in zip(self.measures, self._outs(), strict=True):
            columns += measure.columns((schedule.rows, np.ones(rows, np.bool_)) if measure.counts_rows else given, rows)
        columns.append(Column(pa.int8(), schedule.ids[:rows].astype(np.int8)))
        schedule.count[:] = 0
        return Batch(self.out_schema, schedule.sync[:rows] + self.lead, self.grid.size, tuple(columns))


def first_open(newest: int, latency: int, hop: int, offset: int) -> int:
    """The start of the first pane that is not over, if no row at `newest - latency` or later has come yet."""
    if newest in (INF, MIN_TIME):
        return newest
    passed = newest - latency
    return max(passed - (passed - offset) % hop, MIN_TIME)

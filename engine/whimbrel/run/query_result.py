"""The settled rows of one query, and its metrics."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate, groupby, pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Storage, Ticks, table_from_batches
from whimbrel.clock import INF, MIN_TIME, as_ticks, round_spans
from whimbrel.connect import ReplayClock
from whimbrel.disorder import Ingress
from whimbrel.kernels import ascends, ordered
from whimbrel.operators import Ingest, LatenessBand, LateRows, OneLatency
from whimbrel.operators.aggregation.latency_aggregate import LatencyAggregateKernel, SeenRows
from whimbrel.operators.rows.assume_order import AssumeOrderKernel
from whimbrel.operators.rows.block_samples_kernel import BlockSamplesKernel
from whimbrel.operators.rows.late_rows import LateKernel
from whimbrel.operators.rows.lateness_band import BandKernel
from whimbrel.operators.signals.rewindow_kernel import RewindowKernel
from whimbrel.operators.signals.sync_kernel import SyncKernel
from whimbrel.plan import Node, Source
from whimbrel.run.metrics import Metrics, Snapshot, moment
from whimbrel.run.operator_metrics import OperatorMetrics
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.plan_costs import explain_costs, step_costs
from whimbrel.run.source_reader import SourceReader

K = TypeVar("K")
Gate = Ingress | BandKernel | LateKernel | SeenRows

_LATELY_S = 5.0
_MAX_PARTITIONS = 100
_LONG = 4_096
"""Minimum rows of a range that is moved as a slice, and of a table of settled rows."""
_FEW = 512
"""Batches of fewer rows are put together: to convert each of them takes longer than to copy its rows."""
_PARTS = 16
"""Rows are evicted by table: a table has at most this part of the rows that are kept, or those of one batch."""


class Answer:
    """The rows of one query that are settled, as many as are kept.

    Parameters
    ----------
    plan : Node
        The query as written.
    pipeline : Pipeline
        What answers it, maybe among others.
    number : int
        Which of the pipeline's plans it is.
    keep_rows : int, optional
        Settled result rows to keep; older ones are forgotten and counted. None keeps all.
    clock : ReplayClock, optional
        The clock of its replays.
    reader : SourceReader, optional
        Of its sources.

    Attributes
    ----------
    reader : SourceReader or None
        Says in metrics what the feeds say; a desk makes it later.
    version : int
        Grows with every change.
    settled_rows : int
        How many result rows can no longer change, forgotten ones included.
    finished : bool
        All of it is settled.
    """

    def __init__(self, plan: Node, pipeline: Pipeline, number: int, keep_rows: int | None,
                 clock: ReplayClock | None = None, reader: SourceReader | None = None) -> None:
        self.reader = reader
        self.schema = plan.schema
        self.finished = False
        self.settled_rows = self.version = self._table_bytes = 0
        self.sources = [source for source, entry in enumerate(pipeline.entries) if entry in pipeline.needs[number]]
        self._pipeline, self._number = pipeline, number
        self._nodes = sorted(pipeline.needs[number])
        self._keep_rows = keep_rows
        self._clock = clock
        self._tables: deque[pa.Table] = deque()
        self._storage = Storage()
        self._gathered: list[Batch] = []
        self._gathered_rows = self._gathered_bytes = 0
        self._worth_a_table = _LONG if keep_rows is None else min(_LONG, keep_rows // _PARTS)
        self._newest_start = MIN_TIME
        self._in_order = True
        self._rearranged = 0
        self._forgotten = self._rows_before = 0
        self._began = time.perf_counter()
        self._ended: float | None = None
        self._lately: deque[tuple[float, int]] = deque([(self._began, 0)])

    def add(self, batches: list[Batch]) -> None:
        """Rows that are settled now."""
        self.version += 1
        if self._keep_rows == 0:  # then no table of them is needed: a sink makes its own
            self.settled_rows += sum(batch.rows for batch in batches)
            self._forgotten = self.settled_rows
            return
        if not batches:
            return
        for batch in batches:
            self._watch_order(batch.sync, ordered(batch))
            self.settled_rows += batch.rows
            self._gathered_rows += len(batch)
            self._gathered_bytes += batch.nbytes
        self._gathered += batches
        if self._gathered_rows >= self._worth_a_table:
            self.gather()

    @property
    def held_bytes(self) -> int:
        """Memory of the settled rows that are kept."""
        return self._table_bytes + self._gathered_bytes

    def gather(self) -> None:
        """Make a table of the rows that are in no table yet, many small batches together."""
        if not self._gathered:
            return
        table = table_from_batches(self.schema, _small_together(self._gathered), self._storage)
        self._gathered, self._gathered_rows, self._gathered_bytes = [], 0, 0
        self._tables.append(table)
        self._table_bytes += table.nbytes
        if self._keep_rows is None:
            return
        while self._tables and self.settled_rows - self._forgotten - self._tables[0].num_rows >= self._keep_rows:
            oldest = self._tables.popleft()
            self._forgotten += oldest.num_rows
            self._table_bytes -= oldest.nbytes
            self._rearranged += not self._in_order

    def _watch_order(self, starts: Ticks, in_order: bool) -> None:
        """Rows that follow in the order of start need not be looked at again with every snapshot."""
        if not len(starts):
            return
        newest = int(starts[-1])
        if starts[0] < self._newest_start or not in_order:
            self._in_order = False
            self._rearranged += 1
            newest = int(starts.max())
        self._newest_start = max(self._newest_start, newest)

    def resume(self, settled: int) -> None:
        """Resume after `settled` rows, which an earlier run has given."""
        self.settled_rows = self._forgotten = settled
        self._rows_before = self._rows
        self._lately = deque([(self._began, self._rows_before)])

    def go_back(self, settled: int) -> None:
        """Rewind to `settled` rows; evicted ones stay evicted."""
        self.version += 1
        self.finished, self._ended = False, None
        self.gather()
        while self._tables and self.settled_rows > settled:
            newest = self._tables.pop()
            self.settled_rows -= newest.num_rows
            self._table_bytes -= newest.nbytes
        self.settled_rows = settled
        self._rearranged += 1
        self._newest_start = MIN_TIME
        for table in self._tables:
            for chunk in table.column("start").chunks:
                starts = np.asarray(Column.from_arrow(chunk).values)
                self._watch_order(starts, ascends(starts))
        self._forgotten = min(self._forgotten, settled)
        self._lately = deque([(time.perf_counter(), self._rows)])

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = self._ended or time.perf_counter()

    def forget(self) -> None:
        """Drop everything that is settled."""
        self._forgotten = self.settled_rows
        self._gathered, self._gathered_rows, self._gathered_bytes = [], 0, 0
        self._tables.clear()
        self._table_bytes = 0
        self._in_order = True

    def settled(self) -> pa.Table:
        """The settled rows that are kept, in the order of their start."""
        self.gather()
        if not self._tables:
            return table_from_batches(self.schema, [])
        table = pa.concat_tables(self._tables)
        return table if self._in_order else in_order(table)

    def newest(self, rows: int) -> pa.Table:
        """The rows that have settled last, at most so many, in the order in which they settled."""
        tail: list[Batch] = []
        for batch in reversed(self._gathered):
            if sum(each.rows for each in tail) >= rows:
                break
            tail.insert(0, batch)
        found = [*list(self._tables)[-1:], table_from_batches(self.schema, tail)]
        table = pa.concat_tables(found)
        return table.slice(max(0, table.num_rows - rows))

    def snapshot(self, rest: list[Batch]) -> Snapshot:
        """The settled rows, and the rest as if the sources ended now."""
        settled = self.settled()
        table = pa.concat_tables([settled, in_order(table_from_batches(self.schema, rest))]) if rest else settled
        return Snapshot(table, settled.num_rows, self.version, self.metrics(), self.finished, self._rearranged)

    def metrics(self) -> Metrics:
        now = self._ended or time.perf_counter()
        judges = [*self._gates.values(), *self._kernels(AssumeOrderKernel)]
        rows = self._rows
        newest = max(self._ticks(number, gate.newest) for number, gate in self._gates.items())
        buffered = {name: self._pipeline.kernels[number].buffered_rows for name, number in self._names.items()}
        return Metrics(
            rows=rows,
            rows_per_s=self._rate(now, rows),
            fraction_read=self._share(rows),
            watermark=moment(min(self._ticks(number, gate.watermark) for number, gate in self._gates.items()),
                             self.schema),
            newest=moment(newest, self.schema),
            age_s=None if self._clock is None or newest == MIN_TIME else self._clock.age_s(newest, self.schema.unit),
            late_dropped=sum(judge.late_dropped for judge in judges),
            late_adjusted=sum(judge.late_adjusted for judge in judges),
            duplicate_samples=sum(kernel.duplicates for kernel in self._kernels(BlockSamplesKernel)),
            missing_samples=sum(kernel.missing for kernel in self._kernels(BlockSamplesKernel)),
            skipped_windows=sum(kernel.left_out for kernel in map(self._pipeline.kernels.__getitem__, self._nodes)
                                if isinstance(kernel, RewindowKernel | SyncKernel)),
            late_by_partition=self._late_by_partition(),
            late_by=self._late_by(),
            buffered_rows=sum(buffered.values()),
            buffered_bytes=sum(self._pipeline.kernels[number].buffered_bytes for number in self._nodes),
            sorted_runs=sum(self._pipeline.kernels[number].sorted_runs for number in self._nodes),
            buffered=buffered,
            settled_rows=self.settled_rows,
            evicted_rows=self._forgotten,
            elapsed_s=now - self._began,
            feeds={} if self.reader is None else self.reader.feeds(self.sources),
            dead_letters={} if self.reader is None else self.reader.dead_letters(self.sources),
            steps=self._steps(buffered),
        )

    def _kernels(self, kind: type[K]) -> list[K]:
        """The kernels of one kind."""
        kernels = (self._pipeline.kernels[number] for number in self._nodes)
        return [kernel for kernel in kernels if isinstance(kernel, kind)]

    def _ticks(self, number: int, time: int) -> int:
        """A time of an operator in the time unit of the result."""
        return as_ticks(time, self._pipeline.nodes[number].schema.unit, self.schema.unit)

    def _share(self, rows: int) -> float | None:
        if self.finished:
            return 1.0
        counts = [self._pipeline.sources[source].rows for source in self.sources]
        if None in counts:
            return None if self._clock is None else self._clock.fraction
        total = sum(count for count in counts if count is not None)
        return min(rows / total, 1.0) if total else 0.0

    def kernels(self) -> dict[str, str]:
        """The source text that is generated for each operator, as far as it has seen rows."""
        kernels = self._pipeline.kernels
        return {name: "\n\n".join(text) for name, number in self._names.items() if (text := kernels[number].sources)}

    def explain(self) -> str:
        """The optimized plan, with what its steps have cost so far."""
        return explain_costs(self._pipeline.root(self._number), step_costs(self._pipeline, self._nodes))

    def _steps(self, buffered: Mapping[str, int]) -> tuple[OperatorMetrics, ...]:
        steps = []
        for (name, number), inputs in zip(self._names.items(), self._inputs, strict=True):
            done, rows_in = self._pipeline.work[number], self._pipeline.rows_in(number)
            steps.append(OperatorMetrics(name, inputs, rows_in, done.rows_out, done.seconds, buffered[name]))
        return tuple(steps)

    @cached_property
    def _inputs(self) -> list[tuple[int, ...]]:
        """For each operator, the indices of its inputs."""
        indices = {number: index for index, number in enumerate(self._nodes)}
        return [tuple(indices[self._pipeline.position(below)] for below in self._pipeline.nodes[number].inputs)
                for number in self._nodes]

    @cached_property
    def _names(self) -> dict[str, int]:
        """The kernels' numbers by the names of what they do, as explain() has them."""
        names: dict[str, int] = {}
        seen: Counter[str] = Counter()
        for number in self._nodes:
            op = self._pipeline.nodes[number].op
            text = op.name if isinstance(op, Source) else op.show()
            seen[text] += 1
            names[text if seen[text] == 1 else f"{text} ({seen[text]})"] = number
        return names

    @property
    def _gates(self) -> dict[int, Gate]:
        """What decides, for each source, which rows are too late for this query."""
        gates = {entry: entry for entry in (self._pipeline.entries[source] for source in self.sources)}
        for number in self._nodes:
            node = self._pipeline.nodes[number]
            if isinstance(node.op, LatenessBand | Ingest | LateRows):
                entry = self._pipeline.position(node.inputs[0])
            elif isinstance(node.op, OneLatency):
                entry = self._pipeline.position(node.inputs[0].inputs[0])
            else:
                continue
            gates[entry] = max(gates[entry], number, key=self._breadth)
        found = {number: self._gate(number) for number in gates.values()}
        return {number: gate for number, gate in found.items() if isinstance(gate, Gate)}

    def _gate(self, number: int) -> object:
        node, kernels = self._pipeline.nodes[number], self._pipeline.kernels
        if not isinstance(node.op, OneLatency):
            return kernels[number]
        shared = kernels[self._pipeline.position(node.inputs[0])]
        assert isinstance(shared, LatencyAggregateKernel)
        return shared.seen(node.op.number)

    def _breadth(self, number: int) -> float:
        """Of the steps that judge rows of one source, that which counts: it lets in what the others do, and more."""
        match self._pipeline.nodes[number].op:
            case LatenessBand(upto=upto) | OneLatency(latency=upto):
                return upto
            case Ingest():
                return INF
            case LateRows():
                return -1
        return -2

    @property
    def _ingresses(self) -> list[Ingress]:
        every = self._pipeline.ingresses
        return [every[source] for source in self.sources]

    @property
    def _rows(self) -> int:
        return sum(ingress.rows for ingress in self._ingresses)

    def _late_by_partition(self) -> dict[str, Counter[Any]]:
        found: dict[str, Counter[Any]] = {}
        for source, gate in zip(self.sources, self._gates.values(), strict=True):
            if (late := gate.late_by_partition(_MAX_PARTITIONS)) is not None:
                found.setdefault(self._pipeline.sources[source].name, Counter()).update(late)
        return found

    def _late_by(self) -> dict[str, dict[int, int]]:
        found = {}
        for ingress in self._ingresses:
            if isinstance(ingress, Ingress) and ingress.late_by is not None:
                spans, counts = round_spans(ingress.source.schema.unit), ingress.late_by.tolist()
                found[ingress.source.name] = {span: rows for span, rows in zip(spans, counts, strict=True) if rows}
        return found

    def _rate(self, now: float, rows: int) -> float:
        self._lately.append((now, rows))
        while len(self._lately) > 2 and self._lately[1][0] < now - _LATELY_S:
            self._lately.popleft()
        then, before = (self._began, self._rows_before) if self.finished else self._lately[0]
        return (rows - before) / max(now - then, 1e-9)


def _small_together(batches: Sequence[Batch]) -> list[Batch]:
    """Each large batch as it is, and neighboring small ones as one."""
    found: list[Batch] = []
    for small, group in groupby(batches, lambda batch: len(batch) < _FEW):
        neighbors = list(group)
        found += [Batch.concat(neighbors)] if small else neighbors
    return found


def in_order(table: pa.Table) -> pa.Table:
    """The table in the order of start; rows of one start keep their order."""
    starts = [np.asarray(Column.from_arrow(chunk).values) for chunk in table.column("start").chunks if len(chunk)]
    if all(map(ascends, starts)) and all(before[-1] <= after[0] for before, after in pairwise(starts)):
        return table
    ranges = _ordered_ranges(starts, table.num_rows // _LONG) if all(map(ascends, starts)) else None
    if ranges is not None:
        return pa.concat_tables(table.slice(first, rows) for first, rows in ranges)
    return table.take(Column(pa.int64(), np.concatenate(starts).argsort(kind="stable")).to_arrow())


def _ordered_ranges(runs: Sequence[Ticks], maximum: int) -> list[tuple[int, int]] | None:
    """Merge sorted runs into ranges (first row, rows) that are in order together; None if there are too many."""
    before = [0, *accumulate(map(len, runs))]
    heads = [(int(run[0]), number, 0) for number, run in enumerate(runs)]
    heapify(heads)
    found: list[tuple[int, int]] = []
    while heads and len(found) < maximum:
        _, number, first = heappop(heads)
        run = runs[number]
        stop = len(run)
        if heads:
            time, other, _ = heads[0]
            stop = int(np.searchsorted(run, time, "right" if number < other else "left"))
        found.append((before[number] + first, stop - first))
        if stop < len(run):
            heappush(heads, (int(run[stop]), number, stop))
    return None if heads else found

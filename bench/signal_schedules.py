"""Orders in which operators may run (XStream, figure 7): each over the same kernels, with the same results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa

from bench.compare import Row, compare
from bench.figure import Figure
from bench.sides import Ours
from bench.signal_detections import calls_in, field
from bench.signal_sides import blocks_of
from whimbrel import Stream
from whimbrel.batch import Batch, table_from_batches
from whimbrel.clock import INF
from whimbrel.optimize import optimize
from whimbrel.run import Pipeline

BLOCK = 16_384
BURST = 64
"""Blocks that are admitted at once; one with admission control."""
SLICE = 4
"""Items of one operator in a row, in slices."""

Item = tuple[int, int, Batch | int]
"""An operator, a port, and rows or a watermark for it."""


class Schedule:
    """Runs the operators of a plan in an order of its own, and notes how much waits.

    Parameters
    ----------
    query : Stream
        With one source.
    order : {"depth first", "FIFO", "run to completion", "slices"}
    burst : int
        Blocks of the source that are admitted at once.
    """

    def __init__(self, query: Stream, order: str, burst: int) -> None:
        plan = optimize(query.node)
        self.schema, self.pipeline, self.order, self.burst = plan.schema, Pipeline(plan), order, burst
        self.kernels = self.pipeline.kernels
        self.consumers: list[list[tuple[int, int]]] = [[] for _ in self.kernels]
        for number, node in enumerate(self.pipeline.nodes):
            for port, below in enumerate(node.inputs):
                self.consumers[self.pipeline.position(below)].append((number, port))
        self.sent = [kernel.watermark for kernel in self.kernels]
        self.queues: list[deque[Item]] = [deque() for _ in self.kernels]
        self.one: deque[Item] = deque()
        self.rows: list[Batch] = []
        self.waiting = self.max_waiting = 0

    def run(self) -> pa.Table:
        """The result."""
        entry, = self.pipeline.entries
        source, = self.pipeline.sources
        for admitted, batch in enumerate(source.read(source.schema.names), 1):
            self._send(entry, self.kernels[entry].push(batch))
            if admitted % self.burst == 0:
                self._work()
        self._work()
        self._send(entry, self.kernels[entry].advance(INF))
        self._work()
        return table_from_batches(self.schema, self.rows)

    def _send(self, number: int, out: Iterable[Batch]) -> None:
        items: list[Item] = []
        consumers = self.consumers[number]
        for batch in out:
            if not consumers:
                self.rows.append(batch)
            items += [(consumer, port, batch) for consumer, port in consumers]
        watermark = self.kernels[number].watermark
        if watermark > self.sent[number]:
            self.sent[number] = watermark
            items += [(consumer, port, watermark) for consumer, port in consumers]
        self.waiting += sum(_samples(item) for item in items)
        self.max_waiting = max(self.max_waiting, self.waiting)
        if self.order == "depth first":
            self.one.extendleft(reversed(items))
        elif self.order == "FIFO":
            self.one.extend(items)
        else:
            for item in items:
                self.queues[item[0]].append(item)

    def _work(self) -> None:
        for number, port, what in self._items():
            self.waiting -= _samples((number, port, what))
            kernel = self.kernels[number]
            self._send(number, kernel.push(what, port) if isinstance(what, Batch) else kernel.advance(what, port))

    def _items(self) -> Iterator[Item]:
        while self.one:
            yield self.one.popleft()
        items = SLICE if self.order == "slices" else None
        while any(self.queues):
            for queue in self.queues:
                done = 0
                while queue and done != items:
                    yield queue.popleft()
                    done += 1


def _samples(item: Item) -> int:
    """Bytes of rows that wait; those of samples are in memory in any case."""
    return item[2].nbytes if isinstance(item[2], Batch) else 0


def schedules(samples: int) -> Iterator[Row | Figure]:
    """Depth first with admission against the other orders without."""
    scene = field(samples // 4)
    max_waiting: dict[str, int] = {}

    def side(order: str, burst: int) -> Ours[Stream]:
        def run(query: Stream) -> pa.Table:
            with blocks_of(BLOCK):
                schedule = Schedule(query, order, burst)
                found = schedule.run()
            max_waiting[order] = schedule.max_waiting
            return found

        return Ours(partial(_calls, scene.stream), run, f"{order}, {burst}")

    others = {order: side(order, BURST) for order in ("FIFO", "run to completion", "slices")}
    yield from compare("F schedules", f"depth first, blocks of {BLOCK:,}", scene.channels.size, side("depth first", 1),
                       others, pa.Table.equals)
    for order, waited in max_waiting.items():
        yield Figure("F schedules", f"{order}: most that waits", "kB", waited / 1e3,
                     "one block admitted" if order == "depth first" else f"{BURST} blocks admitted")


def _calls(make: Callable[[], Stream]) -> Stream:
    return calls_in(make())

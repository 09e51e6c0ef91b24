"""Push batches through the kernels of several plans, by depth-first dispatch."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import nullcontext

import pyarrow as pa

from whimbrel.batch import SPACIOUS_BYTES, Batch, Storage, check_memory, keep_freed_memory, out_of_memory
from whimbrel.clock import INF, MIN_TIME
from whimbrel.disorder import AdvancesWhenIdle, EdgeIngress, Ingress
from whimbrel.errors import KernelError
from whimbrel.kernels import PORTION_ROWS, CompilePolicy, Kernel, wait_for_compiler
from whimbrel.operators import Select
from whimbrel.plan import Node, Source, walk
from whimbrel.run.operator_metrics import OperatorCounters

_MAX_SHOWN_PORTIONS = 32
"""What is due in so many portions is not looked at before it is settled: that would take seconds."""
_WORTH_COMPILING_ROWS = 2_000
"""Interpreted they take some hundredths of a second, and the compiler takes a second for a kernel."""
_WORTH_WAITING_ITEMS = 50_000
"""Items of lists in one batch, which takes seconds if its loops are interpreted."""


class Pipeline:
    """The kernels of several plans, one for each shared node. Work happens on the calling thread.

    Parameters
    ----------
    *plans : Node
        Optimized plans; the last node of each gives a result.

    Attributes
    ----------
    nodes : list of Node
        In the order of their kernels.
    sources : list of Source
        In the order of their numbers.
    entries : list of int
        The node at which each source enters.
    needs : list of frozenset of int
        The nodes that each plan is made of.
    sent_watermarks : list of int
        The last watermark that each kernel sent downstream.
    work : list of Work
        What each kernel has done.
    in_portions : bool
        Whether :meth:`next_portion` gives large results in portions. Otherwise one call gives all of them.
    max_portions : int, optional
        The largest number of portions in one call; more are an error.
    failures : dict of int to Exception
        Plans in which a kernel has failed while others continue. Kernels that they do not share are unaffected.
    """

    def __init__(self, *plans: Node) -> None:
        keep_freed_memory()
        self.nodes = list(walk(plans))
        self._position = {id(node): number for number, node in enumerate(self.nodes)}
        self._roots = [self._position[id(plan)] for plan in plans]
        self.needs = [frozenset(self._position[id(node)] for node in plan.walk()) for plan in plans]
        self.sources: list[Source] = []
        self.entries: list[int] = []
        self._kernels = [make_kernel(node) for node in self.nodes]
        for number, node in enumerate(self.nodes):
            if isinstance(node.op, Source):
                self.sources.append(node.op)
                self.entries.append(number)
        self.sent_watermarks = [MIN_TIME] * len(self.nodes)
        self.work = [OperatorCounters() for _ in self.nodes]
        self.failures: dict[int, Exception] = {}
        self._out: list[list[Batch]] = [[] for _ in plans]
        self._thrift = CompilePolicy(_WORTH_COMPILING_ROWS)  # of all forks together
        self.in_portions = False
        self._failed: set[int] = set()
        self._given_bytes = 0
        self.max_portions: int | None = None
        # Most kernels give everything at once: they are not asked after each batch.
        self._in_portions = [number for number, kernel in enumerate(self._kernels)
                             if type(kernel).more is not Kernel.more]
        self._join_up(range(len(plans)))

    def share_code(self, other: Pipeline) -> None:
        """Use the loops of another pipeline of the same plans. Their rows together decide what is compiled."""
        self._thrift = other._thrift
        for mine, theirs in zip(self._kernels, other._kernels, strict=True):
            mine.share_code(theirs)

    def keep(self, plans: Collection[int]) -> None:
        """Work for these plans only, by number, from now on; what the others remember is forgotten."""
        needed = self._needed(plans)
        self._kernels = [kernel if number in needed else make_kernel(self.nodes[number])
                         for number, kernel in enumerate(self._kernels)]
        self._failed -= set(range(len(self.nodes))) - needed
        self._join_up(plans)

    def _needed(self, plans: Collection[int]) -> frozenset[int]:
        return frozenset[int]().union(*(self.needs[plan] for plan in plans))

    def _join_up(self, plans: Collection[int]) -> None:
        self._plans = frozenset(plans)
        self._gives: list[list[int]] = [[] for _ in self.nodes]
        self._consumers: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for plan in plans:
            self._gives[self._roots[plan]].append(plan)
        for number in sorted(self._needed(plans)):
            for port, below in enumerate(self.nodes[number].inputs):
                self._consumers[self._position[id(below)]].append((number, port))
        self._last_consumer_first = [consumers[::-1] for consumers in self._consumers]
        for root in {self._roots[plan] for plan in plans}:
            if not self._consumers[root]:
                self._let_stay(root)

    def _let_stay(self, number: int) -> None:
        """A kernel's rows go only to a result; a projection passes columns unchanged."""
        self._kernels[number].storage = Storage()
        while isinstance(self.nodes[number].op, Select):
            number = self._position[id(self.nodes[number].inputs[0])]
            if len(self._consumers[number]) != 1 or self._gives[number]:
                break
            self._kernels[number].storage = Storage()

    def push(self, source: int, batch: Batch) -> list[list[Batch]]:
        """Push rows of a source, in arrival order. Returns each plan's settled result rows."""
        entry, items = self.entries[source], _items(batch)
        long = items >= max(_WORTH_WAITING_ITEMS, len(batch) + 1)
        with self._thrift.of(items), wait_for_compiler() if long else nullcontext():
            try:
                self._spread(entry, self.work[entry].push(self._kernels[entry], batch))
            except Exception as error:  # noqa: BLE001 - of whatever kind: whose it is decides
                self._fail(entry, error)
        self._drain()
        return self._take()

    def advance(self, source: int, time: int) -> list[list[Batch]]:
        """Advance the watermark of a source to `time`. Returns the rows that this settles."""
        entry = self.entries[source]
        with self._thrift.of(0):
            try:
                self._spread(entry, self.work[entry].advance(self._kernels[entry], time))
            except Exception as error:  # noqa: BLE001
                self._fail(entry, error)
        self._drain()
        return self._take()

    def advance_idle(self, source: int, time: int) -> list[list[Batch]] | None:
        """Advance an idle source to `time`. Gives the rows that this settles, or None without a new watermark.

        The kernels that decide which rows are late advance, which need not be the ingress.
        """
        entry, news = self.entries[source], False
        judges = [judge for judge, _ in self._consumers[entry] if isinstance(self._kernels[judge],
                                                                             AdvancesWhenIdle)] or [entry]
        with self._thrift.of(0):
            for judge in judges:
                kernel = self._kernels[judge]
                assert isinstance(kernel, AdvancesWhenIdle)
                out = kernel.advance_idle(time)
                news = news or kernel.watermark > self.sent_watermarks[judge]
                self._spread(judge, out)
        self._drain()
        return self._take() if news else None

    def takes_long_batches(self, source: int) -> bool:
        """Whether all operators that read a source may be given long batches."""
        readers = [self._kernels[reader] for reader, _ in self._consumers[self.entries[source]]]
        return bool(readers) and all(kernel.takes_long_batches for kernel in readers)

    @property
    def pending(self) -> bool:
        """Whether a kernel has portions of rows to give, before more is pushed."""
        kernels = self._kernels
        return any(kernels[number].more and number not in self._failed for number in self._in_portions)

    def next_portion(self) -> list[list[Batch]]:
        """The next portion of rows. Returns each plan's settled result rows."""
        self._give_portion()
        return self._take()

    def _give_portion(self) -> None:
        """The kernel nearest to the results goes first, so that no other waits with rows that fit nowhere."""
        number = max(number for number, kernel in enumerate(self._kernels)
                     if kernel.more and number not in self._failed)
        with self._thrift.of(PORTION_ROWS):  # as rows of a source: those that follow are as many
            try:
                out = self.work[number].next_portion(self._kernels[number])
            except Exception as error:  # noqa: BLE001
                self._fail(number, error)
            else:
                self._spread(number, out)

    def _drain(self) -> None:
        portions = 0
        while not self.in_portions and self.pending:
            if portions == self.max_portions:
                raise KernelError("More rows are due than can be shown before they are settled.")
            self._give_portion()
            portions += 1

    def check_memory(self, held_bytes: int) -> None:
        """Raise an error when a result exceeds memory, and name the step that makes so many rows."""
        growing = next((number for number, kernel in reversed(list(enumerate(self._kernels))) if kernel.more), None)
        if growing is None:
            check_memory(held_bytes, "it has very many rows", where="")
        else:
            check_memory(held_bytes, *self._growing(growing))

    def _growing(self, number: int) -> tuple[str, str]:
        """Why there are so many rows, and in which step."""
        op = self.nodes[number].op
        reason = self._kernels[number].growing or "it makes or keeps very many rows"
        return reason, op.name if isinstance(op, Source) else op.show()

    def finish(self, source: int) -> list[list[Batch]]:
        """No further rows of a source."""
        return self.advance(source, INF)

    def rest(self, plans: Collection[int]) -> list[list[Batch]]:
        """What would still come of these plans if every source ended now. Changes nothing."""
        copy = self.fork(plans)
        copy.in_portions, copy.max_portions = False, _MAX_SHOWN_PORTIONS
        rest: list[list[Batch]] = [[] for _ in self._roots]
        for source, entry in enumerate(self.entries):
            if any(entry in self.needs[plan] for plan in plans):
                for plan, batches in enumerate(copy.finish(source)):
                    rest[plan] += batches
        for error in copy.failures.values():
            raise error
        return rest

    def fork(self, plans: Collection[int]) -> Pipeline:
        """An independent copy that works for these plans only."""
        needed = self._needed(plans)
        copy = object.__new__(Pipeline)
        copy.__dict__.update(self.__dict__)
        copy._kernels = [kernel.fork() if number in needed else kernel for number, kernel in enumerate(self._kernels)]
        copy.sent_watermarks = list(self.sent_watermarks)
        copy.work = [work.copy() for work in self.work]  # looking is not what the operators do
        copy.failures, copy._failed = {}, set(self._failed)
        copy._out = [[] for _ in self._roots]
        copy._join_up(plans)
        return copy

    def begin_again(self, row: int = 0) -> None:
        """Prepare an empty pipeline for rows of any time, starting with row `row` of the source.

        Key numbers and compiled code stay.
        """
        for kernel in self._kernels:
            kernel.watermark = MIN_TIME
            if isinstance(kernel, Ingress):
                kernel.begin_again(row)
        self.sent_watermarks = [MIN_TIME] * len(self.nodes)

    def become(self, copy: Pipeline) -> None:
        """Take the state of a fork of this pipeline; the fork stays unchanged."""
        self._kernels = [kernel.fork() for kernel in copy.kernels]
        self.sent_watermarks = list(copy.sent_watermarks)
        self.work = [work.copy() for work in copy.work]

    @property
    def ingresses(self) -> list[Ingress]:
        """Where rows enter, by source."""
        entered = [self._kernels[entry] for entry in self.entries]
        return [kernel for kernel in entered if isinstance(kernel, Ingress)]

    @property
    def kernels(self) -> list[Kernel]:
        return self._kernels

    def root(self, plan: int) -> Node:
        """The node that gives the result of a plan."""
        return self.nodes[self._roots[plan]]

    def position(self, node: Node) -> int:
        """Where a node stands in :attr:`nodes`."""
        return self._position[id(node)]

    def rows_in(self, number: int) -> int:
        """Rows that a kernel was given: what those that feed it have given."""
        kernel = self._kernels[number]
        if isinstance(kernel, Ingress):
            return kernel.rows
        return sum(self.work[self._position[id(below)]].rows_out for below in self.nodes[number].inputs)

    def _take(self) -> list[list[Batch]]:
        out, self._out = self._out, [[] for _ in self._roots]
        self._given_bytes = 0
        return out

    def _give(self, number: int, batches: list[Batch]) -> None:
        """Add rows to a result, while memory lasts."""
        self._given_bytes += sum(batch.nbytes for batch in batches)
        if self._given_bytes > SPACIOUS_BYTES:
            self.check_memory(self._given_bytes)
        for plan in self._gives[number]:
            self._out[plan] += batches

    def _spread(self, number: int, out: list[Batch] | Iterator[Batch]) -> None:
        """Send rows, then the watermark, to the consumers of a node, depth first.

        What a consumer makes of a batch reaches the results before the next batch is sent, and before an iterator makes
        it. A stack holds what is still to send, so that long chains need no recursion.
        """
        kernels, work, sent = self._kernels, self.work, self.sent_watermarks
        # A consumer, a port, and a batch or else a watermark; or a node and the iterator of its batches.
        todo: list[tuple[int, int, Batch | Iterator[Batch] | None, int]] = []
        while True:
            finished = isinstance(out, list)
            if isinstance(out, list):
                batches = out
            else:
                batch = self._next_item(number, out)
                batches, finished = [] if batch is None else [batch], batch is None
                if batch is not None:
                    todo.append((number, 0, out, 0))
            if batches and self._gives[number]:
                self._give(number, batches)
            consumers, watermark = self._last_consumer_first[number], kernels[number].watermark
            if finished and watermark > sent[number]:
                sent[number] = watermark
                for consumer, port in consumers:
                    todo.append((consumer, port, None, watermark))
            if batches:
                for batch in reversed(batches):
                    for consumer, port in consumers:
                        todo.append((consumer, port, batch, watermark))
            while todo:
                number, port, rows, watermark = todo.pop()
                try:
                    if rows is None:
                        out = work[number].advance(kernels[number], watermark, port)
                    elif isinstance(rows, Batch):
                        out = work[number].push(kernels[number], rows, port)
                    else:
                        out = rows
                except Exception as error:  # noqa: BLE001
                    self._fail(number, error)
                else:
                    break
            else:
                return

    def _next_item(self, number: int, items: Iterator[Batch]) -> Batch | None:
        """The next batch of an answer of a kernel; None after the last one, and when the kernel fails."""
        try:
            return self.work[number].next_item(items)
        except Exception as error:  # noqa: BLE001
            self._fail(number, error)
            return None

    def _fail(self, number: int, error: Exception) -> None:
        """Fail the plans that use a kernel. Raise its error when no plan is left."""
        self._failed.add(number)
        if isinstance(error, MemoryError):
            error = out_of_memory(*self._growing(number))
        for plan in self._plans:
            if number in self.needs[plan]:
                self.failures.setdefault(plan, error)
        if self._all_failed():
            raise error

    def _all_failed(self) -> bool:
        """Whether nothing is left to do."""
        return self._plans <= self.failures.keys()


def _items(batch: Batch) -> int:
    """Rows, or the items of their lists if these are more: blocks of samples are few rows."""
    most = len(batch)
    for column in batch.columns:
        if isinstance(column.values, pa.FixedSizeListArray):
            most = max(most, len(column.values) * column.values.type.list_size)
        elif isinstance(column.values, pa.ListArray | pa.LargeListArray) and len(column.values):
            offsets = column.values.offsets
            most = max(most, offsets[-1].as_py() - offsets[0].as_py())
    return most


def make_kernel(node: Node) -> Kernel:
    """The kernel of a node, which has seen no rows."""
    if isinstance(node.op, Source):
        return EdgeIngress(node.op) if node.op.edges else Ingress(node.op)
    return node.op.kernel(*(below.schema for below in node.inputs))

"""A plan at work: its kernels, joined up, pushed by whoever has rows."""

from __future__ import annotations

from whimbrel.batch import Batch
from whimbrel.clock import INF, MIN_TIME
from whimbrel.disorder import EdgeIngress, Ingress
from whimbrel.kernels import Kernel
from whimbrel.plan import Node, Source


class Pipeline:
    """Kernels in the order of the plan. Work happens on the thread that pushes.

    Parameters
    ----------
    plan : Node
        An optimized plan; its last node gives the result.

    Attributes
    ----------
    sources : list of Source
        In the order of their numbers.
    told : list of int
        How far time has come after each kernel, as its consumers know.
    """

    def __init__(self, plan: Node) -> None:
        nodes = list(plan.walk())
        position = {id(node): number for number, node in enumerate(nodes)}
        self.schema = plan.schema
        self.sources: list[Source] = []
        self._kernels: list[Kernel] = []
        self._entries: list[int] = []
        self._consumers: list[list[tuple[int, int]]] = [[] for _ in nodes]
        for number, node in enumerate(nodes):
            if isinstance(node.op, Source):
                self.sources.append(node.op)
                self._entries.append(number)
                self._kernels.append(EdgeIngress(node.op) if node.op.edges else Ingress(node.op))
            else:
                self._kernels.append(node.op.kernel(*(below.schema for below in node.inputs)))
            for port, below in enumerate(node.inputs):
                self._consumers[position[id(below)]].append((number, port))
        self.told = [MIN_TIME] * len(nodes)
        self._out: list[Batch] = []

    def push(self, source: int, batch: Batch) -> list[Batch]:
        """Rows of a source, in the order of arrival; answers with result rows that are settled."""
        entry = self._entries[source]
        self._spread(entry, self._kernels[entry].push(batch))
        return self._take()

    def finish(self, source: int) -> list[Batch]:
        """No further rows of a source."""
        entry = self._entries[source]
        self._spread(entry, self._kernels[entry].advance(INF))
        return self._take()

    def rest(self) -> list[Batch]:
        """What would still come if every source ended now. Changes nothing."""
        twin = self.fork()
        return [batch for source in range(len(self.sources)) for batch in twin.finish(source)]

    def fork(self) -> Pipeline:
        """An independent copy."""
        twin = object.__new__(Pipeline)
        twin.__dict__.update(self.__dict__)
        twin._kernels = [kernel.fork() for kernel in self._kernels]
        twin.told = list(self.told)
        twin._out = []
        return twin

    @property
    def ingresses(self) -> list[Ingress]:
        """Where rows enter, by source."""
        return [kernel for kernel in self._kernels if isinstance(kernel, Ingress)]

    @property
    def kernels(self) -> list[Kernel]:
        return self._kernels

    @property
    def buffered_rows(self) -> int:
        return sum(kernel.buffered_rows for kernel in self._kernels)

    def _take(self) -> list[Batch]:
        out, self._out = self._out, []
        return out

    def _spread(self, number: int, batches: list[Batch]) -> None:
        """Hand rows, then time, to whatever this node feeds."""
        consumers = self._consumers[number]
        if not consumers:
            self._out += batches
        for batch in batches:
            for consumer, port in consumers:
                self._spread(consumer, self._kernels[consumer].push(batch, port))
        frontier = self._kernels[number].frontier
        if frontier > self.told[number]:
            self.told[number] = frontier
            for consumer, port in consumers:
                self._spread(consumer, self._kernels[consumer].advance(frontier, port))

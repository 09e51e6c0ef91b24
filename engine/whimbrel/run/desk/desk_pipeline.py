"""A pipeline to which plans are added while it runs."""

from __future__ import annotations

from collections.abc import Collection

from whimbrel.batch import Batch
from whimbrel.clock import MIN_TIME
from whimbrel.kernels import Kernel
from whimbrel.plan import Node, walk
from whimbrel.run.operator_metrics import OperatorCounters
from whimbrel.run.pipeline import Pipeline, make_kernel


class DeskPipeline(Pipeline):
    """The kernels of the plans that a desk has now, over sources that are read whatever they are.

    A plan has a number, and each of its nodes has one. The numbers of what was removed are used again.

    Parameters
    ----------
    *sources : Node
        All sources of plans that can be added.

    Attributes
    ----------
    newest : dict of int to int
        By plan: the latest start of a row that it has given.
    """

    def __init__(self, *sources: Node) -> None:
        self._sources: frozenset[int] = frozenset()
        super().__init__(*sources)
        self._sources = frozenset(self.entries)
        self._roots, self.needs, self._out = [], [], []
        self._free_plans: list[int] = []
        self._free_nodes: list[int] = []
        self._users = [0] * len(self.nodes)
        self.newest: dict[int, int] = {}
        self._stale = False
        self._join_up(())

    @property
    def plans(self) -> frozenset[int]:
        """Numbers of the plans that it has."""
        return self._plans

    def knows(self, node: Node) -> bool:
        """Whether it has a kernel of this node."""
        return id(node) in self._position

    def root(self, plan: int) -> Node:
        """The last node of a plan."""
        return self.nodes[self._roots[plan]]

    def users(self, number: int) -> int:
        """How many plans need a node."""
        return self._users[number]

    def add(self, root: Node) -> int:
        """Add a plan; nodes that are there already are shared. Returns its number.

        New kernels learn at once how far the rows have come that they read.
        """
        fresh = [node for node in walk((root,)) if id(node) not in self._position]
        for node in fresh:
            self._take_in(node)
        plan = self._free_plans.pop() if self._free_plans else len(self._roots)
        if plan == len(self._roots):
            self._roots.append(0)
            self.needs.append(frozenset())
            self._out.append([])
        self._roots[plan] = self._position[id(root)]
        self.needs[plan] = frozenset(self._position[id(node)] for node in walk((root,)))
        self.newest[plan] = MIN_TIME
        for number in self.needs[plan]:
            self._users[number] += 1
        self._plans |= {plan}
        self._stale = True
        new = {id(node) for node in fresh}
        behind = [(self._position[id(node)], port, self._position[id(below)]) for node in fresh
                  for port, below in enumerate(node.inputs) if id(below) not in new]
        if any(self.sent_watermarks[below] > MIN_TIME for _, _, below in behind):
            self.join_up()
            for number, port, below in behind:
                if (watermark := self.sent_watermarks[below]) > MIN_TIME:
                    self._spread(number, self.work[number].advance(self._kernels[number], watermark, port))
        return plan

    def _take_in(self, node: Node) -> None:
        kernel, number = make_kernel(node), len(self.nodes)
        if self._free_nodes:
            number = self._free_nodes.pop()
        else:
            self.nodes.append(node)
            self._kernels.append(kernel)
            self.sent_watermarks.append(MIN_TIME)
            self.work.append(OperatorCounters())
            self._users.append(0)
        self.nodes[number], self._kernels[number] = node, kernel
        self.sent_watermarks[number], self.work[number], self._users[number] = MIN_TIME, OperatorCounters(), 0
        self._position[id(node)] = number
        if type(kernel).more is not Kernel.more:
            self._in_portions = sorted({*self._in_portions, number})

    def remove(self, plan: int) -> None:
        """Remove a plan, and the kernels that only it needs."""
        self._plans -= {plan}
        self.failures.pop(plan, None)
        self.newest.pop(plan, None)
        for number in self.needs[plan]:
            self._users[number] -= 1
        freed = {number for number in self.needs[plan] - self._sources if not self._users[number]}
        first = self.entries[0]
        for number in freed:
            del self._position[id(self.nodes[number])]
            self.nodes[number], self._kernels[number] = self.nodes[first], self._kernels[first]
        self._in_portions = [number for number in self._in_portions if number not in freed]
        self._failed -= freed
        self._free_nodes += freed
        self._free_plans.append(plan)
        self.needs[plan], self._out[plan], self._stale = frozenset(), [], True

    def join_up(self) -> None:
        """Connect kernels after plans were added or removed."""
        if self._stale:
            self._join_up(self._plans)
            self._stale = False

    def _needed(self, plans: Collection[int]) -> frozenset[int]:
        return super()._needed(plans) | self._sources

    def _give(self, number: int, batches: list[Batch]) -> None:
        newest = int(batches[-1].sync[-1])
        for plan in self._gives[number]:
            self.newest[plan] = max(self.newest[plan], newest)
        super()._give(number, batches)

    def _fail(self, number: int, error: Exception) -> None:
        """Fail the plans that use a kernel; that of a source ends all."""
        if number in self._sources:
            raise error
        super()._fail(number, error)

    def _all_failed(self) -> bool:
        return False

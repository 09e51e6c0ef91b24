"""The queries of a desk that share their aggregation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from weakref import WeakValueDictionary

from whimbrel.plan import Node, Source, structure
from whimbrel.run.desk.desk_pipeline import DeskPipeline
from whimbrel.run.desk.sharing.shared_aggregate import Member, SharedAggregate, SharedAggregateKernel
from whimbrel.run.desk.sharing.shared_plan import SharedPlan
from whimbrel.run.desk.sharing.shared_query import SharedQuery, SharedResults, SharedRows
from whimbrel.run.desk.sharing.value_classes import SplitCondition
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.query_result import Answer

_MOST_ROWS = 1 << 20
"""Partial aggregates that wait for queries which nobody looks at."""


@dataclass(eq=False)
class _Group:
    """One shared aggregate."""

    key: Hashable
    node: Node
    number: int
    queries: list[SharedQuery] = field(default_factory=list)
    rows_before: dict[int, int] = field(default_factory=dict)
    ended: tuple[tuple[int, int], SharedAggregateKernel] | None = None


class SharedQueries:
    """Adds queries to shared aggregates in a pipeline, and removes them.

    Parameters
    ----------
    pipeline : DeskPipeline
    sources : mapping of str to Node
    """

    def __init__(self, pipeline: DeskPipeline, sources: Mapping[str, Node]) -> None:
        self._pipeline, self._sources = pipeline, sources
        self._groups: dict[Hashable, _Group] = {}
        self._group_of: dict[int, _Group] = {}
        self._queries: dict[Hashable, SharedQuery] = {}
        self._roots: dict[int, Node] = {}
        self._ended: list[SharedQuery] = []
        self._alike: WeakValueDictionary[int, Pipeline] = WeakValueDictionary()

    def add(self, plan: SharedPlan, begin: int | None, answer: Callable[[int], Answer]) -> SharedQuery:
        """Add a query; one that is there already and began at the same time is shared."""
        same = (plan.same, begin)
        if same in self._queries:
            query = self._queries[same]
            self._ended = [each for each in self._ended if each is not query]
            return query
        key = (plan.rows.name, structure(plan.states))
        group = self._groups.get(key)
        if group is None:
            node = Node(SharedAggregate(states=plan.states), (self._sources[plan.rows.name],))
            group = self._groups[key] = _Group(key, node, self._pipeline.add(node))
        condition = SplitCondition.of(plan.condition, self._sources[plan.rows.name].schema)
        member = Member(plan.keys, condition, begin, plan.condition_key, plan.key_keys, plan.parameters)
        of = group
        query = SharedQuery(member, plan.rest, lambda ended: self._kernel(of, ended=ended), answer(group.number),
                            self._alike)
        self._kernel(group).add(member)
        group.queries.append(query)
        group.rows_before[id(query)] = self._source_rows(group)
        self._group_of[id(query)], self._queries[same] = group, query
        return query

    def _kernel(self, group: _Group, *, ended: bool = False) -> SharedAggregateKernel:
        kernel = self._pipeline.kernels[self._pipeline.position(group.node)]
        assert isinstance(kernel, SharedAggregateKernel)
        if not ended:
            return kernel
        now = kernel.changes, sum(ingress.rows for ingress in self._pipeline.ingresses)
        if group.ended is None or group.ended[0] != now:
            self._pipeline.join_up()
            copy = self._pipeline.fork([group.number])
            for source, entry in enumerate(self._pipeline.entries):
                if entry in self._pipeline.needs[group.number]:
                    copy.finish(source)
            last = copy.kernels[self._pipeline.position(group.node)]
            assert isinstance(last, SharedAggregateKernel)
            group.ended = now, last
        return group.ended[1]

    def has(self, query: SharedQuery) -> bool:
        """Whether a query takes part, be it only for those that read its results."""
        return id(query) in self._group_of

    def number(self, query: SharedQuery) -> int:
        """The plan of the pipeline that aggregates for a query."""
        return self._group_of[id(query)].number

    def size(self, query: SharedQuery) -> int:
        """How many different queries share its aggregate."""
        return len(self._group_of[id(query)].queries)

    def _source_rows(self, group: _Group) -> int:
        below, = group.node.inputs
        return self._pipeline.work[self._pipeline.position(below)].rows_out

    def rows_in(self, query: SharedQuery) -> int:
        """Rows of its source that came after it was added."""
        group = self._group_of[id(query)]
        return self._source_rows(group) - group.rows_before[id(query)]

    def seconds(self, query: SharedQuery) -> float:
        """Seconds of its own steps, and its part of those of the shared aggregate."""
        pipeline = self._pipeline
        shared = sum(pipeline.work[number].seconds / max(1, pipeline.users(number))
                     for number in pipeline.needs[self.number(query)])
        return shared / self.size(query) + query.seconds

    def buffered(self, query: SharedQuery) -> tuple[int, int]:
        """Rows and bytes that its shared aggregate and its own steps buffer."""
        kernels = [*query.kernels, *(self._pipeline.kernels[number]
                                     for number in self._pipeline.needs[self.number(query)])]
        return sum(kernel.buffered_rows for kernel in kernels), sum(kernel.buffered_bytes for kernel in kernels)

    def own_buffered_rows(self, query: SharedQuery) -> int:
        """Rows that are buffered for a query, without those of others."""
        group = self._group_of[id(query)]
        below = self._pipeline.needs[group.number] - {self._pipeline.position(group.node)}
        return query.own_buffered_rows() + sum(self._pipeline.kernels[number].buffered_rows for number in below)

    def root(self, query: SharedQuery) -> Node:
        """The node that has its results, for queries that read them."""
        if id(query) not in self._roots:
            self._roots[id(query)] = Node(SharedResults(query=query), (self._group_of[id(query)].node,))
        return self._roots[id(query)]

    def shown(self, query: SharedQuery) -> Node:
        """Its steps after the shared aggregate, and that, for printing."""
        def over_group(node: Node) -> Node:
            if not isinstance(node.op, Source):
                return node
            return Node(SharedRows(member=query.member, rows=node.schema), (self._group_of[id(query)].node,))

        return query.rest.rewrite(over_group)

    def remove(self, query: SharedQuery) -> None:
        """Remove a query as soon as no other one reads it, and its shared aggregate with the last one."""
        if id(query) in self._roots and self._pipeline.knows(self._roots[id(query)]):
            self._ended.append(query)
            return
        group = self._group_of.pop(id(query))
        for same in [same for same, each in self._queries.items() if each is query]:
            del self._queries[same]  # a new dict would hash the plans of all others
        self._roots.pop(id(query), None)
        group.queries = [each for each in group.queries if each is not query]
        if group.queries:
            self._kernel(group).remove(query.member)
        else:
            del self._groups[group.key]
            self._pipeline.remove(group.number)

    def forget_relays(self) -> None:
        """Let go of what handed results to queries that are not there any more."""
        ended, self._ended = self._ended, []
        for query in ended:
            self.remove(query)
        kernels = set(map(id, self._pipeline.kernels))
        for query in self._queries.values():
            query.relays = [relay for relay in query.relays if id(relay) in kernels]

    def settle(self) -> None:
        """Let queries take all partial aggregates, also those of panes that have not ended."""
        for group in self._groups.values():
            self._kernel(group).flush()
            self._drain(group)

    def bound(self) -> None:
        """Let queries take partial aggregates where very many wait for them."""
        for group in self._groups.values():
            if self._kernel(group).left_rows > _MOST_ROWS:
                self._drain(group)

    def _drain(self, group: _Group) -> None:
        for query in sorted(group.queries, key=attrgetter("seen")):
            query.drain()
        kernel = self._kernel(group)
        kernel.forget(kernel.end)

    def failed(self) -> list[SharedQuery]:
        """Queries whose own steps have failed."""
        return [query for query in self._queries.values() if query.error is not None]


"""Split a query with several latencies into latency bands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Any

from whimbrel.operators import (
    GroupAggregate,
    HoppingWindow,
    LatencyAggregate,
    LatenessBand,
    OneLatency,
    Sort,
    Union,
)
from whimbrel.optimize.share_latency_states import share_latency_states
from whimbrel.optimize.two_phase_aggregate import above, split_aggregate
from whimbrel.plan import Node, Operator, walk


def split_latencies(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Cut what is read of a source that is asked at several latencies into bands (Impatience, section V).

    What is on time for a latency is what is on time for the one before it, and one band more: a union. Steps that take
    rows in any order run before the rows of a band are sorted. Where an aggregate follows whose states can be merged,
    each band is aggregated to states, and the union is of those. Where these states do not depend on the order of rows,
    one aggregate does all of it for all latencies, and nothing is sorted.
    """
    plan = _Plan(roots)
    ends = {id(segment.last): segment for segment in map(plan.segment, plan.bands)}
    done: dict[int, Node] = {}
    for node in walk(roots):
        done[id(node)] = (plan.answer(ends[id(node)]) if id(node) in ends
                          else node.over(tuple(done[id(below)] for below in node.inputs)))
    return tuple(done[id(root)] for root in roots)


@dataclass(frozen=True)
class _Segment:
    """The way from a source up to where all bands must be together.

    Attributes
    ----------
    steps : tuple of Operator
        Each band goes through them alone; it is sorted after so many of them.
    merge, finish : Operator or None
        What merges the states of bands, and what makes values of states; None: bands together are the answer.
    last : Node
        The last node as written that all of this stands for.
    shared : Node or None
        The aggregate of all latencies, in place of all other steps.
    after : tuple of Operator
        What follows it for each latency.
    """

    source: Node
    band: LatenessBand
    steps: tuple[Operator, ...]
    sorted_after: int
    last: Node
    merge: GroupAggregate | None = None
    finish: Operator | None = None
    shared: Node | None = None
    after: tuple[Operator, ...] = ()


class _Plan:
    """Facts about the plan, and the nodes that were made of it."""

    def __init__(self, roots: Sequence[Node]) -> None:
        self.consumers: dict[int, list[Node | None]] = {id(root): [None] for root in roots}
        self.bands = [node for node in walk(roots) if isinstance(node.op, LatenessBand)]
        self.cuts: dict[int, set[int]] = {}
        self.made: dict[tuple[object, ...], Any] = {}
        for node in walk(roots):
            for below in node.inputs:
                self.consumers.setdefault(id(below), []).append(node)
                if isinstance(node.op, LatenessBand):
                    self.cuts.setdefault(id(below), set()).update((node.op.over, node.op.upto))
        self.ways = {id(node): self._way(node) for node in self.bands}
        self.shared = Counter(id(way[-1].op) for way in self.ways.values())

    def segment(self, node: Node) -> _Segment:
        """The segment that each band runs alone. Windows belong to it only with the aggregate after them."""
        assert isinstance(node.op, LatenessBand)
        source, = node.inputs
        way = self.ways[id(node)]
        steps = tuple(each.op for each in way[1:] if isinstance(each.op, Operator))
        if isinstance(way[-1].op, GroupAggregate):
            aggregate, steps = way[-1], steps[:-1]
            shared = self._once(("shared", id(aggregate.op), id(source)),
                                lambda: self._shared(source, steps, aggregate))
            if shared is not None:
                return _Segment(source, node.op, (), 0, aggregate, shared=shared[0], after=shared[1])
            if self.shared[id(aggregate.op)] > 1 or len(self._between(source, node.op)) > 1:
                split = self._once(("split", id(aggregate.op)), lambda: split_aggregate(steps, aggregate))
                if split is not None:
                    first, merge, finish = split
                    return _Segment(source, node.op, first, len(steps), aggregate, merge, finish)
        steps = tuple(takewhile(lambda step: not isinstance(step, HoppingWindow), steps))
        return _Segment(source, node.op, steps, len(steps), way[len(steps)])

    def _shared(self, source: Node, steps: tuple[Operator, ...],
                aggregate: Node) -> tuple[Node, tuple[Operator, ...]] | None:
        """One aggregate for all bands of a source that it ends, if each takes all rows up to its latency."""
        bands = [node.op for node in self.bands if node.inputs[0] is source
                 and self.ways[id(node)][-1].op is aggregate.op and isinstance(node.op, LatenessBand)]
        if any(band.over >= 0 for band in bands):
            return None
        latencies = sorted({band.upto for band in bands})
        return share_latency_states(source, steps, aggregate, latencies, bands[0].partitions)

    def _way(self, node: Node) -> list[Node]:
        """From a band through the operators that take rows in any order, and one aggregate after them."""
        way = [node]
        while (consumer := self._consumer(way[-1])) is not None and isinstance(consumer.op, Operator):
            if consumer.op.takes_any_order or isinstance(consumer.op, GroupAggregate):
                way.append(consumer)
            if not consumer.op.takes_any_order:
                break
        return way

    def answer(self, segment: _Segment) -> Node:
        """What was on time for the latency before, and one band more."""
        if segment.shared is not None:
            of = segment.shared.op
            assert isinstance(of, LatencyAggregate)
            one = OneLatency(number=of.latencies.index(segment.band.upto), of=of)
            return above(Node(one, (segment.shared,)), segment.after)
        first, *others = self._between(segment.source, segment.band)
        here = self._rows(segment, *first)
        adjacent = segment.merge is not None and segment.merge.grid is not None
        for over, upto in others:
            here = self._node("union", Union(), here, self._rows(segment, over, upto))
            if adjacent and segment.merge is not None:  # fewer states wait for the next band
                here = self._node("merge", segment.merge, here)
        if segment.merge is not None and not adjacent:
            here = self._node("merge", segment.merge, here)
        return here if segment.finish is None else self._node("finish", segment.finish, here)

    def _between(self, source: Node, band: LatenessBand) -> list[tuple[int, int]]:
        """The bands of which this one is made: cut wherever another one begins or ends."""
        return list(pairwise(sorted(cut for cut in self.cuts[id(source)] if band.over <= cut <= band.upto)))

    def _rows(self, segment: _Segment, over: int, upto: int) -> Node:
        """The result of one band alone."""
        here = self._node((over, upto), replace(segment.band, over=over, upto=upto), segment.source)
        for step in segment.steps[: segment.sorted_after]:
            here = self._node(id(step), step, here)
        here = self._node("sort", Sort(), here)
        for step in segment.steps[segment.sorted_after :]:
            here = self._node(id(step), step, here)
        return here

    def _consumer(self, node: Node) -> Node | None:
        """The only consumer of a node, if it has no other input."""
        consumer = self.consumers[id(node)]
        return consumer[0] if len(consumer) == 1 and consumer[0] is not None and len(consumer[0].inputs) == 1 else None

    def _node(self, what: object, op: Operator, *inputs: Node) -> Node:
        found: Node = self._once((what, *map(id, inputs)), lambda: Node(op, inputs))
        return found

    def _once(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]


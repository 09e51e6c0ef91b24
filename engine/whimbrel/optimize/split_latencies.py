"""Several latencies of one query are bands of one source, of which each row is sorted and aggregated once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from whimbrel.operators import Band, HoppingWindow, Sort, Union
from whimbrel.plan import Disorder, Node, Operator, Promising, Source, Unsorted, walk


def split_latencies(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Make of each source that is asked at several latencies one reading, cut into bands (Impatience, section V).

    What is on time for a latency is what is on time for the one before it, and one band more: a union. Steps that take
    rows in any order run before the rows are sorted, band by band.
    """
    nodes = list(walk(roots))
    asked = [node for node in nodes if isinstance(node.op, Band)]
    if not asked:
        return tuple(roots)
    plan = _Plan(nodes, roots)
    ends: dict[int, _Stretch] = {}
    for node in asked:
        stretch = plan.stretch(node)
        ends[id(stretch.last)] = stretch
    done: dict[int, Node] = {}

    def made(node: Node) -> Node:
        if id(node) not in done:
            if id(node) in ends:
                done[id(node)] = plan.rows(ends[id(node)])
            else:
                done[id(node)] = Node(node.op, tuple(made(below) for below in node.inputs)) if node.inputs else node
        return done[id(node)]

    return tuple(made(root) for root in roots)


@dataclass
class _Stretch:
    """The way from a source up to where its rows must be in order."""

    source: Node
    band: Band
    steps: tuple[Operator, ...]
    last: Node


@dataclass
class _Plan:
    """What is known of the whole plan, and what was made already."""

    nodes: Sequence[Node]
    roots: Sequence[Node]
    raw: dict[int, Node] = field(default_factory=dict)
    parts: dict[tuple[object, ...], Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.consumers: dict[int, list[Node | None]] = {id(root): [None] for root in self.roots}
        self.latencies: dict[int, set[int]] = {}
        for node in self.nodes:
            for below in node.inputs:
                self.consumers.setdefault(id(below), []).append(node)
                if isinstance(node.op, Band):
                    latencies = self.latencies.setdefault(id(below), set())
                    latencies |= {node.op.upto, node.op.over}

    def stretch(self, node: Node) -> _Stretch:
        assert isinstance(node.op, Band)
        steps: list[Operator] = []
        here = node
        while len(self.consumers[id(here)]) == 1:
            consumer, = self.consumers[id(here)]
            if consumer is None or not isinstance(consumer.op, Operator) or not consumer.op.takes_any_order \
                    or isinstance(consumer.op, HoppingWindow):
                break
            here = consumer
            steps.append(consumer.op)
        return _Stretch(node.inputs[0], node.op, tuple(steps), here)

    def rows(self, stretch: _Stretch) -> Node:
        """The rows of a stretch in order: those of the latency before, and one band more."""
        cuts = sorted(cut for cut in self.latencies[id(stretch.source)] | {-1}
                      if stretch.band.over <= cut <= stretch.band.upto)
        merged: Node | None = None
        for over, upto in zip(cuts, cuts[1:], strict=False):
            part = self.part(stretch, over, upto)
            merged = part if merged is None else self.once(
                ("union", id(merged), id(part)), Union(), merged, part)
        assert merged is not None
        return merged

    def part(self, stretch: _Stretch, over: int, upto: int) -> Node:
        """One band, step by step, in order."""
        here = self.once((id(stretch.source), over, upto), Band(over=over, upto=upto, unit=stretch.band.unit),
                         self.unsorted(stretch.source))
        for step in stretch.steps:
            here = self.once((id(here), id(step)), step, here)
        return self.once((id(here), "sort"), Sort(), here)

    def once(self, key: tuple[object, ...], op: Operator, *inputs: Node) -> Node:
        if key not in self.parts:
            self.parts[key] = Node(op, inputs)
        return self.parts[key]

    def unsorted(self, node: Node) -> Node:
        if id(node) not in self.raw:
            assert isinstance(node.op, Source)
            self.raw[id(node)] = Node(Unsorted(Promising(node.op, Disorder(None))))
        return self.raw[id(node)]

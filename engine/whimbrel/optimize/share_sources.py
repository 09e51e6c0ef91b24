"""Share one reading of a source with late rows and latency bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whimbrel.operators import Ingest, LatenessBand, LateRows, Sort
from whimbrel.plan import Node, OrderingSpec, Source, UnsortedSource, WithOrdering, walk


def share_sources(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Give late rows and bands their source in arrival order; other operators get sorted rows from the same reader."""
    nodes = list(walk(roots))
    raw = {id(below): Node(UnsortedSource(WithOrdering(below.op,
                                                       OrderingSpec(None)))) for node in nodes for below in node.inputs
           if isinstance(node.op, LatenessBand | LateRows) and isinstance(below.op, Source)}
    done: dict[int, Node] = {}
    for node in nodes:
        if id(node) in raw and isinstance(node.op, Source):
            done[id(node)] = Node(Ingest(source=node.op), (raw[id(node)],))
        elif isinstance(node.op, LatenessBand):
            done[id(node)] = Node(_by_partition(node), (raw[id(node.inputs[0])],))
        elif isinstance(node.op, LateRows) and isinstance(source := node.inputs[0].op, Source):
            late = Node(replace(node.op, source=source), (raw[id(node.inputs[0])],))
            done[id(node)] = Node(Sort(), (late,))
        else:
            done[id(node)] = node.over(tuple(done[id(below)] for below in node.inputs))
    return tuple(done[id(root)] for root in roots)


def _by_partition(node: Node) -> LatenessBand:
    """The band of a node; lateness counts within each partition of its source."""
    band, source = node.op, node.inputs[0].op
    assert isinstance(band, LatenessBand)
    if not isinstance(source, Source) or source.disorder.partition is None:
        return band
    return replace(band, partitions=replace(source.disorder, reorder_latency=0))

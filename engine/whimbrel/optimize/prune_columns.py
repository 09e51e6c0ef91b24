"""Projection pushdown: read and compute only needed columns."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.plan import FilteredSource, Node, Operator, Source, walk


def prune_columns(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Replace each source and projection by itself with fewer columns."""
    nodes = list(walk(roots))
    wanted: dict[int, frozenset[str]] = {id(node): frozenset() for node in nodes}
    for root in roots:
        wanted[id(root)] = frozenset(root.schema.names)
    for node in reversed(nodes):  # every consumer comes before what feeds it
        if isinstance(node.op, Operator):
            needed = node.op.requires(wanted[id(node)], *(below.schema for below in node.inputs))
            for below, names in zip(node.inputs, needed, strict=True):
                wanted[id(below)] |= names

    done: dict[int, Node] = {}
    for node in nodes:
        inputs = tuple(done[id(below)] for below in node.inputs)
        done[id(node)] = Node(_narrowed(node, wanted[id(node)]), inputs)
    return tuple(done[id(root)] for root in roots)


def _narrowed(node: Node, wanted: frozenset[str]) -> Operator | Source:
    if isinstance(node.op, Operator):
        return node.op.narrowed(wanted)
    if node.op.edges:
        return node.op
    kept = tuple(name for name in node.schema.names if name in wanted | {node.op.disorder.partition})
    return node.op if len(kept) == len(node.schema.names) else FilteredSource(node.op, kept)

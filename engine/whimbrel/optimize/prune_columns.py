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
    narrower: dict[tuple[int, frozenset[str]], Operator] = {}
    for node in nodes:
        op, names = node.op, wanted[id(node)]
        # An operator that is in several places stays one.
        made = (narrower.setdefault((id(op), names), op.narrowed(names)) if isinstance(op, Operator)
                else _narrowed_source(op, node, names))
        done[id(node)] = Node(made, tuple(done[id(below)] for below in node.inputs))
    return tuple(done[id(root)] for root in roots)


def _narrowed_source(source: Source, node: Node, wanted: frozenset[str]) -> Source:
    if source.edges:
        return source
    read = wanted | {source.disorder.partition}
    kept = tuple(name for name in node.schema.names if name in read)
    return source if len(kept) == len(node.schema.names) else FilteredSource(source, kept)

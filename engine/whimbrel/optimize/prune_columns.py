"""Sources read only the columns that the queries need, or that say which rows are late."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.plan import Node, Operator, Pruned, Source, rewrite, walk


def prune_columns(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Replace each source by itself with fewer columns."""
    nodes = list(walk(roots))
    wanted: dict[int, frozenset[str]] = {id(node): frozenset() for node in nodes}
    for root in roots:
        wanted[id(root)] = frozenset(root.schema.names)
    for node in reversed(nodes):  # every consumer comes before what feeds it
        if isinstance(node.op, Operator):
            needed = node.op.requires(wanted[id(node)], *(below.schema for below in node.inputs))
            for below, names in zip(node.inputs, needed, strict=True):
                wanted[id(below)] |= names

    def narrowed(node: Node) -> Node:
        if not isinstance(node.op, Source) or node.op.edges:
            return node
        names = wanted.get(id(node), frozenset()) | {node.op.disorder.partition}
        kept = tuple(name for name in node.schema.names if name in names)
        return node if len(kept) == len(node.schema.names) else Node(Pruned(node.op, kept))

    return rewrite(roots, narrowed)

"""Sources read only the columns that the query needs."""

from __future__ import annotations

from whimbrel.plan import Node, Operator, Pruned, Source


def prune_columns(root: Node) -> Node:
    """Replace each source by itself with fewer columns."""
    nodes = list(root.walk())
    wanted: dict[int, frozenset[str]] = {id(node): frozenset() for node in nodes}
    wanted[id(root)] = frozenset(root.schema.names)
    for node in reversed(nodes):  # every consumer comes before what feeds it
        if isinstance(node.op, Operator):
            needed = node.op.requires(wanted[id(node)], *(below.schema for below in node.inputs))
            for below, names in zip(node.inputs, needed, strict=True):
                wanted[id(below)] |= names

    def narrowed(node: Node) -> Node:
        names = wanted.get(id(node), frozenset())
        if not isinstance(node.op, Source) or node.op.edges or len(names) == len(node.schema.names):
            return node
        return Node(Pruned(node.op, tuple(name for name in node.schema.names if name in names)))

    return root.rewrite(narrowed)

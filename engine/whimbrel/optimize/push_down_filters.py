"""Predicate pushdown: a source gets the filters directly after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from whimbrel.expr import Expr, parts_of
from whimbrel.operators import Where
from whimbrel.plan import Node, Source, rewrite, walk


def push_down(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Tell each source that nothing but filters reads what its rows must be; it may know little, so filters stay."""
    consumers: dict[int, list[Node | None]] = {id(root): [None] for root in roots}
    for node in walk(roots):
        for below in node.inputs:
            consumers.setdefault(id(below), []).append(node)

    def pushed(node: Node) -> Node:
        if not isinstance(node.op, Source):
            return node
        source = node.op.where(list(_filters(node, consumers)))
        return node if source is node.op else Node(source)

    return rewrite(roots, pushed)


def _filters(node: Node, consumers: Mapping[int, Sequence[Node | None]]) -> Iterator[Expr]:
    """The conditions that every row of a node has to meet, since all that is made of it passes through them."""
    while len(consumers[id(node)]) == 1:
        consumer, = consumers[id(node)]
        if consumer is None or not isinstance(consumer.op, Where):
            break
        yield from parts_of(consumer.op.condition)
        node = consumer


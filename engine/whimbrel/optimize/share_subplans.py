"""Common subplan elimination."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.plan import Node, walk


def share_subplans(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Make one node of those that are the same operator, as an object, over the same inputs; and one of each source.

    A query that is put on another source, or asked at several latencies, keeps its operators and gets new nodes.
    """
    made: dict[tuple[int, ...], Node] = {}
    done: dict[int, Node] = {}
    for node in walk(roots):
        inputs = tuple(done[id(below)] for below in node.inputs)
        key = (id(node.op), *map(id, inputs))
        if key not in made:
            made[key] = node.over(inputs)
        done[id(node)] = made[key]
    return tuple(done[id(root)] for root in roots)

"""Sort rows where order is first needed: after filters, projections and windows."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.operators import AdaptiveWindow, GroupAggregate, HoppingWindow, Select, Sort, Where
from whimbrel.plan import Node, Operator, Source, UnsortedSource, walk


def sort_as_needed(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Move the sorting of disordered sources up, past operators that take rows in any order (Impatience, IV-A).

    A filter leaves fewer rows to sort, a projection narrower ones, a window fewer distinct times. Streams that are used
    twice are sorted before they part, and rows of a window that are taken in one after the other before the window.
    """
    nodes = list(walk(roots))
    consumers: dict[int, list[Node | None]] = {id(root): [None] for root in roots}  # the caller of the query
    for node in nodes:
        for below in node.inputs:
            consumers.setdefault(id(below), []).append(node)
    in_order = _taken_in_order(nodes)
    sorted_at = {id(_last_useful(node, consumers, in_order)): node for node in nodes if _is_disordered(node)}
    done: dict[int, Node] = {}
    for node in nodes:
        if isinstance(node.op, Source):
            made = Node(UnsortedSource(node.op)) if node in sorted_at.values() and id(node) not in sorted_at else node
        else:
            made = Node(node.op, tuple(done[id(below)] for below in node.inputs))
            if id(node) in sorted_at:
                made = Node(Sort(), (made,))
        done[id(node)] = made
    return tuple(done[id(root)] for root in roots)


def _is_disordered(node: Node) -> bool:
    source = node.op
    return isinstance(source, Source) and not source.edges and not source.as_it_comes and (
        source.disorder.reorder_latency != 0 or source.disorder.partition is not None)


def _taken_in_order(nodes: Sequence[Node]) -> set[int]:
    """The nodes whose rows go to an aggregate that takes them in in order; nodes follow their inputs."""
    found: set[int] = set()
    for node in reversed(nodes):
        aggregate = isinstance(node.op, GroupAggregate) and node.op.in_order(node.inputs[0].schema)
        if aggregate or id(node) in found:
            found.update(map(id, node.inputs))
    return found


def _last_useful(source: Node, consumers: dict[int, list[Node | None]], in_order: set[int]) -> Node:
    """The node after which sorting is best; the source itself if nothing is gained."""
    best = here = source
    while len(consumers[id(here)]) == 1:
        consumer, = consumers[id(here)]
        if consumer is None or not isinstance(consumer.op, Operator) or not consumer.op.takes_any_order:
            break
        if isinstance(consumer.op, HoppingWindow | AdaptiveWindow) and id(consumer) in in_order:
            break
        here = consumer
        if isinstance(here.op, Where | HoppingWindow) or (
                isinstance(here.op, Select) and len(here.op.columns) < len(here.inputs[0].schema.names)):
            best = here
    return best

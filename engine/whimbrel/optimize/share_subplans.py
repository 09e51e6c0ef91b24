"""Common subplan elimination."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from whimbrel.plan import Node, Operator, structure, walk


class SharedNodes:
    """Finds nodes that do the same over the same inputs.

    A query that is put on another source, or asked at several latencies, keeps its operators and gets new nodes. Steps
    that two queries have written apart are one if their expressions and options are the same.

    Parameters
    ----------
    by_structure : bool
        Whether equal operators are the same. Otherwise only the same object is.
    """

    def __init__(self, *, by_structure: bool = True) -> None:
        self._by_structure = by_structure
        self._made: dict[Hashable, Node] = {}

    def of(self, node: Node, inputs: tuple[Node, ...]) -> Node:
        """The node that stands for this one over these inputs."""
        what = structure(node.op) if self._by_structure and isinstance(node.op, Operator) else id(node.op)
        key = (what, *map(id, inputs))
        if key not in self._made:
            self._made[key] = node.over(inputs)
        return self._made[key]

    def keep(self, wanted: Callable[[Node], bool]) -> None:
        """Forget the other nodes."""
        self._made = {key: node for key, node in self._made.items() if wanted(node)}


def share_subplans(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Share the same steps of a plan, and equal steps of several plans."""
    shared = SharedNodes(by_structure=len(roots) > 1)
    done: dict[int, Node] = {}
    for node in walk(roots):
        done[id(node)] = shared.of(node, tuple(done[id(below)] for below in node.inputs))
    return tuple(done[id(root)] for root in roots)

"""Lines of explain() that name the levels of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.operators import EvictingAggregate
from whimbrel.plan import Node, walk


def level_lines(roots: Sequence[Node]) -> dict[int, list[str]]:
    """The line under each step where the low level of a plan ends, by the identity of its node."""
    return {id(node): ["low level: this step and the steps below it; the steps above it are the high level"]
            for node in walk(roots) if isinstance(node.op, EvictingAggregate)}

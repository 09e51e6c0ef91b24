"""Check that every source has a reorder latency."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.operators import LatenessBand, LateRows
from whimbrel.plan import Node, Source, walk


def check_latencies(roots: Sequence[Node]) -> None:
    """Refuse a plan with a source of no promised order, unless every step that reads it has a latency of its own.

    Raises
    ------
    PlanError
    """
    read = [below for node in walk(roots) if not isinstance(node.op, LatenessBand | LateRows) for below in node.inputs]
    for node in (*roots, *read):
        if isinstance(node.op, Source):
            node.op.check_latency()

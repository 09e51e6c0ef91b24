"""Check that no operator of an unbounded stream waits for ever."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.errors import PlanError
from whimbrel.operators import Resample
from whimbrel.plan import Node, walk


def check_limits(roots: Sequence[Node]) -> None:
    """Refuse to resample a feed without a limit: the value after the newest sample would never be known.

    Raises
    ------
    PlanError
    """
    for node in walk(roots):
        if isinstance(node.op, Resample) and node.op.limit is None:
            live = next((source for source in node.sources() if source.live), None)
            if live is not None:
                raise PlanError(f"resample() of the feed {live.name!r} needs a limit, or it waits for ever.",
                                where=node.op.show(), hint='Add one, such as limit="1m".')

"""Check that no operator of an unbounded stream waits for ever."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.errors import PlanError
from whimbrel.operators import Resample, WholeWindow
from whimbrel.plan import Node, walk


def check_limits(roots: Sequence[Node]) -> None:
    """Refuse steps over a feed whose results would never be known.

    To resample without a limit waits for the value after the newest sample. One window for the whole log waits for its
    end.

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
        if isinstance(node.op, WholeWindow):
            live = next((source for source in node.sources() if source.live), None)
            if live is not None:
                raise PlanError(f"One window for the whole log is known when the log ends, but the feed {live.name!r} "
                                "does not end.", where=node.op.show(),
                                hint='Use windows of a length, such as tumbling_window("1h"), or so_far().')

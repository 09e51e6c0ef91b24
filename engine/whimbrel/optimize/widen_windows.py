"""Widen the hop of windows over a feed with the WidenHop rule."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.clock import quote_ticks
from whimbrel.errors import PlanError
from whimbrel.operators import Chop, GroupAggregate, HoppingWindow, LatenessBand
from whimbrel.operators.windows.adaptive_window import AdaptiveWindow
from whimbrel.plan import Node, Source, rewrite


def widen_windows(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Apply the rule to every window, where a feed asks for it."""
    asked = any(source.relief is not None for root in roots for source in root.sources())
    return rewrite(roots, _widened) if asked else tuple(roots)


def _widened(node: Node) -> Node:
    """hopping_window(feed) -> adaptive windows, with a larger hop under overload.

    Several latencies of one query stay as they are: each would be widened at another time.

    Raises
    ------
    PlanError
        Where windows of the wider hop would not be windows of this query, or each window is to have its row.
    """
    window = node.op
    if isinstance(window, Chop) and isinstance(node.inputs[0].op, GroupAggregate):
        wide = node.inputs[0].inputs[0].op
        if isinstance(wide, AdaptiveWindow):
            raise PlanError("A query over a feed with WidenHop cannot give a row for each window.",
                            where=wide.window.show(),
                            hint="Use another overload rule, or leave out emit=, fill= and the bounds of windows.")
    if not isinstance(window, HoppingWindow) or window.hop >= window.size:
        return node
    below = [each.op for each in node.walk()]
    feed = next((op for op in below if isinstance(op, Source) and op.relief is not None), None)
    if feed is None or any(isinstance(op, LatenessBand) for op in below):
        return node
    relief = feed.relief
    assert relief is not None
    if feed.schema.unit != window.unit:
        raise PlanError(f"WidenHop needs windows in the time unit of {feed.name}, {feed.schema.unit}, got "
                        f"{window.unit}.", where=window.show(),
                        hint="Put the window before the join, or use time columns of one unit.")
    if relief.hop % window.hop or window.size % relief.hop or window.size % window.hop:
        raise PlanError(f"The hop of WidenHop must be a multiple of the window's hop that divides its size, got "
                        f"{quote_ticks(relief.hop, window.unit)}.",
                        where=window.show(),
                        hint="Change the hop in WidenHop(...).")
    return Node(AdaptiveWindow(window=window, relief=relief), node.inputs)

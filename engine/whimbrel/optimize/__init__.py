"""Rewrites of plans: one per file, in the order of :data:`RULES`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from whimbrel.operators import Between
from whimbrel.optimize.absorb_calendar import absorb_calendar, cancel_cells, split_calendar
from whimbrel.optimize.absorb_panes import absorb_panes
from whimbrel.optimize.absorb_select import absorb_select
from whimbrel.optimize.absorb_session import absorb_session
from whimbrel.optimize.absorb_where import absorb_where
from whimbrel.optimize.absorb_window import absorb_window
from whimbrel.optimize.check_latencies import check_latencies
from whimbrel.optimize.check_limits import check_limits
from whimbrel.optimize.coalesce_edges import join_edges
from whimbrel.optimize.cut_sources import cut_optimized, cut_sources
from whimbrel.optimize.first_samples import FirstRows, first_rows, has_first_samples, with_first_samples
from whimbrel.optimize.fuse_hopping_aggregate import fuse_hopping_aggregate
from whimbrel.optimize.fuse_periodic import fuse_periodic, loop_notes
from whimbrel.optimize.late_policies import late_policies
from whimbrel.optimize.level_lines import level_lines
from whimbrel.optimize.lower_aggregates import (
    is_planned_again,
    lower_aggregates,
    planned_before,
    split_levels,
    why_no_levels,
    why_not_lower,
)
from whimbrel.optimize.order_filters import order_filters
from whimbrel.optimize.plan_notation import borders, plan_notation
from whimbrel.optimize.prune_columns import prune_columns
from whimbrel.optimize.push_down_filters import push_down
from whimbrel.optimize.recompute_late import recompute_late
from whimbrel.optimize.share_sources import share_sources
from whimbrel.optimize.share_subplans import SharedNodes, share_subplans
from whimbrel.optimize.sort_as_needed import sort_as_needed
from whimbrel.optimize.split_latencies import split_latencies
from whimbrel.optimize.two_phase_aggregate import above, split_windows
from whimbrel.optimize.widen_windows import widen_windows
from whimbrel.plan import Node, Operator, rewrite

RULES: tuple[Callable[[Node], Node], ...] = (absorb_where, absorb_select, absorb_window, absorb_calendar, cancel_cells,
                                               absorb_session, absorb_panes)
"""Local rewrites of one node, repeated until none of them finds anything to do."""

_MAX_ABSORBED: Final = 64
"""Most steps that an aggregate absorbs. Each makes its expressions deeper, which are written and typed by recursion."""


def optimize(node: Node) -> Node:
    """The optimized plan, which gives the same result as the plan. It is made once."""
    if is_planned_again():
        return _range(node) or _together((node,))[0]
    return node.once("optimized", lambda: _range(node) or _together((node,))[0])


def optimize_together(roots: Sequence[Node]) -> tuple[Node, ...]:
    """The plans of several queries that run together: what they do alike runs once.

    A step that one query absorbs runs twice, absorbed and for the others.
    """
    return (optimize(roots[0]),) if len(roots) == 1 else _together(roots)


def _range(node: Node) -> Node | None:
    """The plan of a range of a result, from the plan of the result; None if there is no such plan."""
    return cut_optimized(node, optimize(node.inputs[0])) if isinstance(node.op, Between) else None


def notes_on_loops(node: Node) -> list[str]:
    """Why operators of a plan are not in a periodic loop, where they are over events that never overlap."""
    return loop_notes(_before_loops((node,)))


def notes_on_levels(node: Node) -> list[str]:
    """Why windowed aggregates of a plan take sorted rows, where rows come out of order."""
    plan, = _before_loops((node,))
    found = [(each, reason) for each in plan.walk() if (reason := why_not_lower(each)) is not None]
    return [f"{each.op.show()} takes sorted rows: {reason}" for each, reason in found if isinstance(each.op, Operator)]


def _together(roots: Sequence[Node]) -> tuple[Node, ...]:
    plans = rewrite(recompute_late(fuse_periodic(_before_loops(roots))), split_calendar)
    plans = rewrite(rewrite(plans, lower_aggregates), split_windows)
    return prune_columns(join_edges(rewrite(rewrite(plans, fuse_hopping_aggregate), _settle)))


def _before_loops(roots: Sequence[Node]) -> tuple[Node, ...]:
    check_latencies(roots)
    check_limits(roots)
    roots = order_filters(share_subplans(widen_windows(cut_sources(rewrite(roots, late_policies)))))
    plans = sort_as_needed(split_latencies(share_sources(push_down(roots))))
    return prune_columns(plans)  # a periodic loop takes numbers only: columns of text are removed first


def _settle(node: Node) -> Node:
    for _ in range(_MAX_ABSORBED):
        changed = next((made for rule in RULES if (made := rule(node)) is not node), None)
        if changed is None:
            break
        node = changed
    return node


__all__ = [
    "RULES", "FirstRows", "SharedNodes", "above", "borders", "cut_sources", "first_rows", "has_first_samples",
    "level_lines", "notes_on_levels", "notes_on_loops", "optimize", "optimize_together", "plan_notation",
    "planned_before", "split_levels", "why_no_levels", "with_first_samples",
]

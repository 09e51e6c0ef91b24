"""No look-ahead by accident: how far a stream sees into the future, and which streams must not meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

from whimbrel.errors import PlanError
from whimbrel.plan.properties import Properties, TimeGrid
from whimbrel.plan.source import Source

if TYPE_CHECKING:
    from whimbrel.plan.graph import Node


LOOKAHEAD_HINT = 'label windows at their end: label="end"; or say allow_lookahead=True'


def derived(known: Properties, inputs: Sequence[Properties]) -> Properties:
    """What an operator says of its output, with what follows from its inputs."""
    known = replace(known, in_order=all(below.in_order for below in inputs),
                    mixed=any(below.mixed for below in inputs) or _seen_early(inputs) is not None)
    if len(inputs) > 1 and known.time_grid is None:  # what relates several streams changes only where one of them does
        known = replace(known, time_grid=_joined([below.time_grid for below in inputs]))
    if known.causal:
        return known if known.lookahead is None else replace(known, lookahead=None)
    return replace(known, lookahead=_lookahead(known, [below for below in inputs if not below.causal]))


def _lookahead(known: Properties, looking: Sequence[Properties]) -> TimeGrid | None:
    """The coarsest of the beats up to which the inputs and the operator's own windows look ahead."""
    if known.time_grid is None:
        return None
    grids = [known.time_grid, *(below.lookahead for below in looking)]
    coarsest = max((time_grid for time_grid in grids if time_grid is not None), key=lambda time_grid: time_grid.hop)
    return coarsest if all(time_grid is not None and coarsest.on(time_grid) for time_grid in grids) else None


def _joined(grids: Sequence[TimeGrid | None]) -> TimeGrid | None:
    whole = grids[0]
    for time_grid in grids[1:]:
        whole = None if whole is None or time_grid is None else whole.joined(time_grid)
    return whole


def check_lookahead(node: Node) -> None:
    """Refuse an operator that lets a stream see a value before its time.

    A stream labelled at the start of its windows tells at T what is known only at the next point of its grid. It may
    meet streams that change on points of that grid only: nothing of theirs lies between T and the time at which the
    value is known. Every other stream is *finer*, also a source, whose events may come at any time.

    Raises
    ------
    PlanError
        When one input looks ahead and another is finer; it names both.
    """
    if isinstance(node.op, Source) or not node.op.relates_inputs:
        return
    early = _seen_early([below.properties for below in node.inputs])
    if early is not None:
        raise PlanError(f"A value would be seen before it is known: {_name(node.inputs[early])} looks ahead, and what "
                        "it meets is finer.", where=node.op.show(), hint=LOOKAHEAD_HINT)


def _seen_early(inputs: Sequence[Properties]) -> int | None:
    """Which of several streams tells values before they are known, as another one is fine enough to see."""
    for one, other in permutations(range(len(inputs)), 2):
        lookahead, time_grid = inputs[one].lookahead, inputs[other].time_grid
        if not inputs[one].causal and (lookahead is None or time_grid is None or not time_grid.on(lookahead)):
            return one
    return None


def _name(node: Node) -> str:
    return node.op.name if isinstance(node.op, Source) else node.op.show()

"""Derive the lookahead of an operator's output from that of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Final

from whimbrel.plan.properties import LatePolicy, Properties, TimeGrid

_STRICT_FIRST: Final[tuple[LatePolicy, ...]] = ("raise", "side_output", "drop", "adjust")


def derived(known: Properties, inputs: Sequence[Properties]) -> Properties:
    """What an operator says of its output, with what follows from its inputs."""
    known = replace(known, in_order=all(below.in_order for below in inputs), late=_strictest(inputs),
                    mixed=any(below.mixed for below in inputs) or early_input(inputs) is not None)
    if len(inputs) > 1 and known.time_grid is None:  # what relates several streams changes only where one of them does
        known = replace(known, time_grid=_joined([below.time_grid for below in inputs]))
    if known.causal:
        return known if known.lookahead is None else replace(known, lookahead=None)
    return replace(known, lookahead=_lookahead(known, [below for below in inputs if not below.causal]))


def _lookahead(known: Properties, looking: Sequence[Properties]) -> TimeGrid | None:
    """The coarsest time grid of the lookahead of the inputs and of the operator's own windows."""
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


def _strictest(inputs: Sequence[Properties]) -> LatePolicy:
    """The late policy of what is made of several streams."""
    policies = {below.late for below in inputs}
    return next((policy for policy in _STRICT_FIRST if policy in policies), "raise")


def early_input(inputs: Sequence[Properties]) -> int | None:
    """Which of several streams tells values before they are known, as another one is fine enough to see."""
    for one, other in permutations(range(len(inputs)), 2):
        lookahead, time_grid = inputs[one].lookahead, inputs[other].time_grid
        if inputs[one].own_clock and inputs[other].own_clock:  # of each event alone, as the time of a source
            continue
        if not inputs[one].causal and (lookahead is None or time_grid is None or not time_grid.on(lookahead)):
            return one
    return None

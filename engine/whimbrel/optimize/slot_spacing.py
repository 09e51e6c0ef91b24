"""Find the time grids on which a periodic loop may run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whimbrel.plan import Node, walk


@dataclass(frozen=True, order=True)
class SlotSpacing:
    """Ticks from one event to the next, how long each lasts, and the key columns of periodic streams."""

    period: int
    ticks: int
    per: tuple[str, ...] = ()


TICKS = SlotSpacing(1, 1)
"""Every tick is a point."""


def spacings_below(roots: Sequence[Node]) -> dict[int, frozenset[SlotSpacing]]:
    """For each node, the spacings of what is below it: a loop may run on one of them."""
    found: dict[int, frozenset[SlotSpacing]] = {}
    for node in walk(roots):
        below = [found[id(each)].union(spacings_of(each)) for each in node.inputs]
        found[id(node)] = below[0].union(*below[1:]) if below else frozenset()
    return found


def spacings_of(node: Node) -> list[SlotSpacing]:
    """At which distances the events of a node may begin that never overlap, and how long each then lasts."""
    known = node.properties
    if known.apart is None or not known.intervals_only:
        return []
    lasts = known.duration or (1 if known.points else None if node.reach is None else node.reach.longest)
    period, per = known.apart.period, tuple(sorted(known.apart.per))
    if lasts is None or (lasts > 1 and known.duration is None):  # some may last less
        return []
    known_places = period is not None and lasts <= period and not (known.apart.gaps and per)
    spacings = [SlotSpacing(period, lasts, per)] if period is not None and known_places else []
    # A loop over all ticks is slow where events are far apart, so the user must have declared them.
    ticks = lasts == 1 and not per and known.apart.declared and TICKS not in spacings
    return [*spacings, TICKS] if ticks else spacings

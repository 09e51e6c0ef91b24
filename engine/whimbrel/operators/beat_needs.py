"""Which places each step on a beat is needed at, for a range of the result: the halo, added up from the result down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from whimbrel.operators.beat_steps import Adjacent, Moved, Slid, Step, in_order

Shifted = tuple[int, int]
"""A step, by identity, and how many places later it is used."""

SHARED: Final = 1 << 62
"""Instead of a shift: a step that is computed for all of them."""

RESULT: Final = (0, 0)
"""Stands for the loop that writes the rows of the result."""


@dataclass(eq=False)
class Needs:
    """What one loop needs, for a range of places around that of the result.

    Parameters
    ----------
    back, ahead : int
        How many places before and behind that range it runs.
    of : dict
        For each step that it is made of, how many places before and behind the range that one is needed.
    """

    back: int = 0
    ahead: int = 0
    of: dict[Shifted, tuple[int, int]] = field(default_factory=dict)

    def add(self, step: Step, shift: int, back: int, ahead: int) -> None:
        known = self.of.get((id(step), shift), (0, 0))
        self.of[id(step), shift] = max(known[0], back), max(known[1], ahead)


def needs_of(last: Step) -> dict[Shifted, Needs]:
    """The loops that compute a result, by what they compute: adjacent windows, what is shared, and the result itself.

    Shared is what has windows in it and is used at several shifts: its windows slide once.
    """
    loops = {RESULT: Needs()}
    loops[RESULT].add(last, 0, 0, 0)
    slides: dict[int, bool] = {}
    for step in in_order(last):
        slides[id(step)] = isinstance(step, Slid) or any(slides[id(below)] for below in step.inputs)
    for step in reversed(in_order(last)):
        used = [(shift, *need) for loop in loops.values() for (found, shift), need in loop.of.items()
                if found == id(step)]
        if slides[id(step)] and len({shift for shift, _, _ in used}) > 1 and not isinstance(step, Adjacent | Moved):
            for loop in loops.values():
                loop.of = {key: need for key, need in loop.of.items() if key[0] != id(step)}
            back, ahead = (max(0, *(need[at] - sign * need[0] for need in used)) for at, sign in ((1, -1), (2, 1)))
            loops[id(step), SHARED] = Needs(back, ahead)
            loops[id(step), SHARED].add(step, 0, back, ahead)
        for loop in list(loops.values()):
            for (found, shift), (back, ahead) in list(loop.of.items()):
                if found != id(step):
                    continue
                if isinstance(step, Adjacent):
                    inner = loops.setdefault((id(step), shift), Needs())
                    inner.back, inner.ahead = max(inner.back, back), max(inner.ahead, ahead)
                    inner.add(step.inputs[0], shift, inner.back + step.width, inner.ahead + step.width)
                    continue
                later = step.places if isinstance(step, Moved) else 0
                wider = 2 * step.width if isinstance(step, Slid) else 0
                for below in step.inputs:
                    loop.add(below, shift + later, back + wider, ahead)
    return loops


def reach_of(last: Step) -> tuple[int, int]:
    """How many places before and behind a range of the result its inputs are read."""
    needs = [(shift, *need) for loop in needs_of(last).values() for (_, shift), need in loop.of.items()]
    shifts = [shift for shift, _, _ in needs]
    return (max(back for _, back, _ in needs) + max(0, *shifts),
            max(ahead for _, _, ahead in needs) + max(0, *(-shift for shift in shifts)))

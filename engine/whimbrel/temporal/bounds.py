"""Compute the halo of each step of a periodic loop.

The computation goes from the result to the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from whimbrel.temporal.loop_steps import Adjacent, Moved, PeriodicStep, Slid, in_order

Shifted = tuple[int, int]
"""A step, by identity, and how many places later it is used."""

EVERY: Final = 1 << 62
"""Instead of a shift: a step that is computed for all of them."""

RESULT: Final = (0, 0)
"""Stands for the loop that writes the rows of the result."""


@dataclass(eq=False)
class Needs:
    """The halo that one loop needs around a range of the result.

    Parameters
    ----------
    back, forward : int
        Slots before and after the range for which it runs.
    of : dict
        For each of its steps, the slots before and after the range for which that step is needed.
    """

    back: int = 0
    forward: int = 0
    of: dict[Shifted, tuple[int, int]] = field(default_factory=dict)

    def add(self, step: PeriodicStep, shift: int, back: int, forward: int) -> None:
        known = self.of.get((id(step), shift), (0, 0))
        self.of[id(step), shift] = max(known[0], back), max(known[1], forward)


def needs_of(last: PeriodicStep) -> dict[Shifted, Needs]:
    """The loops that compute a result, by what they compute: windows, and the result itself.

    Windows that slide do so once, wherever they are used.
    """
    loops = {RESULT: Needs()}
    loops[RESULT].add(last, 0, 0, 0)
    for step in reversed(in_order(last)):
        for loop in list(loops.values()):
            for (found, shift), (back, forward) in list(loop.of.items()):
                if found != id(step):
                    continue
                if isinstance(step, Adjacent | Slid):
                    key = (found, EVERY if isinstance(step, Slid) else shift)
                    inner = loops.setdefault(key, Needs())
                    own = 0 if isinstance(step, Adjacent) else shift
                    inner.back, inner.forward = max(inner.back, back + own), max(inner.forward, forward - own)
                    wider = (step.width, step.width) if isinstance(step, Adjacent) else (2 * step.width, 0)
                    inner.add(step.inputs[0], shift - own, inner.back + wider[0], inner.forward + wider[1])
                    continue
                later = step.slots if isinstance(step, Moved) else 0
                for below in step.inputs:
                    loop.add(below, shift + later, back, forward)
    return loops


def reach_of(last: PeriodicStep) -> tuple[int, int]:
    """Slots before and after a range of the result for which its inputs are read."""
    needs = [(back + shift, forward - shift) for loop in needs_of(last).values()
             for (_, shift), (back, forward) in loop.of.items()]
    return max(0, *(back for back, _ in needs)), max(0, *(forward for _, forward in needs))

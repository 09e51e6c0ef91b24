"""Frame of the optimized plan: operators in lanes, with counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LaneSlot:
    """The slot of a step: its lane, the lanes of its inputs, those that pass it, and whether its own continues."""

    lane: int
    above: tuple[int, ...]
    passing: tuple[int, ...]
    below: bool


@dataclass(frozen=True, slots=True)
class PlanStep:
    """An operator on its line.

    Parameters
    ----------
    name : str
        As in ``explain()``.
    slot : LaneSlot
        Where it stands.
    rows_in, rows_out, held : int
    rows_per_s : float
        Rows that it takes in, lately.
    seconds, fraction : float
        Its own time, and what part it is of that of all operators.
    """

    name: str
    slot: LaneSlot
    rows_in: int
    rows_out: int
    held: int
    rows_per_s: float
    seconds: float
    fraction: float


@dataclass(frozen=True, slots=True)
class PlanFrame:
    """All operators, inputs above what they feed.

    Parameters
    ----------
    busy : float
        Share of the time in which operators worked; the rest was reading, waiting and looking.
    kernels : tuple of (str, str)
        Operators and the text that was generated for them.
    """

    steps: tuple[PlanStep, ...]
    busy: float
    kernels: tuple[tuple[str, str], ...] = ()

    @property
    def lanes(self) -> int:
        """How many there are side by side at most."""
        return max((lane for step in self.steps for lane in (step.slot.lane, *step.slot.passing)), default=-1) + 1


def lane_slots(inputs: Sequence[Sequence[int]]) -> tuple[LaneSlot, ...]:
    """Assign lanes: a step continues the lane of an input that no other step needs, or opens a new one.

    Parameters
    ----------
    inputs : sequence of sequences of int
        For each step, from the sources down, the steps that it reads.

    Examples
    --------
    >>> for slot in lane_slots([(), (0,), (0,), (1, 2)]):
    ...     print(slot.lane, slot.above, slot.passing)
    0 () ()
    1 (0,) (0,)
    0 (0,) (1,)
    0 (1, 0) ()
    """
    last = {below: at for at, read in enumerate(inputs) for below in read}
    lanes: dict[int, int] = {}
    found: list[LaneSlot] = []
    for at, read in enumerate(inputs):
        above = tuple(dict.fromkeys(lanes[below] for below in read))
        free = [lanes.pop(below) for below in dict.fromkeys(read) if last[below] == at]
        passing = tuple(sorted(lanes.values()))
        lane = min(free) if free else next(lane for lane in range(len(inputs)) if lane not in passing)
        if at in last:
            lanes[at] = lane
        found.append(LaneSlot(lane, above, passing, at in last))
    return tuple(found)

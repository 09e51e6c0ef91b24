"""A window is a rewrite of lifetimes (SEMANTICS 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from whimbrel.testing.oracle.facts import Fact, Time

Label = Literal["start", "end"]


def floor_to(time: Time, hop: int, offset: int) -> Time:
    """The last point of the grid ``offset + k * hop`` that is not after `time`."""
    return time - (time - offset) % hop


def ceil_to(time: Time, hop: int, offset: int) -> Time:
    """The first point of the grid that is not before `time`."""
    return time + (offset - time) % hop


def tumbling_window(facts: Iterable[Fact], size: int, *, offset: int = 0, label: Label = "start") -> list[Fact]:
    """Hopping with hop = size."""
    return hopping_window(facts, size, size, offset=offset, label=label)


def hopping_window(facts: Iterable[Fact], size: int, hop: int, *, offset: int = 0,
                   label: Label = "start") -> list[Fact]:
    """The window table, row by row.

    "label start: start := floor(start, hop), end := start + size. label end: start := ceil(start, hop). Size not a
    multiple of hop: end := snap(start + size)", where snap is the same floor or ceil of the original start + size; it
    equals the first rule when size is a multiple. "hop > size: events in the gaps are dropped": those `size` ticks or
    more away from the grid point that they snap to; the others last `size`. "Incoming duration is ignored."
    """
    snap = floor_to if label == "start" else ceil_to
    if hop > size:
        near = [(snap(start, hop, offset), start, payload) for start, _, payload in facts]
        return [(at, at + size, payload) for at, start, payload in near if abs(start - at) < size]
    moved = [(snap(start, hop, offset), snap(start + size, hop, offset), payload) for start, _, payload in facts]
    return [fact for fact in moved if fact[0] < fact[1]]


def sliding_window(facts: Iterable[Fact], size: int) -> list[Fact]:
    """The start stays; end := start + size."""
    return [(start, start + size, payload) for start, _, payload in facts]


def set_duration(facts: Iterable[Fact], duration: int) -> list[Fact]:
    """As named; "non-positive duration deletes the event"."""
    return [(start, start + duration, payload) for start, _, payload in facts if duration > 0]


def shift(facts: Iterable[Fact], amount: int) -> list[Fact]:
    """By an AMOUNT: both ends move by it; no known end stays no known end."""
    return [(start + amount, end + amount, payload) for start, end, payload in facts]

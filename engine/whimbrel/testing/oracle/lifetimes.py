"""A window is a rewrite of lifetimes (SEMANTICS 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from whimbrel.errors import KernelError
from whimbrel.testing.oracle.facts import INF, Fact, Time
from whimbrel.testing.oracle.stateless import Function

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


def set_duration(facts: Iterable[Fact], duration: int | Function | None) -> list[Fact]:
    """As named; "non-positive duration deletes the event". A null duration is no known end, as a null end is."""
    return alter_lifetime(facts, duration=duration)


def shift(facts: Iterable[Fact], amount: int) -> list[Fact]:
    """By an AMOUNT: both ends move by it; no known end stays no known end."""
    return [(start + amount, end + amount, payload) for start, end, payload in facts]


def alter_lifetime(facts: Iterable[Fact], *, start: Function | None = None,
                   duration: int | Function | Literal["same"] | None = "same") -> list[Fact]:
    """As named; "non-positive duration deletes the event; a start rewrite that would reorder the stream is an error".

    Functions read the payload and the event's own ``start`` and ``end``. Order inside one time carries no meaning, so
    the stream is reordered only if one event started before another and would start after it.
    """
    answer: list[tuple[Time, Fact]] = []
    for old, end, payload in facts:
        row = payload | {"start": old, "end": None if end == INF else end}
        new = old if start is None else start(row)
        length = end - old if isinstance(duration, str) else duration(row) if callable(duration) else duration
        if new is None:
            raise KernelError("A null start.")
        if length is None or length > 0:
            answer.append((old, (new, INF if length is None else new + length, payload)))
    if any(before < after and first[0] > second[0] for before, first in answer for after, second in answer):
        raise KernelError("The stream would be reordered.")
    return [fact for _, fact in answer]


def extend(facts: Iterable[Fact], by: int) -> list[Fact]:
    """As named; "non-positive duration deletes the event"."""
    return [(start, end + by, payload) for start, end, payload in facts if end + by > start]


def clip_duration(facts: Iterable[Fact], longest: int) -> list[Fact]:
    """As named."""
    return [(start, min(end, start + longest), payload) for start, end, payload in facts]


def chop(facts: Iterable[Fact], period: int, *, offset: int = 0) -> list[Fact]:
    """"Split at the grid; an unbounded event at the end of stream is an error"."""
    answer: list[Fact] = []
    for start, end, payload in facts:
        if end == INF:
            raise KernelError("An unbounded event.")
        cut = start
        while cut < end:
            began, cut = cut, min(end, floor_to(cut, period, offset) + period)
            answer.append((began, cut, payload))
    return answer


def point_at_end(facts: Iterable[Fact]) -> list[Fact]:
    """"[end, end+1) for every event that ends"."""
    return [(end, end + 1, payload) for _, end, payload in facts if end != INF]


def quantize(facts: Iterable[Fact], size: int, hop: int, *, offset: int = 0) -> list[Fact]:
    """"Floor the start, ceil the end, uses the real end: an event that spans windows is in all of them".

    The windows are [T, T + size) for all T of the grid: an event lasts for the window that its start is floored to, and
    on to the first end of a window that is not before its own.
    """
    return progressive_window(facts, size, hop, hop, offset=offset)


def progressive_window(facts: Iterable[Fact], size: int, hop: int, progress: int, *, offset: int = 0) -> list[Fact]:
    """As quantize; "early partial results inside a window, on the finer grid": the start is floored to that."""
    return [(floor_to(start, progress, offset),
             INF if end == INF else max(floor_to(start, hop, offset) + size, ceil_to(end, hop, offset + size)), payload)
            for start, end, payload in facts]

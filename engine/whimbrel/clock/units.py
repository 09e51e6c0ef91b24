"""Compare and convert units of time."""

from __future__ import annotations

from collections.abc import Iterable

from whimbrel.clock.ticks import INF, MIN_TIME, TickUnit, ticks_per_second


def unit_in_name(name: str) -> TickUnit:
    """The unit that the name of a time column ends with.

    Examples
    --------
    >>> unit_in_name("t_us"), unit_in_name("status"), unit_in_name("ms")
    ('us', None, None)
    """
    end = name.rpartition("_")
    return next((unit for unit in ("s", "ms", "us", "ns") if end[0] and end[2] == unit), None)


def finest(units: Iterable[TickUnit]) -> TickUnit:
    """The unit with the shortest tick; None where any counts plain integers.

    Examples
    --------
    >>> finest(["s", "us", "ms"])
    'us'
    """
    every = list(units)
    return None if None in every else max(every, key=lambda unit: ticks_per_second(unit) or 0)


def ticks_in(unit: TickUnit, finer: TickUnit) -> int:
    """Ticks of a finer unit, or of the same, in one tick.

    Examples
    --------
    >>> ticks_in("s", "ms"), ticks_in(None, None)
    (1000, 1)
    """
    return (ticks_per_second(finer) or 1) // (ticks_per_second(unit) or 1)


def as_ticks(ticks: int, unit: TickUnit, other: TickUnit) -> int:
    """A time of one unit in another: the last tick that is not after it.

    A time that the other unit cannot hold becomes the first or the last that it can. Plain integers stay as they are,
    and so do "before every event" and "no end".

    Parameters
    ----------
    ticks : int
    unit, other : {"s", "ms", "us", "ns"} or None

    Examples
    --------
    >>> as_ticks(2, "s", "ms"), as_ticks(2_999, "ms", "s"), as_ticks(-1, "ms", "s")
    (2000, 2, -1)
    >>> as_ticks(2**62, "s", "ns") == INF - 1, as_ticks(INF, "s", "ns") == INF
    (True, True)
    """
    mine, theirs = ticks_per_second(unit), ticks_per_second(other)
    if ticks in (INF, MIN_TIME) or mine is None or theirs is None:
        return ticks
    return max(MIN_TIME, min(INF - 1, ticks * theirs // mine))

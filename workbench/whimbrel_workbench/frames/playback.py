"""State of the clock of a replay."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from fractions import Fraction
from typing import Literal

Moment = datetime | int | None
PlaybackState = Literal["playing", "paused", "waiting", "ended"]


@dataclass(frozen=True, slots=True)
class Playback:
    """What the clock of a run's replays says.

    Parameters
    ----------
    state : {"playing", "paused", "waiting", "ended"}
        Waiting: nobody reads, so that time stands still.
    now : datetime, int or None
        The simulated instant; None before the first row.
    first, last : datetime, int or None
        The first and the last arrival of the log, where they are known.
    fraction : float or None
        How much of the time between them has passed, 0 to 1.
    speed : float
        Seconds of the log per second, or ticks; may be infinite.
    followed : bool
        Whether any run follows the clock; otherwise controlling it has no effect.

    Examples
    --------
    >>> Playback("playing", 1500, 1000, 3000, 0.25, 100.0).at(0.5)
    2000
    """

    state: PlaybackState
    now: Moment
    first: Moment
    last: Moment
    fraction: float | None
    speed: float
    followed: bool = True

    def at(self, fraction: float) -> Moment:
        """The instant at a fraction of the time between the first and the last arrival."""
        match self.first, self.last:
            case datetime(tzinfo=tzinfo() as zone) as first, datetime() as last:
                begin, end = first.astimezone(UTC), last.astimezone(UTC)  # in one zone Python counts by the wall
                return (begin + fraction * (end - begin)).astimezone(zone)
            case datetime() as first, datetime() as last:
                return first + fraction * (last - first)
            case int() as first, int() as last:
                return min(first + round(Fraction(fraction) * (last - first)), last)
        return None

"""Protocols between a replay clock and the runs that follow it."""

from __future__ import annotations

from typing import Final, Protocol

NEVER: Final = 2**96
"""In nanoseconds: after every arrival."""


class Arriving(Protocol):
    """Buffered rows: the next one arrives at `due`, the last one at `upto`."""

    @property
    def due(self) -> int | None: ...

    @property
    def upto(self) -> int: ...


class Subscriber(Arriving, Protocol):
    """A run that reads replays, as their clock needs to know it.

    Attributes
    ----------
    looked_s : float
        When it read last, in seconds of the machine's clock.
    drained : (int, int or None)
        The seeks and the instant at which it had read every row that had arrived.
    """

    looked_s: float
    drained: tuple[int, int | None]

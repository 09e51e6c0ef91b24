"""State, progress, indicators and errors of a run."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Final, Literal

from whimbrel_workbench.frames.playback import Playback

State = Literal["running", "paused", "finished", "stopped", "failed"]

SIGNS: Final = {"running": "▶", "paused": "❚❚", "finished": "✓", "stopped": "■", "failed": "✕"}


@dataclass(frozen=True, slots=True)
class Failure:
    """What / where / hint of the error that ended a run."""

    kind: str
    what: str
    where: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """One line of indicators. Progress says how much was read, never how good the answer is.

    Parameters
    ----------
    fraction_read : float or None
        Part of the source's rows that was read, 0 to 1; None when the source has no known end.
    facts : tuple of (str, str)
        Name and words of every other indicator, in reading order.
    playback : Playback, optional
        What the clock of its replays says, where something is replayed.
    """

    state: State
    fraction_read: float | None
    facts: tuple[tuple[str, str], ...]
    failure: Failure | None = None
    playback: Playback | None = None

    @property
    def fraction_summary(self) -> str:
        if self.fraction_read is None:
            return "unbounded"
        if self.state == "finished":
            return "100% read"
        # 99.96% is not yet everything: never round up to a finished run.
        return f"{min(floor(self.fraction_read * 1000), 999) / 10:.1f}% read"

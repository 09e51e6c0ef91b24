"""Borders of windows: to which windows an event on a border belongs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Closed = Literal["left", "right", "both", "none"]
Label = Literal["start", "end"]
CLOSED: Final[tuple[Closed, ...]] = ("left", "right", "both", "none")


@dataclass(frozen=True, slots=True)
class WindowBorders:
    """How windows on a grid treat events on its points.

    An event lasts from its first window to its last one. The start of each is that of another time, at most one tick
    before or after the event, rounded to the grid: down with label "start", up with label "end".

    Parameters
    ----------
    label : {"start", "end"}
    closed : {"left", "right", "both", "none"}, optional
        Default: "left" for windows labelled by their start, "right" for those labelled by their end.

    Examples
    --------
    >>> WindowBorders("start").late_start, WindowBorders("start", "right").late_start
    (0, -1)
    """

    label: Label = "start"
    closed: Closed | None = None

    @property
    def usual(self) -> bool:
        """Whether these are the borders that need not be named."""
        return self.closed in (None, "right" if self.label == "end" else "left")

    @property
    def one_sided(self) -> bool:
        """Whether an event on a border belongs to one of its sides."""
        return self.closed not in ("both", "none")

    @property
    def shared(self) -> bool:
        """Whether an event on a border belongs to both of its sides."""
        return self.closed == "both"

    @property
    def late_start(self) -> int:
        """Ticks from an event to the time whose window is its first."""
        if self.usual:
            return 0
        if self.label == "start":
            return -1 if self.closed in ("right", "both") else 0
        return 1 if self.closed in ("left", "none") else 0

    @property
    def late_end(self) -> int:
        """Ticks from an event to the time whose window is its last."""
        if self.usual:
            return 0
        if self.label == "start":
            return -1 if self.closed in ("right", "none") else 0
        return 1 if self.closed in ("left", "both") else 0

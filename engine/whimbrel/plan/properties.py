"""What is known of a stream without looking at its rows; few properties choose among few physical variants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """Starts lie on ``offset + k * hop`` only; every lifetime is `size` ticks long."""

    size: int
    hop: int
    offset: int = 0

    @property
    def tumbling(self) -> bool:
        return self.size == self.hop


@dataclass(frozen=True, slots=True)
class Properties:
    """Facts that hold for every row of a stream.

    Parameters
    ----------
    intervals_only : bool
        Every row is an interval whose end is known; no start or end edges.
    duration : int, optional
        Every lifetime is so many ticks long.
    grid : Grid, optional
        Starts lie on a grid (the output of a window).
    causal : bool
        The value at a time never depends on events after it.
    """

    intervals_only: bool = True
    duration: int | None = None
    grid: Grid | None = None
    causal: bool = True

    def show(self) -> str:
        words = ["intervals" if self.intervals_only else "edges"]
        if self.grid is not None:
            words.append(f"grid(size={self.grid.size}, hop={self.grid.hop}, offset={self.grid.offset})")
        elif self.duration is not None:
            words.append(f"duration={self.duration}")
        if not self.causal:
            words.append("looks ahead")
        return ", ".join(words)


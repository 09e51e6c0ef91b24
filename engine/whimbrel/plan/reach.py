"""Reach: the times of sources that a result depends on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whimbrel.plan.properties import TimeGrid


@dataclass(frozen=True, slots=True)
class Reach:
    """What is known of a stream's rows that start within a range of time.

    They are those of a run over all rows, lifetimes included, if the sources' rows from `back` ticks before that range
    to `forward` ticks after it are given: the halo of the range.

    Parameters
    ----------
    back, forward : int
        Ticks.
    longest : int, optional
        Most ticks that a row lasts; None where they may last any time.
    time_grid : TimeGrid, optional
        It holds for ranges that begin and end on these points.
    """

    back: int = 0
    forward: int = 0
    longest: int | None = None
    time_grid: TimeGrid | None = None

    def wider(self, back: int, forward: int, longest: int | None) -> Reach:
        """That of a step which itself needs so much of its input."""
        step = 1 if self.time_grid is None else self.time_grid.hop
        return Reach(self.back - -back // step * step, self.forward - -forward // step * step, longest, self.time_grid)

    def lasting(self, longest: int | None) -> Reach:
        """The same of rows that last no longer than that."""
        return replace(self, longest=longest)

    def on(self, time_grid: TimeGrid, back: int, forward: int, longest: int) -> Reach:
        """Reach of an operator that rounds times to a grid: a range on that grid needs only itself."""
        if self.time_grid is None or time_grid.on(self.time_grid):
            return Reach(self.back, self.forward, longest, time_grid)
        return self.wider(back, forward, longest)

    def shifted(self, amount: int) -> Reach:
        """That of the same rows at other times."""
        grid = None if self.time_grid is None else replace(self.time_grid, offset=self.time_grid.offset + amount)
        return replace(self, back=self.back + max(amount, 0), forward=self.forward + max(-amount, 0), time_grid=grid)

    def combined(self, other: Reach) -> Reach | None:
        """That of two streams together; None where they are cut at different points."""
        time_grid = self.time_grid or other.time_grid
        if self.time_grid is not None and other.time_grid is not None:
            if not self.time_grid.on(other.time_grid) and not other.time_grid.on(self.time_grid):
                return None
            time_grid = self.time_grid if self.time_grid.on(other.time_grid) else other.time_grid
        longest = None if self.longest is None or other.longest is None else max(self.longest, other.longest)
        return Reach(max(self.back, other.back), max(self.forward, other.forward), longest, time_grid)

    def of_changes(self) -> Reach | None:
        """That of rows which begin and end where the events that are active change; None where these last any time."""
        return None if self.longest is None else self.wider(self.longest, self.longest, self.longest)

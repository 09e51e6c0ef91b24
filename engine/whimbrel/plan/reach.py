"""Which rows of the sources a row of the result may be made of, so that a log can be cut into ranges of time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whimbrel.plan.properties import TimeGrid


@dataclass(frozen=True, slots=True)
class Reach:
    """What is known of a stream's rows that start within a range of time.

    They are those of a run over all rows, lifetimes included, if the sources' rows from `back` ticks before that range
    to `ahead` ticks after it are given: the halo of the range.

    Parameters
    ----------
    back, ahead : int
        Ticks.
    longest : int, optional
        Most ticks that a row lasts; None where they may last any time.
    beat : Beat, optional
        It holds for ranges that begin and end on these points.
    """

    back: int = 0
    ahead: int = 0
    longest: int | None = None
    beat: TimeGrid | None = None

    def wider(self, back: int, ahead: int, longest: int | None) -> Reach:
        """That of a step which itself needs so much of its input."""
        step = 1 if self.beat is None else self.beat.hop
        return Reach(self.back - -back // step * step, self.ahead - -ahead // step * step, longest, self.beat)

    def lasting(self, longest: int | None) -> Reach:
        """The same of rows that last no longer than that."""
        return replace(self, longest=longest)

    def on(self, beat: TimeGrid, back: int, ahead: int, longest: int) -> Reach:
        """That of a step which rounds times to a beat: a range that lies on it needs no more than itself."""
        if self.beat is None or beat.on(self.beat):
            return Reach(self.back, self.ahead, longest, beat)
        return self.wider(back, ahead, longest)

    def shifted(self, amount: int) -> Reach:
        """That of the same rows at other times."""
        beat = None if self.beat is None else replace(self.beat, offset=self.beat.offset + amount)
        return replace(self, back=self.back + max(amount, 0), ahead=self.ahead + max(-amount, 0), beat=beat)

    def beside(self, other: Reach) -> Reach | None:
        """That of two streams together; None where they are cut at different points."""
        beat = self.beat or other.beat
        if self.beat is not None and other.beat is not None:
            if not self.beat.on(other.beat) and not other.beat.on(self.beat):
                return None
            beat = self.beat if self.beat.on(other.beat) else other.beat
        longest = None if self.longest is None or other.longest is None else max(self.longest, other.longest)
        return Reach(max(self.back, other.back), max(self.ahead, other.ahead), longest, beat)

    def of_changes(self) -> Reach | None:
        """That of rows which begin and end where the events that are active change; None where these last any time."""
        return None if self.longest is None else self.wider(self.longest, self.longest, self.longest)

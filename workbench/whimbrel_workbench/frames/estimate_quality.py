"""Error bounds of a progressive query, in numbers and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Final, Literal

from whimbrel_workbench.frames.format_numbers import format_fraction

Ends = Literal["both", "low", "high", "none"]
"""Which ends of intervals can be known of a value: a maximum is a lower bound so far, a first value is neither."""

_FEW: Final = 10
_GOALS: Final = (0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True, slots=True)
class Bound:
    """The largest relative error, after some seconds of reading.

    Parameters
    ----------
    seconds, fraction_read : float
        Spent reading, and the part of the rows that was read.
    within : float
        The largest relative error; NaN without any interval.
    """

    seconds: float
    fraction_read: float
    within: float


@dataclass(frozen=True, slots=True)
class PinnedClaim:
    """A claim or a picture that a reader pinned, and what became of it.

    Parameters
    ----------
    summary : str
        As it was when it was pinned.
    verdict : {"open", "holds", "overturned", "exact"}
        The last where nothing had been said that could hold.
    now : str
        What is known of it now.
    """

    summary: str
    verdict: Literal["open", "holds", "overturned", "exact"]
    now: str


@dataclass(frozen=True, slots=True)
class Quality:
    """The error bound of an estimate, its history, and its limits.

    Parameters
    ----------
    value : str
        The column of which it speaks.
    ends : {"both", "low", "high", "none"}
    rows, exact, known : int
        Of the answer; those that are final, and those that are estimates with an interval.
    half : float
        The median relative error of the values that are not exact.
    confidence : float
        Of each interval, at all updates simultaneously.
    unseen : float
        Groups in more than this fraction of the blocks were seen.
    why : str
        Why no interval is known; empty where they are.
    history : tuple of Bound
    goal : float
        The bound that a reader may wait for.
    first : str
        What is read first; empty: all alike.
    final : bool
    pinned : tuple of PinnedClaim
    names : tuple of str
        Rows of which a claim can be made, as words.
    late : tuple of str
        What is said of rows that are late.
    """

    value: str
    ends: Ends
    rows: int
    exact: int
    known: int
    half: float
    confidence: float
    unseen: float
    why: str
    history: tuple[Bound, ...]
    goal: float
    first: str
    final: bool
    pinned: tuple[PinnedClaim, ...] = ()
    names: tuple[str, ...] = ()
    late: tuple[str, ...] = ()

    @property
    def within(self) -> float:
        """The largest relative error; NaN without any interval."""
        return 0.0 if self.final else self.history[-1].within if self.history else nan

    @property
    def headline(self) -> str:
        """The error bound in words, with its confidence."""
        sure = f"({self.confidence:.0%} confidence)"
        left = self.rows - self.exact
        match self.ends:
            case _ if self.final:
                return "exact"
            case _ if self.why:
                return "partial result, no error bound"
            case "low":
                return "lower bound, can only grow"
            case "high":
                return "upper bound, can only shrink"
            case "none":
                return "partial result, no error bound possible"
            case _ if not left:
                return "exact for all rows seen"
            case _ if isnan(self.within):
                return "no error bound yet"
            case _ if not self.within:
                some = "" if self.known == left else f" for {self.known:,} of {left:,} rows"
                return f"no error{some}, not settled yet"
            case _ if self.known == left:
                return f"error at most {format_fraction(self.within)} {sure}"
            case _:
                return (f"error at most {format_fraction(self.within)} for {self.known:,} of {left:,} estimates "
                        f"{sure}")

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a reader should know."""
        if self.final:
            return ("all rows read",)
        if self.why:
            return (self.why,)
        exact = "complete by the model of late rows" if self.late else "exact"
        said = [f"{self.exact:,} of {self.rows:,} rows {exact}"]
        if self.ends == "both" and self.known > _FEW and self.within:
            said.append(f"median error at most {format_fraction(self.half)}")
        if self.ends == "both" and (unknown := self.rows - self.exact - self.known):
            said.append(f"{unknown:,} without an error bound below 100%")
        if self.unseen >= 1:
            said.append("unseen groups may be missing")
        elif self.unseen:
            said.append(f"groups in fewer than {format_fraction(self.unseen)} of the blocks may be missing")
        return (*said, *self.late, *((f"prioritized: {self.first}",) if self.first else ()))

    @property
    def outlook(self) -> str:
        """How long the goal and the end will take at the pace so far; empty where nobody can know."""
        if self.final or not self.history or not 0 < self.history[-1].fraction_read < 1:
            return ""
        began, now = self.history[0], self.history[-1]
        if now.seconds <= began.seconds or now.fraction_read <= began.fraction_read:
            return ""
        # What was read before the first update says nothing of the speed.
        per_s = (now.fraction_read - began.fraction_read) / (now.seconds - began.seconds)
        end = f"{_about((1 - now.fraction_read) / per_s)} to exact"
        reached = 0.0 if self.first or self.ends != "both" else fraction_at(now, self.goal)
        if not reached:
            return end
        return f"{_about((reached - now.fraction_read) / per_s)} to {format_fraction(self.goal)}, {end}"


def fraction_at(now: Bound, goal: float) -> float:
    """The share of the rows at which a bound will be reached; 0 where that is not known or it is reached.

    With blocks drawn without replacement a bound shrinks as sqrt((1 - share) / share).

    >>> round(fraction_at(Bound(1.0, 0.1, 0.03), 0.01), 3), fraction_at(Bound(1.0, 0.1, 0.01), 0.02)
    (0.5, 0.0)
    """
    if isnan(now.within) or now.within <= goal or not 0 < now.fraction_read < 1:
        return 0.0
    odds = (1 - now.fraction_read) / now.fraction_read * (goal / now.within) ** 2
    return 1 / (1 + odds)


def next_goal(within: float) -> float:
    """The round bound that one may wait for next: 2%, as long as it is not reached.

    >>> next_goal(0.13), next_goal(0.018), next_goal(nan)
    (0.02, 0.01, 0.02)
    """
    return _GOALS[0] if isnan(within) else next((goal for goal in _GOALS if goal < within), _GOALS[-1])


def thinned(history: Sequence[Bound], maximum: int) -> tuple[Bound, ...]:
    """About so many of the looks, the first and the last among them."""
    step = max(1, -(-len(history) // maximum))
    return tuple(history[:-1:step]) + tuple(history[-1:])


def _about(seconds: float) -> str:
    if seconds < 1:
        return "less than 1 s"
    return f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"

"""When a progressive answer is good enough."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whimbrel.errors import PlanError
from whimbrel.progressive.estimation.estimate import Estimate
from whimbrel.progressive.validation import check_number


@dataclass(frozen=True)
class Rule:
    """Conditions of which any one ends the reading, for now.

    Parameters
    ----------
    error : float, optional
        The ends of every interval are at most that share of its value away from it.
    ranking_stable : int, optional
        The order of so many largest values is certain.
    seconds : float, optional
        So much time has passed.
    value : str, optional
        The value that error and ranking speak of. Default: all, and the first.
    """

    error: float | None = None
    ranking_stable: int | None = None
    seconds: float | None = None
    value: str | None = None

    @property
    def words(self) -> str:
        """What is asked for, such as ``error at most 2%``; empty if nothing is."""
        error = None if self.error is None else 100 * self.error
        asked = (("error at most {:.3g}%", error), ("the first {} certain", self.ranking_stable),
                 ("{:g} s", self.seconds))
        return ", or ".join(words.format(number) for words, number in asked if number is not None)

    def met(self, answer: Estimate, elapsed_s: float) -> bool:
        """Whether to stop at this answer."""
        return ((self.seconds is not None and elapsed_s >= self.seconds)
                or (self.error is not None and answer.error_of(self.value) <= self.error)
                or (self.ranking_stable is not None and answer.ranking(self.ranking_stable, self.value)[0]))


def rule(error: str | float | None, ranking_stable: int | None, seconds: float | None, value: str | None) -> Rule:
    """A rule as a user writes it.

    Raises
    ------
    PlanError
        For a share that cannot be read, or numbers that are not above zero.
    """
    share = percent(error, where=f"until(error={error!r})") if isinstance(error, str) else error
    asked = {"error": share, "ranking_stable": ranking_stable, "seconds": seconds}
    for name, number in asked.items():
        if number is not None:
            whole = name == "ranking_stable"
            check_number(number, what=f"{'whole ' * whole}number above 0", whole=whole,
                         where=f"until({name}={number!r})", hint='such as until(error="2%") or until(ranking_stable=3)')
    return Rule(share, ranking_stable, seconds, value)


def percent(text: str, *, where: str) -> float:
    """A share written in percent."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if found is None or not 0 < float(found[1]) <= 100:
        raise PlanError(f"Cannot read {text!r} as a share.", where=where, hint='such as "1%"')
    return float(found[1]) / 100

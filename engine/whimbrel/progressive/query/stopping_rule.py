"""Stopping rules of progressive queries."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whimbrel.errors import PlanError
from whimbrel.progressive.estimation.estimate import Estimate
from whimbrel.progressive.validation import check_number


@dataclass(frozen=True)
class StoppingRule:
    """Conditions, any of which ends a progressive query.

    Parameters
    ----------
    error : float, optional
        The largest relative error.
    ranking_stable : int, optional
        The order of this many largest values is certain.
    seconds : float, optional
        The time that has passed.
    value : str, optional
        The value to check. Default: all for `error`, the first for `ranking_stable`.
    """

    error: float | None = None
    ranking_stable: int | None = None
    seconds: float | None = None
    value: str | None = None

    @property
    def summary(self) -> str:
        """The conditions, such as ``error at most 2%``; empty if there are none."""
        error = None if self.error is None else 100 * self.error
        asked = (("error at most {:.3g}%", error), ("the first {} certain", self.ranking_stable),
                 ("{:g} s", self.seconds))
        return ", or ".join(summary.format(number) for summary, number in asked if number is not None)

    def met(self, answer: Estimate, elapsed_s: float) -> bool:
        """Whether to stop at this estimate."""
        return ((self.seconds is not None and elapsed_s >= self.seconds)
                or (self.error is not None and answer.error_of(self.value) <= self.error)
                or (self.ranking_stable is not None and answer.ranking(self.ranking_stable, self.value)[0]))


def stopping_rule(error: str | float | None, ranking_stable: int | None, seconds: float | None,
                  value: str | None) -> StoppingRule:
    """The rule for the arguments of :meth:`~whimbrel.ProgressiveQuery.until`.

    Raises
    ------
    PlanError
        For a percentage that cannot be read, or numbers that are not positive.
    """
    fraction = percent(error, name="error", where=f"until(error={error!r})") if isinstance(error, str) else error
    asked = {"error": fraction, "ranking_stable": ranking_stable, "seconds": seconds}
    for name, number in asked.items():
        if number is not None:
            whole = name == "ranking_stable"
            check_number(number, name=name, must="an integer of at least 1" if whole else "a positive number",
                         whole=whole, where=f"until({name}={number!r})",
                         hint='Use until(error="2%") or until(ranking_stable=3).')
    return StoppingRule(fraction, ranking_stable, seconds, value)


def percent(text: str, *, name: str, where: str) -> float:
    """The fraction that a percentage stands for."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if found is None or not 0 < float(found[1]) <= 100:
        raise PlanError(f"`{name}` must be a percentage above 0% and at most 100%, got {text!r}.", where=where,
                        hint=f'Use {name}="1%".')
    return float(found[1]) / 100

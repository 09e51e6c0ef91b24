"""The absence of an event after a pattern."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.clock import Duration
from whimbrel.expr import Condition, Expr, trace

__all__ = ["Absence", "absent"]


@dataclass(frozen=True, eq=False, repr=False)
class Absence:
    """Events that must not follow a match.

    Parameters
    ----------
    condition : Expr or None
        Events that must not follow; None stands for every event of the key.
    within : str, timedelta or int
        Time after the last event of the match.
    """

    condition: Expr | None
    within: Duration

    def __repr__(self) -> str:
        return f"absent({self.show_condition()}within={self.within!r})"

    def show_condition(self) -> str:
        return "" if self.condition is None else f"{self.condition.show()}, "


def absent(event: Condition | None = None, *, within: Duration) -> Absence:
    """End a pattern with the absence of an event: ``detect(..., then=wb.absent(within="10m"))``.

    Parameters
    ----------
    event : Expr or callable, optional
        Events of the key that must not follow. Default: none at all.
    within : str, timedelta or int, > 0
        For how long after the last event of a match.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 4, 20], "kind": ["order", "payment", "order"]}, time="at")
    >>> unpaid = log.detect(wb.event(wb.col.kind == "order"), within=1,
    ...                     then=wb.absent(wb.col.kind == "payment", within=10))
    >>> unpaid.collect().to_pylist()
    [{'start': 30, 'end': 31, 'first_time': 20, 'events': 1}]
    """
    return Absence(None if event is None else trace(event, where="absent()"), within)

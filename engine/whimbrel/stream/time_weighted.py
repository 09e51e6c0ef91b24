"""Aggregates over time as users write them: ``wb.time_mean(col.x)``."""

from __future__ import annotations

from whimbrel.aggregates import Integral, TimeIn, TimeMean
from whimbrel.clock import Duration
from whimbrel.expr import trace
from whimbrel.stream.aggregates import Value


def time_mean(value: Value) -> TimeMean:
    """Mean over time.

    See :class:`whimbrel.aggregates.TimeMean`. It is followed by ``past(...)`` or ``cell(...)``.
    """
    return TimeMean(expr=trace(value, where="time_mean()"))


def integral(value: Value, *, unit: Duration | None = None) -> Integral:
    """Integral over time.

    See :class:`whimbrel.aggregates.Integral`. It is followed by ``past(...)`` or ``cell(...)``.

    Parameters
    ----------
    value : Expr or callable
    unit : str, timedelta or int (ticks), optional
        The duration that counts as one. Default: a second, or a tick where times are integers.
    """
    return Integral(expr=trace(value, where="integral()"), of=unit)


def time_in(condition: Value) -> TimeIn:
    """Duration for which a condition is true.

    See :class:`whimbrel.aggregates.TimeIn`. It is followed by ``past(...)`` or ``cell(...)``.
    """
    return TimeIn(expr=trace(condition, where="time_in()"))

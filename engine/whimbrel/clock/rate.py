"""Rate: samples per second, as an exact number of ticks between samples."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Rational

from whimbrel.clock.ticks import INF, TickUnit, ticks_per_second
from whimbrel.errors import PlanError

Rate = int | float | str | Fraction | Decimal
"""Samples per second; a str may be a ratio."""

_MAX_PARTS = 2**32
"""Most parts of a tick: so many fit in int64 with the number of a sample."""


def sample_period(rate: Rate, unit: TickUnit, *, where: str = "") -> Fraction:
    """Ticks from one sample to the next at so many samples a second.

    `where` is the user's call, for errors.

    Examples
    --------
    >>> sample_period(360, "us"), sample_period("24000/1001", "ns")
    (Fraction(25000, 9), Fraction(125125000, 3))
    """
    where = where or f"assume(rate={rate!r})"
    per_second = ticks_per_second(unit)
    if per_second is None:
        raise PlanError("rate= needs times with a unit, but this stream has integer times.", where=where,
                        hint="Use periodic=, in ticks, or a time column with a unit.")
    try:
        exact = Fraction(rate) if isinstance(rate, Rational) else Fraction(str(rate))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        exact = Fraction(-1)
    if exact <= 0 or isinstance(rate, bool):
        raise PlanError(f"rate must be a positive number of samples per second, got {rate!r}.", where=where,
                        hint='Use a number, or a ratio such as "24000/1001".')
    if exact > per_second:
        raise PlanError(f"rate={rate} has more than one sample per tick ({unit}).", where=where,
                        hint="Use a finer unit for the time column, or a lower rate.")
    period = per_second / exact
    if period.denominator > _MAX_PARTS or period > INF:
        raise PlanError(f"rate={rate} has too many digits: the period is {period} ticks.", where=where,
                        hint='Use a ratio of smaller numbers, such as "24000/1001".')
    return period

"""Axis ranges that grow in nice steps and never shrink by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_SECOND, _MINUTE, _HOUR, _DAY = 1e3, 60e3, 3600e3, 86400e3
_CALENDAR_STEPS_MS: Final = (
    1.0, 10.0, 100.0, _SECOND, 5 * _SECOND, 15 * _SECOND, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR,
    6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY, 91 * _DAY, 182 * _DAY, 365 * _DAY,
)
_STEPS_PER_SPAN: Final = 6


@dataclass(frozen=True, slots=True)
class Extent:
    """The shown range of one axis.

    Examples
    --------
    The range stays while values fit, and grows to a round number when they do not.

    >>> first = grown(None, 0.0, 93.0)
    >>> first
    Extent(low=0.0, high=100.0)
    >>> grown(first, 40.0, 60.0) == first
    True
    >>> grown(first, 0.0, 131.0)
    Extent(low=0.0, high=150.0)
    """

    low: float
    high: float


def grown(extent: Extent | None, low: float, high: float, *, calendar: bool = False) -> Extent:
    """The extent that also shows ``low`` and ``high``; the same object if it already does.

    Parameters
    ----------
    extent : Extent or None
        What is shown now.
    low, high : float
        Smallest and largest value to show; milliseconds when ``calendar``.
    calendar : bool
        Round to seconds, minutes, hours, days instead of powers of ten.
    """
    if extent is not None:
        if extent.low <= low and high <= extent.high:
            return extent
        low, high = min(low, extent.low), max(high, extent.high)
    elif not calendar and (0 < low < 0.6 * high or 0 < low == high):
        low = 0.0
    step = _calendar_step(high - low) if calendar else _decimal_step(high - low, high)
    if extent is not None and extent.low == low:
        return Extent(low, max(high, math.ceil(high / step) * step))
    if extent is not None and extent.high == high:
        return Extent(min(low, math.floor(low / step) * step), high)
    low, high = min(low, math.floor(low / step) * step), max(high, math.ceil(high / step) * step)
    return Extent(low, high if high > low else low + step)


def _decimal_step(span: float, high: float) -> float:
    """1, 2, 2.5 or 5 times a power of ten, about a sixth of the span."""
    rough = span / _STEPS_PER_SPAN or abs(high) / _STEPS_PER_SPAN or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return float(next(nice * power for nice in (1, 2, 2.5, 5, 10) if nice * power >= rough * 0.999))


def _calendar_step(span_ms: float) -> float:
    rough = span_ms / _STEPS_PER_SPAN
    return next((step for step in _CALENDAR_STEPS_MS if step >= rough), _CALENDAR_STEPS_MS[-1])

"""Axis ranges that grow in round steps and never shrink."""

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
MARGIN, HEADROOM = 0.025, 0.03
"""Shares of an axis from left to right, and of one from bottom to top, that half a mark takes at most."""
_NOISE: Final = 1e-12
"""Of numbers: what they differ by less is how floats are rounded, and would be stretched over all of an axis."""


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


def grown(extent: Extent | None, low: float, high: float, *, calendar: bool = False, log: bool = False) -> Extent:
    """The extent that also shows ``low`` and ``high``; the same object if it already does.

    Parameters
    ----------
    extent : Extent or None
        What is shown now.
    low, high : float
        Smallest and largest value to show; milliseconds when ``calendar``.
    calendar : bool
        Round to seconds, minutes, hours, days instead of powers of ten.
    log : bool
        Round to whole powers of ten, for an axis on which each is as wide as the next.
    """
    if extent is not None:
        if extent.low <= low and high <= extent.high:
            return extent
        low, high = min(low, extent.low), max(high, extent.high)
    alike = not calendar and high - low <= _NOISE * max(abs(low), abs(high))
    if extent is None and not calendar and not log and low > 0 and (alike or low < 0.6 * high):
        low, alike = 0.0, False
    if log:
        bottom, top = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return Extent(10.0**bottom, 10.0 ** max(top, bottom + 1))
    rough = 0.0 if alike else (high - low) / _STEPS_PER_SPAN
    step = calendar_step(rough) if calendar else decimal_step(rough or abs(high) / _STEPS_PER_SPAN or 1.0)
    if extent is not None and extent.low == low:
        return Extent(low, max(high, math.ceil(high / step) * step))
    if extent is not None and extent.high == high:
        return Extent(min(low, math.floor(low / step) * step), high)
    # Time advances to the right: an axis of time begins where the first row is, to the minute or the day.
    down = calendar_step(rough / _STEPS_PER_SPAN) if calendar and extent is None else step
    low, high = min(low, math.floor(low / down) * down), max(high, math.ceil(high / step) * step)
    return Extent(low, high if high > low else low + step)


def with_margin(extent: Extent, fraction: float = MARGIN) -> Extent:
    """The extent with margins, so that marks at its ends are not cut in half.

    >>> with_margin(Extent(0.0, 200.0))
    Extent(low=-5.0, high=205.0)
    """
    margin = fraction * (extent.high - extent.low)
    return Extent(extent.low - margin, extent.high + margin)


def limited(extent: Extent, limits: tuple[float | None, float | None] | None) -> Extent:
    """The extent with the ends that the user has fixed.

    >>> limited(Extent(0.0, 80.0), (None, 50.0))
    Extent(low=0.0, high=50.0)
    """
    low, high = limits or (None, None)
    low, high = extent.low if low is None else low, extent.high if high is None else high
    return Extent(low, high) if low < high else Extent(low, low + (abs(low) or 1.0))


def decimal_step(minimum: float) -> float:
    """1, 2, 2.5 or 5 times a power of ten.

    >>> decimal_step(0.03), decimal_step(217.0)
    (0.05, 250.0)
    """
    power = 10.0 ** math.floor(math.log10(minimum))
    return float(next(nice * power for nice in (1, 2, 2.5, 5, 10) if nice * power >= minimum * 0.999))


def calendar_step(minimum_ms: float) -> float:
    """A stretch that clocks and calendars know, in milliseconds.

    >>> calendar_step(50 * 60e3) == 3600e3
    True
    """
    return next((step for step in _CALENDAR_STEPS_MS if step >= minimum_ms), _CALENDAR_STEPS_MS[-1])

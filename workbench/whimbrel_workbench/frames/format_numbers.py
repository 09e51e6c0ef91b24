"""Format numbers, fractions, intervals and rates."""

from __future__ import annotations

from math import inf, isnan, nan
from typing import Final

_MAX_WRITTEN_OUT: Final = 1e15


def value_words(value: object) -> str:
    """One value of a result, for a table cell, a bar or a headline.

    >>> value_words(1234567), value_words(3.14159), value_words(1e12 / 7), value_words(None), value_words("JFK")
    ('1,234,567', '3.142', '142,857,142,857', '-', 'JFK')
    >>> value_words(1e300), value_words(-2.5e-12)
    ('1e+300', '-2.5e-12')
    """
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float() if (value.is_integer() or abs(value) >= 10_000) and abs(value) < _MAX_WRITTEN_OUT:
            return f"{value:,.0f}"
        case float():
            return f"{value:,.4g}"
        case _:
            return str(value)


def moved_words(before: float, now: float) -> str:
    """By how much a number moved; empty when it did not.

    >>> moved_words(12.0, 15.0), moved_words(0.5, 0.25), moved_words(3.0, 3.0), moved_words(float("nan"), 3.0)
    ('+3', '-0.25', '', '')
    """
    by = now - before
    return ("+" if by > 0 else "-") + value_words(abs(by)) if by and not isnan(by) else ""


def format_fraction(fraction: float) -> str:
    """A small share in percent, with two digits.

    >>> format_fraction(0.021), format_fraction(0.3), format_fraction(0.00123), format_fraction(2.5)
    ('2.1%', '30%', '0.12%', '250%')
    """
    return f"{fraction:.0%}" if fraction >= 0.1 else f"{100 * fraction:.2g}%"


def within(value: float, low: float, high: float) -> float:
    """The relative error: the longer side of the interval over the value; NaN where an end is unknown.

    >>> within(200.0, 190.0, 204.0), within(0.0, -1.0, 1.0), within(5.0, 5.0, float("nan"))
    (0.05, inf, nan)
    """
    away = max(high - value, value - low) if low <= high else nan
    return away / abs(value) if value else (0.0 if away == 0 else inf if away > 0 else nan)


def interval_words(value: float, low: float, high: float) -> str:
    """A value with its interval, with one bound, or without any.

    >>> interval_words(200.0, 190.0, 204.0), interval_words(7.0, 7.0, 7.0)
    ('200 ± 5%', '7')
    >>> interval_words(20.0, 5.0, 60.0), interval_words(20.0, -40.0, 80.0)
    ('20, from 5 to 60', '20 ± 60')
    >>> interval_words(9.0, 9.0, float("nan")), interval_words(9.0, float("nan"), 9.0), interval_words(9.0, nan, nan)
    ('at least 9 so far', 'at most 9 so far', '9 so far')
    """
    said = value_words(value)
    if isnan(low) and isnan(high):
        return f"{said} so far"
    if isnan(high) or isnan(low):
        return f"at {'least' if isnan(high) else 'most'} {value_words(low if isnan(high) else high)} so far"
    if low == high:
        return said
    share = within(value, low, high)
    if value - low < high - value and share >= 1 and low >= 0:  # "±" would tell of values that cannot be
        return f"{said}, from {value_words(low)} to {value_words(high)}"
    return f"{said} ± {format_fraction(share) if share < 1 else value_words(max(high - value, value - low))}"


def between_words(state: str, low: float, high: float) -> str:
    """What a mark is, with the ends of its interval where both are known.

    >>> between_words("provisional", 11.94, 12.8), between_words("provisional", nan, 12.8)
    ('provisional: 11.94 to 12.8', 'provisional')
    """
    return state if isnan(low) or isnan(high) else f"{state}: {value_words(low)} to {value_words(high)}"


def rate_words(rows_per_s: float) -> str:
    """A rate with two or three digits and a unit.

    >>> rate_words(12.4), rate_words(48_210.0), rate_words(2_345_678.0)
    ('12 rows/s', '48.2k rows/s', '2.35M rows/s')
    """
    if rows_per_s >= 1e6:
        return f"{rows_per_s / 1e6:.3g}M rows/s"
    if rows_per_s >= 1e3:
        return f"{rows_per_s / 1e3:.3g}k rows/s"
    return f"{rows_per_s:.0f} rows/s"

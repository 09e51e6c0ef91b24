"""Numbers as words: few digits, units that read well."""

from __future__ import annotations

from math import isnan


def value_words(value: object) -> str:
    """One value of a result, for a table cell, a bar or a headline.

    >>> value_words(1234567), value_words(3.14159), value_words(1e12 / 7), value_words(None), value_words("JFK")
    ('1,234,567', '3.142', '142,857,142,857', '-', 'JFK')
    """
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float() if value.is_integer() or abs(value) >= 10_000:
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

"""Durations as people write them ("90s", "1h30m", timedelta, ticks) turned into ticks of a stream."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from itertools import pairwise
from numbers import Integral

from whimbrel.clock.ticks import TickUnit, ticks_per_second
from whimbrel.errors import PlanError

Duration = str | int | timedelta
"""What users may write wherever a span of time is asked for."""

_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3_600 * 10**9,
       "d": 86_400 * 10**9, "w": 7 * 86_400 * 10**9}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h|d|w)")


def duration_ticks(value: Duration, unit: TickUnit, *, where: str = "") -> int:
    """Turn a duration into ticks, exactly or not at all.

    Parameters
    ----------
    value : str, int or datetime.timedelta
        Such as ``"5m"``, ``"1h30m"``, ``"-250ms"``; an int is already in ticks.
    unit : {"s", "ms", "us", "ns"} or None
        What one tick of the stream is.
    where : str
        The user's call, for the error.

    Raises
    ------
    PlanError
        When the text cannot be read, is not a whole number of ticks, or the stream counts plain integers.

    Examples
    --------
    >>> duration_ticks("1h30m", "s")
    5400
    >>> duration_ticks(10, None)
    10
    """
    if isinstance(value, bool):
        raise PlanError(f"A duration cannot be {value!r}.", where=where, hint='write "5m", a timedelta or ticks')
    if isinstance(value, int | Integral):  # NumPy's, too
        return _checked(int(value), value, where)
    nanoseconds = _nanoseconds(value, where)
    per_second = ticks_per_second(unit)
    if per_second is None:
        raise PlanError(f"This stream counts plain integers; {value!r} has no meaning on it.", where=where,
                        hint="give the duration as an int, in ticks")
    ticks, rest = divmod(nanoseconds * per_second, 10**9)
    if rest:
        raise PlanError(f"{value!r} is not a whole number of ticks ({unit}).", where=where,
                        hint="use a longer duration, or a finer time column")
    return _checked(int(ticks), value, where)


def _checked(ticks: int, value: Duration, where: str) -> int:
    if abs(ticks) >= 2**63:
        raise PlanError(f"{value!r} is longer than time: {ticks} ticks.", where=where,
                        hint="durations stay below 2**63 ticks")
    return ticks


def _nanoseconds(value: str | timedelta, where: str) -> int:
    if isinstance(value, timedelta):
        return (value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 1_000
    hint = 'such as "250ms", "5m", "1h30m"; units: ns us ms s m h d w'
    if not isinstance(value, str):
        raise PlanError(f"A duration cannot be {value!r}.", where=where, hint=hint)
    text = value.strip()
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    parts = _PART.findall(digits)
    if not parts or _PART.sub("", digits).strip():
        raise PlanError(f"Cannot read {value!r} as a duration.", where=where, hint=hint)
    return sign * round(sum(Fraction(number) * _NS[unit] for number, unit in parts))


def show_ticks(ticks: int, unit: TickUnit) -> str:
    """Print ticks as the shortest exact duration text.

    >>> show_ticks(5400, "s")
    '90m'
    """
    per_second = ticks_per_second(unit)
    if per_second is None or ticks == 0:
        return str(ticks)
    nanoseconds = ticks * 10**9 // per_second
    for name in ("w", "d", "h", "m", "s", "ms", "us", "ns"):
        if nanoseconds % _NS[name] == 0:
            return f"{nanoseconds // _NS[name]}{name}"
    return str(ticks)


def quote_ticks(ticks: int, unit: TickUnit) -> str:
    """A span as the user would write it in a call.

    >>> quote_ticks(5400, "s"), quote_ticks(5400, None)
    ("'90m'", '5400')
    """
    return str(ticks) if unit is None else repr(show_ticks(ticks, unit))


def span_words(seconds: float) -> str:
    """A span of time in its two largest units; below a minute, in seconds.

    >>> span_words(0.25), span_words(59), span_words(3_700), span_words(200_000), span_words(-90)
    ('0.25 s', '59 s', '1 h 1 min', '2 d 7 h', '-1 min 30 s')
    """
    size = abs(seconds)
    sign = "-" if seconds < 0 else ""
    if size < 60:
        return f"{seconds:.3g} s"
    for (unit, seconds_of), (smaller, smaller_s) in pairwise((("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))):
        if size >= seconds_of:
            whole, rest = divmod(size, seconds_of)
            return f"{sign}{whole:,.0f} {unit}" + (f" {rest // smaller_s:.0f} {smaller}" if rest >= smaller_s else "")
    raise AssertionError(seconds)


def tell_ticks(ticks: int, unit: TickUnit) -> str:
    """A span that was measured, as a reader takes it in: what is behind its two largest units is left out.

    >>> tell_ticks(1_804_864_231, "us"), tell_ticks(7, None)
    ('30 min 4 s', '7')
    """
    per_second = ticks_per_second(unit)
    return str(ticks) if per_second is None else span_words(ticks / per_second)

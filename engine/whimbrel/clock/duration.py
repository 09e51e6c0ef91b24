"""Parse durations ("90s", "1h30m", timedelta, ticks) into ticks."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whimbrel.clock.near_duration import near_duration, parts_of_duration
from whimbrel.clock.ticks import TickUnit, ticks_per_second
from whimbrel.errors import PlanError

WHOLE: Final = None
"""The size of the window that has a whole log: ``tumbling_window(wb.WHOLE)``."""

Duration = str | int | timedelta | np.timedelta64
"""What users may write wherever a span of time is asked for; pandas' and Arrow's durations, too."""

_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3_600 * 10**9,
              "d": 86_400 * 10**9, "w": 7 * 86_400 * 10**9}
NUMPY_NS: Final = {"as": Fraction(1, 10**9), "fs": Fraction(1, 10**6), "ps": Fraction(1, 1_000),
                   **{unit: Fraction(_NS[unit.lower()]) for unit in ("ns", "us", "ms", "s", "m", "h", "D", "W")}}
"""Nanoseconds of NumPy's units that are always equally long."""

_MANY: Final = 10_000
"""From so many on people do not take in a count of one unit below a day."""

_TEXT = re.compile(r"(?:\d+(?:\.\d+)?\s*(?:ns|us|ms|s|m|h|d|w)\s*)+")
_NUMBER_AND_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h|d|w)")
_CALENDAR = re.compile(r"[+-]?\s*[\d.]*\s*(?:mos?|mon|months?|q|quarters?|qtr|y|yrs?|years?|a|[MQY][SE]?|A)")
_WEEKS = re.compile(r"\d+\s*w")
_MONDAY = "4d"
_HINT = 'Use a number with a unit, such as "250ms", "5m" or "1h30m"; units: ns us ms s m h d w, alone mo q y.'


def duration_ticks(value: Duration, unit: TickUnit, *, where: str = "") -> int:
    """Turn a duration into ticks, exactly or not at all.

    Parameters
    ----------
    value : str, int, datetime.timedelta, numpy.timedelta64, pandas.Timedelta or Arrow duration
        Such as ``"5m"``, ``"1h30m"``, ``"-250ms"``; an int is already in ticks.
    unit : {"s", "ms", "us", "ns"} or None
        What one tick of the stream is.
    where : str
        The user's call, for the error.

    Raises
    ------
    PlanError
        When the text cannot be read, is not a whole number of ticks, or the stream counts plain integers. When the
        duration is missing, has no unit, or is in months or years.

    Examples
    --------
    >>> duration_ticks("1h30m", "s")
    5400
    >>> duration_ticks(10, None)
    10
    >>> duration_ticks(np.timedelta64(1_500, "ns"), "ns")
    1500
    """
    plain = value.as_py() if isinstance(value, pa.Scalar) and pa.types.is_integer(value.type) else value
    if isinstance(plain, Integral) and not isinstance(plain, bool | np.timedelta64):  # NumPy's, too
        return _checked(int(plain), plain, where)
    per_second = ticks_per_second(unit)
    readable = isinstance(value, str) and parts_of_duration(value) is not None
    nanoseconds = Fraction() if per_second is None and readable else exact_nanoseconds(value, where=where)
    if per_second is None:
        raise PlanError(f"This stream has integer times, so a duration must be an int in ticks, got {shown(value)}.",
                        where=where,
                        hint="Use an int, in ticks, or a time column of type timestamp.")
    ticks = nanoseconds * per_second / 10**9
    if ticks.denominator != 1:
        raise PlanError(f"A duration must be a whole number of ticks ({unit}), got {shown(value)}.", where=where,
                        hint="Use a longer duration, or a finer time column.")
    return _checked(ticks.numerator, value, where)


def duration_seconds(value: float | Duration, *, where: str = "") -> float:
    """Turn a duration of the machine's clock into seconds; a number is in seconds already.

    Raises
    ------
    PlanError
        When it cannot be read as a duration.

    Examples
    --------
    >>> duration_seconds(0.5), duration_seconds("2m")
    (0.5, 120.0)
    """
    if isinstance(value, Real) and not isinstance(value, bool | np.timedelta64):
        return float(value)
    return float(exact_nanoseconds(value, where=where) / 10**9)  # type: ignore[arg-type]  # no number is left here


def grid_offset(step: Duration, unit: TickUnit, offset: Duration | None = None, *, where: str = "") -> int:
    """Where a grid of such steps begins, in ticks: weeks on a Monday (1970-01-05), others at the epoch.

    An offset is counted from there.

    A step that is said in weeks (``"1w"``, ``numpy.timedelta64(1, "W")``) is the calendar's; ``"7d"`` is a duration.

    >>> grid_offset("1w", "s") // 86_400, grid_offset("7d", "s"), grid_offset("1w", "s", "1d") // 86_400
    (4, 0, 5)
    """
    later = 0 if offset is None else duration_ticks(offset, unit, where=where)
    weeks = isinstance(step, str) and _WEEKS.fullmatch(step.strip())
    if weeks or (isinstance(step, np.timedelta64) and np.datetime_data(step.dtype)[0] == "W"):
        later += duration_ticks(_MONDAY, unit, where=where) if unit is not None else 0  # the step itself is refused
    return later


def show_grid(step: int, offset: int, unit: TickUnit, *others: int) -> tuple[str, ...]:
    """A grid as the user would write it: its step, other spans in ticks, and ``offset=`` where it must be said.

    >>> show_grid(604_800, 345_600, "s"), show_grid(604_800, 0, "s"), show_grid(3_600, 60, "s", 7_200)
    (("'1w'",), ("'7d'",), ("'1h'", "'2h'", "offset='1m'"))
    """
    week = 604_800 * (ticks_per_second(unit) or 0)
    weekly = bool(week) and step % week == 0
    monday = weekly and offset == 4 * week // 7
    step_words = repr(f"{7 * step // week}d") if weekly and not monday else quote_ticks(step, unit)
    parts = (step_words if each == step else quote_ticks(each, unit) for each in (step, *others))
    return (*parts, *((f"offset={quote_ticks(offset, unit)}",) if offset and not monday else ()))


def shown(value: Any) -> str:
    """A duration or an instant in an error: as users of its library know it."""
    return repr(str(value)) if isinstance(value, np.generic | pa.Scalar) else repr(value)


def _checked(ticks: int, value: Any, where: str) -> int:
    if abs(ticks) >= 2**63:
        raise PlanError(f"A duration must be below 2**63 ticks, got {shown(value)}: {ticks} ticks.", where=where,
                        hint="Use a shorter duration.")
    return ticks


def exact_nanoseconds(value: Duration, *, where: str) -> Fraction:
    """Nanoseconds of a duration that says its unit; fractions of them are kept.

    >>> exact_nanoseconds("1.5us", where="")
    Fraction(1500, 1)
    """
    given: Any = value
    if isinstance(given, pa.Scalar) and pa.types.is_duration(given.type):
        given = np.timedelta64("NaT") if given.value is None else np.timedelta64(given.value, given.type.unit)
    elif hasattr(given, "to_timedelta64"):  # pandas: a timedelta that shows no nanoseconds as one
        given = given.to_timedelta64()
    if isinstance(given, np.timedelta64):
        return _of_numpy(given, where)
    if isinstance(given, timedelta):
        return Fraction((given.days * 86_400 + given.seconds) * 10**9 + given.microseconds * 1_000)
    if isinstance(given, str):
        return _of_text(given, where)
    raise PlanError(f"A duration must be a string, a timedelta or an int in ticks, got {shown(given)}.",
                    where=where, hint=_HINT)


def _of_numpy(value: np.timedelta64, where: str) -> Fraction:
    if np.isnat(value):
        raise PlanError("The duration is missing (NaT).", where=where, hint=_HINT)
    unit, count = np.datetime_data(value.dtype)
    if unit == "generic":
        raise PlanError(f"A duration needs a unit, got {shown(value)}.", where=where,
                        hint=f'Use np.timedelta64({int(value.astype(np.int64))}, "s"), or an int in ticks.')
    if unit in ("M", "Y"):
        raise _calendar_error(shown(value), where)
    return int(value.astype(np.int64)) * count * NUMPY_NS[unit]


def _of_text(value: str, where: str) -> Fraction:
    text = value.strip()
    sign, digits = (-1, text[1:].strip()) if text.startswith("-") else (1, text)
    if digits == "0":  # nothing needs no unit
        return Fraction()
    if not _TEXT.fullmatch(digits):
        if _CALENDAR.fullmatch(text):
            raise _calendar_error(repr(value), where)
        near = near_duration(value)
        raise PlanError(f"Cannot read {value!r} as a duration.", where=where, hint=f'Use "{near}".' if near else _HINT)
    return sign * sum((Fraction(number) * _NS[unit] for number, unit in _NUMBER_AND_UNIT.findall(digits)), Fraction())


def _calendar_error(text: str, where: str) -> PlanError:
    return PlanError(f"A duration must have a fixed length, got the calendar span {text}.", where=where,
                     hint='Use days, such as "30d". Windows have months: tumbling_window("1mo").')


def show_ticks(ticks: int, unit: TickUnit) -> str:
    """Print ticks as a short exact duration text, which :func:`duration_ticks` reads; many of a unit in several units.

    >>> show_ticks(5400, "s"), show_ticks(1_646_153_821, "ms")
    ('90m', '19d1h15m53.821s')
    """
    per_second = ticks_per_second(unit)
    if per_second is None or ticks == 0:
        return str(ticks)
    nanoseconds = abs(ticks) * 10**9 // per_second
    sign = "-" if ticks < 0 else ""
    name = next(name for name in reversed(_NS) if nanoseconds % _NS[name] == 0)
    if name in ("w", "d") or nanoseconds // _NS[name] < _MANY:
        return f"{sign}{nanoseconds // _NS[name]}{name}"
    whole, rest = divmod(nanoseconds, 10**9)
    text = sign
    for larger in ("d", "h", "m"):
        count, whole = divmod(whole, _NS[larger] // 10**9)
        text += f"{count}{larger}" if count else ""
    return text + (f"{whole}.{rest:09}".rstrip("0") + "s" if rest else f"{whole}s" if whole else "")


def quote_ticks(ticks: int, unit: TickUnit) -> str:
    """A span as the user would write it in a call.

    >>> quote_ticks(5400, "s"), quote_ticks(5400, None)
    ("'90m'", '5400')
    """
    return str(ticks) if unit is None else repr(show_ticks(ticks, unit))


def check_positive(unit: TickUnit, *, where: str, **spans: int | None) -> None:
    """Refuse the first span that is not positive; None is left out.

    >>> check_positive(None, where="hopping_window(5, 0)", size=5, hop=0)
    Traceback (most recent call last):
    whimbrel.errors.PlanError: hop must be positive, got 0.
      where: hopping_window(5, 0)
      hint:  Use a duration such as "5m", or 5 if time is an integer.
    """
    for name, ticks in spans.items():
        if ticks is not None and ticks <= 0:
            raise PlanError(f"{name} must be positive, got {quote_ticks(ticks, unit)}.", where=where,
                            hint='Use a duration such as "5m", or 5 if time is an integer.')


_PARTS: Final = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def span_words(seconds: float) -> str:
    """A span of time in its two largest units; below a minute, in one.

    >>> span_words(2e-6), span_words(0.25), span_words(59), span_words(3_700), span_words(200_000), span_words(-90)
    ('2 us', '250 ms', '59 s', '1 h 1 min', '2 d 7 h', '-1 min 30 s')
    """
    size = abs(seconds)
    sign = "-" if seconds < 0 else ""
    if size < 60:
        rounded = float(f"{size:.3g}")
        unit, seconds_of = next((each for each in _PARTS if rounded >= each[1]), _PARTS[-1] if rounded else _PARTS[0])
        return f"{sign}{rounded / seconds_of:.3g} {unit}"
    for (unit, seconds_of), (smaller, smaller_s) in pairwise((("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))):
        if size >= seconds_of:
            whole, rest = divmod(size, seconds_of)
            return f"{sign}{whole:,.0f} {unit}" + (f" {rest // smaller_s:.0f} {smaller}" if rest >= smaller_s else "")
    raise AssertionError(seconds)


def tell_ticks(ticks: int, unit: TickUnit) -> str:
    """A measured duration for readers, in its two largest units.

    >>> tell_ticks(1_804_864_231, "us"), tell_ticks(7, None)
    ('30 min 4 s', '7')
    """
    per_second = ticks_per_second(unit)
    return str(ticks) if per_second is None else span_words(ticks / per_second)

"""Durations in the units of other tools, as they are written here."""

from __future__ import annotations

import difflib
import re
from typing import Final

_SPELLINGS: Final = {
    "ns": "n nano nanos nsec nanosecond nanoseconds", "us": "u µs μs micro micros usec microsecond microseconds",
    "ms": "l milli millis msec millisecond milliseconds", "s": "sec secs second seconds",
    "m": "t min mins minute minutes", "h": "hr hrs hour hours", "d": "day days", "w": "wk wks week weeks",
    "mo": "mos mon month months", "q": "qs qe qtr quarter quarters", "y": "a ys ye yr yrs year years"}
_UNITS: Final = {spelling: unit for unit, others in _SPELLINGS.items() for spelling in (unit, *others.split())}
_MONTHS_OF_PANDAS: Final = ("M", "MS", "ME")
CALENDAR_UNITS: Final = ("mo", "q", "y")
"""Units of no fixed length."""

_PART = re.compile(r"(\d+(?:\.\d+)?)?\s*([^\W\d_]+)[\s,]*")


def parts_of_duration(text: str) -> list[tuple[str, str]] | None:
    """Numbers and units of a duration whose units may be those of other tools; None for any other text.

    The sign is left out.

    Examples
    --------
    >>> parts_of_duration("1 Hour 30 minutes"), parts_of_duration("month"), parts_of_duration("1M")
    ([('1', 'h'), ('30', 'm')], [('1', 'mo')], [('1', 'mo')])
    >>> parts_of_duration("5 parsecs")
    """
    text = text.strip().lstrip("+-").strip()
    parts: list[tuple[str, str]] = []
    at = 0
    while at < len(text) and (found := _PART.match(text, at)):
        number, unit = found[1] or "1", _unit(found[2])
        if unit is None or (parts and found[1] is None):
            return None
        parts.append((number, unit))
        at = found.end()
    return parts if at == len(text) and parts else None


def near_duration(text: str) -> str | None:
    """A duration that is probably meant; None where there is none, or it is written so already.

    Examples
    --------
    >>> near_duration("1 day"), near_duration("-5 minutess"), near_duration("1h"), near_duration("x")
    ('1d', '-5m', None, None)
    """
    stripped = text.strip()
    sign = "-" * stripped.startswith("-")
    parts = parts_of_duration(stripped)
    if parts is None or (len(parts) > 1 and any(unit in CALENDAR_UNITS for _, unit in parts)):
        return None
    near = sign + "".join(number + unit for number, unit in parts)
    return None if near == stripped.replace(" ", "") else near


def _unit(word: str) -> str | None:
    if word in _MONTHS_OF_PANDAS:
        return "mo"
    if (unit := _UNITS.get(word.casefold())) is not None:
        return unit
    close = difflib.get_close_matches(word.casefold(), [each for each in _UNITS if len(each) > 3], n=1, cutoff=0.8)
    return _UNITS[close[0]] if close else None

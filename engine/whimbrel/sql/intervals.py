"""Intervals of SQL as durations."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, Final

import numpy as np
from sqlglot import exp

from whimbrel.sql.positions import SqlText
from whimbrel.sql.refusals import refusal

_SECONDS: Final = {"WEEK": 604_800, "DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_SHORT: Final = {"W": "WEEK", "D": "DAY", "H": "HOUR", "M": "MINUTE", "MIN": "MINUTE", "S": "SECOND", "SEC": "SECOND",
                 "MS": "MILLISECOND", "US": "MICROSECOND", "NS": "NANOSECOND", "MONTHS": "MONTH", "YEARS": "YEAR"}
_FINE: Final = {"MILLISECOND": "ms", "MICROSECOND": "us", "NANOSECOND": "ns"}
_TICK_US: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}
_TEXT = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)")
_CALENDAR = re.compile(r"([1-9][0-9]*)\s+(WEEK|MONTH|QUARTER|YEAR)S?")
_SPANS: Final = {"WEEK": "w", "MONTH": "mo", "QUARTER": "q", "YEAR": "y"}

Length = timedelta | np.timedelta64


def duration(node: Any, text: SqlText) -> Length:
    """The duration of INTERVAL '5' MINUTE."""
    value, unit = node.this, node.args.get("unit")
    sign = 1
    while isinstance(value, exp.Neg | exp.Paren):
        sign, value = (-sign if isinstance(value, exp.Neg) else sign), value.this
    if not isinstance(value, exp.Literal):
        raise text.error("INTERVAL needs a literal.", node, "Use INTERVAL '5' MINUTE.")
    if unit is None:
        parts = _TEXT.findall(value.this)
        if not parts or _TEXT.sub("", value.this).strip():
            raise text.error(f"Cannot read the interval {value.this!r}.", node, "Use INTERVAL '5' MINUTE.")
        lengths = [_length(number, word, node, text) for number, word in parts]
        total = lengths[0]
        for each in lengths[1:]:
            total = total + each  # type: ignore[operator]
        return sign * total
    if not re.fullmatch(r"\s*[+-]?[0-9]+(\.[0-9]+)?\s*", value.this):
        raise text.error(f"Cannot read the interval {value.this!r}.", node, "Use INTERVAL '5' MINUTE.")
    return sign * _length(value.this.strip(), unit.name, node, text)


def bucket(node: Any, text: SqlText) -> Length | str:
    """The step of time_bucket: weeks, months, quarters and years are those of the calendar."""
    value, unit = node.this, node.args.get("unit")
    said = f"{getattr(value, 'this', '')} {'' if unit is None else unit.name}".strip()
    found = _CALENDAR.fullmatch(said.upper())
    return duration(node, text) if found is None else f"{found[1]}{_SPANS[found[2]]}"


def span_of_ticks(ticks: int, unit: str | None) -> Length | int:
    """A number of ticks as a duration; an integer for times that are integers."""
    if unit is None:
        return ticks
    return np.timedelta64(ticks, "ns") if unit == "ns" else timedelta(microseconds=ticks * _TICK_US[unit])


def _length(number: str, word: str, node: Any, text: SqlText) -> Length:
    unit = word.upper()
    unit = _SHORT.get(unit, unit)
    unit = unit[:-1] if unit.endswith("S") and len(unit) > 3 else unit
    unit = _SHORT.get(unit, unit)
    if unit in ("MONTH", "QUARTER", "YEAR"):
        what, hint = refusal("month as size")
        raise text.error(what.replace("month", unit.lower()), node, hint)
    if unit == "NANOSECOND":
        return np.timedelta64(int(float(number)), "ns")
    if unit in _FINE:
        return timedelta(milliseconds=float(number)) if unit == "MILLISECOND" else timedelta(microseconds=float(number))
    if unit not in _SECONDS:
        raise text.error(f"There is no unit {word!r} of intervals.", node,
                         "Use WEEK, DAY, HOUR, MINUTE, SECOND, MILLISECOND or MICROSECOND.")
    return timedelta(seconds=float(number) * _SECONDS[unit])

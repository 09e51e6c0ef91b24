"""Functions of times and dates of the table of functions.

Parts and dates are those of the column's own zone. A column without a zone is in UTC.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.clock import ticks_per_second
from whimbrel.clock.near_timezone import timezone_hint
from whimbrel.errors import ExpressionError, near_match
from whimbrel.expr.function_entry import Function, Types, held, numbers_of
from whimbrel.expr.parts_of_times import CALENDAR_S, DAY_PARTS, part_of_times
from whimbrel.expr.time_texts import fixed_texts, time_texts
from whimbrel.expr.zone_clocks import clock_moments, local_times

_INT = pa.int64()
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MONTHS: Final[dict[str, Callable[[Any], Any]]] = {
    "year": lambda x: _int(pc.year(x)),
    "quarter": lambda x: _int(pc.year(x)) * 4 + _int(pc.quarter(x)),
    "month": lambda x: _int(pc.year(x)) * 12 + _int(pc.month(x)),
}
_SECONDS: Final = {"hour": 3600, "minute": 60, "second": 1}
_FINER: Final = {"millisecond": 10**3, "microsecond": 10**6, "nanosecond": 10**9}
DATE_UNITS: Final = (*_MONTHS, "week", "day", *_SECONDS, *_FINER)
"""Units whose borders ``dt.date_diff`` counts."""

DIRECTIVES: Final = frozenset("aAbBCdDeFGhHIjmMpRSTuUVwWyYzZf%")
"""Letters that ``dt.strftime`` knows after %."""


def _int(parts: Any) -> Any:
    return numbers_of(parts.cast(_INT), _INT)


def _whole(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: compute(*given).cast(_INT)


def _known(times: Any) -> Any:
    """Times and dates, null where Arrow has no calendar for them."""
    if isinstance(times, pa.Scalar):
        return _known(pa.repeat(times, 1))[0]
    ticks = ticks_per_second(times.type.unit) or 1 if t.is_timestamp(times.type) else 1000
    if ticks == 10**9 or not (t.is_timestamp(times.type) or t.is_date(times.type)):
        return times
    last = CALENDAR_S // 86_400 if t.is_date32(times.type) else CALENDAR_S * ticks
    numbers = numbers_of(times, pa.int32() if t.is_date32(times.type) else _INT)
    if not len(numbers) or (-last <= numbers.min() and numbers.max() <= last):
        return times
    return pc.if_else(pa.array((numbers >= -last) & (numbers <= last)), times, pa.scalar(None, times.type))


def _clock(times: Any) -> Any:
    return local_times(_known(times))


def _part(compute: Callable[[Any], Any], takes: Any = "a time or a date", sql: str | None = "",
          quick: str | None = None) -> Function:
    return Function(takes, _INT, _whole(lambda x: compute(_clock(x))), sql=sql,
                    of_times=None if quick is None else _quick(quick))


def _day_part(part: str, sql: str | None = "") -> Function:
    return _part(DAY_PARTS[part], sql=sql, quick=part)


def _quick(part: str) -> Callable[..., Any]:
    return functools.partial(part_of_times, part)


def _nanosecond(times: Any) -> Any:
    seconds = pc.add(pc.multiply(pc.millisecond(times), 1_000_000), pc.multiply(pc.microsecond(times), 1000))
    return pc.add(seconds, pc.nanosecond(times))


def _microsecond(times: Any) -> Any:
    return pc.add(pc.multiply(pc.millisecond(times), 1000), pc.microsecond(times))


def _dates(times: Any) -> Any:
    return _clock(times).cast(pa.date32())


def _days(times: Any) -> Any:
    return numbers_of(_dates(times), pa.int32()).astype(np.int64)


def _ticks(times: Any) -> tuple[Any, int]:
    """Instants since 1970, and how many of them a second has."""
    if t.is_date(times.type):
        return _days(times) * 86_400, 1
    return numbers_of(times, _INT), int(ticks_per_second(times.type.unit) or 1)


def _scaled(ticks: Any, own: int, per_second: int) -> tuple[Any, Any]:
    """Ticks of another unit, rounded down, and where they fit."""
    if own >= per_second:
        return ticks // (own // per_second), True
    factor = per_second // own
    fits = np.abs(ticks.astype(np.float64)) < float((2**63 - 1) // factor)
    return np.where(fits, ticks, 0) * factor, fits


def _epoch(times: Any, unit: str) -> Any:
    return held(_INT, *_scaled(*_ticks(times), _PER_SECOND[unit]), times)


def _time_type(given: Types, _: Sequence[Any]) -> pa.DataType:
    return pa.time64("ns" if t.is_timestamp(given[0]) and given[0].unit == "ns" else "us")


def _time_of_day(times: Any) -> Any:
    times = _known(times)
    ticks, own = _ticks(local_times(times))
    unit = "ns" if own == 10**9 else "us"
    return held(pa.time64(unit), ticks % (86_400 * own) * (_PER_SECOND[unit] // own), True, times)


def _strftime(times: Any, form: str) -> Any:
    zone, times = times.type.tz if t.is_timestamp(times.type) else None, _known(times)
    local = local_times(times)
    wall = local.cast(pa.timestamp("s")) if t.is_date(local.type) else local
    found = fixed_texts(wall, int(ticks_per_second(wall.type.unit) or 1), form)
    if found is not None:
        return found
    ticks, own = _ticks(times)
    seconds = held(pa.timestamp("s", zone), ticks // own, True, times)
    pieces = [""]
    for piece in re.split("(%.)", form, flags=re.DOTALL):
        if piece == "%f":
            pieces.append("")
        else:
            pieces[-1] += piece
    texts = [time_texts(seconds, piece) for piece in pieces]
    if len(texts) == 1:
        return texts[0]
    micros = held(_INT, ticks % own * (10**9 // own) // 1000, True, times).cast(pa.string())
    return pc.binary_join_element_wise(*texts, pc.utf8_lpad(micros, 6, "0"))


def _check_strftime(given: Types, options: Sequence[Any], shown: str) -> None:
    check_directives(options[0], DIRECTIVES, shown)
    zoned = t.is_timestamp(given[0]) and given[0].tz
    if not zoned and re.search("(?<!%)(%%)*%[zZ]", options[0]):
        raise ExpressionError(f"%z and %Z need a time with a zone, not {given[0]}.", where=shown,
                              hint='Use .dt.replace_timezone("UTC") first.')


def check_directives(form: Any, known: frozenset[str], shown: str) -> None:
    """Refuse a format with a directive that is not known."""
    if not isinstance(form, str):
        raise ExpressionError(f"The format must be a string, got {form!r}.", where=shown, hint='Use "%Y-%m-%d".')
    for letter in re.findall("%(.?)", form, re.DOTALL):
        if letter not in known:
            raise ExpressionError(f"The format has an unknown directive '%{letter}'.", where=shown,
                                  hint=f"Use {', '.join(f'%{each}' for each in sorted(known))}.")


def _check_unit(known: Sequence[str]) -> Callable[[Types, Sequence[Any], str], None]:
    def check(given: Types, options: Sequence[Any], shown: str) -> None:
        if options[0] not in known:
            raise ExpressionError(f"Unknown unit {options[0]!r}.", where=shown,
                                  hint=near_match(str(options[0]), known, noun="unit"))
        if len(given) == 2:
            _check_zones(given, options, shown)

    return check


def _check_zones(given: Types, _: Sequence[Any], shown: str) -> None:
    """Refuse a time with a zone next to one without."""
    zones = [type_.tz is not None for type_ in given if t.is_timestamp(type_)]
    if len(set(zones)) == 2:
        raise ExpressionError(f"A time with a zone meets one without: {given[0]} and {given[1]}.", where=shown,
                              hint='Use .dt.replace_timezone("UTC") or .dt.replace_timezone(None).')


def _check_zone(_: Types, options: Sequence[Any], shown: str) -> None:
    zone = options[0]
    try:
        if zone is not None:
            pa.lib.string_to_tzinfo(zone)
            pc.local_timestamp(pa.array([0], pa.timestamp("s", zone)))
    except (TypeError, ValueError, KeyError, OSError):
        raise ExpressionError(f"Unknown time zone {zone!r}.", where=shown,
                              hint=timezone_hint(zone)) from None


def _zoned(given: Types, options: Sequence[Any]) -> pa.DataType:
    return pa.timestamp("us" if t.is_null(given[0]) else given[0].unit, options[0])


def _to_timezone(times: Any, zone: str) -> Any:
    return times.cast(pa.timestamp(times.type.unit, zone))


def _replace_timezone(times: Any, zone: str | None, ambiguous: str) -> Any:
    wall = local_times(times)
    return wall if zone is None else clock_moments(wall, zone, ambiguous)


def _check_replaced(given: Types, options: Sequence[Any], shown: str) -> None:
    _check_zone(given, options, shown)
    if options[1] not in ("earliest", "latest"):
        raise ExpressionError(f"ambiguous must be 'earliest' or 'latest', got {options[1]!r}.", where=shown,
                              hint='Use ambiguous="earliest".')


def _days_between(first: Any, then: Any) -> Any:
    return held(_INT, _days(then) - _days(first), True, first, then)


def _date_diff(first: Any, then: Any, unit: str) -> Any:
    if unit in _MONTHS:
        found: Any = _MONTHS[unit](local_times(then)) - _MONTHS[unit](local_times(first))
        return held(_INT, found, True, first, then)
    if unit == "week":
        return held(_INT, (_days(then) + 3) // 7 - (_days(first) + 3) // 7, True, first, then)
    if unit == "day":
        return _days_between(first, then)
    (x, own), (y, other) = _ticks(first), _ticks(then)
    if unit in _SECONDS:
        found = y // other // _SECONDS[unit] - x // own // _SECONDS[unit]
        return held(_INT, found, True, first, then)
    (x, fits), (y, fit) = _scaled(x, own, _FINER[unit]), _scaled(y, other, _FINER[unit])
    return held(_INT, y - x, np.logical_and(fits, fit), first, then)


def _business_days(first: Any, then: Any, holidays: tuple[date, ...]) -> Any:
    days, until = (x.astype("datetime64[D]") for x in (_days(first), _days(then)))
    return held(_INT, np.busday_count(days, until, holidays=np.array(holidays, "datetime64[D]")), True, first, then)


def _total_seconds(spans: Any) -> Any:
    ticks, own = numbers_of(spans, _INT), int(ticks_per_second(spans.type.unit) or 1)
    return held(pa.float64(), ticks / own, True, spans)


def _two(compute: Callable[..., Any], **more: Any) -> Function:
    def known(first: Any, then: Any, *options: Any) -> Any:
        return compute(_known(first), _known(then), *options)

    return Function("a time or a date", _INT, known, 2, arrays=True, **more)


TIMES: Final[dict[str, Function]] = {
    **{f"dt.{part}": _day_part(part) for part in ("year", "month", "day", "quarter", "week")},
    "dt.hour": _part(pc.hour, "a time", quick="hour"), "dt.minute": _part(pc.minute, "a time", quick="minute"),
    "dt.second": _part(pc.second, "a time", quick="second"), "dt.weekday": _day_part("weekday", None),
    "dt.day_of_year": _day_part("day_of_year", "dayofyear"), "dt.iso_year": _day_part("iso_year", "isoyear"),
    "dt.millisecond": _part(pc.millisecond, "a time", None), "dt.microsecond": _part(_microsecond, "a time", None),
    "dt.nanosecond": _part(_nanosecond, "a time", None),
    "dt.date": Function("a time or a date", pa.date32(), _dates, of_times=_quick("date")),
    "dt.time": Function("a date and time", _time_type, _time_of_day, sql=None, arrays=True, of_times=_quick("time")),
    "dt.is_weekend": Function("a time or a date", pa.bool_(), lambda x: DAY_PARTS["is_weekend"](_clock(x)),
                              of_times=_quick("is_weekend")),
    "dt.epoch": Function("a time or a date", _INT, _epoch, options=(str,), sql=None, arrays=True,
                         check=_check_unit(tuple(_PER_SECOND))),
    "dt.strftime": Function("a time or a date", pa.string(), _strftime, options=(str,), arrays=True,
                            check=_check_strftime),
    "dt.to_timezone": Function("a date and time", _zoned, _to_timezone, options=(str,), sql=None, check=_check_zone),
    "dt.replace_timezone": Function("a date and time", _zoned, _replace_timezone, options=(str, str), sql=None,
                                    check=_check_replaced),
    "dt.days_between": _two(_days_between, check=_check_zones),
    "dt.date_diff": _two(_date_diff, options=(str,), sql=None, check=_check_unit(DATE_UNITS)),
    "dt.business_days": _two(_business_days, options=(tuple,), sql=None, check=_check_zones),
    "dt.total_seconds": Function("a duration", pa.float64(), _total_seconds, arrays=True),
}
"""Functions by the names of their calls."""

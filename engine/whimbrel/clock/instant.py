"""Parse and format instants as ticks of a stream."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from numbers import Integral
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from whimbrel.clock.duration import NUMPY_NS, shown
from whimbrel.clock.ticks import TickUnit, ticks_per_second
from whimbrel.errors import PlanError

Instant = str | int | date | datetime | np.datetime64
"""An ISO text, a datetime, a date (its midnight), or ticks; pandas' and Arrow's times, too."""

Moment = datetime | int | None

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a stream without a zone has times without one
_FRACTION = re.compile(r"[^.,]*\d[.,](\d+)")
_HINT: Final = 'Use "2013-12-01", "2013-12-01T06:30", a datetime, or ticks.'


def parse_instant(value: Instant, unit: TickUnit, zone: str | None, *, name: str = "time", where: str = "",
                  rounding: Literal["up", "exact"] = "exact") -> int:
    """Turn an instant into ticks.

    Parameters
    ----------
    value : str, int, datetime, date, numpy.datetime64, pandas.Timestamp or Arrow time
        Without a zone it is taken to be in the stream's zone; an int is in ticks.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is.
    zone : str or None
        Zone of the stream's times.
    name : str
        The column, for the error.
    where : str
        The user's call, for the error.
    rounding : {"up", "exact"}
        What becomes of an instant between two ticks: the later tick, which begins the same range of rows; or an error.
        The same for a local time that comes twice when clocks go back: the first one, or an error; a date is always its
        first moment.

    Raises
    ------
    PlanError
        When the text cannot be read, or has a zone where the stream has none, or the stream counts plain integers. When
        the instant is missing, beyond what the unit can count, or between two ticks.

    Examples
    --------
    >>> parse_instant("1970-01-02", "s", "UTC")
    86400
    >>> parse_instant("1970-01-01T00:00:00.0000015", "us", None, rounding="up")
    2
    """
    plain = value.as_py() if isinstance(value, pa.Scalar) and pa.types.is_integer(value.type) else value
    if isinstance(plain, Integral) and not isinstance(plain, bool | np.timedelta64):
        return _checked(int(plain), value, unit, where)
    per_second = ticks_per_second(unit)
    if per_second is None:
        raise PlanError(f"The times of {name!r} are integers, so a time must be an int in ticks, got {shown(value)}.",
                        where=where,
                        hint="Use an int, in ticks.")
    seconds, aware = exact_seconds(value, zone=None if zone is None else _tzinfo(zone), where=where)
    if aware and zone is None:
        raise PlanError(f"{shown(value)} has a time zone, but {name!r} has none.", where=where,
                        hint="Leave the zone out: the column holds local times.")
    if rounding == "exact" and zone is not None and not aware:
        _check_unambiguous(value, seconds, _tzinfo(zone), name, where)
    ticks = seconds * per_second
    if ticks.denominator != 1 and rounding == "exact":
        raise PlanError(f"{shown(value)} is between two ticks of {name!r} ({unit}).", where=where,
                        hint="Leave out the digits that the column cannot hold.")
    return _checked(-(-ticks.numerator // ticks.denominator), value, unit, where)


def exact_seconds(value: Any, *, zone: tzinfo | None, where: str = "") -> tuple[Fraction, bool]:
    """Seconds from the epoch to a time that says more than a number, and whether it has a zone of its own.

    Without one it is in `zone`; without that, seconds are counted on its own clock.

    >>> exact_seconds("1970-01-01T00:00:01.000000001", zone=None)
    (Fraction(1000000001, 1000000000), False)
    """
    given, aware = _unpacked(value, where)
    if isinstance(given, np.datetime64):
        local = _of_numpy(given, where)
    else:
        aware = given[0].tzinfo is not None
        naive = given[0].astimezone(UTC).replace(tzinfo=None) if aware else given[0]
        if not aware and zone is not None:
            return _in_zone(given[0], zone) + given[1], False
        local = _since_epoch(naive) + given[1]
    if aware or zone is None:
        return local, aware
    whole = local.numerator // local.denominator
    try:
        return _in_zone(_EPOCH + timedelta(seconds=whole), zone) + local - whole, False
    except OverflowError:
        raise PlanError(f"{shown(value)} is outside the calendar.",
                        where=where, hint="Use a year from 1 to 9999.") from None


def _unpacked(value: Any, where: str) -> tuple[np.datetime64 | tuple[datetime, Fraction], bool]:
    """A time of NumPy's, which is in UTC if the value has a zone; or a datetime with a fraction of a second."""
    if isinstance(value, pa.Scalar) and (pa.types.is_timestamp(value.type) or pa.types.is_date(value.type)):
        type_ = value.type
        unit: Any = type_.unit if pa.types.is_timestamp(type_) else "D" if pa.types.is_date32(type_) else "ms"
        return (np.datetime64("NaT") if value.value is None else np.datetime64(value.value, unit),
                getattr(type_, "tz", None) is not None)
    if hasattr(value, "to_datetime64"):  # pandas: a datetime that shows no nanoseconds as one
        return value.to_datetime64(), value.tzinfo is not None
    if isinstance(value, np.datetime64):
        return value, False
    if isinstance(value, datetime):
        return (value.replace(microsecond=0), Fraction(value.microsecond, 10**6)), False
    if isinstance(value, date):
        return (datetime.combine(value, time()), Fraction()), False
    if isinstance(value, str):
        return _of_text(value, where), False
    raise PlanError(f"Cannot read {shown(value)} as a time.", where=where, hint=_HINT)


def _of_text(value: str, where: str) -> tuple[datetime, Fraction]:
    """Python reads six digits of a second, and drops further ones without a word."""
    try:
        read = datetime.fromisoformat(value.strip())
    except ValueError:
        raise PlanError(f"Cannot read {value!r} as a time.", where=where, hint=_HINT) from None
    found = _FRACTION.match(value)
    if found is None or int(found[1][:6].ljust(6, "0")) != read.microsecond:
        return read.replace(microsecond=0), Fraction(read.microsecond, 10**6)
    return read.replace(microsecond=0), Fraction(int(found[1]), 10 ** len(found[1]))


def _of_numpy(value: np.datetime64, where: str) -> Fraction:
    if np.isnat(value):
        raise PlanError("The time is missing (NaT).", where=where, hint=_HINT)
    unit, count = np.datetime_data(value.dtype)
    number = int(value.astype(np.int64)) * count
    if unit in ("Y", "M"):
        year, month = divmod(number if unit == "M" else 12 * number, 12)
        return Fraction(_days(1970 + year, 1 + month) * 86_400)
    return number * NUMPY_NS[unit] / 10**9


def _check_unambiguous(value: Any, seconds: Fraction, zone: tzinfo, name: str, where: str) -> None:
    """Refuse a local time that is two instants, unless its ``fold`` says that the second one is meant."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return
    local = datetime.fromtimestamp(seconds.numerator // seconds.denominator, zone)
    later = local.replace(fold=1).utcoffset()
    if local.fold == 0 and local.utcoffset() != later:
        raise PlanError(f"{shown(value)} is ambiguous in the time zone of {name!r}: clocks go back.", where=where,
                        hint=f"Use {local.isoformat()} or {local.replace(fold=1).isoformat()}.")


def _days(year: int, month: int) -> int:
    """Days from the epoch to the first of a month of the Gregorian calendar, which repeats every 400 years."""
    cycles, of_cycle = divmod(year - 2000, 400)
    return (date(2000 + of_cycle, month, 1) - _EPOCH.date()).days + 146_097 * cycles


def _in_zone(local: datetime, zone: tzinfo) -> Fraction:
    return _since_epoch(local.replace(tzinfo=UTC)) - _offset(local, zone)


def _offset(local: datetime, zone: tzinfo) -> Fraction:
    offset = local.replace(tzinfo=zone).utcoffset()
    assert offset is not None
    return Fraction(offset // timedelta(microseconds=1), 10**6)


def _since_epoch(naive: datetime) -> Fraction:
    since = naive.replace(tzinfo=None) - _EPOCH
    return Fraction(since // timedelta(microseconds=1), 10**6)


def _tzinfo(zone: str) -> tzinfo:
    return pa.lib.string_to_tzinfo(zone)


def _checked(ticks: int, value: Any, unit: TickUnit, where: str) -> int:
    if not -(2**63) <= ticks < 2**63:
        hint = "Use a tick within int64." if unit is None else "Use a coarser unit for the time column."
        raise PlanError(f"{shown(value)} is outside the range of {unit or 'int64'}.", where=where, hint=hint)
    return ticks


def format_instant(ticks: int, unit: TickUnit, zone: str | None) -> Moment:
    """Ticks as a time that people read: a datetime, or the ticks where those are plain or beyond the calendar.

    >>> format_instant(86_400, "s", None), format_instant(7, None, None)
    (datetime.datetime(1970, 1, 2, 0, 0), 7)
    """
    per_second = ticks_per_second(unit)
    if per_second is None:
        return ticks
    seconds, rest = divmod(ticks, per_second)
    try:  # not through pa.scalar(): it loads pandas
        utc = _EPOCH + timedelta(seconds=seconds, microseconds=rest * 1_000_000 // per_second)
        return utc if zone is None else utc.replace(tzinfo=UTC).astimezone(_tzinfo(zone))
    except OverflowError:  # beyond Python's calendar
        return ticks

"""Moments as people write and read them, and the ticks of a column that they are."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pyarrow as pa

from whimbrel.clock import TickUnit, ticks_per_second
from whimbrel.connect.timeline import time_unit
from whimbrel.errors import PlanError

Instant = str | int | date | datetime
"""An ISO text, a datetime, a date (its midnight), or ticks."""

Moment = datetime | int | None

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a stream without a zone has times without one


def first_tick(value: Instant, type_: pa.DataType, name: str, *, where: str) -> int:
    """The first tick of a column that is not before `value`.

    Parameters
    ----------
    value : str, datetime, date or int
        Without a zone it is taken to be in the column's zone; an int is in ticks.
    type_ : pyarrow.DataType
        Type of the column.
    name : str
        The column, for the error.

    Raises
    ------
    PlanError
        When the text cannot be read, or has a zone where the column has none, or the column counts plain integers.

    Examples
    --------
    >>> first_tick("1970-01-02", pa.timestamp("s", "UTC"), "t", where="")
    86400
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    unit, zone = time_unit(type_, name, where)
    per_second = ticks_per_second(unit)
    if per_second is None:
        raise PlanError(f"{name!r} counts plain integers; {value!r} has no meaning on it.", where=where,
                        hint="give an int, in ticks")
    moment = _moment(value, where)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC if zone is None else pa.lib.string_to_tzinfo(zone))
    elif zone is None:
        raise PlanError(f"{value!r} has a time zone, but {name!r} has none.", where=where,
                        hint="leave the zone out: the column holds local times")
    microseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return -(-microseconds * per_second // 1_000_000)


def _moment(value: Instant, where: str) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    try:
        return datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise PlanError(f"Cannot read {value!r} as a moment.", where=where,
                        hint='such as "2013-12-01", "2013-12-01T06:30", a datetime, or ticks') from None


def moment(ticks: int, unit: TickUnit, zone: str | None) -> Moment:
    """Ticks as a time that people read: a datetime, or the ticks where those are plain or beyond the calendar.

    >>> moment(86_400, "s", None), moment(7, None, None)
    (datetime.datetime(1970, 1, 2, 0, 0), 7)
    """
    per_second = ticks_per_second(unit)
    if per_second is None:
        return ticks
    seconds, rest = divmod(ticks, per_second)
    try:  # not through pa.scalar(): it loads pandas
        utc = _EPOCH + timedelta(seconds=seconds, microseconds=rest * 1_000_000 // per_second)
        return utc if zone is None else utc.replace(tzinfo=UTC).astimezone(pa.lib.string_to_tzinfo(zone))
    except OverflowError:  # beyond Python's calendar
        return ticks

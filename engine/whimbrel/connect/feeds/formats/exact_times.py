"""Exact conversion of Python values for time columns; Arrow would truncate."""

from __future__ import annotations

from datetime import date, datetime, time
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.clock import duration_ticks, parse_instant
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.errors import PlanError


def holds_times(type_: pa.DataType) -> bool:
    """Whether a column, or a part of its values, counts time.

    >>> holds_times(pa.list_(pa.timestamp("us"))), holds_times(pa.int64())
    (True, False)
    """
    return bool(pa.types.is_temporal(type_)) or any(holds_times(type_.field(part).type)
                                                   for part in range(type_.num_fields))


def exact_time(value: Any, type_: pa.DataType, name: str) -> Any:
    """A value as Arrow takes it without a loss; an integer counts the column's unit.

    Raises
    ------
    UnreadableError
        For a number with a fraction, which says no unit, and for what the column's unit cannot hold.

    Examples
    --------
    >>> exact_time(np.datetime64(1_500, "ns"), pa.timestamp("ns"), "t")
    1500
    """
    if value is None or type(value) is int:
        return value
    if isinstance(value, str | bytes):
        raise UnreadableError(f"{name!r} must be {type_}, got a string: convert it, for example with "
                              "datetime.fromisoformat")
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    if (isinstance(value, Real) and not isinstance(value, int | np.integer)) or hasattr(value, "as_tuple"):
        raise UnreadableError(f"{name!r} must be an integer number of {_unit(type_)}, got a float")
    if pa.types.is_timestamp(type_):
        return _timestamp(value, type_, name)
    if pa.types.is_duration(type_):
        return _counted(lambda: duration_ticks(value, type_.unit), name, type_)
    if pa.types.is_date(type_) and isinstance(value, datetime) and value.time() != time():
        raise UnreadableError(f"{name!r} must be a date, got a date with a time")
    if pa.types.is_time(type_) and isinstance(value, time) and value.microsecond % _STEP_US[type_.unit]:
        raise UnreadableError(f"{name!r} is more precise than {type_}")
    return _parts(value, type_, name)


_STEP_US = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}


def _timestamp(value: Any, type_: pa.DataType, name: str) -> Any:
    if type(value) is datetime and not value.microsecond % _STEP_US[type_.unit]:
        return value
    if isinstance(value, datetime | date | np.datetime64):
        if value != value:  # noqa: PLR0124 - NaT, pandas' and NumPy's
            return None
        return _counted(lambda: parse_instant(value, type_.unit, None if type_.tz is None else "UTC"), name, type_)
    return value


def _counted(count: Any, name: str, type_: pa.DataType) -> int:
    try:
        return int(count())
    except PlanError:
        raise UnreadableError(f"{name!r} does not fit in {type_}") from None


def _parts(value: Any, type_: pa.DataType, name: str) -> Any:
    if pa.types.is_struct(type_) and isinstance(value, dict):
        return {each.name: exact_time(value.get(each.name), each.type, name) for each in type_}
    if isinstance(value, list | tuple) and type_.num_fields == 1 and not pa.types.is_map(type_):
        return [exact_time(each, type_.field(0).type, name) for each in value]
    return value


def _unit(type_: pa.DataType) -> str:
    return getattr(type_, "unit", "days")

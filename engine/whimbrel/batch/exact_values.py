"""Exact conversion of Python values to the type of a column."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as t

from whimbrel.clock import duration_ticks, parse_instant
from whimbrel.errors import PlanError

_STEP_US = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}
_PACKED = {"halffloat": "<e", "float": "<f"}
"""Formats of struct for floats that are shorter than Python's."""


class InexactError(ValueError):
    """What a column would lose of a Python value, without the value."""


def may_lose(type_: pa.DataType) -> bool:
    """Whether Arrow loses something of some Python values for a column, or for a part of its values.

    >>> may_lose(pa.list_(pa.timestamp("us"))), may_lose(pa.string())
    (True, False)
    """
    if t.is_dictionary(type_):
        return may_lose(type_.value_type)
    return t.is_temporal(type_) or t.is_integer(type_) or str(type_) in _PACKED or any(
        may_lose(type_.field(part).type) for part in range(type_.num_fields))


def exact_value(value: Any, type_: pa.DataType) -> Any:
    """A value as Arrow takes it without a loss.

    For a time, an integer counts the column's unit, and a time without a zone is in the column's zone.

    Raises
    ------
    InexactError
        For what the type cannot hold: a fraction of an integer or of a tick, a number out of range, and a time with a
        zone where the column has none.

    Examples
    --------
    >>> exact_value(np.datetime64(1_500, "ns"), pa.timestamp("ns"))
    1500
    """
    if value is None:
        return None
    if t.is_temporal(type_):
        return _time(value, type_)
    if t.is_integer(type_):
        return _integer(value, type_)
    if isinstance(value, float | int) and (packed := _PACKED.get(str(type_))):
        try:
            struct.pack(packed, value)
        except OverflowError:
            raise InexactError(f"does not fit in {type_}") from None
    return _parts(value, type_)


def _integer(value: Any, type_: pa.DataType) -> int:
    is_real = isinstance(value, Real | Decimal) and not isinstance(value, bool | np.timedelta64)
    if not is_real or not (isinstance(value, Integral) or value % 1 == 0):
        raise InexactError("must be an integer")
    bits, signed = type_.bit_width, t.is_signed_integer(type_)
    if not (-(1 << bits - 1) <= value < 1 << bits - 1 if signed else 0 <= value < 1 << bits):
        raise InexactError(f"does not fit in {type_}")
    return int(value)


def _time(value: Any, type_: pa.DataType) -> Any:
    if type(value) is int:
        return value
    if isinstance(value, str | bytes):
        raise InexactError(f"must be {type_}, got a string: convert it, for example with "
                              "datetime.fromisoformat")
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    if isinstance(value, Decimal) or (isinstance(value, Real) and not isinstance(value, int | np.integer)):
        raise InexactError(f"must be an integer number of {_unit(type_)}, got a float")
    if isinstance(value, datetime | np.datetime64 | np.timedelta64) and value != value:  # noqa: PLR0124 - NaT
        return None
    if t.is_timestamp(type_):
        return _timestamp(value, type_)
    if t.is_duration(type_):
        return _counted(lambda: duration_ticks(value, type_.unit), type_)
    if t.is_date(type_):
        return _date(value, type_)
    if not isinstance(value, time):  # Arrow takes the ticks of NumPy's times, whatever their unit
        raise InexactError(f"must be {type_}, got a {type(value).__name__}")
    if value.microsecond % _STEP_US[type_.unit]:
        raise InexactError(f"is more precise than {type_}")
    return value


def _date(value: Any, type_: pa.DataType) -> Any:
    if not isinstance(value, date | np.datetime64):  # Arrow takes the ticks of NumPy's durations, whatever their unit
        raise InexactError(f"must be a date, got a {type(value).__name__}")
    if isinstance(value, np.datetime64):
        days, seconds = divmod(_counted(lambda: parse_instant(value, "s", None), type_), 86_400)
        if not seconds:
            return days if t.is_date32(type_) else days * 86_400_000
    elif not isinstance(value, datetime) or value.time() == time():
        return value
    raise InexactError("must be a date, got a date with a time")


def _timestamp(value: Any, type_: pa.DataType) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None and type_.tz is None:
        raise InexactError(f"must be {type_}, got a time with a zone")
    if (type(value) is datetime and not value.microsecond % _STEP_US[type_.unit]
            and (value.tzinfo is None) == (type_.tz is None)):
        return value
    if isinstance(value, date | np.datetime64):
        return _counted(lambda: parse_instant(value, type_.unit, type_.tz), type_)
    return value


def _counted(count: Callable[[], int], type_: pa.DataType) -> int:
    try:
        return int(count())
    except PlanError:
        twice = ", or clocks show it twice" if getattr(type_, "tz", None) else ""
        raise InexactError(f"does not fit in {type_}{twice}") from None


def _parts(value: Any, type_: pa.DataType) -> Any:
    if t.is_dictionary(type_):
        return exact_value(value, type_.value_type)
    if t.is_struct(type_) and isinstance(value, dict):
        return {each.name: exact_value(value.get(each.name), each.type) for each in type_}
    if not type_.num_fields or not isinstance(value, list | tuple | np.ndarray):
        return value
    if t.is_map(type_):
        return [(exact_value(key, type_.key_type), exact_value(item, type_.item_type))
                for key, item in value]
    return [exact_value(each, type_.field(0).type) for each in value]


def _unit(type_: pa.DataType) -> str:
    return getattr(type_, "unit", "days")

"""What a plain Python value is worth beside a typed column: its type there, and its physical value."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Scalar

_UNITS = ("s", "ms", "us", "ns")
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000}
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - ticks of a column without zone count from its own clock's epoch


def finer(one: str, other: str) -> str:
    """The unit of the two that counts more ticks in a second.

    >>> finer("s", "us")
    'us'
    """
    return max(one, other, key=_UNITS.index)


def literal_type(value: Scalar) -> pa.DataType:
    """The type of a literal that stands alone."""
    match value:
        case None:
            return pa.null()
        case bool():
            return pa.bool_()
        case int():
            return pa.int64() if value < 2**63 else pa.uint64()
        case float():
            return pa.float64()
        case str():
            return pa.string()
        case datetime():
            return pa.timestamp(_coarsest(_microseconds(value)), None if value.tzinfo is None else "UTC")
        case date():
            return pa.date32()
        case timedelta():
            return pa.duration(_coarsest(value // timedelta(microseconds=1)))


def literal_beside(value: Scalar, type_: pa.DataType) -> pa.DataType:
    """The type at which a literal meets a column of another type; its own type when the two do not go together.

    A text that is no time, or a time that the column's unit cannot hold, is an ExpressionError.
    """
    match value:
        case bool():
            return pa.bool_()
        case int() if pa.types.is_integer(type_):
            limits = np.iinfo(type_.to_pandas_dtype())
            return type_ if limits.min <= value <= limits.max else literal_type(value)
        case int() | float() if pa.types.is_float32(type_):
            return type_
        case str() if pa.types.is_timestamp(type_):
            return literal_beside(_parsed(value, datetime, type_), type_)
        case datetime() if pa.types.is_timestamp(type_):
            physical(value, type_)
            return literal_type(value)
        case timedelta() if pa.types.is_duration(type_):
            physical(value, type_)
            return literal_type(value)
        case str() if pa.types.is_date(type_):
            _parsed(value, date, type_)
            return type_
        case date() if pa.types.is_date(type_) and not isinstance(value, datetime):
            return type_
        case str() if pa.types.is_large_string(type_):
            return type_
        case _:
            return literal_type(value)


def physical(value: Scalar, type_: pa.DataType) -> Any:
    """The value as a column of `type_` holds it: times as ticks, numbers as int, float or bool."""
    if isinstance(value, str) and pa.types.is_timestamp(type_):
        value = _parsed(value, datetime, type_)
    if isinstance(value, str) and pa.types.is_date(type_):
        value = _parsed(value, date, type_)
    if isinstance(value, datetime):
        return _ticks(_microseconds(value), type_)
    if isinstance(value, timedelta):
        return _ticks(value // timedelta(microseconds=1), type_)
    if isinstance(value, date):
        days = (value - _EPOCH.date()).days
        return days if pa.types.is_date32(type_) else days * 86_400_000
    if pa.types.is_floating(type_) and value is not None:
        return float(value)
    return value


def _parsed(text: str, kind: type[datetime | date], type_: pa.DataType) -> Any:
    try:
        return kind.fromisoformat(text)
    except ValueError:
        raise ExpressionError(f"Cannot read {text!r} as {type_}.",
                              hint="write it as 2013-01-31 or 2013-01-31T12:00:00+00:00") from None


def _microseconds(value: datetime) -> int:
    if getattr(value, "nanosecond", 0):
        raise ExpressionError(f"{value} is finer than a microsecond.", hint="literals count microseconds")
    naive = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return (naive - _EPOCH) // timedelta(microseconds=1)


def _coarsest(microseconds: int) -> str:
    """The coarsest unit that holds the value exactly, so that a literal makes no column finer than needed."""
    return next((unit for unit, size in _MICROSECONDS.items() if microseconds % size == 0), "us")


def _ticks(microseconds: int, type_: pa.DataType) -> int:
    ticks = {"s": microseconds // 1_000_000, "ms": microseconds // 1_000, "us": microseconds,
             "ns": microseconds * 1_000}[type_.unit]
    if not -(2**63) <= ticks < 2**63:
        raise ExpressionError(f"The literal is outside the range of {type_}.", hint="cast the column to a coarser unit")
    return ticks

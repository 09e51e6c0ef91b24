"""Types and physical values of Python literals that meet typed columns."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.clock.duration import exact_nanoseconds
from whimbrel.clock.instant import exact_seconds
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr.decimal_types import literal_decimal
from whimbrel.expr.nodes import Scalar

_UNITS = ("s", "ms", "us", "ns")
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = date(1970, 1, 1)


def finer(one: str, other: str) -> str:
    """The unit of the two that counts more ticks in a second.

    >>> finer("s", "us")
    'us'
    """
    return max(one, other, key=_UNITS.index)


@cache
def integer_limits(type_: pa.DataType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    limits = np.iinfo(type_.to_pandas_dtype())
    return int(limits.min), int(limits.max)


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
        case Decimal():
            return literal_decimal(value)
        case str():
            return pa.string()
        case bytes():
            return pa.binary()
        case datetime() | np.datetime64():
            seconds, aware = _seconds(value, None)
            return pa.timestamp(_coarsest(seconds, value), "UTC" if aware else None)
        case date():
            return pa.date32()
        case timedelta() | np.timedelta64():
            return pa.duration(_coarsest(_length(value), value))


def literal_type_for(value: Scalar, type_: pa.DataType) -> pa.DataType:
    """The type at which a literal meets a column of another type; its own type when the two do not go together.

    A text that is no time, or a time that the column's unit cannot hold, is an ExpressionError.
    """
    match value:
        case bool():
            return pa.bool_()
        case int() if pa.types.is_integer(type_):
            low, high = integer_limits(type_)
            return type_ if low <= value <= high else literal_type(value)
        case int() | float() | Decimal() if pa.types.is_float32(type_):
            return type_
        case int() if pa.types.is_decimal(type_):
            return literal_decimal(value)
        case str() if pa.types.is_timestamp(type_):
            physical(value, type_)
            seconds, aware = _seconds(value, None, type_)
            return pa.timestamp(_coarsest(seconds, value), "UTC" if aware else None)
        case datetime() | np.datetime64() if pa.types.is_timestamp(type_):
            physical(value, type_)
            return literal_type(value)
        case timedelta() | np.timedelta64() if pa.types.is_duration(type_):
            physical(value, type_)
            return literal_type(value)
        case str() if pa.types.is_date(type_):
            _day(value, type_)
            return type_
        case date() if pa.types.is_date(type_) and not isinstance(value, datetime):
            return type_
        case date() if pa.types.is_timestamp(type_) and not isinstance(value, datetime):
            physical(value, type_)
            return pa.timestamp("s", type_.tz)
        case str() if pa.types.is_large_string(type_):
            return type_
        case bytes() if pa.types.is_large_binary(type_) or type_ == pa.binary(len(value)):
            return type_
        case _:
            return literal_type(value)


def physical(value: Scalar, type_: pa.DataType) -> Any:
    """The value as a column of `type_` holds it: times as ticks, numbers as int, float or bool.

    A date that meets a time is its midnight, on the clock of the column's zone.
    """
    if pa.types.is_timestamp(type_) and isinstance(value, str | date | np.datetime64):
        whole_day = isinstance(value, date) and not isinstance(value, datetime)
        return _ticks(_seconds(value, type_.tz if whole_day else None, type_)[0], type_)
    if isinstance(value, str) and pa.types.is_date(type_):
        value = _day(value, type_)
    if isinstance(value, timedelta | np.timedelta64):
        return _days(value, type_) if pa.types.is_date(type_) else _ticks(_length(value), type_)
    if isinstance(value, date):
        days = (value - _EPOCH).days
        return days if pa.types.is_date32(type_) else days * 86_400_000
    if pa.types.is_floating(type_) and value is not None:
        return float(value)
    return value


def _days(value: timedelta | np.timedelta64, type_: pa.DataType) -> int:
    """By how many of its units a duration moves a date."""
    days = _length(value) / 86_400
    if days.denominator != 1:
        raise ExpressionError(f"A date moves by whole days, got {value}.",
                              hint="Cast the date to a time first: .cast('timestamp[s]').")
    moved = int(days) if pa.types.is_date32(type_) else int(days) * 86_400_000
    if not -(2**(type_.bit_width - 1)) <= moved < 2**(type_.bit_width - 1):
        raise ExpressionError(f"{value} is outside the range of {type_}.", hint="Use a shorter duration.")
    return moved


def _day(text: str, type_: pa.DataType) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _unreadable(text, type_) from None


def _seconds(value: Any, zone: str | None, type_: pa.DataType | None = None) -> tuple[Fraction, bool]:
    """Seconds from the epoch, and whether the value has a time zone of its own; `type_` is named in the error."""
    try:
        return exact_seconds(value, zone=None if zone is None else pa.lib.string_to_tzinfo(zone))
    except PlanError as error:
        if isinstance(value, str):
            raise _unreadable(value, type_) from None
        raise ExpressionError(error.what, hint=error.hint) from None


def _length(value: Any) -> Fraction:
    try:
        return exact_nanoseconds(value, where="") / 10**9
    except PlanError as error:
        raise ExpressionError(error.what, hint=error.hint) from None


def _unreadable(text: str, type_: Any) -> ExpressionError:
    return ExpressionError(f"Cannot read {text!r} as {type_}.",
                           hint="Use 2013-01-31 or 2013-01-31T12:00:00+00:00.")


def _coarsest(seconds: Fraction, value: Any) -> str:
    """The coarsest unit that holds the value exactly, so that a literal makes no column finer than needed."""
    for unit, per_second in _PER_SECOND.items():
        if (seconds * per_second).denominator == 1:
            return unit
    raise ExpressionError(f"{value} is finer than a nanosecond.", hint="Leave out the digits after the ninth.")


def _ticks(seconds: Fraction, type_: pa.DataType) -> int:
    """Rounded down where the type is coarser."""
    ticks = seconds * _PER_SECOND[type_.unit] // 1
    if not -(2**63) <= ticks < 2**63:
        raise ExpressionError(f"The literal is outside the range of {type_}.",
                              hint="Cast the column to a coarser unit.")
    return int(ticks)

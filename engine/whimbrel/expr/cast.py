"""Cast evaluated values to another type."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import Column, numpy_type
from whimbrel.clock import format_instant, show_ticks, ticks_per_second
from whimbrel.errors import KernelError
from whimbrel.expr import checked_integers as ints
from whimbrel.expr.cast_types import cast_type
from whimbrel.expr.decimals import decimal_from, from_decimal
from whimbrel.expr.functions_of_texts import to_integers
from whimbrel.expr.nodes import Expr
from whimbrel.expr.strings import per_distinct
from whimbrel.expr.type_predicates import is_plain
from whimbrel.expr.uuid_text import uuid_text
from whimbrel.expr.value import Scope, Value, at_row, from_arrow, from_scalar, integers, known

_FIRST: Final = -62_135_596_800
_LAST: Final = 253_402_300_799
"""Seconds from 1970 to the first and the last second of years 1 to 9999."""


def as_type(value: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Value:
    """The same values at another type; what does not fit is refused in the name of `expr`."""
    source = value.type
    if source == target:
        return value
    if t.is_null(source):
        return from_scalar(None, target)
    known(expr, ("cast", source, target), lambda: cast_type(expr, source, target))
    if t.is_decimal(target):
        return decimal_from(value, target, scope, expr)
    if t.is_decimal(source):
        return from_decimal(value, target, scope, expr)
    if is_plain(source) and is_plain(target):
        return Value(target, _number(value, target, scope, expr), value.valid)
    if (_ticks(source) and target == pa.int64()) or (source == pa.int64() and _ticks(target)):
        found = Value(target, value.data, value.valid)
        return found if _ticks(source) else _of_calendar(found, value, target, scope, expr)
    if (t.is_timestamp(source) and t.is_timestamp(target)) or (t.is_duration(source) and t.is_duration(target)):
        return _rescaled(value, target, scope, expr)
    if isinstance(source, pa.UuidType) and target == pa.string():
        return Value(pa.string(), per_distinct(value, uuid_text))
    if t.is_date(source) and t.is_timestamp(target) and target.tz is None:
        return _rescaled(_seconds(value), target, scope, expr)
    if t.is_timestamp(source) and (t.is_date(target) or t.is_time(target)):  # Arrow counts on from the other end
        _of_calendar(value, value, target, scope, expr)
    found = _by_arrow(value, target, scope, expr)
    return found if t.is_timestamp(source) or t.is_date(source) else _of_calendar(found, value, target, scope, expr)


def compared_as(value: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Value:
    """The same, to be compared: a date is its midnight, on the clock of the zone that it meets."""
    if t.is_date(value.type) and t.is_timestamp(target):
        return _midnights(value, target)
    return as_type(value, target, scope, expr)


def _midnights(value: Value, target: pa.DataType) -> Value:
    """What a time of this type cannot reach is its first or last tick: every other time compares with that alike."""
    seconds = _seconds(value).data
    if target.tz is not None:
        wall = Value(pa.timestamp("s"), seconds, value.valid)
        zoned = pc.assume_timezone(wall.arrow(), target.tz, ambiguous="earliest", nonexistent="latest")
        seconds = np.where(value.valid, from_arrow(zoned).data, 0) if seconds.ndim else from_arrow(zoned).data
    per_second = np.int64(ticks_per_second(target.unit) or 1)
    maximum = np.int64(2**63 - 1) // per_second
    ticks = np.clip(seconds, -maximum, maximum) * per_second
    ends = np.where(seconds > maximum, np.int64(2**63 - 1), np.int64(-(2**63)))
    return Value(target, np.where(np.abs(seconds) > maximum, ends, ticks), value.valid)


def _seconds(dates: Value) -> Value:
    """The midnights of dates, in seconds."""
    days = dates.data if t.is_date32(dates.type) else dates.data // np.int64(86_400_000)
    return Value(pa.timestamp("s"), days.astype(np.int64) * np.int64(86_400), dates.valid)


def _of_calendar(times: Value, source: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Value:
    """Times and dates, refused outside of years 1 to 9999; times of a day, outside of it; other values as they are."""
    outside = "outside of years 1 to 9999"
    if t.is_time(times.type):
        ticks, outside = (0, 86_400 * (ticks_per_second(times.type.unit) or 1) - 1), "outside of a day"
    elif t.is_date(times.type):
        ticks = (_FIRST // 86_400, _LAST // 86_400) if t.is_date32(times.type) else (_FIRST * 1000, _LAST * 1000)
    elif t.is_timestamp(times.type) and times.type.unit != "ns":
        per_second = ticks_per_second(times.type.unit) or 1
        ticks = _FIRST * per_second, (_LAST + 1) * per_second - 1
    else:
        return times
    hint = f"Use .cast('{target}', errors=\"null\") for null in its place."
    if t.is_integer(source.type):
        hint = "Use the unit of the numbers, such as .cast('timestamp[ns]'), or errors=\"null\"."
    scope.refuse((times.data < ticks[0]) | (times.data > ticks[1]), times.valid, expr,
                 lambda row: f"Cannot cast {_shown(source, row)} to {target}: it is {outside}", hint)
    return times


def _ticks(type_: pa.DataType) -> bool:
    return bool(t.is_timestamp(type_) or t.is_duration(type_))


def _number(value: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Any:
    data = value.data
    dtype = numpy_type(target)
    assert dtype is not None
    if dtype.kind == "b":
        return data != 0
    if data.dtype.kind == "b":
        return data.astype(dtype)
    if dtype.kind == "f":
        # By way of double, so that an integer is rounded as compiled code rounds it.
        return data.astype(dtype) if data.dtype.kind == "f" else data.astype(np.float64).astype(dtype)
    if data.dtype.kind == "f":
        data = data.astype(np.float64)
        fits = (data >= -(2.0**63)) & (data < 2.0**63)
        scope.refuse(~fits, value.valid, expr, lambda row: _no_value_of(at_row(data, row), target), _NARROW)
        data = np.where(fits, data, 0.0).astype(np.int64)
    else:
        data = integers(value, scope, expr)
    if dtype != np.int64:
        limits = np.iinfo(dtype)
        bad = (data < limits.min) | (data > min(limits.max, 2**63 - 1))
        scope.refuse(bad, value.valid, expr, lambda row: _no_value_of(at_row(data, row), target), _NARROW)
    return data.astype(dtype, copy=False)


_NARROW = "Cast it to a wider type, or leave such rows out with .where(...)."


def _no_value_of(value: Any, target: pa.DataType) -> str:
    return f"integer overflow: {value} does not fit into {target}"


def _rescaled(value: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Value:
    """To a finer unit exactly, to a coarser one rounding down."""
    from_second, to_second = ticks_per_second(value.type.unit), ticks_per_second(target.unit)
    assert from_second is not None
    assert to_second is not None
    if from_second == to_second:
        return Value(target, value.data, value.valid)
    if from_second > to_second:
        return Value(target, value.data // np.int64(from_second // to_second), value.valid)
    data, bad = ints.multiply(value.data, np.int64(to_second // from_second))
    scope.refuse(bad, value.valid, expr, lambda row: f"integer overflow: {_time_text(value, row)} is outside the range "
                 f"of {target}", "Cast the finer value to a coarser unit first, such as us.")
    return Value(target, data, value.valid)


def _shown(value: Value, row: int) -> str:
    """A number, a text or a time in an error."""
    if t.is_timestamp(value.type):
        return _time_text(value, row)
    data = value.arrow()
    return repr((data if isinstance(data, pa.Scalar) else data[row]).as_py())[:60]


def _time_text(value: Value, row: int) -> str:
    """A time, or a span, in words."""
    ticks = at_row(value.data, row)
    unit = value.type.unit
    return show_ticks(ticks, unit) if t.is_duration(value.type) else str(format_instant(ticks, unit, value.type.tz))


def _by_arrow(value: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Value:
    array = value.arrow()
    try:
        return _taken(_parsed(array, target))
    except pa.ArrowInvalid as error:
        counts = scope.counts()
        if not np.all(counts):  # only rows that count may fail
            nothing = pa.scalar(None, value.type)
            mask = Column(pa.bool_(), counts).to_arrow() if isinstance(counts, np.ndarray) else pa.scalar(bool(counts))
            try:
                return _taken(_parsed(pc.if_else(mask, array, nothing), target))
            except pa.ArrowInvalid:
                pass
        raise KernelError(f"Cannot cast: {str(error).splitlines()[0]}", where=expr.show(),
                          hint=f"Use .cast('{target}', errors=\"null\") for null in its place.") from None


def _parsed(array: Any, target: pa.DataType) -> Any:
    """Cast by Arrow; of texts of integers, decimal ones are read, also with a plus, as for floats."""
    if t.is_integer(target) and (t.is_string(array.type) or t.is_large_string(array.type)):
        if target == pa.int64() and isinstance(array, pa.Array):
            found = to_integers(array)
            if found.null_count == array.null_count:
                return found
        hexadecimal = _first(array, "^[+-]?0[xX]")
        if hexadecimal is not None:
            raise pa.ArrowInvalid(f"Failed to parse string: {hexadecimal!r} as a scalar of type {target}")
        if _first(array, "^[+]") is not None:
            array = pc.replace_substring_regex(array, "^[+]([0-9])", "\\1")
    return pc.cast(array, target)


def _first(texts: Any, pattern: str) -> str | None:
    """The first text with a pattern."""
    hits = pc.match_substring_regex(texts, pattern)
    if isinstance(hits, pa.Scalar):
        return str(texts) if hits.as_py() else None
    at = pc.index(hits, value=True).as_py()
    return None if at < 0 else str(texts[at])


def _taken(data: Any) -> Value:
    return from_arrow(data) if numpy_type(data.type) is not None else Value(data.type, data)

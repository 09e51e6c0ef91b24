"""Common type of two Arrow types that holds all values exactly."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import logical_type

_UTC = frozenset({"UTC", "Etc/UTC", "+00:00", "Z"})
_UNITS = ("s", "ms", "us", "ns")
_SIGNED = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_MAX_DIGITS_128, _MAX_DIGITS_256 = 38, 76


def wider_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The narrowest canonical type that holds all values of both types exactly; None if there is none.

    All string layouts are one type, and a dictionary is the type of its values. Numbers, decimals and time units widen;
    null becomes the other type; lists and structs widen in their fields. Integers and floats have no common type, nor
    have times with and without a zone.

    >>> wider_type(pa.large_string(), pa.dictionary(pa.int32(), pa.string()))
    DataType(string)
    >>> wider_type(pa.int32(), pa.uint32()), wider_type(pa.timestamp("ms"), pa.timestamp("us"))
    (DataType(int64), TimestampType(timestamp[us]))
    >>> wider_type(pa.int64(), pa.uint64()) is None
    True
    """
    one, other = logical_type(one), logical_type(other)
    if one == other or t.is_null(other):
        return one
    if t.is_null(one):
        return other
    if t.is_integer(one) and t.is_integer(other):
        return _wider_integer(one, other)
    if t.is_floating(one) and t.is_floating(other):
        return pa.float64()  # of two that differ; the engine has no half floats
    if t.is_decimal(one) and t.is_decimal(other):
        return _wider_decimal(one, other)
    return _finer(one, other) or _wider_nested(one, other)


def as_wider(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast values to the type that :func:`wider_type` found; strings keep their layout.

    Raises
    ------
    pyarrow.ArrowInvalid
        For a time outside the range of a finer unit.
    """
    if logical_type(array.type) == logical_type(type_):
        return array
    return pa.nulls(len(array), type_) if t.is_null(array.type) else pc.cast(array, type_)


def _wider_integer(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if t.is_signed_integer(one) == t.is_signed_integer(other):
        return max(one, other, key=lambda type_: type_.bit_width)
    signed, unsigned = (one, other) if t.is_signed_integer(one) else (other, one)
    return _SIGNED.get(max(signed.bit_width, 2 * unsigned.bit_width))


def _wider_decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    scale = max(one.scale, other.scale)
    digits = max(one.precision - one.scale, other.precision - other.scale) + scale
    if digits > _MAX_DIGITS_256:
        return None
    narrow = digits <= _MAX_DIGITS_128 and max(one.bit_width, other.bit_width) <= pa.decimal128(1).bit_width
    return (pa.decimal128 if narrow else pa.decimal256)(digits, scale)


def _finer(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type with the smaller unit of two time types."""
    if (t.is_time(one) and t.is_time(other)) or (t.is_duration(one) and t.is_duration(other)):
        return max(one, other, key=lambda type_: _UNITS.index(type_.unit))
    if not t.is_timestamp(one) or not t.is_timestamp(other):
        return None
    if one.tz != other.tz and not {one.tz, other.tz} <= _UTC:
        return None
    return pa.timestamp(max(one.unit, other.unit, key=_UNITS.index), one.tz if one.tz == other.tz else "UTC")


def _wider_nested(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if _is_list(one) and _is_list(other):
        value = _wider_field(one.value_field, other.value_field)
        return None if value is None else pa.list_(value)
    if t.is_struct(one) and t.is_struct(other):
        if [field.name for field in one.fields] != [field.name for field in other.fields]:
            return None
        fields = [_wider_field(*pair) for pair in zip(one.fields, other.fields, strict=True)]
        return None if any(field is None for field in fields) else pa.struct(fields)
    return None


def _is_list(type_: pa.DataType) -> bool:
    return bool(t.is_list(type_) or t.is_large_list(type_) or t.is_list_view(type_) or t.is_large_list_view(type_))


def _wider_field(one: pa.Field, other: pa.Field) -> pa.Field | None:
    type_ = wider_type(one.type, other.type)
    return None if type_ is None else pa.field(one.name, type_, nullable=one.nullable or other.nullable)

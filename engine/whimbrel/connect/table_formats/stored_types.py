"""Types of result columns in Delta and Iceberg tables."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa


def delta_schema(schema: pa.Schema) -> pa.Schema:
    """Types of a Delta table: signed integers, microseconds, no dictionaries.

    >>> delta_schema(pa.schema({"at": pa.timestamp("ns", "Europe/Berlin"), "x": pa.uint8()}))
    at: timestamp[us, tz=UTC]
    x: int16
    """
    return _each(schema, _delta_type)


def iceberg_schema(schema: pa.Schema) -> pa.Schema:
    """Types of an Iceberg table: integers of 32 or 64 bits, microseconds, no dictionaries.

    >>> iceberg_schema(pa.schema({"at": pa.timestamp("ns"), "x": pa.uint8()}))
    at: timestamp[us]
    x: int32
    """
    return _each(schema, lambda type_: pa.int32() if _is_short(type_) else _delta_type(type_))


def _each(schema: pa.Schema, stored: Callable[[pa.DataType], pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(field.name, stored(field.type)) for field in schema])


def _delta_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return _delta_type(type_.value_type)
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", None if type_.tz is None else "UTC")
    if pa.types.is_unsigned_integer(type_):
        return {8: pa.int16(), 16: pa.int32()}.get(type_.bit_width, pa.int64())
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    return pa.int64() if pa.types.is_duration(type_) else type_


def _is_short(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) and type_.bit_width < 32

"""Types of result columns in Delta and Iceberg tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

_LACKING = (pa.types.is_null, pa.types.is_decimal256, pa.types.is_list_view, pa.types.is_large_list_view,
            pa.types.is_interval, pa.types.is_union, pa.types.is_run_end_encoded)
"""Kinds of types that no table has."""


def delta_schema(schema: pa.Schema) -> pa.Schema:
    """Types of a Delta table: signed integers, microseconds, no dictionaries; of uint64, decimals.

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
    return _each(schema, _iceberg_type)


def missing_type(schema: pa.Schema, *, times: bool) -> pa.Field | None:
    """The first column of a stored schema whose type such tables lack; `times` says whether they have times of day.

    >>> missing_type(pa.schema({"x": pa.int64(), "y": pa.list_(pa.time64("us"))}), times=False).name
    'y'
    """
    return next((field for field in schema if _lacks(field.type, times)), None)


def with_whole_ends(rows: pa.Table) -> pa.Table:
    """Rows whose ends in nanoseconds are rounded up to microseconds: tables cut times, and no lifetime gets empty.

    >>> rows = pa.table({"start": pa.array([1], pa.timestamp("ns")), "end": pa.array([2], pa.timestamp("ns"))})
    >>> with_whole_ends(rows)["end"].cast(pa.int64()).to_pylist()
    [1]
    """
    at = rows.schema.get_field_index("end")
    type_ = None if at < 0 else rows.schema.field(at).type
    if type_ is None or not pa.types.is_timestamp(type_) or type_.unit != "ns":
        return rows
    ends = rows.column(at).combine_chunks()
    micros = pa.array(-(-np.asarray(ends.cast(pa.int64()).fill_null(0)) // 1000), mask=np.asarray(ends.is_null()))
    return rows.set_column(at, "end", micros.cast(pa.timestamp("us", type_.tz)))


def _each(schema: pa.Schema, stored: Callable[[pa.DataType], pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(field.name, stored(field.type)) for field in schema])


def _delta_type(type_: pa.DataType) -> pa.DataType:
    return pa.binary() if pa.types.is_fixed_size_binary(type_) else _stored(type_, _delta_type)


def _iceberg_type(type_: pa.DataType) -> pa.DataType:
    stored = _stored(type_, _iceberg_type)
    return pa.int32() if _is_short(stored) else stored


def _stored(type_: pa.DataType, within: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type of both kinds of tables; `within` is that of the values in lists, maps and structs."""
    if pa.types.is_dictionary(type_):
        return within(type_.value_type)
    if _is_list(type_):
        return pa.list_(type_.value_field.with_type(within(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(within(type_.key_type), within(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(within(field.type)) for field in type_])
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", None if type_.tz is None else "UTC")
    if pa.types.is_unsigned_integer(type_):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}.get(type_.bit_width, pa.decimal128(20, 0))
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return pa.binary()
    if pa.types.is_float16(type_):
        return pa.float32()
    if pa.types.is_date64(type_):
        return pa.date32()
    return pa.int64() if pa.types.is_duration(type_) else type_


def _lacks(type_: pa.DataType, times: bool) -> bool:
    if _is_list(type_):
        return _lacks(type_.value_type, times)
    if pa.types.is_map(type_):
        return _lacks(type_.key_type, times) or _lacks(type_.item_type, times)
    if pa.types.is_struct(type_):
        return any(_lacks(field.type, times) for field in type_)
    if pa.types.is_time(type_):
        return not times or type_ != pa.time64("us")
    return any(is_kind(type_) for is_kind in _LACKING)


def _is_list(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_))


def _is_short(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) and type_.bit_width < 32

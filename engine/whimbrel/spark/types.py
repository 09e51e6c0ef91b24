"""Convert between Spark and Arrow types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whimbrel.batch import SegmentType
from whimbrel.errors import SchemaError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_SIMPLE = {
    "BooleanType": pa.bool_(), "ByteType": pa.int8(), "ShortType": pa.int16(), "IntegerType": pa.int32(),
    "LongType": pa.int64(), "FloatType": pa.float32(), "DoubleType": pa.float64(), "StringType": pa.string(),
    "VarcharType": pa.string(), "CharType": pa.string(), "BinaryType": pa.binary(), "DateType": pa.date32(),
    "TimestampType": pa.timestamp("us", "UTC"), "TimestampNTZType": pa.timestamp("us"),
    "DayTimeIntervalType": pa.duration("us"), "NullType": pa.null(),
}


def arrow_schema(schema: StructType, *, where: str) -> pa.Schema:
    """The columns of a DataFrame as they will arrive.

    Spark's ``timestamp`` is a moment in UTC whatever the session's zone; ``timestamp_ntz`` has no zone.

    Raises
    ------
    SchemaError
        For a type that Arrow cannot carry, such as ``variant`` or a year-month interval.
    """
    return pa.schema([(field.name, _arrow_type(field.dataType, field.name, where)) for field in schema.fields])


def sent_schema(frame: DataFrame, where: str) -> pa.Schema:
    """How Java lays out the rows of a DataFrame when it writes them for Arrow."""
    schema = arrow_schema(frame.schema, where=where)
    if frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes") != "true":
        return schema
    return pa.schema([field.with_type(_large(field.type)) for field in schema])


def _large(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_string(type_):
        return pa.large_string()
    if pa.types.is_binary(type_):
        return pa.large_binary()
    if pa.types.is_list(type_):
        return pa.list_(_large(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(_large(type_.key_type), _large(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_large(field.type)) for field in type_])
    return type_


_FITTING = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64(), "uint64": pa.decimal128(20, 0),
            "large_string": pa.string(), "large_binary": pa.binary(), "date64[ms]": pa.timestamp("us"),
            "halffloat": pa.float32()}


def fitting(type_: pa.DataType, name: str, where: str) -> pa.DataType:
    """The type in which Spark holds the values of a column.

    Raises
    ------
    SchemaError
        Where it has none.
    """
    if isinstance(type_, SegmentType):
        return fitting(type_.storage_type, name, where)
    if pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(fitting(type_.value_type, name, where)))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(fitting(field.type, name, where)) for field in type_])
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz and "UTC")
    if pa.types.is_duration(type_):
        return pa.duration("us")
    if pa.types.is_time(type_) or pa.types.is_fixed_size_binary(type_):
        raise SchemaError(f"Column {name!r} has type {type_}, which Spark does not support.", where=where,
                          hint="Cast it, for example with .cast('string').")
    return _FITTING.get(str(type_), type_)


def spark_schema(fields: pa.Schema) -> StructType:
    """Columns in types that fit, as Spark says them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(fields, prefer_timestamp_ntz=True)


def check_distinct_names(names: Sequence[str], spark: SparkSession, where: str) -> None:
    """Refuse columns whose names differ in case only, where Spark does not tell them apart.

    Raises
    ------
    SchemaError
    """
    spelled = dict[str, str]()
    for name in names:
        other = spelled.setdefault(name.lower(), name)
        if other != name and spark.conf.get("spark.sql.caseSensitive") != "true":
            raise SchemaError(f"Spark cannot distinguish columns {other!r} and {name!r}.", where=where,
                              hint='Rename one, or use spark.conf.set("spark.sql.caseSensitive", "true").')


def _arrow_type(type_: Any, column: str, where: str) -> pa.DataType:
    # Compared by name: classes that this version of Spark lacks need no import.
    kind = type(type_).__name__
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    match kind:
        case "DecimalType":
            return pa.decimal128(type_.precision, type_.scale)
        case "ArrayType":
            return pa.list_(_arrow_type(type_.elementType, column, where))
        case "MapType":
            return pa.map_(_arrow_type(type_.keyType, column, where), _arrow_type(type_.valueType, column, where))
        case "StructType":
            return pa.struct([(field.name, _arrow_type(field.dataType, column, where)) for field in type_.fields])
    raise SchemaError(f"Column {column!r} has Spark's type {type_.simpleString()}, which Arrow does not support.",
                      where=where, hint=f'Leave it out with df.drop("{column}"), or cast it in Spark first.')

"""Predicates of Arrow types that expressions treat alike."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as t

from whimbrel.errors import SchemaError

HOW_TRUE = "Compare values, such as col.x > 0."
"""Hint where a condition is wanted."""
HOW_ORDERED = "Compare numbers, texts, bytes, times or conditions; of lists and structs, their parts."
"""Hint where values with an order are wanted."""


def is_bool(type_: pa.DataType) -> bool:
    return bool(t.is_boolean(type_) or t.is_null(type_))


def is_number(type_: pa.DataType) -> bool:
    return bool(t.is_integer(type_) or t.is_float32(type_) or t.is_float64(type_))


def is_plain(type_: pa.DataType) -> bool:
    """Numbers and bools: what converts without a calendar or text."""
    return is_number(type_) or bool(t.is_boolean(type_))


def is_text(type_: pa.DataType) -> bool:
    return bool(t.is_string(type_) or t.is_large_string(type_))


def is_bytes(type_: pa.DataType) -> bool:
    return bool(t.is_binary(type_) or t.is_large_binary(type_) or t.is_fixed_size_binary(type_))


def python_class(type_: pa.DataType) -> type | None:
    """The class of Python's values that meet a column at its own type; integers, as far as the type holds them.

    None where that depends on the value.
    """
    if t.is_integer(type_):
        return int
    if is_text(type_):
        return str
    return float if is_number(type_) else None


def is_ordered(type_: pa.DataType) -> bool:
    """True for types whose values can be compared."""
    return bool(is_plain(type_) or t.is_null(type_) or is_text(type_) or is_bytes(type_) or t.is_decimal(type_)
                or t.is_timestamp(type_) or t.is_date(type_) or t.is_time(type_) or t.is_duration(type_))


def can_be_key(type_: pa.DataType) -> bool:
    """Whether kernels can tell values apart: not lists, structs and types of other libraries."""
    return not t.is_nested(type_) and not isinstance(type_, pa.BaseExtensionType)


def check_key(name: str, type_: pa.DataType, where: str) -> None:
    """Refuse a key whose values kernels cannot tell apart: lists and structs, and types of other libraries."""
    if not can_be_key(type_):
        hint = "Use numbers, strings, times or bools as keys, or explode() its items first."
        if isinstance(type_, pa.UuidType):
            hint = f"Make strings of them first: .with_columns({name}=col.{name}.cast('string'))."
        elif isinstance(type_, pa.BaseExtensionType):
            hint = f"Cast it to its storage type first: .cast(pa.{type_.storage_type})."
        raise SchemaError(f"{name!r} is {type_}, which cannot be a key.", where=where, hint=hint)

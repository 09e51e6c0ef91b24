"""Arrow has several layouts for one logical type; behind the door there is one of each."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The layout in which the engine holds a type: ``string`` for text of every layout, likewise ``binary``; no runs.

    Half floats and narrow decimals get the next width that Arrow computes with.

    >>> plain_type(pa.large_string()), plain_type(pa.decimal64(10, 2))
    (DataType(string), Decimal128Type(decimal128(10, 2)))
    """
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return pa.binary()
    if pa.types.is_float16(type_):
        return pa.float32()
    if pa.types.is_decimal32(type_) or pa.types.is_decimal64(type_):
        return pa.decimal128(type_.precision, type_.scale)
    if pa.types.is_dictionary(type_):
        value = plain_type(type_.value_type)
        return type_ if value == type_.value_type else pa.dictionary(type_.index_type, value)
    return plain_type(type_.value_type) if pa.types.is_run_end_encoded(type_) else type_


def logical_type(type_: pa.DataType) -> pa.DataType:
    """What the values of a column are to expressions and operators, in whatever layout and coded or not.

    >>> logical_type(pa.dictionary(pa.int8(), pa.large_string()))
    DataType(string)
    """
    plain = plain_type(type_)
    return plain.value_type if pa.types.is_dictionary(plain) else plain


def plain_array(array: pa.Array) -> pa.Array:
    """The array in its plain layout: itself, mostly."""
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    type_ = plain_type(array.type)
    return array if type_ == array.type else array.cast(type_)

"""Convert Arrow's several layouts of a logical type to one canonical layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch.fixed_width import PLAIN_TYPES


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The layout in which the engine holds a type: ``string`` for text of every layout, likewise ``binary``; no runs.

    Half floats and narrow decimals get the next width that Arrow computes with. What stands in lists, structs and maps
    is plain, too. An extension type that is stored otherwise becomes its storage.

    >>> plain_type(pa.large_string()), plain_type(pa.decimal64(10, 2)), plain_type(pa.list_(pa.string_view()))
    (DataType(string), Decimal128Type(decimal128(10, 2)), ListType(list<item: string>))
    """
    if t.is_large_string(type_) or t.is_string_view(type_):
        return pa.string()
    if t.is_large_binary(type_) or t.is_binary_view(type_):
        return pa.binary()
    if t.is_float16(type_):
        return pa.float32()
    if t.is_decimal(type_):
        return _plain_decimal(type_)
    if t.is_run_end_encoded(type_):
        return plain_type(type_.value_type)
    if isinstance(type_, pa.BaseExtensionType):
        storage = plain_type(type_.storage_type)
        return type_ if storage == type_.storage_type else storage
    if t.is_dictionary(type_):
        value = plain_type(type_.value_type)
        if t.is_nested(value) or isinstance(value, pa.BaseExtensionType):
            return value
        return type_ if value == type_.value_type else pa.dictionary(type_.index_type, value)
    return _plain_parts(type_) if t.is_nested(type_) else type_


def _plain_decimal(type_: pa.DataType) -> pa.DataType:
    """Of 128 bits or more, with a scale that is not negative."""
    digits, scale = (type_.precision, type_.scale) if type_.scale >= 0 else (type_.precision - type_.scale, 0)
    if t.is_decimal256(type_) or digits > 38:
        return pa.decimal256(digits, scale) if digits <= 76 else type_
    return pa.decimal128(digits, scale)


def _plain_parts(type_: pa.DataType) -> pa.DataType:
    if t.is_struct(type_):
        plain = pa.struct([field.with_type(plain_type(field.type)) for field in type_])
    elif t.is_map(type_):
        plain = pa.map_(type_.key_field.with_type(plain_type(type_.key_type)),
                        type_.item_field.with_type(plain_type(type_.item_type)), type_.keys_sorted)
    elif t.is_fixed_size_list(type_):
        plain = pa.list_(type_.value_field.with_type(plain_type(type_.value_type)), type_.list_size)
    elif make := _lists(type_):
        plain = make(type_.value_field.with_type(plain_type(type_.value_type)))
    else:
        return type_
    return type_ if plain == type_ else plain


def _lists(type_: pa.DataType) -> Any:
    """What makes a type of lists of this kind."""
    kinds = ((t.is_list, pa.list_), (t.is_large_list, pa.large_list), (t.is_list_view, pa.list_view),
             (t.is_large_list_view, pa.large_list_view))
    return next((make for holds, make in kinds if holds(type_)), None)


def logical_type(type_: pa.DataType) -> pa.DataType:
    """What the values of a column are to expressions and operators, in whatever layout and coded or not.

    >>> logical_type(pa.dictionary(pa.int8(), pa.large_string()))
    DataType(string)
    """
    plain = plain_type(type_)
    return plain.value_type if t.is_dictionary(plain) else plain


def plain_array(array: pa.Array) -> pa.Array:
    """The array in its plain layout: itself, mostly."""
    if array.type.id in PLAIN_TYPES:
        return array
    return _held_as(array, plain_type(array.type))


def _held_as(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The same values in another layout."""
    source = array.type
    if source == type_:
        return array
    if t.is_run_end_encoded(source):
        runs = np.searchsorted(array.run_ends.to_numpy(), np.arange(array.offset, array.offset + len(array)), "right")
        return _held_as(array.values, type_).take(pa.array(runs))
    if isinstance(source, pa.BaseExtensionType):
        return _held_as(array.storage, type_)
    if t.is_dictionary(source):
        if not t.is_dictionary(type_):
            return _held_as(array.dictionary, type_).take(array.indices)
        return pa.DictionaryArray.from_arrays(array.indices, _held_as(array.dictionary, type_.value_type))
    if t.is_struct(source):
        parts = [_held_as(array.field(index), field.type) for index, field in enumerate(type_)]
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=array.is_null())
    return _lists_held_as(array, type_) if t.is_nested(source) else array.cast(type_)


def _lists_held_as(array: pa.Array, type_: pa.DataType) -> pa.Array:
    source, mask = array.type, array.is_null()
    if t.is_fixed_size_list(source):
        size = source.list_size
        values = _held_as(array.values.slice(array.offset * size, len(array) * size), type_.value_type)
        return pa.FixedSizeListArray.from_arrays(values, type=type_, mask=mask)
    offsets = pa.array(array.offsets.to_numpy())  # a slice of others is not taken with a mask
    if t.is_map(source):
        return pa.MapArray.from_arrays(offsets, _held_as(array.keys, type_.key_type),
                                       _held_as(array.items, type_.item_type), type=type_, mask=mask)
    values = _held_as(array.values, type_.value_type)
    if t.is_list_view(source) or t.is_large_list_view(source):
        lists = pa.ListViewArray if t.is_list_view(source) else pa.LargeListViewArray
        return lists.from_arrays(offsets, pa.array(array.sizes.to_numpy()), values, type=type_, mask=mask)
    lists = pa.ListArray if t.is_list(source) else pa.LargeListArray
    return lists.from_arrays(offsets, values, type=type_, mask=mask)

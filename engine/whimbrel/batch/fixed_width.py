"""Convert fixed-width values between NumPy and Arrow, without copies where possible."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


@functools.lru_cache(maxsize=1024)
def numpy_type(type_: pa.DataType) -> np.dtype[Any] | None:
    """The NumPy type that holds an Arrow type's values, or None when Arrow must hold them."""
    if pa.types.is_boolean(type_):
        return np.dtype(np.bool_)
    if pa.types.is_integer(type_) or pa.types.is_float32(type_) or pa.types.is_float64(type_):
        return np.dtype(type_.to_pandas_dtype())
    if pa.types.is_temporal(type_) and type_.bit_width == 64:
        return np.dtype(np.int64)
    if pa.types.is_date32(type_) or pa.types.is_time32(type_):
        return np.dtype(np.int32)
    return None


PLAIN_TYPES = {type_.id: dtype for type_ in (
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(),
    pa.float64(), pa.date32(), pa.time32("s"), pa.time64("us"), pa.timestamp("s"), pa.duration("s"))
    if (dtype := numpy_type(type_)) is not None}
"""The NumPy types of values that NumPy takes as Arrow has them, by the ids of their types in Arrow."""


def fixed_width_to_arrow(type_: pa.DataType, values: Array, valid: Mask | None) -> pa.Array:
    """Values with their nulls as an Arrow array of a type that :func:`numpy_type` knows."""
    # pa.array would do, but it loads pandas, which takes longer than a small query.
    buffer = packed_bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(type_, len(values), [None if valid is None else packed_bits(valid), buffer])


def fixed_width_from_arrow(array: pa.Array, physical: np.dtype[Any]) -> tuple[Array, Mask | None]:
    """Values of an Arrow array, and where there are any; shared, except bits of booleans and values under nulls."""
    valid = present(array) if array.null_count else None
    if physical == np.bool_:
        return _unpacked(array.fill_null(False) if array.null_count else array), valid
    buffer = array.buffers()[1]
    if buffer is None:  # zero rows
        return np.empty(0, physical), valid
    values = np.frombuffer(buffer, physical, len(array), array.offset * physical.itemsize)
    if valid is not None:  # what lies under a null is arbitrary bytes: make it harmless
        values = np.where(valid, values, np.zeros(1, physical))
    return values, valid


def present(array: pa.Array) -> Mask:
    """Where an Arrow array has values."""
    return _unpacked(pc.is_valid(array))


def packed_bits(mask: Mask) -> pa.Buffer:
    """A mask as Arrow has it."""
    return pa.py_buffer(np.packbits(mask, bitorder="little"))


def _unpacked(bits: pa.BooleanArray) -> Mask:
    """Booleans of an Arrow array without nulls. Its own conversion would load pandas."""
    packed = np.frombuffer(bits.buffers()[1] or b"", np.uint8)
    return np.unpackbits(packed, count=bits.offset + len(bits), bitorder="little")[bits.offset:].view(np.bool_)

"""Convert between segments and Arrow arrays of their type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch.fixed_width import fixed_width_from_arrow, fixed_width_to_arrow, packed_bits, present
from whimbrel.batch.sample_blocks import NONE_MISSING, SampleBlocks
from whimbrel.batch.segment_type import SegmentType, sample_dtype
from whimbrel.batch.segments import Segments

Array = np.ndarray[Any, Any]

_INT64 = np.dtype(np.int64)


def segments_to_arrow(segments: Segments) -> pa.ExtensionArray:
    """Segments as an Arrow array; without a copy where each row begins where the one before it ends.

    Rows that cover less than a quarter of their block are copied.
    """
    type_, size, position = segments.type, segments.size, segments.position
    if segments.valid is not None:
        size = np.where(segments.valid, size, 0)
    if not size.all():
        position = np.where(size > 0, position, _nearest(position, size))
    offsets = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, out=offsets[1:])
    samples = _samples_to_arrow(type_.samples, segments.blocks.values(position, size, compact=True),
                                _runs(segments.blocks, position, size, offsets))
    lists = pa.ListArray.from_arrays(_int32(offsets), samples)
    validity = None if segments.valid is None else packed_bits(segments.valid)
    index = fixed_width_to_arrow(pa.int64(), segments.index, None)
    storage = pa.Array.from_buffers(type_.storage_type, len(segments), [validity], children=[index, lists])
    return type_.wrap_array(storage)


def segments_from_arrow(array: pa.ExtensionArray) -> Segments:
    """Take in an Arrow array of segments; its samples are shared."""
    storage = array.storage
    valid = present(array) if array.null_count else None
    index = fixed_width_from_arrow(storage.field("index"), _INT64)[0]
    return segments_of_lists(array.type, storage.field("samples"), index, valid)


def segments_of_lists(type_: SegmentType, lists: pa.Array, index: Array, valid: Array | None = None) -> Segments:
    """Segments whose samples are an Arrow array of lists, which they share.

    Parameters
    ----------
    type_ : SegmentType
    lists : pyarrow.Array
        Lists of any layout; nulls in them are missing samples. A null list is a null row.
    index : array of int64
        Number of the first sample of each row.
    valid : array of bool, optional
        False where a row is null.
    """
    if pa.types.is_fixed_size_list(lists.type):
        starts = np.arange(lists.offset, lists.offset + len(lists)) * lists.type.list_size
        sizes = np.full(len(lists), lists.type.list_size)
    else:
        if not pa.types.is_list(lists.type) and not pa.types.is_large_list(lists.type):
            lists = lists.cast(pa.large_list(lists.type.value_type))
        offsets = np.asarray(lists.offsets).astype(np.int64)
        starts, sizes = offsets[:-1], np.diff(offsets)
    if lists.null_count:
        there = present(lists)
        valid = there if valid is None else valid & there
    if valid is not None:
        sizes = np.where(valid, sizes, 0)
    if not len(lists):
        return Segments.nulls(type_, 0)
    low, high = int(starts.min()), int((starts + sizes).max())
    samples, missing = _samples_from_arrow(type_.samples, lists.values.slice(low, high - low))
    return Segments(type_, SampleBlocks.of(samples, missing=missing), index, sizes, np.maximum(starts - low, 0), valid)


def _samples_to_arrow(type_: pa.DataType, values: Array, missing: Array) -> pa.Array:
    there = None
    if len(missing):
        there = np.ones(len(values), np.bool_)
        for first, stop in missing.tolist():
            there[first:stop] = False
    if values.dtype.kind != "c":
        return fixed_width_to_arrow(type_, values, there)
    return complex_to_arrow(type_, values, there)


def complex_to_arrow(type_: pa.DataType, values: Array, there: Array | None) -> pa.Array:
    """Complex numbers as pairs of floats, which they share."""
    parts = fixed_width_to_arrow(type_.value_type, np.ascontiguousarray(values).view(values.real.dtype), None)
    validity = None if there is None else packed_bits(there)
    return pa.Array.from_buffers(type_, len(values), [validity], children=[parts])


def _samples_from_arrow(type_: pa.DataType, values: pa.Array) -> tuple[Array, Array]:
    """The samples, and the runs of them that are missing."""
    dtype = sample_dtype(type_)
    assert dtype is not None
    if dtype.kind != "c":
        samples, valid = fixed_width_from_arrow(values if values.type == type_ else values.cast(type_), dtype)
        return samples, runs_of(valid)
    samples, valid = complex_from_arrow(values, dtype)
    return samples, runs_of(valid)


def complex_from_arrow(pairs: pa.Array, dtype: np.dtype[Any]) -> tuple[Array, Array | None]:
    """Pairs of floats as complex numbers, which share them, and where they are there."""
    parts, _ = fixed_width_from_arrow(pairs.values.slice(2 * pairs.offset, 2 * len(pairs)), dtype.type(0).real.dtype)
    return parts.view(dtype), present(pairs) if pairs.null_count else None


def runs_of(valid: Array | None) -> Array:
    """Runs [from, to) in which a mask is false.

    >>> runs_of(np.array([True, False, False, True])).tolist()
    [[1, 3]]
    """
    if valid is None or valid.all():
        return NONE_MISSING
    edges = np.diff(np.concatenate([[1], valid.view(np.int8), [1]]))
    return np.stack([np.flatnonzero(edges == -1), np.flatnonzero(edges == 1)], axis=1)


def _runs(blocks: SampleBlocks, position: Array, size: Array, offsets: Array) -> Array:
    """Missing samples of rows, counted from the first sample of the first row."""
    if not len(blocks.missing):
        return NONE_MISSING
    rows = np.flatnonzero(blocks.missing_between(position, position + size))
    found = [blocks.between(int(position[row]), int(position[row] + size[row])).missing + int(offsets[row])
             for row in rows.tolist()]
    return np.concatenate(found) if found else NONE_MISSING


def _nearest(position: Array, size: Array) -> Array:
    """For rows without samples the end of the row before them, so that the others still follow each other."""
    row = np.maximum.accumulate(np.where(size > 0, np.arange(len(size)), -1))
    first = int(position[np.argmax(size > 0)]) if len(size) else 0
    return np.where(row >= 0, (position + size)[row], first)


def _int32(offsets: Array) -> pa.Array:
    if len(offsets) and offsets[-1] >= 2**31:
        raise OverflowError(f"{offsets[-1]:,} samples in one batch are more than an Arrow list holds.")
    return fixed_width_to_arrow(pa.int32(), offsets.astype(np.int32), None)

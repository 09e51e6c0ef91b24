"""A payload column: NumPy for fixed-width values, blocks for segments, Arrow otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch.fixed_width import (
    PLAIN_TYPES,
    Mask,
    fixed_width_from_arrow,
    fixed_width_to_arrow,
    numpy_type,
    present,
)
from whimbrel.batch.segment_arrow import complex_from_arrow, complex_to_arrow, segments_from_arrow, segments_to_arrow
from whimbrel.batch.segment_type import SegmentType, sample_dtype
from whimbrel.batch.segments import Segments
from whimbrel.batch.storage import Storage


@dataclass(frozen=True, slots=True)
class Column:
    """A typed run of values with their nulls. Immutable: arrays are marked read-only.

    Parameters
    ----------
    type : pyarrow.DataType
        The logical type. Strings stay ``string`` also when ``values`` is dictionary-encoded.
    values : numpy.ndarray, Segments or pyarrow.Array
        Fixed-width types (numbers, bool, timestamps, dates, durations) are NumPy arrays, one element a row; times as
        int64 ticks. Windows of samples are :class:`Segments`. All others (strings, lists, structs, decimals) are Arrow
        arrays, possibly dictionary-encoded.
    valid : numpy.ndarray of bool, optional
        False where null; None when nothing is null. Always None for other values, which carry their own nulls.
        The value under a null is unspecified but harmless (never a trap for arithmetic).
    """

    type: pa.DataType
    values: np.ndarray[Any, Any] | Any
    valid: Mask | None = None

    def __post_init__(self) -> None:
        # One canonical array kind (contiguous, read-only) means one compiled signature per kernel.
        values = self.values
        if isinstance(values, np.ndarray) and ((flags := values.flags).writeable or not flags.c_contiguous):
            object.__setattr__(self, "values", frozen(values))
        if self.valid is not None:
            object.__setattr__(self, "valid", frozen(self.valid))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def fixed(self) -> bool:
        """True when the values are a NumPy array."""
        return isinstance(self.values, np.ndarray)

    @property
    def segments(self) -> Segments:
        """The values of a column of segments."""
        assert isinstance(self.values, Segments)
        return self.values

    @property
    def samples(self) -> tuple[np.ndarray[Any, Any], Mask | None]:
        """The values as samples, and where they are there: pairs of floats are complex numbers."""
        if isinstance(self.values, np.ndarray):
            return self.values, self.valid
        dtype = sample_dtype(self.type)
        assert dtype is not None, "the column has samples"
        return complex_from_arrow(self.values, dtype)

    @staticmethod
    def of_samples(type_: pa.DataType, values: np.ndarray[Any, Any], valid: Mask | None = None) -> Column:
        """A column of samples, which are shared: complex numbers are pairs of floats."""
        return Column(type_, complex_to_arrow(type_, values, valid)) if values.dtype.kind == "c" else Column(
            type_, values, valid)

    def validity(self) -> Mask:
        """Bool array, True where a value is present, whatever holds the values."""
        if isinstance(self.values, Segments):
            return self.values.validity()
        if not isinstance(self.values, np.ndarray):
            return present(self.values)
        return np.ones(len(self), np.bool_) if self.valid is None else self.valid

    def slice(self, start: int, stop: int) -> Column:
        """Rows [start, stop) without copying."""
        if isinstance(self.values, np.ndarray):
            return Column(self.type, self.values[start:stop], None if self.valid is None else self.valid[start:stop])
        if isinstance(self.values, Segments):
            return Column(self.type, self.values.slice(start, stop))
        return Column(self.type, self.values.slice(start, stop - start))

    def take(self, rows: np.ndarray[Any, Any], storage: Storage | None = None) -> Column:
        """The rows at these positions, in this order; in a `storage`, where they stay."""
        if isinstance(self.values, Segments):
            return Column(self.type, self.values.take(rows))
        if not isinstance(self.values, np.ndarray):
            return Column(self.type, self.values.take(Column(pa.int64(), rows.astype(np.int64, copy=False)).to_arrow()))
        values = self.values[rows] if storage is None else storage.take(self.values, rows)
        values.setflags(write=False)
        return Column(self.type, values, None if self.valid is None else self.valid[rows])

    def take_or_null(self, rows: np.ndarray[Any, Any], there: Mask) -> Column:
        """The rows at these positions, in this order; null where they are not there."""
        if isinstance(self.values, Segments):
            return Column(self.type, self.values.take_or_null(rows, there))
        if not isinstance(self.values, np.ndarray):
            return Column(self.type, self.values.take(Column(pa.int64(), rows, there).to_arrow()))
        if not len(self.values) and not there.any():  # no position is in the array
            return Column.nulls(self.type, len(rows))
        valid = there if self.valid is None else there & self.valid[rows]
        return Column(self.type, self.values[rows], valid)

    def to_arrow(self) -> pa.Array:
        """As an Arrow array of the logical type; without a copy where the layouts agree."""
        if isinstance(self.values, Segments):
            return segments_to_arrow(self.values)
        if not isinstance(self.values, np.ndarray):
            return self.values.cast(self.type) if self.values.type != self.type else self.values
        return fixed_width_to_arrow(self.type, self.values, self.valid)

    @staticmethod
    def from_arrow(array: pa.Array) -> Column:
        """Take in an Arrow array; values are shared, not copied, except bits of booleans and values under nulls."""
        type_ = array.type
        if (physical := PLAIN_TYPES.get(type_.id)) is not None:
            return Column(type_, *fixed_width_from_arrow(array, physical))
        type_ = type_.value_type if pa.types.is_dictionary(array.type) else array.type
        if isinstance(type_, SegmentType):
            return Column(type_, segments_from_arrow(array))
        physical = numpy_type(type_)
        if physical is None:
            if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
                array = array.dictionary_decode()  # a null that hides among the words
            return Column(type_, array)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        return Column(type_, *fixed_width_from_arrow(array, physical))

    @staticmethod
    def nulls(type_: pa.DataType, rows: int) -> Column:
        if isinstance(type_, SegmentType):
            return Column(type_, Segments.nulls(type_, rows))
        physical = numpy_type(type_)
        if physical is None:
            return Column(type_, pa.nulls(rows, type_))
        return Column(type_, np.zeros(rows, physical), np.zeros(rows, np.bool_) if rows else None)

    @staticmethod
    def concat(columns: Sequence[Column]) -> Column:
        """One column after the other; all of one type."""
        first = columns[0]
        if len(columns) == 1:
            return first
        if isinstance(first.values, Segments):
            return Column(first.type, Segments.concat([column.segments for column in columns]))
        if not first.fixed:
            arrays: list[pa.Array] = [column.values for column in columns]
            if len({array.type for array in arrays}) > 1 or pa.types.is_null(first.type):
                # Plain and dictionary-encoded parts; or nulls only, whose dictionaries Arrow does not unify.
                arrays = [column.to_arrow() for column in columns]
            chunked = pa.chunked_array(arrays)
            if pa.types.is_dictionary(chunked.type):
                chunked = chunked.unify_dictionaries()
            joined = chunked.combine_chunks()
            if isinstance(joined, pa.ChunkedArray):
                joined = pa.concat_arrays(joined.chunks) if joined.num_chunks else pa.array([], joined.type)
            return Column(first.type, joined)
        values = np.concatenate([column.values for column in columns])
        values.setflags(write=False)
        if all(column.valid is None for column in columns):
            return Column(first.type, values)
        return Column(first.type, values, np.concatenate([column.validity() for column in columns]))


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A contiguous read-only view of an array (the array itself, if it is one already)."""
    if array.flags.writeable or not array.flags.c_contiguous:
        array = np.ascontiguousarray(array).view()
        array.flags.writeable = False
    return array

"""Records whose values are texts, whatever their columns are, as Redis keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.connect.feeds.decoding import Format, Index


class TextRecords(Format):
    """Reads dicts of bytes; each value is cast to the type of its column.

    Examples
    --------
    >>> rows, each = TextRecords().parse([{"at": b"1", "x": b"2.5"}], pa.schema({"at": pa.int64(), "x": pa.float64()}))
    >>> rows.to_pylist()
    [{'at': 1, 'x': 2.5}]
    """

    def infer(self, sample: Sequence[Any]) -> pa.Schema:
        names = dict.fromkeys(name for record in sample for name in record)
        return pa.schema([(name, _type([record[name] for record in sample if name in record])) for name in names])

    def parse(self, messages: Sequence[Any], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        arrays = [_cast(pa.array([record.get(field.name) for record in messages], pa.binary()), field.type)
                  for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema), np.ones(len(messages), np.int64)


def _cast(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_binary(type_):
        return texts
    words = texts.cast(pa.string())
    if pa.types.is_timestamp(type_):
        try:
            return words.cast(pa.int64()).cast(type_)
        except pa.ArrowInvalid:
            return words.cast(type_)
    return words.cast(type_)


def _type(values: Sequence[bytes]) -> pa.DataType:
    """The narrowest of whole numbers, numbers, times and texts that holds them all."""
    words = pa.array(values, pa.binary()).cast(pa.string())
    for type_ in (pa.int64(), pa.float64(), pa.timestamp("us")):
        try:
            pc.cast(words, type_)
        except pa.ArrowInvalid:
            continue
        return type_
    return pa.string()

"""Conversion of records with string values to columns of any type.

Redis and CSV files give such records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from whimbrel.connect.feeds.formats.decode import Format, Index


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


class TextColumns(Format):
    """Reads record batches of bytes, as CSV files are before anything is made of them; each row is a message.

    Parameters
    ----------
    decimal : str
        The character before the fraction of a number.
    """

    def __init__(self, decimal: str = ".") -> None:
        self.decimal = decimal

    def infer(self, sample: pa.RecordBatch) -> pa.Schema:
        return sample.schema.remove_metadata()

    def parse(self, messages: pa.RecordBatch, schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        arrays = [_cast(self._value(messages.column(field.name), field.type), field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema), np.ones(len(messages), np.int64)

    def _value(self, texts: pa.Array, type_: pa.DataType) -> pa.Array:
        """What stands for nothing is null, but in texts, where it may be a name."""
        if pa.types.is_binary(type_) or pa.types.is_string(type_) or pa.types.is_large_string(type_):
            return texts
        words = pc.utf8_trim_whitespace(texts.cast(pa.string()))
        words = pc.if_else(pc.is_in(words, pa.array(csv.ConvertOptions().null_values)), None, words)
        if self.decimal == "." or not (pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
            return words
        return pc.replace_substring(pc.replace_substring(words, ".", "?"), self.decimal, ".")  # 1.5 is no number


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

"""Comma-separated lines, one a message, in the order of the schema."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import csv

from whimbrel.connect.feeds.decoding import Format, Index


class Csv(Format):
    """Reads lines with Arrow's parser.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the columns, where no schema is given.

    Examples
    --------
    >>> rows, each = Csv().parse([b"1,a", b"2,b"], pa.schema({"at": pa.int64(), "k": pa.string()}))
    >>> rows.to_pylist()
    [{'at': 1, 'k': 'a'}, {'at': 2, 'k': 'b'}]
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.names = names

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        if self.names is None:
            raise ValueError("lines do not say what their columns are called")
        return _read(sample, self.names, {}).schema

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        types = {field.name: field.type for field in schema}
        table = _read(messages, schema.names if self.names is None else self.names, types).select(schema.names)
        if table.num_rows != len(messages):
            raise ValueError("not one line")
        return table.combine_chunks().to_batches()[0], np.ones(len(messages), np.int64)


def _read(messages: Sequence[bytes], names: Sequence[str], types: dict[str, pa.DataType]) -> pa.Table:
    text = b"\n".join(messages) + b"\n"
    return csv.read_csv(
        pa.BufferReader(text),
        read_options=csv.ReadOptions(column_names=list(names), use_threads=False, block_size=len(text) + 1),
        convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""]))

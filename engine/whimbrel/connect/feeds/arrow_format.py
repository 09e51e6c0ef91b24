"""Arrow IPC streams, one a message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from whimbrel.connect.feeds.decoding import Format, Index, UnreadableError

_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
"""With which a stream ends, where its writer has closed it."""


class Arrow(Format):
    """Reads messages that are IPC streams, each with any number of rows."""

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        return _read(sample[0]).schema.remove_metadata()

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        parts = [conform(_read(message), schema) for message in messages]
        return as_batch(pa.concat_tables(parts)), np.array([part.num_rows for part in parts], np.int64)


def _read(message: bytes) -> pa.Table:
    with ipc.open_stream(message) as stream:
        table = stream.read_all()
    if not table.num_rows and not message.endswith(_END):
        raise UnreadableError("an Arrow stream that is cut short")
    table.validate(full=True)  # a length that is not true would be read from foreign memory
    return table


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a schema, cast where nothing is lost."""
    if table.schema.equals(schema):
        return table
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise UnreadableError(f"no column {missing[0]!r}")
    return table.select(schema.names).cast(schema)


class Columns(Format):
    """Reads record batches, each row of which is a message."""

    def infer(self, sample: pa.RecordBatch) -> pa.Schema:
        return sample.schema.remove_metadata()

    def parse(self, messages: pa.RecordBatch, schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        rows = as_batch(conform(pa.Table.from_batches([messages]), schema))
        return rows, np.ones(len(messages), np.int64)


def as_batch(table: pa.Table) -> pa.RecordBatch:
    """A table in one piece."""
    whole = table.combine_chunks().to_batches()
    if len(whole) == 1:
        return whole[0]
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in table.schema], schema=table.schema)

"""Arrow IPC streams, one per message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from whimbrel.connect.feeds.formats.decode import Format, Index
from whimbrel.connect.feeds.formats.malformed import UnreadableError

_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
"""With which a stream ends, where its writer has closed it."""
_WORD = 4
"""Bytes of each of the two numbers before a part of a stream."""


class Arrow(Format):
    """Reads messages that are IPC streams, each with any number of rows.

    Messages of one writer begin with the same schema. It is read once: what follows it is mostly one batch, which is
    then had in a tenth of the time.
    """

    def __init__(self) -> None:
        self._known: tuple[bytes, pa.Schema] = b"", pa.schema([])

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        return _read(sample[0]).schema.remove_metadata()

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.Table, Index]:
        begin, known = self._known
        batches = [batch for message in messages if (batch := _batch(message, begin, known)) is not None]
        if len(batches) == len(messages):
            table = pa.Table.from_batches(batches, known)
            table.validate(full=True)
            return conform(table, schema), np.array([batch.num_rows for batch in batches], np.int64)
        parts = [conform(_read(message), schema) for message in messages]
        self._known = _beginning(messages[-1])
        return pa.concat_tables(parts), np.array([part.num_rows for part in parts], np.int64)


def _beginning(message: bytes) -> tuple[bytes, pa.Schema]:
    """The bytes of a stream's schema, and the schema; none of a stream that is not one batch which they tell all of."""
    source = pa.BufferReader(message)
    schema = ipc.read_schema(ipc.read_message(source))
    begin = message[: source.tell()]
    batch = _batch(message, begin, schema)
    alike = batch is not None and pa.Table.from_batches([batch]).equals(_read(message))  # not of another byte order
    return (begin, schema) if alike else (b"", schema)


def _batch(message: bytes, begin: bytes, schema: pa.Schema) -> pa.RecordBatch | None:
    """The rows of a stream that begins so and has one batch; None of any other."""
    if not begin or not message.startswith(begin):
        return None
    try:
        found = ipc.read_message(pa.py_buffer(message).slice(len(begin)))
    except (pa.ArrowInvalid, OSError, EOFError):
        return None
    rest = len(message) - len(begin) - 2 * _WORD - found.metadata.size - found.body.size
    if found.type != "record batch" or rest not in (0, len(_END)) or not (rest == 0 or message.endswith(_END)):
        return None
    return ipc.read_record_batch(found, schema)


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


class RecordBatchFormat(Format):
    """Reads record batches, each row of which is a message."""

    def infer(self, sample: pa.RecordBatch) -> pa.Schema:
        return sample.schema.remove_metadata()

    def parse(self, messages: pa.RecordBatch, schema: pa.Schema) -> tuple[pa.Table, Index]:
        return conform(pa.Table.from_batches([messages]), schema), np.ones(len(messages), np.int64)


def as_batch(table: pa.Table) -> pa.RecordBatch:
    """A table in one piece."""
    whole = table.combine_chunks().to_batches()
    if len(whole) == 1:
        return whole[0]
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in table.schema], schema=table.schema)

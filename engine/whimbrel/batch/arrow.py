"""Convert between record batches and batches, without copies where possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from whimbrel.batch.batch import Batch, Ticks
from whimbrel.batch.column import Column
from whimbrel.batch.schema import Field, Schema
from whimbrel.batch.shared_times import following
from whimbrel.batch.storage import Storage
from whimbrel.clock import INF

_WORTH_SHARING = 4_096
"""Rows from which on looking whether all are of one time costs little."""


def columns_from_arrow(data: pa.RecordBatch) -> tuple[Column, ...]:
    """All columns of a record batch."""
    return tuple(Column.from_arrow(array) for array in data.columns)


def schema_from_arrow(schema: pa.Schema) -> tuple[Field, ...]:
    """Fields of an Arrow schema; a dictionary is a way to store a type, not a type."""
    return tuple(
        Field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in schema
    )


def table_schema(schema: Schema) -> pa.Schema:
    """Arrow schema of a result: start, end, then the payload."""
    payload = [pa.field(field.name, field.type) for field in schema if field.name not in ("start", "end")]
    return pa.schema([pa.field("start", schema.time_type), pa.field("end", schema.time_type), *payload])


def table_from_batches(schema: Schema, batches: Sequence[Batch], storage: Storage | None = None) -> pa.Table:
    """Result rows as a table: start, end (null when no end is known), then the payload.

    End edges must have been joined to their starts before. A `storage` is given where rows stay for long.
    """
    arrow_schema = table_schema(schema)
    names = arrow_schema.names[2:]
    tables = [pa.Table.from_arrays(_arrays(schema, names, batch, storage), schema=arrow_schema)
              for batch in (batch.compact(storage) for batch in batches) if len(batch)]
    if not tables:  # not schema.empty_table(): it loads pandas
        return pa.Table.from_arrays([pa.nulls(0, field.type) for field in arrow_schema], schema=arrow_schema)
    return pa.concat_tables(tables)


def _arrays(schema: Schema, names: Sequence[str], batch: Batch, storage: Storage | None) -> list[pa.Array]:
    start, ends = _times(schema, batch, storage)
    columns = (Column(column.type, start.values) if batch.is_time(column) else _kept(column, storage)
               for column in map(batch.column, names))
    return [start.to_arrow(), ends.to_arrow(), *(column.to_arrow() for column in columns)]


def _times(schema: Schema, batch: Batch, storage: Storage | None) -> tuple[Column, Column]:
    """Starts and ends; of a batch of one time, as those of a long window are, they share memory with other batches."""
    sync, ends, type_ = batch.sync, batch.ends, schema.time_type
    if not isinstance(ends, int):
        return (_kept(Column(type_, sync), storage),
                _kept(Column(type_, ends, ends != INF if ends.max() == INF else None), storage))
    if storage is not None and len(batch) >= _WORTH_SHARING and sync[0] == sync[-1] and (sync == sync[0]).all():
        return Column(type_, storage.alike(int(sync[0]), len(batch))), Column(
            type_, storage.alike(int(sync[0]) + ends, len(batch)))
    after = following(sync, ends, evenly=batch.gaps == (ends, ends))
    if after is None:
        after = np.add(sync, ends, out=None if storage is None else storage.empty(len(batch), np.int64))
    return _kept(Column(type_, sync), storage), Column(type_, after)


def _kept(column: Column, storage: Storage | None) -> Column:
    values = column.values
    if storage is None or not isinstance(values, np.ndarray) or values.dtype == np.bool_:
        return column
    return Column(column.type, storage.keep(values), column.valid)


def record_batches(table: pa.Table, rows: int) -> list[pa.RecordBatch]:
    """A table cut into record batches of at most so many rows; no copy."""
    return table.to_batches(max_chunksize=rows) if table.num_rows else []


def ticks_from_arrow(array: pa.Array) -> tuple[Ticks, np.ndarray | None]:
    """Int64 ticks of a time column and a bool array that is False where it is null (None: nowhere)."""
    column = Column.from_arrow(array)
    return np.asarray(column.values).astype(np.int64, copy=False), column.valid

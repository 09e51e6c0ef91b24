"""The Arrow doors: record batches in, tables out. Values are shared, not copied, where the layouts allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from whimbrel.batch.batch import Batch, Ticks
from whimbrel.batch.column import Column
from whimbrel.batch.schema import Field, Schema
from whimbrel.clock import INF


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


def table_from_batches(schema: Schema, batches: Sequence[Batch]) -> pa.Table:
    """Result rows as a table: start, end (null when no end is known), then the payload.

    End edges must have been joined to their starts before.
    """
    arrow_schema = table_schema(schema)
    names = arrow_schema.names[2:]
    tables = [
        pa.Table.from_arrays(
            [Column(schema.time_type, batch.sync).to_arrow(), _ends(schema, batch),
             *(batch.column(name).to_arrow() for name in names)],
            schema=arrow_schema,
        )
        for batch in (batch.compact() for batch in batches)
        if len(batch)
    ]
    if not tables:  # not schema.empty_table(): it loads pandas
        return pa.Table.from_arrays([pa.nulls(0, field.type) for field in arrow_schema], schema=arrow_schema)
    return pa.concat_tables(tables)


def _ends(schema: Schema, batch: Batch) -> pa.Array:
    ends = batch.other
    open_ended = None if isinstance(batch.ends, int) else ends == INF
    known = None if open_ended is None or not open_ended.any() else ~open_ended
    return Column(schema.time_type, ends, known).to_arrow()


def record_batches(table: pa.Table, rows: int) -> list[pa.RecordBatch]:
    """A table cut into record batches of at most so many rows; no copy."""
    return table.to_batches(max_chunksize=rows) if table.num_rows else []


def ticks_from_arrow(array: pa.Array) -> tuple[Ticks, np.ndarray | None]:
    """Int64 ticks of a time column and a bool array that is False where it is null (None: nowhere)."""
    column = Column.from_arrow(array)
    return np.asarray(column.values).astype(np.int64, copy=False), column.valid

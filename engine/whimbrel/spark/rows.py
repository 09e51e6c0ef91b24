"""Rows of a stream in a DataFrame, and how tasks read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema, SegmentType, plain_array, plain_type
from whimbrel.clock import TickUnit
from whimbrel.connect import Timeline
from whimbrel.spark.types import fitting

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

TICKS, ENDS = "whimbrel_ticks", "whimbrel_ends"
"""When a row starts and ends, as the engine counts."""

_TICK_US: dict[TickUnit, int] = {"s": 1_000_000, "ms": 1_000, "us": 1}


@dataclass(frozen=True)
class RowReader:
    """Makes rows with lifetimes of the columns that Spark sends.

    Parameters
    ----------
    schema : Schema
        The payload that is read.
    sent : pyarrow.Schema
        What is sent, in the engine's types.
    timeline : Timeline, optional
        How columns become ticks; None: the first two columns are the ticks of start and end.
    """

    schema: Schema
    sent: pa.Schema
    timeline: Timeline | None

    def batch(self, arrays: Sequence[pa.Array]) -> Batch:
        """Rows as the engine has them; at least one is given."""
        part = [as_type(array, field.type) for array, field in zip(arrays, self.sent, strict=True)]
        if self.timeline is not None:
            rows = pa.RecordBatch.from_arrays(part, schema=self.sent)
            return next(iter(self.timeline.batches([rows], self.schema.names, 0)))
        sync, ends, *payload = part
        columns = tuple(Column.from_arrow(plain_array(array)) for array in payload)
        return Batch(self.schema, np.asarray(sync), np.asarray(ends), columns)


@dataclass(frozen=True)
class SparkRows:
    """A stream as a DataFrame.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema
        Columns that the engine may read, and the unit of time.
    timeline : Timeline, optional
        Which columns say when a row is true; None: :data:`TICKS` and :data:`ENDS`, which an earlier stage made.
    """

    frame: DataFrame
    schema: Schema
    timeline: Timeline | None = None

    def reader(self, names: Sequence[str]) -> RowReader:
        """How a task reads these columns."""
        schema = self.schema.select(names)
        if self.timeline is None:
            ticks = [pa.field(TICKS, pa.int64()), pa.field(ENDS, pa.int64())]
            return RowReader(schema, pa.schema([*ticks, *(pa.field(field.name, field.type) for field in schema)]), None)
        needed = self.timeline.needed(names)
        return RowReader(schema, pa.schema([(name, self.schema.type_of(name)) for name in needed]), self.timeline)

    def ticks(self) -> SparkColumn:
        """When rows start; one that does not say so is an error."""
        from pyspark.sql import functions as f

        if self.timeline is None:
            return f.col(TICKS)
        time = self.timeline.time
        type_, name = self.schema.type_of(time), quoted(time)
        if pa.types.is_date(type_):
            ticks = f"cast(unix_date({name}) as long) * {86_400_000 if pa.types.is_date64(type_) else 86_400}"
        elif pa.types.is_timestamp(type_):
            micros = (f"unix_micros({name})" if type_.tz else
                      f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {name})")
            ticks = f"{micros} * 1000" if type_.unit == "ns" else f"{micros} div {_TICK_US[type_.unit]}"
        else:
            ticks = f"cast({name} as long)"
        missing = f.raise_error(f.lit(f"A row has no time: {time!r} is null.")).cast("long")
        return f.coalesce(f.expr(ticks), missing)


def quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever is in it.

    >>> quoted("a.b`c")
    '`a.b``c`'
    """
    return "`" + name.replace("`", "``") + "`"


def stage_fields(schema: Schema, where: str) -> pa.Schema:
    """The columns that one stage hands to the next, in Spark's types."""
    payload = [pa.field(field.name, fitting(field.type, field.name, where)) for field in schema]
    return pa.schema([pa.field(TICKS, pa.int64()), pa.field(ENDS, pa.int64()), *payload])


def arrow_of(batch: Batch, fields: pa.Schema) -> pa.RecordBatch:
    """Rows for the next stage."""
    batch = batch.compact()
    ticks = [Column(pa.int64(), times).to_arrow() for times in (batch.sync, batch.other)]
    arrays = [*ticks, *(column.to_arrow() for column in batch.columns)]
    return pa.RecordBatch.from_arrays([as_type(array, field.type) for array, field in zip(arrays, fields, strict=True)],
                                      schema=fields)


def as_type(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The same values, without the session's time zone and the files' units; segments as Spark holds them."""
    if isinstance(type_, SegmentType) and array.type != type_:
        return pa.ExtensionArray.from_storage(type_, array.cast(type_.storage_type))
    logical = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    return array if plain_type(logical) == type_ else array.cast(type_)

"""Tables without a time, as streams whose rows hold at all times."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from whimbrel.clock import MIN_TIME
from whimbrel.connect.tables.lazy_frames import collected
from whimbrel.errors import SqlError
from whimbrel.stream import Stream, from_arrow

_FIRST_YEAR_S = int((datetime(1, 1, 1) - datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001 - a difference
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_STARTS, _ENDS = "start of all times", "end of all times"


def as_table(data: Any, name: str) -> pa.Table:
    """An Arrow table of what a user passes as a table."""
    data = collected(data, f"wb.sql(..., {name}=...)")
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, dict):
        return pa.table(data)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__") or hasattr(data, "to_arrow"):
        if type(data).__module__.startswith("pandas"):
            return pa.Table.from_pandas(data, preserve_index=False)
        return pa.table(data)
    raise SqlError(f"{name} must be a stream or a table, got {type(data).__name__}.", where=f"wb.sql(..., {name}=...)",
                   hint="Pass a stream, an Arrow table, or a DataFrame of pandas or Polars.")


def reads_tables_only(stream: Stream) -> bool:
    """Whether all sources of a stream are tables whose rows hold at all times."""
    return all(source.time == _STARTS for source in stream.sources)


def first_tick(time: pa.DataType) -> int:
    """Where rows of a table start: the first time that Python's dates can show."""
    if not pa.types.is_timestamp(time):
        return MIN_TIME
    return max(_FIRST_YEAR_S * _TICKS[time.unit], -(2**63) + 2**60 if time.unit == "ns" else MIN_TIME)


def table_stream(table: pa.Table, name: str, time: pa.DataType, starts: list[int] | None = None,
                 ends: list[int | None] | None = None) -> Stream:
    """A stream of the rows of a table, in the time of the other streams.

    Without starts and ends they hold at all times.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
    time : pyarrow.DataType
        The type of the time of the streams that it meets.
    starts, ends : list of int, optional
        When each row is inserted, in order, and when it is deleted: the table has a history.
    """
    rows = table.num_rows
    first = pa.array([first_tick(time)] * rows if starts is None else starts, pa.int64()).cast(time)
    last = pa.nulls(rows, time) if ends is None else pa.array(ends, pa.int64()).cast(time)
    dated = table.append_column(_STARTS, first).append_column(_ENDS, last)
    return from_arrow(dated, time=_STARTS, end=_ENDS, name=name).select(*table.column_names)

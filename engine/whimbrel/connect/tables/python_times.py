"""Exact conversion of Python times with nanoseconds to Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.clock import duration_ticks, parse_instant
from whimbrel.errors import PlanError, SourceError


def with_nanoseconds(table: pa.Table, columns: Sequence[Any], *, where: str) -> pa.Table:
    """Restore nanoseconds in a table whose Python values have them.

    Arrow makes microseconds of pandas' single times, and cuts off the rest.

    Parameters
    ----------
    table : pyarrow.Table
    columns : sequence
        What its first columns were made of.
    where : str
        The user's call, for errors.

    Raises
    ------
    SourceError
        For a time that nanoseconds cannot count, or a finer one within a list or struct.

    Examples
    --------
    >>> import pandas as pd
    >>> given = [pd.Timestamp("2024-01-01T00:00:00.000000001")]
    >>> with_nanoseconds(pa.table({"t": given}), [given], where="").schema.field("t").type
    TimestampType(timestamp[ns])
    """
    for index, (field, values) in enumerate(zip(table.schema, columns, strict=False)):
        python = isinstance(values, list | tuple) or getattr(values, "dtype", None) == np.dtype(object)
        if not python or not _has_times(field.type) or not any(map(_is_finer, values)):
            continue
        table = table.set_column(index, field.name, _in_ns(values, field, where))
    return table


def _in_ns(values: Sequence[Any], field: pa.Field, where: str) -> pa.Array:
    type_ = field.type
    count: Callable[[Any], int]
    if pa.types.is_timestamp(type_):
        fine, zone = pa.timestamp("ns", type_.tz), None if type_.tz is None else "UTC"
        count = lambda value: parse_instant(value, "ns", zone, name=field.name, where=where)  # noqa: E731
    elif pa.types.is_duration(type_):
        fine = pa.duration("ns")
        count = lambda value: duration_ticks(value, "ns", where=where)  # noqa: E731
    else:
        raise SourceError(f"Column {field.name!r} has times in nanoseconds, which {type_} would truncate.", where=where,
                          hint="Use an Arrow array of a nanosecond type, or round with value.floor('us').")
    try:
        ticks = [None if value is None or value != value else count(value)  # noqa: PLR0124 - NaT
                 for value in values]
    except PlanError as error:
        raise SourceError(f"Column {field.name!r} has times in nanoseconds, and others outside their range: "
                          f"{error.what}", where=where, hint="Round the times with value.floor('us').") from None
    return pa.array(ticks, pa.int64()).cast(fine)


def _has_times(type_: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(type_)) or any(_has_times(type_.field(part).type)
                                                   for part in range(type_.num_fields))


def _is_finer(value: Any) -> bool:
    """Whether a value, or a part of it, has nanoseconds."""
    if isinstance(value, list | tuple | np.ndarray):
        return any(map(_is_finer, value))
    if isinstance(value, dict):
        return any(map(_is_finer, value.values()))
    nanoseconds = getattr(value, "nanosecond", None) or getattr(value, "nanoseconds", None)
    return isinstance(nanoseconds, int) and nanoseconds != 0

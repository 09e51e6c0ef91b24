"""Exact conversion of Python times to Arrow: nanoseconds and zones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.clock import TickUnit, duration_ticks, parse_instant
from whimbrel.errors import PlanError, SourceError


def with_exact_times(table: pa.Table, columns: Sequence[Any], *, where: str) -> pa.Table:
    """Restore what Arrow drops of Python times: nanoseconds, and what their zones say.

    Arrow makes microseconds of pandas' single times. It takes a time without a zone to be in UTC, and drops the zone of
    a time if the first one has none. Here a time without a zone is in the zone of the column.

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
        For a time that nanoseconds cannot count, a finer one within a list or struct, and a time with a zone in a
        column without one.

    Examples
    --------
    >>> import pandas as pd
    >>> given = [pd.Timestamp("2024-01-01T00:00:00.000000001")]
    >>> with_exact_times(pa.table({"t": given}), [given], where="").schema.field("t").type
    TimestampType(timestamp[ns])
    """
    for index, (field, values) in enumerate(zip(table.schema, columns, strict=False)):
        python = isinstance(values, list | tuple) or getattr(values, "dtype", None) == np.dtype(object)
        if not python or not _has_times(field.type):
            continue
        fine = any(map(_is_finer, values))
        if fine or any(_has_other_zone(value, field.type) for value in values):
            table = table.set_column(index, field.name, _converted(values, field, where, fine=fine))
    return table


def _converted(values: Sequence[Any], field: pa.Field, where: str, *, fine: bool) -> pa.Array:
    type_ = field.type
    unit: TickUnit = "ns" if fine else getattr(type_, "unit", None)
    count: Callable[[Any], int]
    if pa.types.is_timestamp(type_):
        made = pa.timestamp(unit, type_.tz)
        count = lambda value: parse_instant(value, unit, type_.tz, name=field.name, where=where)  # noqa: E731
    elif pa.types.is_duration(type_):
        made = pa.duration(unit)
        count = lambda value: duration_ticks(value, unit, where=where)  # noqa: E731
    else:
        if fine:
            raise SourceError(f"Column {field.name!r} has times in nanoseconds, which {type_} would truncate.",
                              where=where,
                              hint="Use an Arrow array of a nanosecond type, or round with value.floor('us').")
        raise SourceError(f"Column {field.name!r} has times with a zone and without, which {type_} would mix.",
                          where=where, hint="Give all of its times a zone, or none.")
    try:
        ticks = [None if value is None or value != value else count(value)  # noqa: PLR0124 - NaT
                 for value in values]
    except PlanError as error:
        if fine:
            raise SourceError(f"Column {field.name!r} has times in nanoseconds, and others outside their range: "
                              f"{error.what}", where=where, hint="Round the times with value.floor('us').") from None
        raise SourceError(f"Cannot convert column {field.name!r} to {made}: {error.what}", where=where,
                          hint=error.hint) from None
    return pa.array(ticks, pa.int64()).cast(made)


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


def _has_other_zone(value: Any, type_: pa.DataType) -> bool:
    """Whether a time, or a part of a value, has a zone and its column none, or the other way round."""
    if pa.types.is_timestamp(type_):
        return isinstance(value, datetime) and (value.tzinfo is None) != (type_.tz is None)
    if isinstance(value, list | tuple | np.ndarray):
        return bool(type_.num_fields) and any(_has_other_zone(each, type_.field(0).type) for each in value)
    if isinstance(value, dict):
        return any(_has_other_zone(value.get(each.name), each.type) for each in type_)
    return False

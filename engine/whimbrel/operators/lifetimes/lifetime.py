"""Evaluate expressions of lifetimes, with ``start`` and ``end`` as ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Mask, Schema, Ticks
from whimbrel.clock import INF, MIN_TIME, Duration, TickUnit, duration_ticks, quote_ticks
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr import Expr, columns_of, evaluate, trace, type_of

__all__ = ["Span"]

Span = Duration | Expr | Callable[[Any], Any]
"""What may be given as a duration that differs between events."""

LIFETIME = frozenset(("start", "end"))
"""Columns that every event has besides its payload."""


def span(value: Span | None, schema: Schema, *, where: str) -> int | Expr:
    """A duration in ticks, or an expression that is one; None is no known end."""
    if value is None:
        return INF
    if isinstance(value, Expr) or callable(value):
        return trace(value, where=where)
    return duration_ticks(value, schema.unit, where=where)


def show_span(value: int | Expr, unit: TickUnit) -> str:
    if isinstance(value, Expr):
        return value.show()
    return "None" if value == INF else quote_ticks(value, unit)


def payload_of(expr: Expr) -> frozenset[str]:
    """The payload columns that such an expression reads."""
    return columns_of(expr) - LIFETIME


def check_duration(expr: Expr, schema: Schema, *, where: str) -> None:
    """Refuse what is no duration: integers are ticks, durations need a stream that counts time."""
    type_ = type_of(expr, _with_lifetime(schema), where=where)
    if not pa.types.is_integer(type_) and not (pa.types.is_duration(type_) and schema.unit):
        raise ExpressionError(f"A duration must be an integer or a duration, got {expr.show()} of type {type_}.",
                              where=where,
                              hint="Use ticks as an integer, or the difference of two times.")


def check_time(expr: Expr, schema: Schema, *, where: str) -> None:
    """Refuse what is no time of this stream."""
    type_ = type_of(expr, _with_lifetime(schema), where=where)
    if pa.types.is_timestamp(type_):
        fits = schema.unit is not None and (type_.tz is None) == (schema.zone is None)
    else:
        fits = schema.unit is None and pa.types.is_integer(type_)
    if not fits:
        raise ExpressionError(f"A time of this stream must be {schema.time_type}, got {expr.show()} of type {type_}.",
                              where=where,
                              hint="Compute it from col.start, such as col.start.dt.floor(...) or col.start - 5.")


def durations(expr: Expr, batch: Batch, *, where: str) -> tuple[Ticks, Mask]:
    """Ticks of a duration for each row, and where it is known."""
    return _ticks(expr, batch, pa.duration(batch.schema.unit) if batch.schema.unit else pa.int64(), where)


def times(expr: Expr, batch: Batch, *, where: str) -> tuple[Ticks, Mask]:
    """Ticks of a time for each row, and where it is known."""
    return _ticks(expr, batch, batch.schema.time_type, where)


def _ticks(expr: Expr, batch: Batch, type_: pa.DataType, where: str) -> tuple[Ticks, Mask]:
    column = evaluate(expr, _lifetime_as_columns(batch))
    if column.type != type_ and not pa.types.is_integer(column.type):
        try:
            column = Column.from_arrow(column.to_arrow().cast(type_))
        except pa.ArrowInvalid:
            raise KernelError(f"{expr.show()} must be a whole number of ticks ({batch.schema.unit}).", where=where,
                              hint="Round it, or use a finer time column.") from None
    return np.asarray(column.values).astype(np.int64), column.validity()


def end_after(start: Ticks, duration: Ticks) -> Ticks:
    """``start + duration``; what lies beyond the last tick never ends."""
    with np.errstate(over="ignore"):
        end = start + duration
    end[(duration > 0) & (end < start)] = INF
    end[(duration < 0) & (end > start)] = MIN_TIME
    return end


def _with_lifetime(schema: Schema) -> Schema:
    kept = [field for field in schema if field.name not in LIFETIME]
    return schema.with_fields([*kept, Field("start", schema.time_type), Field("end", schema.time_type)])


def _lifetime_as_columns(batch: Batch) -> Batch:
    type_, other = batch.schema.time_type, batch.other
    kept = [column for field, column in zip(batch.schema, batch.columns, strict=True) if field.name not in LIFETIME]
    lifetime = Column(type_, batch.sync), Column(type_, other, other != INF)
    return batch.having(schema=_with_lifetime(batch.schema), columns=(*kept, *lifetime))

"""Select a result row by time and column values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.clock import INF, parse_instant
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Col, Expr, lift, type_of
from whimbrel.plan import Exact, LineageRequest

_HINT = "Use lineage(row) for a result row, or lineage(start=..., key=...) for the rows at that time."


def asked(schema: Schema, row: Mapping[str, Any]) -> LineageRequest:
    """The lineage request for a selected row.

    Parameters
    ----------
    schema : Schema
        Of the stream.
    row : mapping of str to value
        ``start``, perhaps ``end`` (None: none is known), and columns; without ``end`` what holds at the start.

    Raises
    ------
    SchemaError, PlanError
        When there is no such column, or no start.
    """
    if row.get("start") is None:
        raise PlanError("lineage() needs the start of a row.", where="lineage(...)", hint=_HINT)
    start = _tick(row["start"], schema)
    end = start + 1 if "end" not in row else INF if row["end"] is None else _tick(row["end"], schema)
    if end <= start:
        raise PlanError("end must be after start.", where=f"lineage(start={row['start']!r}, end={row['end']!r})",
                        hint=_HINT)
    where = tuple(each for name, value in row.items() if name not in ("start", "end")
                  if (each := _condition(name, value, schema)) is not None)
    return LineageRequest(start, end, exact=Exact.VALUES, where=where)


def _condition(name: str, value: Any, schema: Schema) -> Expr | None:
    """The condition that a column equals a value; None if they cannot be compared."""
    type_ = schema.type_of(name, where=f"lineage({name}=...)")
    if value is None:
        return Col(name).is_null()
    if pa.types.is_nested(type_) or (isinstance(value, float) and math.isnan(value)):
        return None
    try:
        condition = Col(name) == lift(value)
        type_of(condition, schema)
    except ExpressionError:
        if _comparable(type_):
            raise PlanError(f"{name!r} has type {type_}, so it never equals {value!r}.",
                            where=f"lineage({name}={value!r})",
                            hint="Use a value from the result.") from None
        return None
    return condition


def _comparable(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(type_) or types.is_boolean(type_) or types.is_integer(type_))


def _tick(value: Any, schema: Schema) -> int:
    """Ticks of a time. NumPy's times are in UTC, as in results; others without a zone are in that of the stream."""
    zone = None if isinstance(value, np.datetime64) else schema.zone
    return parse_instant(value, schema.unit, zone, name="start", where=f"lineage(start={value!r})")

"""Types of casts, and of times in time zones."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pyarrow as pa
from pyarrow import types as t

from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Call, Expr
from whimbrel.expr.type_predicates import is_number, is_plain


def type_in_zone(expr: Call, x: pa.DataType) -> pa.DataType:
    """A time with a zone becomes one without, and the other way around."""
    if not t.is_timestamp(x):
        raise ExpressionError(f"A clock shows times, got {x}.", where=expr.show(),
                              hint="Cast it to a time first.")
    zone = expr.options[0]
    try:
        ZoneInfo(zone)
    except (ValueError, TypeError, OSError, KeyError):
        raise ExpressionError(f"There is no time zone {zone!r}.", where=expr.show(),
                              hint="Use a name such as 'Europe/Berlin'.") from None
    return pa.timestamp(x.unit, zone if x.tz is None else None)


def cast_type(expr: Expr, x: pa.DataType, target: pa.DataType) -> pa.DataType:
    """`target`, if Arrow knows how to cast to it."""
    if x == target or (is_number(x) and t.is_boolean(target)):
        return target
    if (t.is_decimal(target) and (is_plain(x) or t.is_decimal(x))) or (t.is_decimal(x) and is_plain(target)):
        return target
    if isinstance(x, pa.UuidType) and target == pa.string():
        return target
    if isinstance(x, pa.BaseExtensionType) and target != x.storage_type:
        raise ExpressionError(f"Cannot cast {x} to {target}.", where=expr.show(),
                              hint=f"Cast it to its storage type first: .cast(pa.{x.storage_type}).")
    try:
        pa.nulls(0, x).cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # Arrow says so only when it is asked to cast
        raise ExpressionError(f"Cannot cast {x} to {target}.", where=expr.show()) from None
    return target

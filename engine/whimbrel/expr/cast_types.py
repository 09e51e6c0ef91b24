"""Types of casts, and of times in time zones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyarrow import types as t

from whimbrel.clock.near_timezone import timezone_hint
from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Call, Expr
from whimbrel.expr.type_predicates import is_number, is_plain


def type_in_zone(expr: Call, x: pa.DataType) -> pa.DataType:
    """A time with a zone becomes one without, and the other way around."""
    if not t.is_timestamp(x):
        raise ExpressionError(f"A clock shows times, got {x}.", where=expr.show(),
                              hint="Cast it to a time first.")
    zone = expr.options[0]
    _check_zone(zone, expr, ZoneInfo)
    return pa.timestamp(x.unit, zone if x.tz is None else None)


def _check_zone(zone: Any, expr: Expr, find: Callable[[Any], Any]) -> None:
    """Refuse a time zone that is not found."""
    try:
        find(zone)
    except (ValueError, TypeError, OSError, KeyError):
        raise ExpressionError(f"There is no time zone {zone!r}.", where=expr.show(),
                              hint=timezone_hint(zone)) from None


def cast_type(expr: Expr, x: pa.DataType, target: pa.DataType) -> pa.DataType:
    """`target`, if Arrow knows how to cast to it."""
    if x == target or (is_number(x) and t.is_boolean(target)):
        return target
    if t.is_timestamp(target) and target.tz is not None:
        _check_zone(target.tz, expr, pa.lib.string_to_tzinfo)
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
        raise ExpressionError(f"Cannot cast {x} to {target}.", where=expr.show(),
                              hint="Cast the values of a list or the fields of a struct." if t.is_nested(x) else
                              "Cast it to text or to an integer first.") from None
    return target

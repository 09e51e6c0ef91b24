"""Types by their names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from whimbrel.batch import logical_type
from whimbrel.errors import ExpressionError

_DECIMAL = re.compile(r"decimal(128|256)?\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_ZONED = re.compile(r"timestamp\[\s*(s|ms|us|ns)\s*,\s*(?:tz=)?([^\]\s]+)\s*\]")

_PYTHON_NAMES: dict[Any, str] = {int: "int64", float: "float64", str: "string", bool: "bool"}


def data_type(type_: Any, where: Callable[[], str]) -> pa.DataType:
    """The Arrow type that the engine computes with, of a type of Arrow or Python, or of a name."""
    if (found := named_type(type_)) is None:
        raise ExpressionError(f"Unknown type {type_!r}.", where=where(),
                              hint="Use a type, such as 'int64', 'decimal(38, 2)' or 'timestamp[us]'.")
    return logical_type(found)


def named_type(type_: Any) -> pa.DataType | None:
    """The Arrow type of a type of Arrow or Python, or of a name; None if there is none.

    >>> named_type("decimal(8, 2)"), named_type("timestamp[ms, UTC]"), named_type(float), named_type("dec")
    (Decimal128Type(decimal128(8, 2)), TimestampType(timestamp[ms, tz=UTC]), DataType(double), None)
    """
    if isinstance(type_, pa.DataType):
        return type_
    try:
        if isinstance(type_, str) and (digits := _DECIMAL.fullmatch(type_)):
            width, precision, scale = digits.groups()
            wide = width == "256" or (not width and int(precision) > 38)
            return (pa.decimal256 if wide else pa.decimal128)(int(precision), int(scale or 0))
        if isinstance(type_, str) and (zoned := _ZONED.fullmatch(type_)):
            return pa.timestamp(*zoned.groups())
        return pa.type_for_alias(_PYTHON_NAMES.get(type_, type_))
    except (TypeError, ValueError, AttributeError):
        return None

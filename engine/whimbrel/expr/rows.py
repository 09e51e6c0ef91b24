"""Python functions called row by row: the slow way that is always there."""

from __future__ import annotations

import typing
from collections import namedtuple
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr.nodes import RowFunction
from whimbrel.expr.types import is_number, is_text
from whimbrel.expr.value import PRESENT, Scope, Value, from_arrow

_RESULTS: dict[type, pa.DataType] = {
    bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), datetime: pa.timestamp("us"),
    date: pa.date32(), timedelta: pa.duration("us"),
}
_HINT = "say the type: def f(row) -> float: ..., with one of bool, int, float, str, datetime, date, timedelta"


def row_function_type(expr: RowFunction, types: Sequence[pa.DataType]) -> pa.DataType:
    """The type that the function is annotated with, or else the type of its results on sample rows."""
    try:
        annotated = typing.get_type_hints(expr.function).get("return")
    except NameError:
        annotated = None
    if annotated is not None:
        if annotated not in _RESULTS:
            raise ExpressionError(f"A row cannot become {annotated!r}.", where=expr.show(), hint=_HINT)
        return _RESULTS[annotated]
    row = _row(expr)
    found = set()
    for sample in zip(*(_samples(type_) for type_ in types), strict=True):
        try:
            found.add(type(expr.function(row(*sample))))
        except Exception:  # a sample may be outside what the function is made for; the others tell
            continue
    found.discard(type(None))
    if found == {int, float}:
        return pa.float64()
    if len(found) != 1 or not found <= _RESULTS.keys():
        names = " or ".join(sorted(type_.__name__ for type_ in found))
        raise ExpressionError(f"The function's result cannot be foreseen{': ' + names if names else ''}.",
                              where=expr.show(), hint=_HINT)
    return _RESULTS[found.pop()]


def call_rows(expr: RowFunction, args: Sequence[Value], scope: Scope) -> Value:
    """One call a row, for rows that count and have no null in what the function reads."""
    result = row_function_type(expr, [arg.type for arg in args])
    rows = len(scope.batch)
    wanted = np.broadcast_to(scope.counts(), (rows,))
    for arg in args:
        wanted = wanted & arg.present
    positions = np.flatnonzero(wanted)
    columns = [arg.column(rows).take(positions).to_arrow().to_pylist() for arg in args]
    row, function = _row(expr), expr.function
    answers: list[Any] = [None] * rows
    for position, *values in zip(positions.tolist(), *columns, strict=True):
        try:
            answers[position] = function(row(*values))
        except Exception as error:
            raise KernelError(f"Row {position}: {type(error).__name__}: {error}", where=expr.show()) from error
    try:
        array = pa.array(answers, result)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise KernelError(f"A result is not {result}: {str(error).splitlines()[0]}", where=expr.show(),
                          hint=_HINT) from None
    return from_arrow(array) if result != pa.string() else Value(result, array, PRESENT)


def _row(expr: RowFunction) -> Any:
    return namedtuple("Row", expr.fields, rename=True)


def _samples(type_: pa.DataType) -> list[Any]:
    """A few ordinary values of a type."""
    if t.is_integer(type_):
        return [1, 0, 2, 1000]
    if is_number(type_):
        return [1.5, 0.0, -2.5, 1000.0]
    if t.is_boolean(type_):
        return [True, False, True, False]
    if is_text(type_):
        return ["a", "", "1", "A b"]
    if t.is_timestamp(type_):
        return pa.array([0, 1, 2, 3]).cast(pa.timestamp(type_.unit)).cast(type_).to_pylist()
    if t.is_duration(type_):
        return [timedelta(seconds=n) for n in (1, 0, 2, 1000)]
    if t.is_date(type_):
        return [date(1970, 1, n) for n in (1, 2, 3, 4)]
    if t.is_time(type_):
        return [time(n) for n in (1, 0, 2, 3)]
    if t.is_decimal(type_):
        return [Decimal(n) for n in (1, 0, 2, 1000)]
    return [None] * 4

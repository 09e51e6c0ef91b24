"""Python functions called row by row: the slow way that is always there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.errors import KernelError
from whimbrel.expr.convert import as_type
from whimbrel.expr.nodes import RowFunction
from whimbrel.expr.samples import RESULT_HINT, Row, row_function_type
from whimbrel.expr.value import Scope, Value, from_arrow


def call_rows(expr: RowFunction, args: Sequence[Value], scope: Scope) -> Value:
    """One call a row that counts and has no null in what the function reads, or takes it as None."""
    result = row_function_type(expr, [arg.type for arg in args])
    rows = len(scope.batch)
    wanted = np.broadcast_to(scope.counts(), (rows,))
    for arg in () if expr.takes_nulls else args:
        wanted = wanted & arg.present
    positions = np.flatnonzero(wanted)
    columns = [_microseconds(arg, scope, expr).column(rows).take(positions).to_arrow().to_pylist() for arg in args]
    answers: list[Any] = [None] * rows
    for position, *values in zip(positions.tolist(), *columns, strict=True):
        try:
            answers[position] = expr.function(Row(expr.fields, values))
        except Exception as error:
            row = ", ".join(f"{field}={value!r}" for field, value in zip(expr.fields, values, strict=True))
            raise KernelError(f"{type(error).__name__}: {error}, for the row {row}", where=expr.show()) from error
    try:
        if t.is_list(result):  # an iterator is made a list
            answers = [None if answer is None else list(answer) for answer in answers]
        array = pa.array(answers, result)
    except (pa.ArrowInvalid, TypeError, OverflowError) as error:
        raise KernelError(f"A result is not {result}: {str(error).splitlines()[0]}", where=expr.show(),
                          hint=RESULT_HINT) from None
    return from_arrow(array) if result != pa.string() else Value(result, array)




def _microseconds(value: Value, scope: Scope, expr: RowFunction) -> Value:
    """Python's times have no nanoseconds."""
    if t.is_timestamp(value.type) and value.type.unit == "ns":
        return as_type(value, pa.timestamp("us", value.type.tz), scope, expr)
    if t.is_duration(value.type) and value.type.unit == "ns":
        return as_type(value, pa.duration("us"), scope, expr)
    return value

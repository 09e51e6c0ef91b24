"""Call Python functions row by row."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.errors import KernelError
from whimbrel.expr.cast import as_type
from whimbrel.expr.infer_return_type import INTEGER_HINT, RESULT_HINT, SampleRow, row_function_type
from whimbrel.expr.nodes import RowFunction
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
            answers[position] = expr.function(SampleRow(expr.fields, values))
        except Exception as error:
            row = ", ".join(f"{field}={value!r}" for field, value in zip(expr.fields, values, strict=True))
            said = next(iter(str(error).splitlines()), "")
            raise KernelError(f"{type(error).__name__}: {said}, for the row {row}", where=expr.show()) from error
    try:
        if t.is_list(result):  # an iterator is made a list
            answers = [None if answer is None else list(answer) for answer in answers]
        if any(loses_nanoseconds(answer, result) for answer in answers):
            raise KernelError(f"A result has nanoseconds, which {result} does not hold.", where=expr.show(),
                              hint="Give np.datetime64 or np.timedelta64 in ns, or whole microseconds.")
        array = pa.array(answers, result)
    except (pa.ArrowInvalid, TypeError, OverflowError) as error:
        raise KernelError(f"A result is not {result}: {str(error).splitlines()[0]}", where=expr.show(),
                          hint=INTEGER_HINT if _leaves_int64(error, result) else RESULT_HINT) from None
    return from_arrow(array) if result != pa.string() else Value(result, array)


def _leaves_int64(error: Exception, type_: pa.DataType) -> bool:
    return isinstance(error, OverflowError) and (type_.value_type if t.is_list(type_) else type_) == pa.int64()


def loses_nanoseconds(value: Any, type_: pa.DataType) -> bool:
    """Whether a time or a duration of pandas is finer than a type."""
    finer = getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)
    return bool(finer) and getattr(type_, "unit", "ns") != "ns"


def _microseconds(value: Value, scope: Scope, expr: RowFunction) -> Value:
    """Python's times have no nanoseconds: values that do are given as pandas' times, or refused, but never cut off."""
    if not (t.is_timestamp(value.type) or t.is_duration(value.type)) or value.type.unit != "ns":
        return value
    finer = value.data % 1000 != 0
    if np.any(finer & value.valid) and find_spec("pandas") is not None:
        return value
    scope.refuse(finer, value.valid, expr, "A value has nanoseconds, which Python's times lack.",
                 "Install pandas, whose times have them; or give the function .cast('int64').")
    target = pa.timestamp("us", value.type.tz) if t.is_timestamp(value.type) else pa.duration("us")
    return as_type(value, target, scope, expr)

"""Call Python functions row by row."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import InexactError, exact_value, may_lose
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
        array = pa.array(_exact(answers, result), result)
    except (pa.ArrowException, ValueError, TypeError) as error:
        said = f"it {error}" if isinstance(error, InexactError) else str(error).splitlines()[0]
        raise KernelError(f"A result is not {result}: {said}", where=expr.show(),
                          hint=INTEGER_HINT if "does not fit in int64" in said else RESULT_HINT) from None
    return from_arrow(array) if result != pa.string() else Value(result, array)


def _exact(answers: Sequence[Any], type_: pa.DataType) -> Sequence[Any]:
    """Answers as Arrow takes them without a loss."""
    plain = type_ == pa.int64() and {int, type(None)}.issuperset(map(type, answers))  # the common case
    if not may_lose(type_) or (plain and all(each is None or -(2**63) <= each < 2**63 for each in answers)):
        return answers
    return [exact_value(answer, type_) for answer in answers]


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

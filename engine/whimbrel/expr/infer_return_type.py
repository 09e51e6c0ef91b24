"""Infer the return type of a Python function of a row."""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Generator, Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa
from pyarrow import types as t

from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import RowFunction
from whimbrel.expr.type_predicates import is_number, is_text

_RESULTS: dict[type, pa.DataType] = {
    bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), date: pa.date32(),
    timedelta: pa.duration("us"),
}
_LISTS = (list, tuple, Sequence, Iterable, Iterator, Generator)
_MAX_ITEMS = 1000
RESULT_HINT = "Declare bool, int, float, str, date or timedelta: def f(row) -> float: ..."
INTEGER_HINT = "Return a float or a string: integers of a function are int64."
LIST_HINT = "Declare the type: def f(row) -> float: ... or -> list[int]: ..., or pass item_type= to explode."


class SampleRow:
    """What a row function is called with: values by attribute or by name."""

    def __init__(self, fields: Sequence[str], values: Sequence[Any]) -> None:
        self.__dict__.update(zip(fields, values, strict=True))

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]


def row_function_type(expr: RowFunction, types: Sequence[pa.DataType]) -> pa.DataType:
    """The type that the function is annotated with, or else the type of its results on sample rows."""
    if expr.declared is not None:
        return expr.declared
    try:
        annotated = typing.get_type_hints(expr.function).get("return")
    except NameError:
        annotated = None
    if annotated not in (None, Any):
        if typing.get_origin(annotated) in _LISTS and (inner := typing.get_args(annotated)) and inner[0] in _RESULTS:
            return pa.list_(_RESULTS[inner[0]])
        if annotated not in _RESULTS:
            raise ExpressionError(f"A function of a row cannot return {annotated!r}.",
                                  where=expr.show(), hint=RESULT_HINT)
        return _RESULTS[annotated]
    found: set[Any] = set()
    items: set[Any] = set()
    for sample in zip(*(_samples(type_) for type_ in types), strict=True):
        # A sample may be outside what the function is made for; the others tell.
        with contextlib.suppress(Exception):
            answer = expr.function(SampleRow(expr.fields, sample))
            if isinstance(answer, list | tuple | range | Iterator):
                items |= {type(item) for item in islice(answer, _MAX_ITEMS)}
            found.add(list if isinstance(answer, list | tuple | range | Iterator) else type(answer))
    found.discard(type(None))
    items.discard(type(None))
    if found == {list} and (item := _one_of(items)) is not None:
        return pa.list_(item)
    if (type_ := _one_of(found)) is not None:
        return type_
    names = " or ".join(sorted(kind.__name__ for kind in found))
    raise ExpressionError(f"Cannot infer the type of the function's result{': ' + names if names else ''}.",
                          where=expr.show(), hint=LIST_HINT if list in found else RESULT_HINT)


def _one_of(found: set[Any]) -> pa.DataType | None:
    """The type of values of these Python types, if it is one."""
    if found == {int, float}:
        return pa.float64()
    return _RESULTS[next(iter(found))] if len(found) == 1 and found <= _RESULTS.keys() else None


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
        return list(pa.array([0, 1, 2, 3]).cast(pa.timestamp("us", type_.tz)).to_pylist())
    if t.is_duration(type_):
        return [timedelta(seconds=n) for n in (1, 0, 2, 1000)]
    if t.is_date(type_):
        return [date(1970, 1, n) for n in (1, 2, 3, 4)]
    if t.is_time(type_):
        return [time(n) for n in (1, 0, 2, 3)]
    if t.is_decimal(type_):
        return [Decimal(n) for n in (1, 0, 2, 1000)]
    return [None] * 4

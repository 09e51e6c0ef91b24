"""Entries of the table of functions of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import Column, numpy_type
from whimbrel.batch.fixed_width import present
from whimbrel.errors import ExpressionError
from whimbrel.expr.type_predicates import is_number, is_text

Takes = Literal["a number", "an integer", "a string", "a time or a date", "a time", "a date and time", "a duration",
                "a list", "an index", "an address", "a plain value"]
_FITS: Final[dict[str, Callable[[pa.DataType], bool]]] = {
    "a number": lambda type_: is_number(type_) or t.is_decimal(type_),
    "an integer": lambda type_: bool(t.is_integer(type_)),
    "a string": is_text,
    "a time or a date": lambda type_: bool(t.is_timestamp(type_) or t.is_date(type_)),
    "a time": lambda type_: bool(t.is_timestamp(type_) or t.is_time(type_)),
    "a date and time": lambda type_: bool(t.is_timestamp(type_)),
    "a duration": lambda type_: bool(t.is_duration(type_)),
    "a list": lambda type_: bool(t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_)),
    "an index": lambda type_: bool(t.is_integer(type_)),
    "an address": lambda type_: is_text(type_) or bool(t.is_integer(type_)) or type_ == pa.binary(16),
    "a plain value": lambda type_: not t.is_nested(type_) and not isinstance(type_, pa.BaseExtensionType),
}
_HINTS: Final = {
    "a number": "Use .cast('float64').", "a string": "Use .cast('string').", "an integer": "Use .cast('int64').",
    "an index": "Use .cast('int64').",
    "a time or a date": "Use .cast('timestamp[us]').", "a time": "Use .cast('timestamp[us]').",
    "a date and time": "Use .cast('timestamp[us]').", "a duration": "Use .cast('duration[us]').",
    "a list": "Collect values into a list first: wb.collect(col.x).", "a plain value": "Use its fields or items.",
    "an address": "Use a text, an integer (IPv4), or 16 bytes (IPv6).",
}
_BROUGHT: Final = {"a number": pa.float64(), "an integer": pa.int64()}

Types = Sequence[pa.DataType]
Check = Callable[[Types, Sequence[Any], str], None]
"""Refuses options, or types together, before there are rows. It takes the expression as text, for errors."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a row, which is null where an argument is null and never fails.

    Parameters
    ----------
    takes : str or tuple of str
        What each argument is, in words: all alike, or one by one.
    gives : pyarrow.DataType or callable, optional
        The type of the result, or a function of the types and the options. None stands for that of the first
        argument; of numbers, for float64, or float32 if all of them are float32.
    compute : callable
        Arrow columns and options -> an Arrow column. Numbers are brought to float64, integers to int64.
    arguments : int
        How many columns it takes; 0 for any number from 1.
    options : tuple of type
        The types of its options.
    sql : str, optional
        Its name in SQL; the name after the dot by default. None leaves it out there.
    check : callable, optional
        Refuses options and types that do not go together.
    arrays : bool
        Whether it computes with arrays only: a value for all rows comes repeated, but an index as an array of one row.
    direct : callable, optional
        NumPy values and options -> NumPy values, for results that are null just where an argument is. It spares the
        way through Arrow, which packs and unpacks masks. Of None, `compute` has to find them.
    of_times : callable, optional
        NumPy values of one column, its type, and perhaps an array to write to -> NumPy values, as `direct`.
    """

    takes: Takes | tuple[Takes, ...]
    gives: pa.DataType | Callable[[Types, Sequence[Any]], pa.DataType] | None
    compute: Callable[..., Any]
    arguments: int = 1
    options: tuple[type, ...] = ()
    sql: str | None = ""
    check: Check | None = None
    arrays: bool = False
    direct: Callable[..., Any] | None = None
    of_times: Callable[..., Any] | None = None

    def taken(self, argument: int) -> Takes:
        """What an argument is, counted from 0."""
        return self.takes if isinstance(self.takes, str) else self.takes[argument]

    def takes_int64(self, argument: int, type_: pa.DataType) -> bool:
        """Whether an argument of a type may be above the integers that it is brought to."""
        return t.is_uint64(type_) and self.taken(argument) == "an integer"

    def type_of(self, name: str, given: Types, options: Sequence[Any], shown: Callable[[], str]) -> pa.DataType:
        """The type of the result; an ExpressionError where an argument does not fit."""
        for argument, type_ in enumerate(given):
            takes = self.taken(argument)
            if not t.is_null(type_) and not _FITS[takes](type_):
                raise ExpressionError(f"{name} takes {takes}, not {type_}.", where=shown(), hint=_HINTS[takes])
        if self.check is not None:
            self.check(given, options, shown())
        if callable(self.gives):
            return self.gives(given, options)
        if self.gives is not None:
            return self.gives
        if self.takes != "a number":
            return pa.string() if t.is_null(given[0]) else given[0]
        return pa.float32() if all(t.is_float32(type_) for type_ in given) else pa.float64()

    def of_numbers(self, values: Sequence[Any], options: Sequence[Any]) -> Any:
        """What :attr:`direct` makes of NumPy values."""
        assert self.direct is not None
        return self.direct(*(values[argument] if (type_ := _BROUGHT.get(self.taken(argument))) is None
                             else values[argument].astype(numpy_type(type_), copy=False)
                             for argument in range(len(values))), *options)

    def of_columns(self, columns: Sequence[Any], options: Sequence[Any]) -> Any:
        """The Arrow column of Arrow columns, or a scalar of scalars."""
        columns = [column if (type_ := _BROUGHT.get(self.taken(argument))) is None or column.type == type_
                   else column.cast(type_, safe=False) for argument, column in enumerate(columns)]
        if not self.arrays:
            return self.compute(*columns, *options)
        rows = max((len(x) for x in columns if not isinstance(x, pa.Scalar)), default=None)
        found = self.compute(*(_of_any_length(pa.repeat(
            x, 1 if rows is None or self.taken(argument) == "an index" else rows) if isinstance(x, pa.Scalar) else x)
            for argument, x in enumerate(columns)), *options)
        return found[0] if rows is None else found


def _of_any_length(column: Any) -> Any:
    """Lists of a fixed size as other lists; other columns as they are."""
    return column.cast(pa.list_(column.type.value_field)) if t.is_fixed_size_list(column.type) else column


def held(type_: pa.DataType, data: Any, there: Any, *columns: Any) -> pa.Array:
    """NumPy's values as an Arrow array: null where a column is, and where `there` is false."""
    valid = there
    for column in columns:
        if column.null_count:
            valid = valid & present(column)
    if valid is not True and not (valid := np.broadcast_to(valid, (len(data),))).all():
        return Column(type_, data, valid).to_arrow()
    return Column(type_, data).to_arrow()


def numbers_of(column: Any, type_: pa.DataType) -> Any:
    """The values of an Arrow array for NumPy, at a type of the same width; 0 for null."""
    plain = column if column.type == type_ else column.view(type_)
    return np.asarray(plain.fill_null(0) if plain.null_count else plain)

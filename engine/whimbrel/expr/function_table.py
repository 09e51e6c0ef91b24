"""Table of functions of a row, with their types and Arrow kernels.

A function is one entry here and one method of expressions. SQL reads the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import numpy_type
from whimbrel.errors import ExpressionError
from whimbrel.expr.type_predicates import is_number, is_text

Takes = Literal["a number", "a string", "a time or a date"]
_FITS: Final[dict[str, Callable[[pa.DataType], bool]]] = {
    "a number": lambda type_: is_number(type_) or t.is_decimal(type_),
    "a string": is_text,
    "a time or a date": lambda type_: bool(t.is_timestamp(type_) or t.is_date(type_)),
}
_HINTS: Final = {
    "a number": "Use .cast('float64').", "a string": "Use .cast('string').",
    "a time or a date": "Use .cast('timestamp[us]').",
}


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a row, which is null where an argument is null and never fails.

    Parameters
    ----------
    takes : str
        What each argument is, in words.
    gives : pyarrow.DataType, optional
        The type of the result. None stands for that of the first argument; of numbers, for float64, or float32 if all
        of them are float32.
    compute : callable
        Arrow columns and options -> an Arrow column. Numbers are brought to float64.
    arguments : int
        How many columns it takes.
    options : tuple of type
        The types of its options.
    sql : str
        Its name in SQL; the name after the dot by default.
    """

    takes: Takes
    gives: pa.DataType | None
    compute: Callable[..., Any]
    arguments: int = 1
    options: tuple[type, ...] = ()
    sql: str = ""

    def type_of(self, name: str, given: Sequence[pa.DataType], shown: Callable[[], str]) -> pa.DataType:
        """The type of the result; an ExpressionError where an argument does not fit."""
        for type_ in given:
            if not t.is_null(type_) and not _FITS[self.takes](type_):
                raise ExpressionError(f"{name} takes {self.takes}, not {type_}.", where=shown(),
                                      hint=_HINTS[self.takes])
        if self.gives is not None:
            return self.gives
        if self.takes != "a number":
            return pa.string() if t.is_null(given[0]) else given[0]
        return pa.float32() if all(t.is_float32(type_) for type_ in given) else pa.float64()


def _by_numpy(function: np.ufunc) -> Callable[..., Any]:
    def compute(*given: Any) -> Any:
        rows = max(1 if isinstance(x, pa.Scalar) else len(x) for x in given)
        columns = [pa.repeat(x, rows) if isinstance(x, pa.Scalar) else x for x in given]
        with np.errstate(all="ignore"):
            found = function(*(np.asarray(x.fill_null(0.0)) for x in columns))
        there = columns[0].is_valid() if len(columns) == 1 else pc.and_(*(x.is_valid() for x in columns))
        kept = pc.if_else(there, pa.array(found), pa.scalar(None, pa.float64()))
        return kept[0] if all(isinstance(x, pa.Scalar) for x in given) else kept

    return compute


def _newer(name: str, function: np.ufunc) -> Callable[..., Any]:
    """The function of Arrow, or that of NumPy before the version of Arrow that has it."""
    found: Callable[..., Any] = getattr(pc, name, None) or _by_numpy(function)
    return found


def _number(compute: Callable[..., Any], arguments: int = 1, sql: str = "",
            gives: pa.DataType | None = None) -> Function:
    return Function("a number", gives, compute, arguments, sql=sql)


def _local(times: Any) -> Any:
    return pc.local_timestamp(times) if t.is_timestamp(times.type) and times.type.tz else times


def _whole(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: compute(*given).cast(pa.int64())


def _count_matches(texts: Any, pattern: str, regex: bool) -> Any:
    return _whole(pc.count_substring_regex if regex else pc.count_substring)(texts, pattern)


FUNCTION_TABLE: Final[dict[str, Function]] = {
    "tan": _number(pc.tan), "asin": _number(pc.asin), "acos": _number(pc.acos), "atan": _number(pc.atan),
    "sinh": _number(_newer("sinh", np.sinh)), "cosh": _number(_newer("cosh", np.cosh)),
    "tanh": _number(_newer("tanh", np.tanh)),
    "log10": _number(pc.log10), "log2": _number(pc.log2), "log1p": _number(pc.log1p),
    "expm1": _number(_newer("expm1", np.expm1)),
    "cbrt": _number(_by_numpy(np.cbrt)), "degrees": _number(_by_numpy(np.degrees)),
    "radians": _number(_by_numpy(np.radians)),
    "atan2": _number(pc.atan2, 2), "hypot": _number(_newer("hypot", np.hypot), 2),
    "is_nan": _number(pc.is_nan, sql="isnan", gives=pa.bool_()),
    "is_finite": _number(pc.is_finite, sql="isfinite", gives=pa.bool_()),
    "str.title": Function("a string", None, pc.utf8_title),
    "str.zfill": Function("a string", None, pc.utf8_zero_fill, options=(int,)),
    "str.len_bytes": Function("a string", pa.int64(), _whole(pc.binary_length), sql="strlen"),
    "str.count_matches": Function("a string", pa.int64(), _count_matches, options=(str, bool)),
    "dt.iso_year": Function("a time or a date", pa.int64(), _whole(pc.iso_year), sql="isoyear"),
    "dt.date": Function("a time or a date", pa.date32(), lambda x: _local(x).cast(pa.date32())),
    "dt.is_weekend": Function("a time or a date", pa.bool_(), lambda x: pc.greater_equal(pc.day_of_week(x), 5)),
}
"""Functions by the names of their calls."""

SQL_FUNCTIONS: Final = {function.sql or name.rpartition(".")[2]: name for name, function in FUNCTION_TABLE.items()
                        if not function.options}
"""Names of calls by their names in SQL: those that take columns only."""


def compute_function(name: str, columns: Sequence[Any], options: Sequence[Any], result: pa.DataType) -> Any:
    """The Arrow column of a function of Arrow columns, at the type of its result."""
    function = FUNCTION_TABLE[name]
    if all(t.is_null(column.type) for column in columns):
        return pa.scalar(None, result)
    if function.takes == "a number":
        columns = [column.cast(pa.float64(), safe=False) for column in columns]
    found = function.compute(*columns, *options)
    return found if found.type == result or numpy_type(result) is None else found.cast(result)

"""Table of functions of a row, with their types and Arrow kernels.

A function is one entry here and one method of expressions. SQL reads the same table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import numpy_type
from whimbrel.expr.function_entry import Function
from whimbrel.expr.functions_of_addresses import ADDRESSES
from whimbrel.expr.functions_of_bits import BITS
from whimbrel.expr.functions_of_lists import LISTS
from whimbrel.expr.functions_of_texts import TEXTS
from whimbrel.expr.functions_of_times import TIMES


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


def _number(compute: Callable[..., Any], arguments: int = 1, sql: str = "", gives: pa.DataType | None = None,
            direct: Callable[..., Any] | None = None) -> Function:
    return Function("a number", gives, compute, arguments, sql=sql, direct=direct)


def _times(factor: float) -> Function:
    return _number(lambda x: pc.multiply(x, factor), direct=lambda x: x * factor)


FUNCTION_TABLE: Final[dict[str, Function]] = {
    "tan": _number(pc.tan), "asin": _number(pc.asin), "acos": _number(pc.acos), "atan": _number(pc.atan),
    "sinh": _number(_newer("sinh", np.sinh)), "cosh": _number(_newer("cosh", np.cosh)),
    "tanh": _number(_newer("tanh", np.tanh)),
    "log10": _number(pc.log10), "log2": _number(pc.log2), "log1p": _number(pc.log1p),
    "expm1": _number(_newer("expm1", np.expm1)),
    "cbrt": _number(_by_numpy(np.cbrt), direct=np.cbrt), "degrees": _times(180 / math.pi),
    "radians": _times(math.pi / 180),
    "atan2": _number(pc.atan2, 2), "hypot": _number(_newer("hypot", np.hypot), 2),
    "is_nan": _number(pc.is_nan, sql="isnan", gives=pa.bool_(), direct=np.isnan),
    "is_finite": _number(pc.is_finite, sql="isfinite", gives=pa.bool_(), direct=np.isfinite),
    **ADDRESSES, **BITS, **LISTS, **TEXTS, **TIMES,
}
"""Functions by the names of their calls."""

SQL_FUNCTIONS: Final = {function.sql or name.rpartition(".")[2]: name for name, function in FUNCTION_TABLE.items()
                        if function.sql is not None and set(function.options) <= {str, int}}
"""Names of calls by their names in SQL; options are literals after the columns."""


def compute_function(name: str, columns: Sequence[Any], options: Sequence[Any], result: pa.DataType) -> Any:
    """The Arrow column of a function of Arrow columns, at the type of its result."""
    if any(t.is_null(column.type) for column in columns):
        return pa.scalar(None, result)
    found = FUNCTION_TABLE[name].of_columns(columns, options)
    return found if found.type == result or numpy_type(result) is None else found.cast(result)

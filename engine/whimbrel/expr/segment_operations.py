"""Functions of several segments, and functions in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from whimbrel.batch import COMPLEX64, COMPLEX128, logical_type, sample_dtype
from whimbrel.clock import Duration
from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Call, Expr
from whimbrel.expr.trace import trace

Value = Expr | Callable[[Any], Any]

_COMPLEX = {"complex64": COMPLEX64, "complex128": COMPLEX128}


@dataclass(frozen=True)
class ArrayFunction:
    """A Python function of batches of windows.

    Call it with columns of segments.
    """

    function: Callable[..., Any]
    returns: pa.DataType

    def __call__(self, *segments: Value) -> Expr:
        if not segments:
            raise ExpressionError("An array function needs at least one column of segments.", where=repr(self),
                                  hint="Use f(col.x).")
        return Call("seg.apply", tuple(trace(each, where=f"{self!r}()") for each in segments), (self,))

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", "function")
        return "function" if name == "<lambda>" else name


def array_function(function: Callable[..., Any], *, returns: Any) -> ArrayFunction:
    """Make a function of windows out of a function of arrays.

    The function gets a read-only array (windows, size) for each column of segments that it is called with. It answers
    one value per window, as an array (windows,), or with a list type an array (windows, m). Windows that are null are
    left out, and missing samples are NaN. The answer for a window must not depend on the others: use
    :func:`whimbrel.testing.check_blocks`.

    Parameters
    ----------
    function : callable
    returns : pyarrow.DataType or str
        Type of one answer, such as ``"float32"``; for several values per window a list, such as
        ``pa.list_(pa.float32())``. A complex number, ``"complex64"``, is a pair of floats in the result.

    Examples
    --------
    >>> import numpy as np
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": range(6), "x": [1, 5, 2, 2, 4, 9]}, time="at").drop("at").assume(periodic=1)
    >>> swing = wb.array_function(lambda x: np.ptp(x, axis=1), returns="int64")
    >>> log.rewindow(3).select(s=swing(col.x)).collect()["s"].to_pylist()
    [4, 7]
    """
    if not callable(function):
        raise ExpressionError(f"array_function() needs a function, got {function!r}."[:200], where="array_function()",
                              hint='Use wb.array_function(lambda x: x.max(axis=1), returns="float64").')
    try:
        type_ = _COMPLEX.get(returns) if isinstance(returns, str) else None
        type_ = type_ or logical_type(returns if isinstance(returns, pa.DataType) else pa.type_for_alias(returns))
    except (TypeError, ValueError, AttributeError):
        raise ExpressionError(f"Unknown type {returns!r}.", where=f"array_function(returns={returns!r})",
                              hint="Use a type such as 'float32', or pa.list_(pa.float32()).") from None
    if sample_dtype(type_.value_type if pa.types.is_list(type_) else type_) is None:
        raise ExpressionError(f"An array function cannot return {type_}.", where=f"array_function(returns={returns!r})",
                              hint="Use a number type, or a list of numbers.")
    return ArrayFunction(function, type_)


def lag(first: Value, second: Value, *, limit: Duration | None = None) -> Expr:
    """Time by which the second signal is later than the first (GCC-PHAT).

    It is finer than a sample: the peak of the generalized cross-correlation with phase transform lies on a parabola
    between samples. In seconds; without a time unit in ticks. NaN where a signal is silent or has missing samples.
    Source: Knapp and Carter (IEEE TASSP 1976).

    Parameters
    ----------
    first, second : Expr or callable
        Segments of one timebase and size.
    limit : str, timedelta or int (ticks), optional
        Most time between the two.
    """
    parts = (trace(first, where="lag()"), trace(second, where="lag()"))
    return Call("seg.lag", parts, (limit,))


def correlate(first: Value, second: Value) -> Expr:
    """Correlation coefficient of the samples of two segments, from -1 to 1.

    NaN where one of them is constant, or has missing samples.
    """
    return Call("seg.correlate", (trace(first, where="correlate()"), trace(second, where="correlate()")))


def majority(*segments: Value) -> Expr:
    """Vote on each bit of the samples of several segments of integers.

    A bit is set where it is set in more than half of them.
    """
    if len(segments) < 3:
        raise ExpressionError(f"majority() needs at least three segments, got {len(segments)}.", where="majority()",
                              hint="Use majority(col.a, col.b, col.c).")
    return Call("seg.majority", tuple(trace(each, where="majority()") for each in segments))

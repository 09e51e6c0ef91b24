"""Aggregates that are one value of the rows: ``wb.arg_max(col.y, col.x)``."""

from __future__ import annotations

from typing import overload

from whimbrel.aggregates import ArgMax, ArgMin, BitAnd, BitOr, BitXor, First, Last
from whimbrel.expr import trace
from whimbrel.stream.aggregates import Value


@overload
def first(value: Value) -> First: ...
@overload
def first(value: Value, *, by: Value) -> ArgMin: ...
def first(value: Value, *, by: Value | None = None) -> First | ArgMin:
    """Value of the row that started first. See :class:`whimbrel.aggregates.First`.

    Parameters
    ----------
    value : Expr or callable
    by : Expr or callable, optional
        What rows are ordered by, instead of their starts. The result then is that of :func:`arg_min`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 1, 2], "n": [3, 1, 2], "x": ["c", "a", "b"]}, time="at")
    >>> log.tumbling_window(5).aggregate(a=wb.first(col.x), b=wb.first(col.x, by=col.n)).collect().to_pylist()
    [{'start': 0, 'end': 5, 'a': 'c', 'b': 'a'}]
    """
    traced = trace(value, where="first()")
    return First(expr=traced) if by is None else ArgMin.of(traced, trace(by, where="first()"))


@overload
def last(value: Value) -> Last: ...
@overload
def last(value: Value, *, by: Value) -> ArgMax: ...
def last(value: Value, *, by: Value | None = None) -> Last | ArgMax:
    """Value of the row that started last. See :class:`whimbrel.aggregates.Last`.

    Parameters
    ----------
    value : Expr or callable
    by : Expr or callable, optional
        What rows are ordered by, instead of their starts. Between equal rows their starts decide, then the values. The
        last one counts.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 1, 2], "n": [3, 1, 2], "x": ["c", "a", "b"]}, time="at")
    >>> log.tumbling_window(5).aggregate(a=wb.last(col.x), b=wb.last(col.x, by=col.n)).collect().to_pylist()
    [{'start': 0, 'end': 5, 'a': 'b', 'b': 'c'}]
    """
    traced = trace(value, where="last()")
    return Last(expr=traced) if by is None else ArgMax.of(traced, trace(by, where="last()"), latest=True)


def any_value(value: Value) -> First:
    """One of the values: that of the row that started first.

    Nulls are left out. It is :func:`first`, so it is the same in every run. See :class:`whimbrel.aggregates.First`.
    """
    return First(expr=trace(value, where="any_value()"))


def arg_min(value: Value, by: Value) -> ArgMin:
    """Value of the row where `by` is smallest. See :class:`whimbrel.aggregates.ArgMin`.

    Parameters
    ----------
    value, by : Expr or callable
    """
    return ArgMin.of(trace(value, where="arg_min()"), trace(by, where="arg_min()"))


def arg_max(value: Value, by: Value) -> ArgMax:
    """Value of the row where `by` is largest. See :class:`whimbrel.aggregates.ArgMax`.

    Parameters
    ----------
    value, by : Expr or callable
    """
    return ArgMax.of(trace(value, where="arg_max()"), trace(by, where="arg_max()"))


def bit_and(value: Value) -> BitAnd:
    """Bits that all integers have. See :class:`whimbrel.aggregates.BitAnd`."""
    return BitAnd(expr=trace(value, where="bit_and()"))


def bit_or(value: Value) -> BitOr:
    """Bits that at least one integer has. See :class:`whimbrel.aggregates.BitOr`."""
    return BitOr(expr=trace(value, where="bit_or()"))


def bit_xor(value: Value) -> BitXor:
    """Bits that an odd number of integers have. See :class:`whimbrel.aggregates.BitXor`."""
    return BitXor(expr=trace(value, where="bit_xor()"))

"""Aggregates as users write them: ``wb.count()``, ``wb.sum(col.x)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whimbrel.aggregates import (
    AllTrue,
    AnyTrue,
    Count,
    First,
    Last,
    Max,
    Mean,
    Min,
    Product,
    Std,
    Sum,
    SumOfSquares,
    Var,
)
from whimbrel.expr import Expr, trace

Value = Expr | Callable[[Any], Any]


def count(value: Value | None = None) -> Count:
    """Number of rows; with an expression, of those where it is not null. See :class:`whimbrel.aggregates.Count`."""
    return Count(expr=None if value is None else trace(value, where="count()"))


def sum(value: Value) -> Sum:
    """Sum of the values that are not null. See :class:`whimbrel.aggregates.Sum`."""
    return Sum(expr=trace(value, where="sum()"))


def mean(value: Value) -> Mean:
    """Mean of the values that are not null. See :class:`whimbrel.aggregates.Mean`."""
    return Mean(expr=trace(value, where="mean()"))


def min(value: Value) -> Min:
    """Smallest of the values that are not null. See :class:`whimbrel.aggregates.Min`."""
    return Min(expr=trace(value, where="min()"))


def max(value: Value) -> Max:
    """Largest of the values that are not null. See :class:`whimbrel.aggregates.Max`."""
    return Max(expr=trace(value, where="max()"))


def product(value: Value) -> Product:
    """Product of the values that are not null; 1 of nothing. See :class:`whimbrel.aggregates.Product`."""
    return Product(expr=trace(value, where="product()"))


def sum_of_squares(value: Value) -> SumOfSquares:
    """Sum of the squares of the values that are not null. See :class:`whimbrel.aggregates.SumOfSquares`."""
    return SumOfSquares(expr=trace(value, where="sum_of_squares()"))


def var(value: Value, *, sample: bool = True) -> Var:
    """Variance of the values that are not null. See :class:`whimbrel.aggregates.Var`.

    Parameters
    ----------
    value : Expr or callable
    sample : bool
        Divide by the number of rows less one (null for a single row); otherwise by the number of rows.
    """
    return Var(expr=trace(value, where="var()"), sample=sample)


def std(value: Value, *, sample: bool = True) -> Std:
    """Standard deviation of the values that are not null; parameters as :func:`var`."""
    return Std(expr=trace(value, where="std()"), sample=sample)


def any(value: Value) -> AnyTrue:
    """Whether some value is true; false of nothing. See :class:`whimbrel.aggregates.AnyTrue`."""
    return AnyTrue(expr=trace(value, where="any()"))


def all(value: Value) -> AllTrue:
    """Whether no value is false; true of nothing. See :class:`whimbrel.aggregates.AllTrue`."""
    return AllTrue(expr=trace(value, where="all()"))


def first(value: Value) -> First:
    """Value of the row that started first. See :class:`whimbrel.aggregates.First`."""
    return First(expr=trace(value, where="first()"))


def last(value: Value) -> Last:
    """Value of the row that started last. See :class:`whimbrel.aggregates.Last`."""
    return Last(expr=trace(value, where="last()"))

"""Aggregates as users write them: ``wb.count()``, ``wb.sum(col.x)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whimbrel.aggregates import Count, Max, Mean, Min, Sum
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

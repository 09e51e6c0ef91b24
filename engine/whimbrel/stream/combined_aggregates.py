"""Aggregates that are expressions of others: ``wb.n_null(col.x)``, ``wb.weighted_mean(col.x, col.w)``.

They are rounded as their parts are: the last digits of a sum of floats may depend on the order of its rows.
"""

from __future__ import annotations

from whimbrel.expr import Expr, trace, when
from whimbrel.stream.aggregates import Value, count, mean, sum

__all__ = ["geometric_mean", "n_null", "weighted_mean"]


def n_null(value: Value) -> Expr:
    """Number of rows whose value is null.

    It is an expression of two counts, without ``where``.

    Parameters
    ----------
    value : Expr or callable

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [3, None, 4]}, time="at")
    >>> events.tumbling_window(5).aggregate(n=wb.n_null(wb.col.x)).collect()["n"].to_pylist()
    [1, 0]
    """
    return count() - count(trace(value, where="n_null()"))


def weighted_mean(value: Value, weight: Value) -> Expr:
    """Mean of the values, each by its weight.

    It is the sum of the products, divided by the sum of the weights, as a float. A row counts if neither its value nor
    its weight is null. Without such a row, or where the weights add up to zero, the result is null. It is an expression
    of two sums, without ``where``, and its last digits may depend on the order of rows, as those of :func:`sum`.

    Parameters
    ----------
    value, weight : Expr or callable

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [2, 8, 4], "w": [1, 3, 0]}, time="at")
    >>> events.tumbling_window(5).aggregate(m=wb.weighted_mean(wb.col.x, wb.col.w)).collect()["m"].to_pylist()
    [6.5, None]
    """
    x, weighs = trace(value, where="weighted_mean()"), trace(weight, where="weighted_mean()") * 1.0
    total = sum(weighs).where(x.is_not_null())
    return when(total != 0).then(sum(x * weighs) / total).otherwise(None)


def geometric_mean(value: Value) -> Expr:
    """Geometric mean of the values that are not null.

    It is the exponential of the mean of their logarithms: null when there are none, 0 where a value is 0, and NaN where
    one is negative. It is an expression of a mean, without ``where``; its last digits may depend on the order of rows.

    Parameters
    ----------
    value : Expr or callable

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [1, 1, 0]}, time="at")
    >>> events.tumbling_window(5).aggregate(g=wb.geometric_mean(wb.col.x)).collect()["g"].to_pylist()
    [1.0, 0.0]
    """
    return mean(trace(value, where="geometric_mean()").log()).exp()

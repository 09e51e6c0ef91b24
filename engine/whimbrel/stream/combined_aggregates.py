"""Aggregates that are expressions of others: ``wb.n_null(col.x)``, ``wb.weighted_mean(col.x, col.w)``.

They are rounded as their parts are: the last digits of a sum of floats may depend on the order of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from whimbrel.clock import Duration, duration_ticks
from whimbrel.errors import PlanError
from whimbrel.expr import Expr, concat_list, trace, when
from whimbrel.stream.aggregates import Value, count, max, mean, min, sum
from whimbrel.stream.list_aggregates import increase

__all__ = ["geometric_mean", "histogram", "n_null", "rate", "weighted_mean"]

_MAX_BINS = 100
"""Each bin is an aggregate of its own."""


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


def histogram(value: Value, edges: Sequence[Any]) -> Expr:
    """Numbers of values in fixed bins, as a list.

    A bin holds the values from its first edge up to its second one. The last bin also holds its second edge, as in
    NumPy. Values outside of all bins and nulls are not counted. It is an expression of counts, without ``where``, so no
    values are kept.

    Parameters
    ----------
    value : Expr or callable
    edges : list
        Increasing numbers or times, at least two and at most 101: one more than there are bins.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2, 6], "x": [3, 10, 20, 25]}, time="at")
    >>> events.tumbling_window(5).aggregate(h=wb.histogram(wb.col.x, [0, 10, 20])).collect()["h"].to_pylist()
    [[1, 2], [0, 0]]
    """
    x = trace(value, where="histogram()")
    known = list(edges) if isinstance(edges, Sequence) and not isinstance(edges, str) else []
    try:
        rising = all(low < high for low, high in pairwise(known))
    except TypeError:
        rising = False
    if not rising or not 2 <= len(known) <= _MAX_BINS + 1:
        raise PlanError(f"edges must be a list of 2 to {_MAX_BINS + 1} increasing values, got {edges!r}.",
                        where="histogram()", hint="Use histogram(col.x, [0, 10, 20]) for two bins.")
    return concat_list(*(count().where((x >= low) & ((x <= high) if high == known[-1] else (x < high)))
                         for low, high in pairwise(known)))


def rate(value: Value, time: Value, *, per: Duration = "1s") -> Expr:
    """Increase of a counter with resets by time.

    It is the :func:`increase` divided by the time between the first and the last value. Nothing is extrapolated to the
    borders of the window. It is null with fewer than two values, or where all are of one time. It is an expression of
    several aggregates, without ``where``.

    Parameters
    ----------
    value, time : Expr or callable
        The counter, and the column of event time.
    per : str, timedelta or int
        The duration that counts as one. An integer is for a time that is an integer.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 2, 4, 6], "x": [7, 9, 1, 4]}, time="at")
    >>> log.tumbling_window(5).aggregate(r=wb.rate(col.x, col.at, per=1)).collect()["r"].to_pylist()
    [0.75, None]
    """
    x, at = trace(value, where="rate()"), trace(time, where="rate()")
    valid = x.is_not_null()
    apart = max(at).where(valid) - min(at).where(valid)
    if isinstance(per, bool) or not isinstance(per, int | str | timedelta):
        raise PlanError(f"per must be a duration, got {per!r}.", where="rate()", hint='Use per="1s" or per="1m".')
    if isinstance(per, int):
        units, size = apart, float(per)
    else:
        units, size = apart.dt.total_seconds, duration_ticks(per, "ns", where="rate()") / 1e9
    if size <= 0:
        raise PlanError(f"per must be positive, got {per!r}.", where="rate()", hint='Use per="1s" or per="1m".')
    return when(units > 0).then(increase(x) / (units / size)).otherwise(None)

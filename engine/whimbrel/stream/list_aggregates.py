"""Aggregates of all values in order: ``wb.mode(col.x)``, ``wb.string_agg(col.s)``."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import get_args

from whimbrel.aggregates import (
    ApproximateTopK,
    Entropy,
    Increase,
    JoinOrder,
    MedianDeviation,
    Mode,
    QuantileList,
    StringAgg,
    SumDistinct,
)
from whimbrel.errors import PlanError
from whimbrel.expr import trace
from whimbrel.stream.aggregates import Value


def mode(value: Value) -> Mode:
    """Most frequent value. See :class:`whimbrel.aggregates.Mode`."""
    return Mode(expr=trace(value, where="mode()"))


def sum_distinct(value: Value) -> SumDistinct:
    """Sum of the different values. See :class:`whimbrel.aggregates.SumDistinct`."""
    return SumDistinct(expr=trace(value, where="sum_distinct()"))


def quantiles(value: Value, qs: Sequence[float]) -> QuantileList:
    """Several quantiles, as a list. See :class:`whimbrel.aggregates.QuantileList`.

    Parameters
    ----------
    value : Expr or callable
    qs : list of float
        From 0 to 1.
    """
    where = f"quantiles(..., {qs!r})"
    if isinstance(qs, str) or not isinstance(qs, Sequence) or not qs:
        raise PlanError(f"qs must be a list of fractions, got {qs!r}.", where=where, hint="Use [0.5, 0.95].")
    for q in qs:
        if not isinstance(q, Real) or not 0 <= q <= 1:
            raise PlanError(f"q must be between 0 and 1, got {q!r}.", where=where, hint="Use a fraction, such as 0.95.")
    return QuantileList(expr=trace(value, where="quantiles()"), qs=tuple(map(float, qs)))


def mad(value: Value) -> MedianDeviation:
    """Median absolute deviation. See :class:`whimbrel.aggregates.MedianDeviation`."""
    return MedianDeviation(expr=trace(value, where="mad()"))


def entropy(value: Value) -> Entropy:
    """Entropy of the different values in bits. See :class:`whimbrel.aggregates.Entropy`."""
    return Entropy(expr=trace(value, where="entropy()"))


def string_agg(value: Value, separator: str = ",", *, order: JoinOrder = "time", descending: bool = False) -> StringAgg:
    """Texts joined with a separator. See :class:`whimbrel.aggregates.StringAgg`.

    Parameters
    ----------
    value : Expr or callable
    separator : str
    order : {"time", "value"}
        Whether texts are in the order of their starts, or in their own.
    descending : bool
        Whether the order begins with the last.
    """
    if not isinstance(separator, str):
        raise PlanError(f"separator must be a string, got {separator!r}.", where="string_agg()", hint='Use ", ".')
    if order not in get_args(JoinOrder):
        raise PlanError(f'order must be "time" or "value", got {order!r}.', where="string_agg()",
                        hint='Use order="value" for the order of the texts.')
    return StringAgg(expr=trace(value, where="string_agg()"), separator=separator, order=order,
                     descending=bool(descending))


def increase(value: Value) -> Increase:
    """Increase of a counter with resets. See :class:`whimbrel.aggregates.Increase`."""
    return Increase(expr=trace(value, where="increase()"))


def approx_top_k(value: Value, k: int, *, counters: int = 1000) -> ApproximateTopK:
    """Approximate list of the most frequent values, with counts. See :class:`whimbrel.aggregates.ApproximateTopK`.

    Parameters
    ----------
    value : Expr or callable
    k : int
    counters : int
        How many values of a group are counted at a time. Counts are too small by at most the number of values divided
        by it.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": range(100_000), "x": [at % 7 % 6 for at in range(100_000)]}, time="at")
    >>> top = events.tumbling_window(100_000).aggregate(v=wb.approx_top_k(wb.col.x, 1)).collect()
    >>> top["v"].to_pylist()
    [[{'value': 0, 'count': 28571, 'error': 0}]]
    """
    where = f"approx_top_k(..., {k!r})"
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise PlanError(f"k must be an integer of at least 1, got {k!r}.", where=where, hint="Use 10.")
    if isinstance(counters, bool) or not isinstance(counters, Integral) or not k <= counters <= 1_000_000:
        raise PlanError(f"counters must be an integer from k to 1,000,000, got {counters!r}.", where=where,
                        hint="Use 1000.")
    return ApproximateTopK(expr=trace(value, where="approx_top_k()"), k=int(k), counters=int(counters))

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
    UserFunctions,
    Var,
)
from whimbrel.errors import PlanError
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


def aggregate(steps: type | None = None, *, init: Any = None, accumulate: Callable[..., Any] | None = None,
              result: Callable[..., Any] | None = None, merge: Callable[..., Any] | None = None,
              deaccumulate: Callable[..., Any] | None = None, name: str | None = None) -> UserFunctions:
    """An aggregate of your own, made of plain Python functions over numbers; call it with an expression.

    A state is a number or a tuple of numbers (int64 and float64). Order carries no meaning at one instant, so
    accumulate must give the same in whatever order rows come. Null values are left out. The functions are compiled; if
    the compiler refuses one they run interpreted, and ``explain()`` says so.

    Parameters
    ----------
    steps : class, optional
        With the functions below as static methods (`init` as one without parameters, or a value).
    init : number, tuple of numbers, or callable
        The state of no rows.
    accumulate : callable
        (state, value) -> state with one row more.
    result : callable
        state -> number, bool or None.
    merge : callable, optional
        (state, state) -> state of both sets of rows.
    deaccumulate : callable, optional
        (state, value) -> state with one row less. Without it a group that lost rows is computed afresh.
    name : str, optional
        How it is shown.

    Examples
    --------
    >>> import whimbrel as wb
    >>> power = wb.aggregate(init=(0.0, 0), accumulate=lambda s, x: (s[0] + x * x, s[1] + 1),
    ...                      result=lambda s: s[0] / s[1] if s[1] else None, name="power")
    >>> events = wb.from_arrow({"at": [0, 1, 5], "x": [2.0, 4.0, 3.0]}, time="at")
    >>> events.tumbling_window(5).aggregate(p=power(wb.col.x)).collect()["p"].to_pylist()
    [10.0, 9.0]
    """
    if steps is not None:
        init = getattr(steps, "init", None)
        accumulate, result = getattr(steps, "accumulate", None), getattr(steps, "result", None)
        merge, deaccumulate = getattr(steps, "merge", None), getattr(steps, "deaccumulate", None)
        name = name or steps.__name__
    start = init() if callable(init) else init
    for role, given in (("init", start), ("accumulate", accumulate), ("result", result)):
        if given is None:
            raise PlanError(f"An aggregate needs {role}.", where=f"aggregate({name or ''})",
                            hint="such as aggregate(init=0, accumulate=lambda state, x: state + x, result=lambda s: s)")
    assert accumulate is not None
    assert result is not None
    return UserFunctions(name or accumulate.__name__, start, accumulate, result, merge, deaccumulate)

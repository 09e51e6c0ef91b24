"""Aggregates as users write them: ``wb.count()``, ``wb.sum(col.x)``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from numbers import Integral, Real
from typing import Any, Literal, get_args, overload

import pyarrow as pa

from whimbrel.aggregates import (
    AllTrue,
    AnyTrue,
    ApproximateCountDistinct,
    ApproximateQuantile,
    Collect,
    Count,
    CountDistinct,
    Interpolation,
    LargestValues,
    Max,
    Mean,
    Median,
    Min,
    Product,
    Quantile,
    Std,
    Sum,
    SumOfSquares,
    UserFunctions,
    Var,
    check_installed,
)
from whimbrel.clock import Duration
from whimbrel.errors import PlanError, near_match
from whimbrel.expr import Expr, identity, substitute, trace, when
from whimbrel.expr.reductions import reduced_in
from whimbrel.migration_hints import AGGREGATE_OPTIONS, USER_AGGREGATE, renamed
from whimbrel.operators.aggregation.result_expressions import Running, WindowBound
from whimbrel.plan import Aggregate

Value = Expr | Callable[[Any], Any]

_MEMBERS = ("init", "accumulate", "result", "merge", "remove", "difference", "save", "load", "returns", "forgets")
"""Public members of a class of functions."""


@renamed(**AGGREGATE_OPTIONS)
def count(value: Value | None = None) -> Count:
    """Number of rows, or of values that are not null.

    With an expression, it counts the rows where the expression is not null. See :class:`whimbrel.aggregates.Count`.
    """
    return Count(expr=None if value is None else trace(value, where="count()"))


@overload
def sum(value: Value, *, widen: bool = False, empty: Literal[0] = 0) -> Sum: ...
@overload
def sum(value: Value, *, widen: bool = False, empty: None) -> Expr: ...
@renamed(**AGGREGATE_OPTIONS)
def sum(value: Value, *, widen: bool = False, empty: Literal[0] | None = 0) -> Sum | Expr:
    """Sum of the values that are not null. See :class:`whimbrel.aggregates.Sum`.

    Parameters
    ----------
    value : Expr or callable
    widen : bool
        Whether an integer sum is a decimal of 38 digits, which holds also what is beyond int64.
    empty : {0, None}
        The sum of no values. None is null, as in SQL. The result then is an expression of two aggregates, without
        ``where``.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1], "x": [2**62, 2**62]}, time="at")
    >>> events.tumbling_window(5).aggregate(s=wb.sum(wb.col.x, widen=True)).collect()["s"].to_pylist()
    [Decimal('9223372036854775808')]
    """
    if not isinstance(widen, bool):
        raise PlanError(f"widen must be True or False, got {widen!r}.", where="sum()",
                        hint="Use widen=True for sums beyond int64.")
    if empty not in (0, None) or isinstance(empty, bool):
        raise PlanError(f"empty must be 0 or None, got {empty!r}.", where="sum()", hint="Use empty=None for null.")
    made = Sum(expr=trace(value, where="sum()"), widen=widen)
    return made if empty == 0 else when(count(value) > 0).then(made).otherwise(None)


@renamed(**AGGREGATE_OPTIONS)
def mean(value: Value) -> Mean:
    """Mean of the values that are not null. See :class:`whimbrel.aggregates.Mean`."""
    return Mean(expr=trace(value, where="mean()"))


@renamed(**AGGREGATE_OPTIONS)
def min(value: Value) -> Min:
    """Smallest of the values that are not null. See :class:`whimbrel.aggregates.Min`."""
    return Min(expr=trace(value, where="min()"))


@renamed(**AGGREGATE_OPTIONS)
def max(value: Value) -> Max:
    """Largest of the values that are not null. See :class:`whimbrel.aggregates.Max`."""
    return Max(expr=trace(value, where="max()"))


def product(value: Value) -> Product:
    """Product of the values that are not null; 1 of nothing.

    See :class:`whimbrel.aggregates.Product`.
    """
    return Product(expr=trace(value, where="product()"))


def sum_of_squares(value: Value) -> SumOfSquares:
    """Sum of the squares of the values that are not null.

    See :class:`whimbrel.aggregates.SumOfSquares`.
    """
    return SumOfSquares(expr=trace(value, where="sum_of_squares()"))


@renamed(**AGGREGATE_OPTIONS)
def var(value: Value, *, sample: bool = True) -> Var:
    """Variance of the values that are not null. See :class:`whimbrel.aggregates.Var`.

    Parameters
    ----------
    value : Expr or callable
    sample : bool
        Divide by the number of rows less one (null for a single row); otherwise by the number of rows.
    """
    return Var(expr=trace(value, where="var()"), sample=sample)


@renamed(**AGGREGATE_OPTIONS)
def std(value: Value, *, sample: bool = True) -> Std:
    """Standard deviation of the values that are not null; parameters as :func:`var`."""
    return Std(expr=trace(value, where="std()"), sample=sample)


def any(value: Value) -> AnyTrue:
    """Logical OR of the values that are not null.

    The result is true if some value is true; false of nothing. See :class:`whimbrel.aggregates.AnyTrue`.
    """
    return AnyTrue(expr=trace(value, where="any()"))


def all(value: Value) -> AllTrue:
    """Logical AND of the values that are not null.

    The result is true if no value is false; true of nothing. See :class:`whimbrel.aggregates.AllTrue`.
    """
    return AllTrue(expr=trace(value, where="all()"))


@renamed(**AGGREGATE_OPTIONS)
def median(value: Value) -> Median:
    """Median of the values that are not null. See :class:`whimbrel.aggregates.Median`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [3, 2, 4]}, time="at")
    >>> events.tumbling_window(5).aggregate(m=wb.median(wb.col.x)).collect()["m"].to_pylist()
    [2.5, 4.0]
    """
    return Median(expr=trace(value, where="median()"))


@renamed(**AGGREGATE_OPTIONS)
def quantile(value: Value, q: float, *, interpolation: Interpolation = "linear", descending: bool = False) -> Quantile:
    """The quantile `q` of the values. See :class:`whimbrel.aggregates.Quantile`.

    Parameters
    ----------
    value : Expr or callable
    q : float
        From 0 to 1.
    interpolation : {"linear", "discrete"}
        Whether it may lie between two values, or is one of them.
    descending : bool
        Whether the order begins with the largest.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2, 3], "x": [2, 9, 4, 3]}, time="at")
    >>> events.tumbling_window(5).aggregate(
    ...     m=wb.median(wb.col.x), q=wb.quantile(wb.col.x, 0.5, interpolation="discrete"),
    ... ).collect().to_pylist()
    [{'start': 0, 'end': 5, 'm': 3.5, 'q': 3}]
    """
    where = f"quantile(..., {q!r})"
    if not isinstance(q, Real) or not 0 <= q <= 1:
        raise PlanError(f"q must be between 0 and 1, got {q!r}.", where=where, hint="Use a fraction, such as 0.95.")
    if interpolation not in get_args(Interpolation):
        raise PlanError(f'interpolation must be "linear" or "discrete", got {interpolation!r}.', where=where,
                        hint='Use interpolation="linear".')
    return Quantile(expr=trace(value, where="quantile()"), q=float(q), interpolation=interpolation,
                    descending=descending)


def count_distinct(value: Value) -> CountDistinct:
    """Number of different values that are not null.

    See :class:`whimbrel.aggregates.CountDistinct`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "name": ["a", "a", "b"]}, time="at")
    >>> events.tumbling_window(10).aggregate(names=wb.count_distinct(wb.col.name)).collect()["names"].to_pylist()
    [2]
    """
    return CountDistinct(expr=trace(value, where="count_distinct()"))


def approx_count_distinct(value: Value, precision: int = 12) -> ApproximateCountDistinct:
    """Approximate number of different values that are not null.

    See :class:`whimbrel.aggregates.ApproximateCountDistinct`.

    Parameters
    ----------
    value : Expr or callable
    precision : int
        From 7 to 21: the standard error is about 1 / sqrt(2**precision).

    Raises
    ------
    MissingExtraError
        Without the extra ``whimbrel[sketches]``.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": range(100_000), "x": [at % 20_000 for at in range(100_000)]}, time="at")
    >>> about = events.tumbling_window(100_000).aggregate(d=wb.approx_count_distinct(wb.col.x)).collect()
    >>> 19_000 < about["d"][0].as_py() < 21_000
    True
    """
    where = f"approx_count_distinct(..., {precision!r})"
    check_installed(where)
    if not isinstance(precision, Integral) or not 7 <= precision <= 21:
        raise PlanError(f"precision must be an integer from 7 to 21, got {precision!r}.",
                        where=where, hint="Use 12 for an error of about 2%.")
    return ApproximateCountDistinct(expr=trace(value, where="approx_count_distinct()"), precision=int(precision))


def approx_quantile(value: Value, q: float, *, k: int = 500) -> ApproximateQuantile:
    """Approximate quantile `q` of the values. See :class:`whimbrel.aggregates.ApproximateQuantile`.

    Parameters
    ----------
    value : Expr or callable
    q : float
        From 0 to 1.
    k : int
        From 10 to 65,535: larger is closer. With 500 the fraction of values below is within 0.01 of `q`.

    Raises
    ------
    MissingExtraError
        Without the extra ``whimbrel[sketches]``.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": range(100_000)}, time="at")
    >>> about = events.tumbling_window(100_000).aggregate(q=wb.approx_quantile(wb.col.at, 0.9)).collect()
    >>> 89_000 < about["q"][0].as_py() < 91_000
    True
    """
    where = f"approx_quantile(..., {q!r})"
    check_installed(where)
    if not isinstance(q, Real) or not 0 <= q <= 1:
        raise PlanError(f"q must be between 0 and 1, got {q!r}.", where=where, hint="Use a fraction, such as 0.95.")
    if not isinstance(k, Integral) or not 10 <= k <= 65_535:
        raise PlanError(f"k must be an integer from 10 to 65,535, got {k!r}.", where=where, hint="Use 500.")
    return ApproximateQuantile(expr=trace(value, where="approx_quantile()"), q=float(q), k=int(k))


def collect(value: Value) -> Collect:
    """List of the values that are not null, by start. See :class:`whimbrel.aggregates.Collect`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [3, 2, 4]}, time="at")
    >>> events.tumbling_window(5).aggregate(xs=wb.collect(wb.col.x)).collect()["xs"].to_pylist()
    [[3, 2], [4]]
    """
    return Collect(expr=trace(value, where="collect()"))


def top_k(value: Value, k: int, *, ties: bool = True) -> LargestValues:
    """The `k` largest values with their ranks, largest first. See :class:`whimbrel.aggregates.LargestValues`.

    Parameters
    ----------
    value : Expr or callable
    k : int
    ties : bool
        Whether values equal to the last are listed too.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2, 3], "x": [3, 4, 4, 1]}, time="at")
    >>> events.tumbling_window(5).aggregate(top=wb.top_k(wb.col.x, 1)).collect()["top"].to_pylist()
    [[{'rank': 1, 'value': 4}, {'rank': 1, 'value': 4}]]
    """
    if not isinstance(k, Integral) or not 1 <= k < 2**31:
        raise PlanError(f"k must be an integer of at least 1, got {k!r}.", where=f"top_k(..., {k!r})", hint="Use 5.")
    return LargestValues(expr=trace(value, where="top_k()"), k=int(k), ties=ties)


@renamed(**USER_AGGREGATE)
def aggregate(steps: type | None = None, *, init: Any = ..., accumulate: Callable[..., Any] | None = None,
              result: Callable[..., Any] | None = None, merge: Callable[..., Any] | None = None,
              remove: Callable[..., Any] | None = None, difference: Callable[..., Any] | None = None,
              name: str | None = None, returns: pa.DataType | None = None, save: Callable[[Any], Any] | None = None,
              load: Callable[[Any], Any] | None = None, forgets: Duration | None = None) -> UserFunctions:
    """Create a user-defined aggregate from plain Python functions.

    Call it with one or several expressions.

    The answer is what Python gives: ints, floats, bools and texts arrive as Python has them, and errors are Python's.
    Functions over numbers are compiled where that changes nothing. Everything else runs interpreted, row by row, and
    ``explain()`` says why. An int of a state that leaves int64 is an error.

    Rows are accumulated in the order of their start, before any window rounded it. This holds for rows out of order
    and for a group that is computed again. Rows that start together have no order. With `merge`, partial states are
    merged in any order: then the result must not depend on the order of rows. A row with a null among its values does
    not count.

    Parameters
    ----------
    steps : class, optional
        With the functions below as static methods (`init` as one without parameters, or a value).
    init : object or callable
        The state of no rows, or a function that makes one, such as ``dict``. Numbers and tuples of numbers are
        compiled; lists, dicts and other objects are not.
    accumulate : callable
        (state, value, ...) -> state with one row more: a value for each expression. A last parameter called ``start``
        is given the start of the event, in ticks. Its end may not be known yet: as an input, :func:`end_time` is null
        then. Two last parameters ``start, end`` are given the part of the event inside the window, in ``past``,
        ``cell`` and ``so_far``. Events that start together come in the order of arrival, in batches of any size.
    result : callable
        state -> the value of the group, or None for null.
    merge : callable, optional
        (state, state) -> state of both sets of rows, in any order. States without a text are not merged (see `save`).
    remove : callable, optional
        (state, value, ...) -> state with one row less. Without it, and without `difference`, a group that lost rows is
        computed again, except where rows leave in the order they came and states merge.
    difference : callable, optional
        (state, state) -> state of the rows of the first that are not in the second; takes the place of `remove`.
    name : str, optional
        How it is shown. A checkpoint knows an aggregate by what its functions do, too: with others it is of another
        query.
    returns : pyarrow.DataType, optional
        The type of the values, where a few ordinary inputs do not tell it: ``pa.list_(pa.float64())``, a struct, ...
    save, load : callable, optional
        How a state is written to a checkpoint and read again: to and from None, bools, numbers, texts, times, lists,
        tuples, dicts, sets or arrays. States made of these alone need neither. Nothing is pickled.
    forgets : str, timedelta or int (ticks), optional
        For ``so_far()``: events that started longer ago than this no longer change the value. Threads then work on
        ranges of time, each with so much history. If it is not true, values depend on the ranges.

    Examples
    --------
    >>> import whimbrel as wb
    >>> power = wb.aggregate(init=(0.0, 0), accumulate=lambda s, x: (s[0] + x * x, s[1] + 1),
    ...                      result=lambda s: s[0] / s[1] if s[1] else None, name="power")
    >>> events = wb.from_arrow({"at": [0, 1, 5], "x": [2.0, 4.0, 3.0]}, time="at")
    >>> events.tumbling_window(5).aggregate(p=power(wb.col.x)).collect()["p"].to_pylist()
    [10.0, 9.0]

    A mean with weights, and the words of each window:

    >>> weighted = wb.aggregate(init=(0.0, 0.0), accumulate=lambda s, x, w: (s[0] + x * w, s[1] + w),
    ...                         result=lambda s: s[0] / s[1] if s[1] else None, name="weighted")
    >>> words = wb.aggregate(init=list, accumulate=lambda s, word: sorted([*s, word]), result=lambda s: s,
    ...                      name="words")
    >>> log = wb.from_arrow({"at": [0, 1, 5], "x": [2.0, 4.0, 3.0], "w": [1, 3, 1], "word": ["b", "a", "c"]}, time="at")
    >>> for row in log.tumbling_window(5).aggregate(m=weighted(wb.col.x, wb.col.w), w=words(wb.col.word)).collect(
    ... ).to_pylist():
    ...     print(row)
    {'start': 0, 'end': 5, 'm': 3.5, 'w': ['a', 'b']}
    {'start': 5, 'end': 10, 'm': 3.0, 'w': ['c']}
    """
    if steps is not None:
        if not isinstance(steps, type):
            raise PlanError(f"aggregate() needs functions or a class that has them, got {type(steps).__name__}.",
                            where="aggregate(...)",
                            hint="Call its result with the expression: aggregate(init=..., ...)(col.x).")
        _check_members(steps)
        init = getattr(steps, "init", ...)
        accumulate, result = getattr(steps, "accumulate", None), getattr(steps, "result", None)
        merge, remove = getattr(steps, "merge", None), getattr(steps, "remove", None)
        difference = getattr(steps, "difference", None)
        save, load = getattr(steps, "save", None), getattr(steps, "load", None)
        forgets = getattr(steps, "forgets", None) if forgets is None else forgets
        returns = returns or getattr(steps, "returns", None)
        name = name or steps.__name__
    start = init() if callable(init) else init
    for role, given in (("init", start), ("accumulate", accumulate), ("result", result)):
        if given is (... if role == "init" else None):  # None is a first state, too
            raise PlanError(f"An aggregate needs {role}.", where=f"aggregate({name or ''})",
                            hint="Use aggregate(init=0, accumulate=lambda state, x: state + x, result=lambda s: s).")
    for role, function in (("accumulate", accumulate), ("result", result), ("merge", merge),
                           ("remove", remove), ("difference", difference), ("save", save),
                           ("load", load)):
        if function is not None and not callable(function):
            raise PlanError(f"{role} must be a function, got {function!r}.", where=f"aggregate({name or ''})",
                            hint="Use aggregate(init=0, accumulate=lambda state, x: state + x, result=lambda s: s).")
    if returns is not None and not isinstance(returns, pa.DataType):
        raise PlanError(f"returns must be an Arrow type, got {returns!r}.", where=f"aggregate({name or ''})",
                        hint="Pass an Arrow type: returns=pa.float64(), or returns=pa.list_(pa.string()).")
    if forgets is not None and not isinstance(forgets, str | int | timedelta):
        raise PlanError(f"forgets must be a duration, got {forgets!r}.", where=f"aggregate({name or ''})",
                        hint='Use a duration, such as forgets="10m".')
    if (save is None) != (load is None):
        raise PlanError("save and load must be given together.", where=f"aggregate({name or ''})",
                        hint="Pass both: load makes the state that save has written.")
    assert accumulate is not None
    assert result is not None
    if name is None:
        name = getattr(accumulate, "__name__", type(accumulate).__name__)
    if name == "<lambda>":  # two of them in one query need different names
        name = f"aggregate_{identity(start, accumulate, result, merge, remove, difference)}"
    return UserFunctions(name, start, accumulate, result, merge, remove, difference,
                         fresh=init if callable(init) else None, returns=returns, save=save, load=load, forgets=forgets)


def _check_members(steps: type) -> None:
    """Refuse a public member that no aggregate has: it would be ignored."""
    for member in vars(steps):
        if not member.startswith("_") and member not in _MEMBERS:
            known = USER_AGGREGATE.get(member)
            hint = f"Use {known}." if known else near_match(member, _MEMBERS, noun="member")
            raise PlanError(f"An aggregate has no {member!r}.", where=f"aggregate({steps.__name__})", hint=hint)


def running(value: Expr) -> Expr:
    """The value of an aggregate since its group opened.

    Parameters
    ----------
    value : Aggregate or Expr
        An aggregate, or an expression of several, such as ``wb.sum(col.x) / wb.count()``.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 2, 6], "x": [2, 3, 4]}, time="at")
    >>> log.epoch_aggregate(5, False, total=wb.running(wb.sum(wb.col.x))).collect()["total"].to_pylist()
    [5, 9]
    """
    parts = {part.show(): part for part in reduced_in(value)} if isinstance(value, Expr) else {}
    other = next((part for part in parts.values() if not isinstance(part, Aggregate)), None)
    if not parts or other is not None:
        shown = value.show() if isinstance(value, Expr) else repr(value)
        raise PlanError(f"running() needs an aggregate, got {shown}.", where=f"running({shown})",
                        hint="Use an aggregate, such as wb.running(wb.sum(col.x)).")
    return substitute(value, {name: Running(part) for name, part in parts.items() if isinstance(part, Aggregate)})


def window_start() -> WindowBound:
    """Start of the window of a result.

    Use it in ``aggregate(...)`` after a tumbling or hopping window.

    With ``label="start"`` a window is [window_start, window_end): an event at window_start belongs to it. With
    ``label="end"`` it is (window_start, window_end]: an event at window_end belongs to it. With both labels the two are
    `size` apart, on the grid of the windows.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [3]}, time="at").hopping_window(10, 5, label="end")
    >>> events.aggregate(since=wb.window_start(), until=wb.window_end()).collect().to_pylist()
    [{'start': 5, 'end': 10, 'since': -5, 'until': 5}, {'start': 10, 'end': 15, 'since': 0, 'until': 10}]
    """
    return WindowBound("start")


def window_end() -> WindowBound:
    """End of the window of a result.

    See :func:`window_start` for the events that belong to it.
    """
    return WindowBound("end")

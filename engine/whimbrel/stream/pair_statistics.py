"""Aggregates of pairs and of the shape of values: ``wb.corr(col.x, col.y)``, ``wb.skew(col.x)``.

Sums have twice as many digits as a float: a mean far from zero costs none. All merge, so windows share panes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from whimbrel.aggregates import UserAggregate, UserFunctions
from whimbrel.aggregates import double_double_moments as moments
from whimbrel.errors import PlanError
from whimbrel.stream.aggregates import Value, aggregate

__all__ = ["corr", "cov", "intercept", "kurtosis", "r2", "skew", "slope"]


def _of_pairs(name: str, result: Callable[[Any], Any]) -> UserFunctions:
    made = aggregate(init=moments.NO_PAIRS, accumulate=moments.pair_in, merge=moments.pairs_of_both, result=result,
                     name=name)
    return replace(made, of_numbers=True)


def _of_powers(name: str, result: Callable[[Any], Any]) -> UserFunctions:
    made = aggregate(init=moments.NO_POWERS, accumulate=moments.powers_in, merge=moments.powers_of_both, result=result,
                     name=name)
    return replace(made, of_numbers=True)


_CORR: Final = _of_pairs("corr", moments.correlation)
_COV: Final = {True: _of_pairs("cov", moments.sample_covariance),
               False: _of_pairs("cov_of_all", moments.population_covariance)}
_SLOPE: Final = _of_pairs("slope", moments.regression_slope)
_INTERCEPT: Final = _of_pairs("intercept", moments.regression_intercept)
_R2: Final = _of_pairs("r2", moments.determination)
_SKEW: Final = _of_powers("skew", moments.skewness)
_KURTOSIS: Final = _of_powers("kurtosis", moments.excess_kurtosis)

OWN_FUNCTIONS: Final = (_CORR, _COV[True], _SLOPE, _INTERCEPT, _R2, _SKEW, _KURTOSIS)
"""Functions whose name is that of the function here that makes their aggregate."""


def corr(x: Value, y: Value) -> UserAggregate:
    """Correlation of two values, of Pearson.

    A row counts if neither value is null. The result is null where one of them is constant. It is NaN where the squares
    of the distances from a mean add up to less than 1e-260 or more than 1e300. Means far from zero cost no digits.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> events = wb.from_arrow({"at": [0, 1, 2], "x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}, time="at")
    >>> round(events.tumbling_window(5).aggregate(c=wb.corr(col.x, col.y)).collect()["c"][0].as_py(), 9)
    1.0
    """
    return _CORR(x, y)


def cov(x: Value, y: Value, *, sample: bool = True) -> UserAggregate:
    """Covariance of two values.

    A row counts if neither value is null. That of a sample is null of fewer than two rows.

    Parameters
    ----------
    x, y : Expr or callable
    sample : bool
        Whether to divide by one less than the number of rows.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> events = wb.from_arrow({"at": [0, 1, 2], "x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}, time="at")
    >>> events.tumbling_window(5).aggregate(c=wb.cov(col.x, col.y)).collect()["c"].to_pylist()
    [2.0]
    """
    if not isinstance(sample, bool):
        raise PlanError(f"sample must be True or False, got {sample!r}.", where="cov()",
                        hint="Use sample=False to divide by the number of rows.")
    return _COV[sample](x, y)


def slope(y: Value, x: Value) -> UserAggregate:
    """Slope of the line through pairs, by least squares.

    A row counts if neither value is null. The result is null where `x` is constant, and NaN where :func:`corr` is.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> events = wb.from_arrow({"at": [0, 1, 2], "x": [1.0, 2.0, 3.0], "y": [3.0, 5.0, 7.0]}, time="at")
    >>> line = events.tumbling_window(5).aggregate(a=wb.slope(col.y, col.x), b=wb.intercept(col.y, col.x))
    >>> line.collect().select(["a", "b"]).to_pylist()
    [{'a': 2.0, 'b': 1.0}]
    """
    return _SLOPE(y, x)


def intercept(y: Value, x: Value) -> UserAggregate:
    """Value at ``x = 0`` of the line through pairs, by least squares.

    See :func:`slope`.
    """
    return _INTERCEPT(y, x)


def r2(y: Value, x: Value) -> UserAggregate:
    """Share of the variance of `y` that the line through pairs explains.

    It is 1 where `y` is constant, and null where `x` is. See :func:`slope`.
    """
    return _R2(y, x)


def skew(value: Value) -> UserAggregate:
    """Skewness of the values that are not null.

    It is the third moment about the mean, in units of the standard deviation. It is null where all values are equal,
    and NaN where the variance is below 1e-130 or above 1e150. A mean far from zero costs no digits.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2], "x": [1.0, 1.0, 4.0]}, time="at")
    >>> round(events.tumbling_window(5).aggregate(s=wb.skew(wb.col.x)).collect()["s"][0].as_py(), 6)
    0.707107
    """
    return _SKEW(value)


def kurtosis(value: Value) -> UserAggregate:
    """Excess kurtosis of the values that are not null.

    It is the fourth moment about the mean, in units of the squared variance, less 3. It is null where all values are
    equal, and NaN where the variance is below 1e-130 or above 1e150. A mean far from zero costs no digits.
    """
    return _KURTOSIS(value)

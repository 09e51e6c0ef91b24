"""Aggregates of two values, by their names in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.aggregates import UserFunctions
from whimbrel.expr import Col, Expr
from whimbrel.plan import Aggregate
from whimbrel.sql.scope import NameScope

OF_PAIRS: Final[dict[Any, Callable[[Expr, Expr], Aggregate]]] = {
    exp.ArgMin: wb.arg_min, exp.ArgMax: wb.arg_max, exp.Corr: wb.corr, exp.CovarSamp: wb.cov,
    exp.CovarPop: lambda y, x: wb.cov(y, x, sample=False), exp.RegrSlope: wb.slope, exp.RegrIntercept: wb.intercept,
    exp.RegrR2: wb.r2,
}
"""By the node of a call, what makes the aggregate."""

_WORDS: Final = {exp.Corr: "corr", exp.CovarSamp: "covar_samp", exp.CovarPop: "covar_pop", exp.RegrSlope: "regr_slope",
                 exp.RegrIntercept: "regr_intercept", exp.RegrR2: "regr_r2"}
WORDS_OF_FUNCTIONS: Final[dict[UserFunctions, str]] = {
    getattr(made, "functions"): word for made, word in (  # noqa: B009
        *((OF_PAIRS[kind](Col("y"), Col("x")), word) for kind, word in _WORDS.items()),
        (wb.skew(Col("x")), "skewness_pop"), (wb.kurtosis(Col("x")), "kurtosis_pop"))}
"""Names of the engine's own aggregates that are written as user-defined ones are."""


def ordered_aggregate(node: Any, value: Callable[[Any], Expr], scope: NameScope) -> Aggregate:
    """The aggregate of a call with ORDER BY: ``first(y ORDER BY x)``."""
    order = node.this
    if len(order.expressions) == 1:
        key = order.expressions[0]
        descending = bool(key.args.get("desc"))
        if isinstance(node, exp.First | exp.FirstValue):
            return (wb.arg_max if descending else wb.arg_min)(value(order.this), value(key.this))
        if isinstance(node, exp.Last | exp.LastValue) and not descending:
            return wb.last(value(order.this), by=value(key.this))
    raise scope.binder.text.error("ORDER BY in an aggregate is for first and last, with one value.", node,
                                  "Use first(y ORDER BY x), first(y ORDER BY x DESC) or last(y ORDER BY x).")

"""Aggregates of moments, and counts of pairs, by their names in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.expr import Expr, Lit, when
from whimbrel.plan import Aggregate

Kept = Callable[[Aggregate], Aggregate]


def _skewness(kept: Kept, x: Expr) -> Expr:
    """Skewness of a sample, corrected for its size."""
    n = kept(wb.count(x))
    return when(n > 2).then((n * (n - 1)).sqrt() / (n - 2) * kept(wb.skew(x))).otherwise(Lit(None))


def _kurtosis(kept: Kept, x: Expr) -> Expr:
    """Excess kurtosis of a sample, corrected for its size."""
    n = kept(wb.count(x))
    corrected = ((n + 1) * kept(wb.kurtosis(x)) + 6) * (n - 1) / ((n - 2) * (n - 3))
    return when(n > 3).then(corrected).otherwise(Lit(None))


OF_MOMENTS: Final[dict[str, tuple[int, Callable[..., Expr]]]] = {
    "skewness": (1, _skewness), "skewness_pop": (1, lambda kept, x: kept(wb.skew(x))), "kurtosis": (1, _kurtosis),
    "kurtosis_pop": (1, lambda kept, x: kept(wb.kurtosis(x))),
    "regr_count": (2, lambda kept, y, x: kept(wb.count()).where(y.is_not_null() & x.is_not_null())),
}
"""The number of values, and what makes the aggregate; its first argument adds the condition of FILTER."""

_NODES: Final = tuple(kind for kind in (getattr(exp, name, None) for name in ("Skewness", "Kurtosis", "RegrCount"))
                      if kind is not None)


def moment_name(node: Any) -> str | None:
    """The name of a call in this table."""
    name = node.name.lower() if isinstance(node, exp.Anonymous) else (
        node.sql_name().lower() if isinstance(node, _NODES) else "")
    return name if name in OF_MOMENTS else None


def moments(node: Any, name: str, value: Callable[[Any], Expr], kept: Kept) -> Expr | None:
    """The aggregate of a call; None with other arguments."""
    given = node.expressions if isinstance(node, exp.Anonymous) else [
        each for each in node.args.values() if isinstance(each, exp.Expression)]
    count, make = OF_MOMENTS[name]
    return make(kept, *map(value, given)) if len(given) == count else None

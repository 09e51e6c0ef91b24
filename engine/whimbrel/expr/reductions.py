"""Find the reduced values of an expression, such as aggregates."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.expr.columns import children
from whimbrel.expr.nodes import Col, Expr, Reduced


def reduced_in(expr: Expr) -> Iterator[Reduced]:
    """The aggregates and bounds of windows that an expression is computed from."""
    if isinstance(expr, Reduced):
        yield expr
    else:
        for child in children(expr):
            yield from reduced_in(child)


def columns_in(expr: Expr) -> Iterator[str]:
    """The columns of single rows that it reads in addition."""
    if isinstance(expr, Col):
        yield expr.name
    elif not isinstance(expr, Reduced):
        for child in children(expr):
            yield from columns_in(child)

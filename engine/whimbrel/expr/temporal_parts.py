"""Find the temporal parts of expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from whimbrel.expr.columns import children, columns_of, substitute
from whimbrel.expr.nodes import Col, Expr
from whimbrel.expr.temporal import Temporal, TimeOffset


def temporal_parts(expr: Expr) -> Iterator[Temporal]:
    """The largest temporal parts of an expression."""
    if isinstance(expr, Temporal):
        yield expr
        return
    for child in children(expr):
        yield from temporal_parts(child)


def distributed(expr: Expr) -> Expr:
    """The same, where only columns, windows and earlier events are moved in time.

    >>> from whimbrel import col
    >>> from whimbrel.expr.temporal_parts import distributed
    >>> distributed((col.x - col.y.previous()).ago(5))
    col.x.ago(5) - col.y.previous().ago(5)
    """
    mapping: dict[str, Expr] = {}
    for part in temporal_parts(expr):
        inner = distributed(part.of)
        leaves = list(temporal_parts(inner))
        if isinstance(part, TimeOffset) and leaves and not isinstance(inner, Temporal):
            moved: dict[str, Expr] = {leaf.show(): replace(part, of=leaf) for leaf in leaves}
            moved |= {name: replace(part, of=Col(name)) for name in columns_of(inner)}
            mapping[part.show()] = substitute(inner, moved)
        else:
            mapping[part.show()] = replace(part, of=inner)
    return substitute(expr, mapping)

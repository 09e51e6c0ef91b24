"""Find the temporal parts of expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr.columns import children, columns_of, lifetime_of, substitute
from whimbrel.expr.function_fingerprint import functions_in, identity
from whimbrel.expr.nodes import Col, Expr
from whimbrel.expr.temporal_nodes import Temporal, TimeOffset

NO_LIFETIMES = "The start and end of events cannot be read inside of this part."
LIFETIMES_HINT = "Make it a column first: with_columns(began=wb.start_time())."


def temporal_parts(expr: Expr) -> Iterator[Temporal]:
    """The largest temporal parts of an expression."""
    if isinstance(expr, Temporal):
        yield expr
        return
    for child in children(expr):
        yield from temporal_parts(child)


def parts_by_text(exprs: Iterable[Expr]) -> dict[str, Temporal]:
    """The largest temporal parts of some expressions, each once."""
    found: dict[str, Temporal] = {}
    meanings: dict[str, str] = {}
    for part in (part for expr in exprs for part in temporal_parts(expr)):
        check_alike(part, meanings)
        found[part.show()] = part
    return found


def distributed(expr: Expr) -> Expr:
    """The same, where only columns, windows and earlier events are moved in time.

    >>> from whimbrel import col
    >>> from whimbrel.expr.temporal_parts import distributed
    >>> distributed((col.x - col.y.previous()).ago(5))
    col.x.ago(5) - col.y.previous().ago(5)
    """
    mapping: dict[str, Expr] = {}
    meanings: dict[str, str] = {}
    for part in temporal_parts(expr):
        check_alike(part, meanings)
        inner = distributed(part.of)
        leaves = list(temporal_parts(inner))
        if isinstance(part, TimeOffset) and leaves and not isinstance(inner, Temporal):
            if lifetime_of(inner):
                raise PlanError(NO_LIFETIMES, where=part.show(), hint=LIFETIMES_HINT)
            moved: dict[str, Expr] = {leaf.show(): replace(part, of=leaf) for leaf in leaves}
            moved |= {name: replace(part, of=Col(name)) for name in columns_of(inner)}
            mapping[part.show()] = substitute(inner, moved)
        else:
            mapping[part.show()] = replace(part, of=inner)
    return substitute(expr, mapping)


def check_alike(part: Temporal, meanings: dict[str, str]) -> None:
    """Refuse a part with the text of another one, but with other functions; remember what its text means."""
    meaning = identity(*functions_in(part))
    if meanings.setdefault(part.show(), meaning) != meaning:
        raise ExpressionError("Two different functions have the same text.", where=part.show(),
                              hint='Name each one, wb.aggregate(..., name="..."), and the functions that it calls.')

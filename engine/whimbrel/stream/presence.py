"""Rewrite `exists()` to parts that are null in gaps only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import and_

from whimbrel.batch import Schema
from whimbrel.errors import PlanError
from whimbrel.expr import Expr, Lit, columns_of, substitute, when
from whimbrel.expr.reductions import reduced_in
from whimbrel.expr.temporal_nodes import (
    Exists,
    Past,
    PastRows,
    Previous,
    SoFar,
    Temporal,
    TimeOffset,
    WindowValue,
)
from whimbrel.expr.temporal_parts import distributed, temporal_parts
from whimbrel.stream.aggregates import count
from whimbrel.stream.temporal_checks import check_part


def with_presence(expr: Expr, schema: Schema, *, at_events: bool = True) -> Expr:
    """An expression whose `exists()` are written with parts that are null in gaps only.

    Parameters
    ----------
    expr : Expr
    schema : Schema
        Columns of the events.
    at_events : bool
        Whether values are taken when an event starts, so that its own columns are there.
    """
    mapping: dict[str, Expr] = {}
    for part in temporal_parts(expr):
        if isinstance(part, Exists):
            mapping[part.show()] = _exists(part, schema, at_events=at_events)
        elif any(isinstance(inner, Exists) for inner in _all_parts(part.of)):
            mapping[part.show()] = replace(part, of=with_presence(part.of, schema))
    return substitute(expr, mapping) if mapping else expr


def _exists(whole: Exists, schema: Schema, *, at_events: bool) -> Expr:
    for each in reduced_in(whole.of):
        if not isinstance(each, Temporal):
            raise PlanError(f"exists() of an aggregate needs a window, got {each.show()}.", where=whole.show(),
                            hint=f'Add one, such as {each.show()}.past("5m").exists().')
    for part in _all_parts(whole.of):
        if not isinstance(part, Exists):
            check_part(part, schema)
    of = distributed(with_presence(whole.of, schema))
    names = columns_of(of)
    for name in names:
        schema.index(name, where=whole.show())
    there: list[Expr] = [_never_null(part).is_not_null() for part in temporal_parts(of)]
    if names or not there:
        there.append(Lit(True) if at_events else TimeOffset(Lit(True), 0, "ago").is_not_null())
    return reduce(and_, there)


def _never_null(part: Temporal) -> Temporal:
    """A part that is null only where the given one has no event."""
    match part:
        case TimeOffset(of=of):
            return replace(part, of=_never_null(of) if isinstance(of, Temporal) else Lit(True))
        case Previous(of=of):
            conditions = [_never_null(inner).is_not_null() for inner in temporal_parts(of)]
            value = when(reduce(and_, conditions)).then(Lit(True)).otherwise(None) if conditions else Lit(True)
            return replace(part, of=value)
        case Past() | PastRows():
            return replace(part, of=count(), min_rows=1)
        case WindowValue():
            return replace(part, of=count())
    return SoFar(count())  # a recurrence has a value from the first event on


def _all_parts(expr: Expr) -> Iterator[Temporal]:
    """The temporal parts of an expression, and those inside of them."""
    for part in temporal_parts(expr):
        yield part
        yield from _all_parts(part.of)

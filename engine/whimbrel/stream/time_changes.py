"""Streams of functions of time, with a new event wherever something changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from whimbrel import operators
from whimbrel.expr import Col, Expr, substitute
from whimbrel.operators import OverTime, Select
from whimbrel.plan import Node
from whimbrel.stream.plan_nodes import after, joined, with_keys
from whimbrel.stream.temporal_checks import check_changes
from whimbrel.stream.temporal_columns import TemporalParts
from whimbrel.stream.time_samples import functions_in, nothing_to_read
from whimbrel.temporal.bounds import presence_of
from whimbrel.temporal.parts import ReadColumns, WindowFold


def at_changes(parts: TemporalParts, exprs: Mapping[str, Expr]) -> Node:
    """A new event wherever a column or a part of the expressions changes, as long as one of them is there.

    Parts that read events by position have one operator. Others are streams of their own, which are joined with it.
    """
    found = functions_in(parts, exprs, alone=True)
    functions = others = [there for _, there in found.streams]
    for part, made in found.read:
        if isinstance(made.of, WindowFold):
            check_changes(part, made.of.results, parts.out.schema)
    if found.read:
        read = [*(made for _, made in found.read), *found.plain]
        op = OverTime(parts=ReadColumns(read), presences=tuple({presence_of(each): None for each in read}),
                      keys=tuple(parts.keys), unit=parts.out.schema.unit)
        functions = [Node(op, (with_keys(parts.out, parts.keys),)), *others]
    elif found.plain or not others:
        if not found.plain and not parts.keys:
            raise nothing_to_read()
        plain = [each.name for each in found.plain]
        functions = [*others, after(operators.select, parts.events, *parts.keys, *plain)]
    together = reduce(lambda left, right: joined(left, right, parts.keys, "full"), functions)
    kept = tuple((key, Col(key)) for key in parts.keys if key not in exprs)
    return Node(Select(columns=(*kept, *((name, substitute(expr, found.columns)) for name, expr in exprs.items()))),
                (together,))

"""Streams of functions of time, with a new event wherever something changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from whimbrel import operators
from whimbrel.expr import Col, Expr, columns_of, substitute
from whimbrel.expr.temporal_parts import parts_by_text
from whimbrel.operators import OverTime, Select
from whimbrel.plan import Node
from whimbrel.stream.plan_nodes import after, joined, with_keys
from whimbrel.stream.temporal_checks import check_changes
from whimbrel.stream.temporal_columns import TemporalParts
from whimbrel.stream.time_samples import nothing_to_read
from whimbrel.temporal.bounds import presence_of
from whimbrel.temporal.parts import EventValue, ReadColumn, ReadColumns, WindowFold


def at_changes(parts: TemporalParts, exprs: Mapping[str, Expr]) -> Node:
    """A new event wherever a column or a part of the expressions changes, as long as one of them is there.

    Parts that read events by position have one operator. Others are streams of their own, which are joined with it.
    """
    read: list[ReadColumn] = []
    others: list[Node] = []
    columns: dict[str, Expr] = {}
    plain = sorted(frozenset[str]().union(*map(columns_of, exprs.values())) - set(parts.keys))
    found = parts_by_text(exprs.values())
    for text, part in found.items():
        if (made := parts.read_at(part, alone=len(found) == 1 and not plain)) is not None:
            if isinstance(made.of, WindowFold):
                check_changes(part, made.of.results, parts.out.schema)
            read.append(made)
            columns[text] = Col(made.name)
        else:
            there, columns[text] = parts.at_any_time(part)
            others.append(there)
    functions = others
    if read:
        read += [ReadColumn(name, EventValue(Col(name))) for name in plain]
        op = OverTime(parts=ReadColumns(read), presences=tuple({presence_of(each): None for each in read}),
                      keys=tuple(parts.keys), unit=parts.out.schema.unit)
        functions = [Node(op, (with_keys(parts.out, parts.keys),)), *others]
    elif plain or not others:
        if not plain and not parts.keys:
            raise nothing_to_read()
        functions = [*others, after(operators.select, parts.events, *parts.keys, *plain)]
    together = reduce(lambda left, right: joined(left, right, parts.keys, "full"), functions)
    kept = tuple((key, Col(key)) for key in parts.keys if key not in exprs)
    return Node(Select(columns=(*kept, *((name, substitute(expr, columns)) for name, expr in exprs.items()))),
                (together,))

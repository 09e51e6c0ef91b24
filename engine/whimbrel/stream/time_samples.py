"""Streams of functions of time at the multiples of a duration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from whimbrel import operators
from whimbrel.clock import Duration, check_positive, duration_ticks, grid_offset
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, columns_of, lit, start_time, substitute
from whimbrel.expr.temporal_nodes import PastRows, Recurrence, SoFar, Temporal, TimeOffset, WindowValue
from whimbrel.expr.temporal_parts import temporal_parts
from whimbrel.operators import Chop, Select, TemporalSamples
from whimbrel.plan import Node
from whimbrel.stream.aggregates import count
from whimbrel.stream.plan_nodes import after, joined
from whimbrel.stream.temporal_columns import TemporalParts
from whimbrel.temporal.parts import EventValue, ReadColumn, ReadColumns

_THERE = "is there"


def at_multiples(parts: TemporalParts, exprs: Mapping[str, Expr], every: Duration) -> Node:
    """One event at each multiple of a duration at which a part of the expressions is there, for each key."""
    read: list[ReadColumn] = []
    there: dict[str, Node] = {}
    columns: dict[str, Expr] = {}
    for part in (part for expr in exprs.values() for part in temporal_parts(expr)):
        if part.show() not in columns:
            if (made := parts.read_at(part)) is not None:
                read.append(made)
                columns[part.show()] = Col(made.name)
                if not _is_endless(part):
                    number = _number_of_events(part)
                    there[number.show()] = parts.at_any_time(number)[0]
                continue
            there[part.show()], columns[part.show()] = parts.at_any_time(part)
    plain = frozenset[str]().union(*map(columns_of, exprs.values())) - set(parts.keys)
    if read and not plain and not there:
        endless = next(iter(columns))
        raise PlanError(f"{endless} never ends.", where=f"over_time(every={every!r}, ...)",
                        hint='Add a window that ends, such as n=wb.count().past("1h"): values are given as long.')
    if plain or not there:
        if not plain and not parts.keys:
            raise nothing_to_read()
        there[_THERE] = after(operators.select, parts.events, *parts.keys, **{_THERE: lit(True)})
        read += [ReadColumn(name, EventValue(Col(name))) for name in sorted(plain)]
    together = reduce(lambda left, right: joined(left, right, parts.keys, "full"), there.values())
    rows = sampled(together, every, f"over_time(every={every!r})")
    if read:
        names = {made.name for made in read}
        kept = [name for name in rows.schema.names if name not in names]
        rows = after(operators.select, rows, *kept, **({} if kept else {_THERE: lit(True)}))
        rows = Node(TemporalSamples(parts=ReadColumns(read), keys=tuple(parts.keys), unit=rows.schema.unit),
                    (rows, parts.out))
    keys = tuple((key, Col(key)) for key in parts.keys if key not in exprs)
    shown = tuple((name, substitute(expr, columns)) for name, expr in exprs.items())
    return Node(Select(columns=(*keys, *shown)), (rows,))


def nothing_to_read() -> PlanError:
    """The error for constants only."""
    return PlanError("over_time() needs a column or a temporal part.", where="over_time()",
                     hint='Add one, such as over_time(m=wb.mean(col.px).past("20m")).')


def _is_endless(part: Temporal) -> bool:
    """Whether a part is there at all times after the first event."""
    return _is_endless(part.of) if isinstance(part, TimeOffset) and isinstance(part.of, Temporal) else (
        isinstance(part, PastRows | SoFar | Recurrence))


def _number_of_events(part: Temporal) -> Temporal:
    """A part that is there at the same times, and needs no column of the events."""
    match part:
        case TimeOffset(of=Temporal() as of):
            return replace(part, of=_number_of_events(of))
        case WindowValue():
            return replace(part, of=count())
    return part


def sampled(node: Node, every: Duration, where: str) -> Node:
    """What is active at multiples of a duration, until the next one."""
    ticks, unit = duration_ticks(every, node.schema.unit, where=where), node.schema.unit
    check_positive(unit, where=where, every=ticks)
    pieces = after(operators.chop, node, every)
    assert isinstance(pieces.op, Chop)
    pieces = Node(replace(pieces.op, asked=where), pieces.inputs)
    since = start_time().cast(int) - grid_offset(every, unit)
    return after(operators.set_duration, after(operators.where, pieces, since % ticks == 0), every)

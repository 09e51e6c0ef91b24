"""Streams of functions of time at the multiples of a duration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from whimbrel import operators
from whimbrel.clock import Duration, check_positive, duration_ticks, grid_offset, quote_ticks
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, columns_of, lit, start_time, substitute
from whimbrel.expr.temporal_nodes import PastRows, Recurrence, SoFar, Temporal, TimeOffset
from whimbrel.expr.temporal_parts import parts_by_text
from whimbrel.operators import Chop, OverTime, Select, TemporalSamples
from whimbrel.plan import Node
from whimbrel.stream.plan_nodes import after, as_samples, joined, matched_by_time, with_keys
from whimbrel.stream.temporal_columns import TemporalParts
from whimbrel.temporal.bounds import presence_of
from whimbrel.temporal.parts import EventValue, ReadColumn, ReadColumns

_THERE = "is there"


def at_multiples(parts: TemporalParts, exprs: Mapping[str, Expr], every: Duration) -> Node:
    """One event at each multiple of a duration at which a part of the expressions is there, for each key.

    Parts that are there for ever do not count. Parts that do not read events by position are streams of their own: what
    is active in them, or in the others, is sampled.
    """
    _check_multiples(parts.events, every)
    found = functions_in(parts, exprs, alone=False)
    others = [there for part, there in found.streams if _ends(part)]
    endless = [there for part, there in found.streams if not _ends(part)]
    columns, read = found.columns, [*(made for _, made in found.read), *found.plain]
    if not columns and not found.plain:
        if not parts.keys:
            raise nothing_to_read()
        read.append(ReadColumn(_THERE, EventValue(lit(True))))
    ending = tuple({presence_of(each): None for each in read if presence_of(each).end is not None})
    if not ending and not others:
        raise PlanError(f"{next(iter(columns))} never ends.", where=f"over_time(every={every!r}, ...)",
                        hint='Add a window that ends, such as n=wb.count().past("1h"): values are given as long.')
    where, unit, keys = f"over_time(every={every!r})", parts.out.schema.unit, tuple(parts.keys)
    ticks = duration_ticks(every, unit, where=where)
    check_positive(unit, where=where, every=ticks)
    op = OverTime(parts=ReadColumns(read), presences=ending, keys=keys, every=ticks,
                  offset=grid_offset(every, unit) % ticks, unit=unit)
    rows = Node(op, (with_keys(parts.out, parts.keys),)) if ending else None
    if others:
        together = sampled(reduce(lambda left, right: joined(left, right, parts.keys, "full"), others), every, where)
        if rows is not None:
            there = after(operators.select, rows, *parts.keys, **{_THERE: lit(True)})
            together = joined(together, there, parts.keys, "full")
        rows = together
        if read:
            rows = Node(TemporalSamples(parts=ReadColumns(read), keys=keys), (together, parts.out))
    assert rows is not None
    for there in endless:  # what begins and never ends has the value of its latest change
        rows = matched_by_time(rows, there, keys)
    rows = as_samples(rows, keys, ticks, op.offset)
    kept = tuple((key, Col(key)) for key in parts.keys if key not in exprs)
    shown = tuple((name, substitute(expr, columns)) for name, expr in exprs.items())
    return Node(Select(columns=(*kept, *shown)), (rows,))


@dataclass(frozen=True)
class FunctionsRead:
    """The functions of time in some expressions.

    Parameters
    ----------
    read : list of (Temporal, ReadColumn)
        Parts that read events by position.
    streams : list of (Temporal, Node)
        Parts that are streams of their own.
    plain : list of ReadColumn
        Columns outside of parts.
    columns : dict of str to Expr
        For the text of each part, the column that has its value.
    """

    read: list[tuple[Temporal, ReadColumn]]
    streams: list[tuple[Temporal, Node]]
    plain: list[ReadColumn]
    columns: dict[str, Expr]


def functions_in(parts: TemporalParts, exprs: Mapping[str, Expr], *, alone: bool) -> FunctionsRead:
    """Find the functions of time in expressions; `alone` allows a periodic loop if there is only one."""
    names = sorted(frozenset[str]().union(*map(columns_of, exprs.values())) - set(parts.keys))
    found = FunctionsRead([], [], [ReadColumn(name, EventValue(Col(name))) for name in names], {})
    given = parts_by_text(exprs.values())
    for text, part in given.items():
        if (made := parts.read_at(part, alone=alone and len(given) == 1 and not names)) is not None:
            found.read.append((part, made))
            found.columns[text] = Col(made.name)
        else:
            there, found.columns[text] = parts.at_any_time(part)
            found.streams.append((part, there))
    return found


def _ends(part: Temporal) -> bool:
    """Whether a part has no value some time after the last event."""
    if isinstance(part, TimeOffset) and isinstance(part.of, Temporal):
        return _ends(part.of)
    return not isinstance(part, PastRows | SoFar | Recurrence)


def _check_multiples(node: Node, every: Duration) -> None:
    """Refuse multiples at which the samples of a stream are not."""
    known, unit, where = node.properties, node.schema.unit, f"over_time(every={every!r}, ...)"
    period = known.sampling.period if known.sampling is not None else (
        None if known.apart is None or known.apart.period is None else Fraction(known.apart.period))
    if period is None:
        return
    ratio = Fraction(duration_ticks(every, unit, where=where)) / period
    if ratio > 0 and ratio.denominator != 1 and ratio.numerator != 1:
        whole = period.numerator  # the shortest multiple that is a number of ticks
        multiple = -(-int(ratio * period) // whole) * whole
        stated = quote_ticks(period.numerator, unit) if period.denominator == 1 else f"{period} ticks"
        raise PlanError(f"every must be a multiple of the period of the samples, {stated}, or divide it.", where=where,
                        hint=f"Use a multiple, such as every={quote_ticks(multiple, unit)}.")


def nothing_to_read() -> PlanError:
    """The error for constants only."""
    return PlanError("over_time() needs a column or a temporal part.", where="over_time()",
                     hint='Add one, such as over_time(m=wb.mean(col.px).past("20m")).')


def sampled(node: Node, every: Duration, where: str) -> Node:
    """What is active at multiples of a duration, until the next one."""
    ticks, unit = duration_ticks(every, node.schema.unit, where=where), node.schema.unit
    check_positive(unit, where=where, every=ticks)
    pieces = after(operators.chop, node, every)
    assert isinstance(pieces.op, Chop)
    pieces = Node(replace(pieces.op, asked=where), pieces.inputs)
    offset, apart = grid_offset(every, unit), node.properties.apart
    since = start_time().cast(int) - offset
    found = after(operators.set_duration, after(operators.where, pieces, since % ticks == 0), every)
    return found if apart is None else as_samples(found, sorted(apart.per), ticks, offset)

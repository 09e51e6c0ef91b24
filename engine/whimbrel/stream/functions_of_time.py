"""Streams of functions of time."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal, get_args

from whimbrel import operators
from whimbrel.clock import Duration, Instant, Rate, check_positive, duration_ticks, grid_offset, parse_instant
from whimbrel.errors import PlanError, SchemaError
from whimbrel.expr import Col, Expr, Keys, columns_of, lifetime_of
from whimbrel.expr.reductions import reduced_in
from whimbrel.expr.temporal_nodes import Temporal
from whimbrel.expr.temporal_parts import LIFETIMES_HINT, distributed
from whimbrel.expr.type_predicates import is_number
from whimbrel.operators import Between, GroupAggregate, Resample, Select, SetDuration
from whimbrel.plan import Node
from whimbrel.stream.aggregates import mean
from whimbrel.stream.grouping import columns_of_keys, with_keys_as_columns
from whimbrel.stream.plan_nodes import after, as_samples, until_next, until_own_next
from whimbrel.stream.presence import with_presence
from whimbrel.stream.sample_filters import polyphase
from whimbrel.stream.temporal_columns import TemporalParts
from whimbrel.stream.time_changes import at_changes
from whimbrel.stream.time_samples import at_multiples, sampled
from whimbrel.stream.times_of_day import with_date

ResampleMethod = Literal["hold", "linear", "nearest", "mean", "polyphase"]
"""How the value at a grid point is found."""


def over_time(node: Node, keys: Keys, columns: Sequence[tuple[str, Expr]], every: Duration | None) -> Node:
    """A new event wherever a column or a temporal part of the expressions changes, as long as one of them is there.

    With `every`, there is an event at each of its multiples instead.
    """
    if not columns:
        raise PlanError("over_time() needs at least one column.", where="over_time()",
                        hint='Add one, such as over_time(m=wb.mean(col.px).past("20m")).')
    parts = TemporalParts(node, keys, "over_time()" if every is None else f"over_time(every={every!r})")
    exprs = {name: distributed(with_presence(expr, parts.out.schema, at_events=False)) for name, expr in columns}
    for name, expr in exprs.items():
        where = f"over_time({name}={expr.show()})"
        if lifetime_of(expr):
            raise PlanError("A function of time has no start and end of events.", where=where, hint=LIFETIMES_HINT)
        if name in parts.keys and not (isinstance(expr, Col) and expr.name == name):
            raise PlanError(f"{name!r} is the name of a group key.", where=where, hint="Use another name.")
        for each in reduced_in(expr):
            if not isinstance(each, Temporal):
                raise PlanError(f"{each.show()} is {each.kind}, not a function of time.", where=where,
                                hint="Add .past(...), .cell(...) or .so_far() to it.")
        for column in columns_of(expr):
            parts.out.schema.index(column, where=where)
    return at_changes(parts, exprs) if every is None else at_multiples(parts, exprs, every)


def between(node: Node, start: Instant, end: Instant, every: Duration | None) -> Node:
    """The events that are active in a range, or what is active at multiples of a duration in it."""
    where, schema = f"between({start!r}, {end!r})", node.schema
    first, last = (parse_instant(with_date(each, node, where), schema.unit, schema.zone, where=where, rounding="up")
                   for each in (start, end))
    if first >= last:
        raise PlanError(f"The range must end after its start, got {start!r} to {end!r}.", where=where,
                        hint="Use a later end.")
    made = Node(Between(start=first, end=last, clip=every is not None, unit=schema.unit, zone=schema.zone), (node,))
    # Any multiples: a view asks for those of its pixels.
    return made if every is None else sampled(made, every, f"between(every={every!r})")


def hold(node: Node, keys: Keys, limit: Duration | None) -> Node:
    """Each event until the next one of its key."""
    where, unit = "hold()" if limit is None else f"hold(limit={limit!r})", node.schema.unit
    parts = TemporalParts(node, keys, where)
    if limit is None:
        return until_next(parts.out, parts.events, parts.keys)
    ticks = duration_ticks(limit, unit, where=where)
    check_positive(unit, where=where, limit=ticks)
    lasting = Node(SetDuration(size=ticks, unit=unit, asked=where), (parts.out,))
    return until_own_next(lasting, parts.events, parts.keys)


def resample(node: Node, keys: Keys, period: Duration | Rate, how: ResampleMethod, limit: Duration | None,
             offset: Duration | None) -> Node:
    """One event at each multiple of a period, for each key."""
    where = f"resample({period!r}, how={how!r})"
    if how not in get_args(ResampleMethod):
        raise PlanError(f"how must be one of {', '.join(map(repr, get_args(ResampleMethod)))}, got {how!r}.",
                        where=where, hint='Use how="linear".')
    if how == "mean" and limit is not None:
        raise PlanError('how="mean" takes no limit: a mean is of the samples in its own period.', where=where,
                        hint="Remove limit=.")
    node, names = with_keys_as_columns(node, keys), tuple(name for name, _ in keys)
    if names:
        node = after(operators.where, node, *(Col(name).is_not_null() for name in names))
    unit = node.schema.unit
    if how == "polyphase":
        return polyphase(node, names, period, limit, offset, where)
    if isinstance(period, float | Fraction | Decimal):
        raise PlanError(f"A period must be a duration, got {period!r}.", where=where,
                        hint='Use a duration such as "5ms"; a rate goes with how="polyphase".')
    ticks = duration_ticks(period, unit, where=where)
    if how != "mean":
        most = None if limit is None else duration_ticks(limit, unit, where=f"resample(limit={limit!r})")
        op = Resample(period=ticks, how=how, limit=most, offset=grid_offset(period, unit, offset, where=where),
                      keys=names, unit=unit)
        return Node(op, (node,))
    columns = {field.name: field for field in node.schema if field.name not in names}
    wrong = next((field for field in columns.values() if not is_number(field.type)), None)
    if wrong is not None:
        raise SchemaError(f'how="mean" needs columns of numbers, got {wrong.name!r} of type {wrong.type}.', where=where,
                          hint='Select the numbers first: select("x").resample(...).')
    check_positive(unit, where=where, period=ticks)
    first = grid_offset(period, unit, offset, where=where)
    windows = after(operators.tumbling_window, node, ticks, offset=first)  # days of 24 hours, as at other multiples
    measures = tuple((name, mean(Col(name))) for name in columns)
    means = Node(GroupAggregate(keys=columns_of_keys(names), measures=measures), (windows,))
    means = Node(Select(columns=columns_of_keys(node.schema.names)), (means,))
    return as_samples(means, names, ticks, first)

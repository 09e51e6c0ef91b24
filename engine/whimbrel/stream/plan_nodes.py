"""Build nodes of plans from the builders of methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from whimbrel import operators
from whimbrel.clock import quote_ticks
from whimbrel.expr import Col, Expr
from whimbrel.operators import AlignSamples, Clip, Select
from whimbrel.plan import Node, NonOverlapping, Operator, Operators


def after(build: Callable[..., Operators], node: Node, *arguments: Any, **options: Any) -> Node:
    """A stream with one more method."""
    made = build(node.schema, *arguments, **options)
    for op in (made,) if isinstance(made, Operator) else made:
        node = Node(op, (node,))
    return node


def joined(left: Node, right: Node, keys: list[str], how: str) -> Node:
    """Both streams, joined on the keys if there are any."""
    if keys:
        return joined_by(operators.join, left, right, keys, how=how)
    return joined_by(operators.cross_join, left, right, how=how)


def joined_by(build: Callable[..., Operators], left: Node, right: Node, *arguments: Any, **options: Any) -> Node:
    """Two streams in one; what needs lookahead may have it."""
    made = build(left.schema, right.schema, *arguments, **options)
    assert isinstance(made, Operator)
    return Node(made, (left, right))


def matched_by_time(rows: Node, values: Node, keys: Sequence[str]) -> Node:
    """Each row with the latest value of its key, of which one starts at a time."""
    made = operators.asof_join(rows.schema, values.schema, on=list(keys) or None)
    return Node(replace(made, keeps_rows=True), (rows, values))


def until_next(node: Node, events: Node, keys: list[str]) -> Node:
    """Each value until the next event of its key; the newest one has no known end."""
    return until_own_next(after(operators.set_duration, node, None), events, keys)


def until_own_next(node: Node, events: Node, keys: list[str]) -> Node:
    """Each value until the next event of its key starts, or it ends before that; there is one value for each event."""
    made = joined_by(operators.clip_at, node, events, keys or None)
    assert isinstance(made.op, Clip)
    return Node(replace(made.op, apart=NonOverlapping(frozenset(keys), declared=False)), made.inputs)


def as_samples(node: Node, keys: Sequence[str], period: int, offset: int) -> Node:
    """Events at multiples of a period, at most one of each key, as samples of which some may be missing."""
    if node.properties.sampling is not None:
        return node
    unit, phase = node.schema.unit, offset % period
    per = [f"per={list(keys)!r}"] if keys else []
    shown = ", ".join((f"periodic={quote_ticks(period, unit)}", "gaps=True", *per))
    return Node(AlignSamples(period=Fraction(period), phase=phase, gaps=True, per=frozenset(keys), options=shown,
                             unit=unit), (node,))


def with_keys(node: Node, keys: list[str]) -> Node:
    """The events that have a key."""
    return after(operators.where, node, *(Col(key).is_not_null() for key in keys)) if keys else node


def selected(node: Node, columns: Mapping[str, Expr]) -> Node:
    """A stream of these columns."""
    return Node(Select(columns=tuple(columns.items())), (node,))


def kept_columns(node: Node) -> dict[str, Expr]:
    """All columns of a stream as they are."""
    return {name: Col(name) for name in node.schema.names}

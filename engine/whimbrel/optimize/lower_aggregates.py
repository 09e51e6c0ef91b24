"""Aggregate below the sorter: partial aggregates are sorted, and not rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from whimbrel.expr import Expr, can_fail
from whimbrel.operators import GroupAggregate, HoppingWindow, Select, Sort, Where
from whimbrel.operators.aggregation.evicting_aggregate import EvictingAggregate
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.operators.aggregation.table_size import FIRST_SLOTS, MAX_SLOTS
from whimbrel.optimize.absorb_select import absorb_select
from whimbrel.optimize.absorb_where import absorb_where
from whimbrel.optimize.two_phase_aggregate import above, split_aggregate
from whimbrel.plan import Aggregate, AggregateFunctions, AggregatePhase, Node, Operator, Source, reads_lifetime

MIN_ROWS = 200_000
"""A log of fewer rows is sorted in the time that the compiler takes for one more loop."""

_planned: ContextVar[frozenset[str] | None] = ContextVar("planned", default=None)


def lower_aggregates(node: Node) -> Node:
    """aggregate(sort(window(x))) -> finish(merge(partial aggregates(x))), if merges do not depend on order."""
    found = _parts(node)
    if found is None:
        return node
    planned = _planned.get()
    if planned is None and not _is_long(found[2]):
        return node
    levels = _levels(*found)
    if levels is None:
        return node
    low, high = levels
    if planned is not None and isinstance(low.op, Operator) and low.op.show() not in planned:
        return node
    return above(low, high)


@contextmanager
def planned_before(steps: Collection[str]) -> Iterator[None]:
    """Plan partial aggregates where a plan with these steps has them, however many rows its sources had."""
    token = _planned.set(frozenset(steps))
    try:
        yield
    finally:
        _planned.reset(token)


def is_planned_again() -> bool:
    """Whether a plan is made after another one."""
    return _planned.get() is not None


def why_not_lower(node: Node) -> str | None:
    """Why a windowed aggregate takes rows that are sorted, and not partial aggregates; None if it is no such node."""
    found = _parts(node)
    return None if found is None or not _is_long(found[2]) else reason_for_order(found[0], found[2])


def split_levels(node: Node) -> tuple[Node, tuple[Operator, ...]] | None:
    """For a windowed aggregate of a query: its low level, and the operators above that give the same rows.

    None if it is none, or if partial aggregates of rows in any order would not give the same.
    """
    found = _parts(node, is_sorted=False)
    return None if found is None else _levels(*found)


def _levels(aggregate: GroupAggregate, window: HoppingWindow, rows: Node) -> tuple[Node, tuple[Operator, ...]] | None:
    if reason_for_order(aggregate, rows) is not None:
        return None
    split = split_aggregate((window,), Node(aggregate, (Node(window, (rows,)),)))
    if split is None:
        return None
    (panes, states, *lasting), merge, finish = split
    assert isinstance(panes, HoppingWindow)
    assert isinstance(states, GroupAggregate)
    low = EvictingAggregate(window=panes, states=states, slots=FIRST_SLOTS, max_slots=MAX_SLOTS)
    return Node(low, (rows,)), (*lasting, merge, finish)


def why_no_levels(node: Node) -> str | None:
    """Why an aggregate of a query has no low level, in words; None if it has one."""
    found = _parts(node, is_sorted=False)
    if found is None:
        return "it is no aggregate of tumbling or hopping windows of fixed length directly below it"
    return reason_for_order(found[0], found[2])


def _parts(node: Node, *, is_sorted: bool = True) -> tuple[GroupAggregate, HoppingWindow, Node] | None:
    """For an aggregate of a window: the aggregate with filters, the window, rows.

    None if it is no such aggregate, or if rows are not sorted for it where they should be.
    """
    aggregate = node.op
    if not isinstance(aggregate, GroupAggregate) or not aggregate.measures:
        return None
    if aggregate.part is not AggregatePhase.WHOLE or aggregate.grid is not None or reads_lifetime(aggregate):
        return None
    below, = node.inputs
    if isinstance(below.op, Sort):
        below, = below.inputs
    elif is_sorted:
        return None
    return windowed_rows(aggregate, below)


def windowed_rows(aggregate: GroupAggregate, below: Node) -> tuple[GroupAggregate, HoppingWindow, Node] | None:
    """For an aggregate over a node: the aggregate with the filters and projections of its rows, its window, the rows.

    None if there is no window whose hops fill it.
    """
    window = None
    while isinstance(below.op, Where | Select | HoppingWindow) and not reads_lifetime(below.op):
        if isinstance(below.op, HoppingWindow):
            if window is not None:
                return None
            window, below = below.op, below.inputs[0]
            continue
        if isinstance(below.op, Where) and (below.op.stays or can_fail(below.op.condition)):
            break
        taken = Node(aggregate, (below,))
        made = absorb_where(taken) if isinstance(below.op, Where) else absorb_select(taken)
        if made is taken or not isinstance(made.op, GroupAggregate):
            break
        aggregate, below = made.op, made.inputs[0]
    if window is None or window.size % window.hop:
        return None
    return aggregate, window, below


def _is_long(node: Node) -> bool:
    """Whether sorting takes longer than compiling one more loop."""
    rows = next((each.op.rows for each in node.walk() if isinstance(each.op, Source)), 0)
    return rows is None or rows >= MIN_ROWS


def reason_for_order(aggregate: GroupAggregate, rows: Node) -> str | None:
    """Why partial aggregates of rows in any order would not give the same; None if they do."""
    for name, expr in aggregate.keys:
        if can_fail(expr):
            return f"{name}={expr.show()} can fail"
    if aggregate.condition is not None and can_fail(aggregate.condition):
        return f"{aggregate.condition.show()} can fail"
    for name, each in aggregate.measures:
        if (reason := _reason_of(aggregate, name, each, rows)) is not None:
            return reason
    return None


def _reason_of(aggregate: GroupAggregate, name: str, measure: Aggregate, rows: Node) -> str | None:
    failing: list[Expr] = [expr for expr in (measure.expr, measure.condition) if expr is not None and can_fail(expr)]
    if failing:
        return f"{failing[0].show()} can fail"
    states = replace(aggregate, part=AggregatePhase.STATES, removable=False)
    steps = dict(states.algebra(rows.schema)).get(name)
    accumulator = states.accumulator(name, measure, rows.schema, remembers=False)
    if not isinstance(steps, AggregateFunctions) or not isinstance(accumulator, ScalarAccumulator):
        return f"{measure.show()} keeps more than a few numbers"
    if steps.of_rows is None or not (accumulator.fuses or accumulator.counts_rows):
        return f"partial aggregates of {measure.show()} depend on the order of rows"
    return None

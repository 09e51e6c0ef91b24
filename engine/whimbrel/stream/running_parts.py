"""Columns for parts of expressions that depend on all events so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from whimbrel.aggregates import UserAggregate
from whimbrel.clock import TickUnit
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, end_time, substitute, type_of, when
from whimbrel.expr.reductions import reduced_in
from whimbrel.expr.temporal_nodes import Ema, Iir, Recurrence, SoFar
from whimbrel.operators import RunningAggregate
from whimbrel.operators.aggregation.exponential_mean import ExponentialMean
from whimbrel.operators.aggregation.linear_filter import LinearFilter
from whimbrel.operators.aggregation.running_column import RunningColumn, SampleFilter
from whimbrel.plan import Aggregate, Frequencies, Node, Sketch
from whimbrel.stream.temporal_checks import check_sampling, offset_ticks
from whimbrel.temporal.window_folds import weighs_time

Running = SoFar | Recurrence
"""Parts whose value depends on all events so far."""

OverColumns = Callable[[Expr], Expr]
"""An expression over columns of a stream, which get its temporal parts."""

NewName = Callable[[str], Col]
"""A column that the stream does not have, named after a text."""


def runs_row_by_row(part: Running, over_columns: OverColumns, node: Callable[[], Node]) -> bool:
    """Whether the value of a part is known at each row from one state per key."""
    if isinstance(part, Recurrence):
        return True
    steps = [(each, _steps(each, over_columns, node)) for each in aggregates_of(part)]
    sketches = [each for each, its in steps if isinstance(its, Sketch | Frequencies)]
    if sketches and part.reset is not None:
        raise PlanError(f"so_far(reset=...) cannot use {sketches[0].show()}: it has no value at each row.",
                        where=part.show(), hint="Use an exact aggregate.")
    return not sketches


def aggregates_of(part: SoFar) -> list[Aggregate]:
    """The aggregates of a part."""
    return [each for each in reduced_in(part.of) if isinstance(each, Aggregate)]


def with_running_values(node: Callable[[], Node], keys: Sequence[str], part: Running, over_columns: OverColumns,
                        new_name: NewName) -> tuple[Node, Expr]:
    """A stream with the running values that a part is made of, and the value of the part.

    Parameters
    ----------
    node : callable
        The stream now: it gets columns as `over_columns` adds them.
    keys : sequence of str
    part : SoFar or Recurrence
    over_columns, new_name : callable
    """
    if isinstance(part, Recurrence):
        of, below = _of_recurrence(part, over_columns(part.of), node(), bool(keys)), node()
        name = new_name(f"{part.call.split('(')[0]}({part.of.show()})").name
        return added(below, keys, [RunningColumn(name, of)]), Col(name)
    reset = None if part.reset is None else over_columns(part.reset)
    aggregates = {each.show(): _over(each, over_columns) for each in aggregates_of(part)}
    below = node()
    if reset is not None and not pa.types.is_boolean(found := type_of(reset, below.schema, where=part.show())):
        raise PlanError(f"reset must be boolean, got {part.reset} of type {found}.", where=part.show(),
                        hint="Compare it with a value, such as `> 0`.")
    columns = {text: RunningColumn(new_name(text if reset is None else f"{text} since a reset").name, each, reset,
                                   forgets=_forgets(each, part, below.schema.unit),
                                   until=end_time() if weighs_time(each, below.schema) else None)
               for text, each in aggregates.items()}
    out = added(below, keys, list(columns.values()))
    value = substitute(part.of, {text: substitute(column.of.in_unit(below.schema.unit), {
        column.of.show(): Col(column.name)}) for text, column in columns.items() if isinstance(column.of, Aggregate)})
    for key in keys if not isinstance(value, Col) else ():
        value = when(Col(key).is_not_null()).then(value).otherwise(None)
    return out, value


def _of_recurrence(part: Recurrence, of: Expr, node: Node, keyed: bool) -> SampleFilter:
    match part:
        case Ema(halflife=halflife, alpha=alpha):
            ticks = None if halflife is None else offset_ticks(halflife, node.schema.unit, part)
            return ExponentialMean(of, part.show(), ticks, alpha)
        case Iir(b=b, a=a, sections=sections, init=init, settle=settle, nan=nan):
            check_sampling(sampling := node.properties.sampling, part.show())
            return LinearFilter(of, part.show(), b, a, sections, init, settle, nan, sampling, keyed)
    raise AssertionError(part)


def added(node: Node, keys: Sequence[str], columns: Sequence[RunningColumn]) -> Node:
    """A stream with further running values: in the loop of the ones before where they need none of these."""
    match node.op:
        case RunningAggregate(columns=before) if not {each.name for each in before} & frozenset[str]().union(
                *(column.reads for column in columns)):
            return Node(replace(node.op, columns=(*before, *columns)), node.inputs)
    return Node(RunningAggregate(keys=tuple(keys), columns=tuple(columns), unit=node.schema.unit), (node,))


def _forgets(aggregate: Aggregate, part: SoFar, unit: TickUnit) -> int | None:
    """Ticks after which an event no longer changes the value of an aggregate, as its user says."""
    if not isinstance(aggregate, UserAggregate) or aggregate.functions.forgets is None:
        return None
    forgets = aggregate.functions.forgets
    try:
        return offset_ticks(forgets, unit, part)
    except PlanError as error:
        raise PlanError(f"In forgets={forgets!r}: {error.what}", where=error.where,
                        hint=error.hint) from None


def _over(aggregate: Aggregate, over_columns: OverColumns) -> Aggregate:
    expr, condition = (None if each is None else over_columns(each) for each in (aggregate.expr, aggregate.condition))
    return replace(aggregate, expr=expr, condition=condition)


def _steps(aggregate: Aggregate, over_columns: OverColumns, node: Callable[[], Node]) -> object:
    expr = None if aggregate.expr is None else over_columns(aggregate.expr)
    return aggregate.steps(None if expr is None else type_of(expr, node().schema), removable=False)

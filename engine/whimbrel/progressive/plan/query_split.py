"""Split a query at its partial states.

One part computes partial states from rows. The other computes the result from merged states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from whimbrel.aggregates import Count, CountDistinct, Max, Min, Quantile, SumOfSquares
from whimbrel.batch import Field, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Col, type_of
from whimbrel.kernels import Compiled, Stateless
from whimbrel.operators import (
    AlterLifetime,
    AsofJoin,
    CalendarWindow,
    Chop,
    ClipDuration,
    ClosedWindow,
    Extend,
    Finish,
    GroupAggregate,
    HoppingWindow,
    Join,
    PointAtEnd,
    Quantize,
    Results,
    Select,
    SemiJoin,
    Shift,
    SlidingWindow,
    TopK,
    Where,
)
from whimbrel.operators.aggregation.aggregate_codegen import merge_function, slopes_function
from whimbrel.operators.aggregation.finalize import FinishKernel
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.optimize import optimize
from whimbrel.optimize.two_phase_aggregate import above, states_of_windows, takes_any_order
from whimbrel.plan import AggregatePhase, Blocks, Node, Operator, Source, TimeGrid
from whimbrel.progressive.plan.plan_chain import chain_of
from whimbrel.progressive.plan.result_values import Values
from whimbrel.progressive.plan.subplan_source import SubplanSource

Array = np.ndarray[Any, Any]

ROW = "progressive:row"
"""The column with the index of a row before the tail."""


class PostAggregationStep(NamedTuple):
    """An operator after the last windows, and its other inputs."""

    op: Operator
    tables: tuple[Node, ...]


_KEEPS_ROWS = (TopK, Where, Select, Join, SemiJoin, AsofJoin, AlterLifetime, Shift, Extend, PointAtEnd, Quantize, Chop,
               ClipDuration, SlidingWindow)
"""Operators that keep the rows of their input; joins only as lookups of a chain."""


@dataclass(frozen=True)
class SplitQuery:
    """A query over one source whose aggregate over windows can be merged from blocks in any order.

    Parameters
    ----------
    states : Node
        From rows to states of panes, as written.
    window : HoppingWindow
    merge : tuple of Operator
        From states of panes to merged states of windows.
    finish : Finish
    results : Results, optional
        Expressions of several aggregates.
    tail : tuple of PostAggregationStep
        The operators after that, as written. Nodes would keep the query alive, in a cache.
    keeps_time : bool
        Whether rows have the times of the source at the window.
    keeps_rows : bool
        Whether all rows reach the window at these times, and there is one group.
    one_each : bool
        Whether each event of a window is one row of the source.
    """

    states: Node
    window: HoppingWindow
    merge: tuple[Operator, ...]
    finish: Finish
    results: Results | None
    tail: tuple[PostAggregationStep, ...]
    keeps_time: bool
    keeps_rows: bool
    one_each: bool

    @cached_property
    def known_blocks(self) -> dict[int | None, tuple[Blocks, Array | None]]:
        """By the requested number of rows, the blocks of its source, and the blocks to read first."""
        return {}

    @cached_property
    def known_statistics(self) -> dict[int | None, Any]:
        """By the same, statistics of all blocks, if there are any."""
        return {}

    @property
    def max_in_range(self) -> float:
        """The largest number of events of a group in a time range."""
        source, = self.states.sources()
        assert isinstance(source, SubplanSource)
        return source.max_of_group(frozenset(expr.name for _, expr in self.finish.of.keys if isinstance(expr, Col)))

    @cached_property
    def plan(self) -> Node:
        """The optimized plan that makes states."""
        return optimize(self.states)

    @cached_property
    def merged(self) -> Schema:
        """Keys and states of windows; for an aggregate that keeps its values, the value itself."""
        values = {field.name: field for field in self.finish.of.result_fields(self.finish.rows)
                  if field.name in self.kept}
        return self.states.schema.with_fields([values.get(field.name, field) for field in self.states.schema])

    @property
    def key_fields(self) -> tuple[Field, ...]:
        """The keys of merged states."""
        return self.merged.fields[: len(self.finish.of.keys)]

    def window_times(self, starts: Array) -> tuple[Array, Array]:
        """The first and the last time of an event of the windows whose result rows start there."""
        window = self.window
        if not self.keeps_time:
            return np.full(len(starts), MIN_TIME), np.full(len(starts), INF)
        if window.label == "end":
            return starts - window.size + 1, starts
        return starts - window.size + window.hop, starts + window.hop - 1

    @cached_property
    def kept(self) -> frozenset[str]:
        """The aggregates whose states are lists of values."""
        algebra = {name for name, _ in self.finish.of.algebra(self.finish.rows)}
        return frozenset(name for name, _ in self.finish.of.measures if name not in algebra)

    @cached_property
    def to_values(self) -> tuple[Stateless, ...]:
        """The kernels that finalize merged states."""
        finish = self.finish.kernel(self.merged)
        if self.results is None:
            return (finish,)
        results = self.results.kernel(self.finish.schema(self.merged))
        assert isinstance(results, Stateless)
        return finish, results

    @cached_property
    def answer(self) -> Schema:
        """The schema before the tail."""
        return (self.finish if self.results is None else self.results).schema(
            *(self.merged,) if self.results is None else (self.finish.schema(self.merged),))

    @cached_property
    def merging(self) -> list[tuple[ScalarAccumulator, Compiled]]:
        """For each aggregate with an algebra, an empty accumulator and the loop that merges states."""
        algebra, rows = dict(self.finish.of.algebra(self.finish.rows)), self.finish.rows
        measures = [ScalarAccumulator(name, aggregate, algebra[name], rows, remembers=False, part=AggregatePhase.MERGED)
                    for name, aggregate in self.finish.of.measures if name in algebra]
        return [(measure, merge_function(measure.aggregate, measure.steps)) for measure in measures]

    @cached_property
    def slopes(self) -> dict[str, Compiled]:
        """For each aggregate with an algebra, the loop that finalizes states and finds the gradient."""
        finish = self.to_values[0]
        assert isinstance(finish, FinishKernel)
        return {measure.name: slopes_function(measure.aggregate, measure.steps) for measure in finish.measures
                if isinstance(measure, ScalarAccumulator) and measure.steps.columns is None}

    @cached_property
    def values(self) -> Values:
        """Properties of the values before the tail."""
        return Values(self.finish, self.results, self.answer, self.kept, one_each=self.one_each)

    @property
    def cuts(self) -> TimeGrid | None:
        """The times at which to cut blocks, so that none crosses a window's border."""
        window = self.window
        if not self.keeps_time or (window.size % window.hop and window.size > window.hop):
            return None
        return TimeGrid(window.hop, window.offset + (window.label == "end"))

    @cached_property
    def tail_keeps_rows(self) -> bool:
        """Whether result rows are rows before the tail."""
        return all(isinstance(step.op, _KEEPS_ROWS) for step in self.tail)

    @cached_property
    def result_columns(self) -> dict[str, str]:
        """By result column that is an unchanged value, its name before the tail."""
        names = {name: name for name in self.values.names}
        for step in self.tail:
            if isinstance(step.op, Select):
                names = {name: names[expr.name] for name, expr in step.op.columns
                         if isinstance(expr, Col) and expr.name in names}
        return names

    def after(self, source: Source, *, states: bool) -> Node:
        """The rest of the query, over states of panes or over the numbered rows before the tail."""
        node = Node(source)
        if states:
            node = above(node, (*self.merge, self.finish, *([] if self.results is None else [self.results])))
        for step in self.tail:
            op = step.op
            if isinstance(op, Select) and self.tail_keeps_rows and not states:
                op = replace(op, columns=(*op.columns, (ROW, Col(ROW))))
            node = Node(op, (node, *step.tables))
        return node


def _undivided(node: Node) -> str:
    """Why an aggregate cannot be merged from parts."""
    assert isinstance(node.op, GroupAggregate)
    match node.inputs[0].op:
        case HoppingWindow():
            pass
        case CalendarWindow():
            return "its windows are of the calendar and not equally long"
        case ClosedWindow():
            return "its windows share or lack the events on their borders"
        case _:
            return "its aggregate is not over tumbling or hopping windows"
    unmerged = _unmerged(node.op, node.inputs[0].schema)
    return f"{', '.join(unmerged) or 'one of its aggregates'} cannot be merged from parts"


def _unmerged(aggregate: GroupAggregate, rows: Schema) -> list[str]:
    """Aggregates without states that merge, and not quantiles or distinct counts."""
    merged = {name for name, steps in aggregate.algebra(rows) if steps.merge is not None}
    return [each.show() for name, each in aggregate.measures
            if name not in merged and not isinstance(each, Quantile | CountDistinct)]


def _of_decimals(aggregate: GroupAggregate, rows: Schema) -> list[str]:
    """Aggregates of decimals: their exact states cannot be scaled."""
    types = {name: type_of(each.expr, rows, where=each.show()) for name, each in aggregate.measures
             if each.expr is not None and not isinstance(each, Count | CountDistinct)}
    return [each.show() for name, each in aggregate.measures if name in types
            and (pa.types.is_decimal(types[name]) or pa.types.is_decimal(each.result_type(types[name])))]


def one_ended(plan: Node) -> dict[str, bool]:
    """Values that later rows can only raise (True) or lower (False), for a query in time order.

    Known for aggregates over windows of independent rows: no row is removed.
    """
    results = plan.op if isinstance(plan.op, Results) else None
    node = plan if results is None else plan.inputs[0]
    if not (isinstance(node.op, GroupAggregate) and isinstance(node.inputs[0].op, HoppingWindow)
            and takes_any_order(node.inputs[0])):
        return {}
    values = node.op.measures if results is None else results.columns
    return {name: not isinstance(value, Min) for name, value in values
            if isinstance(value, Count | CountDistinct | Max | Min | SumOfSquares)}


_known: WeakKeyDictionary[Node, SplitQuery | str] = WeakKeyDictionary()
"""Splits of live queries: a query is split once."""


def split_query(plan: Node) -> SplitQuery | str:
    """The two parts of a query; or why it has none, as the rest of "no error bound: ...".

    Latency bands and Spark's stages split aggregates in the same way: partial states, then a merge.
    """
    found = _known.get(plan)
    if found is None:
        found = _known[plan] = _divided(plan)
    return found


def _divided(plan: Node) -> SplitQuery | str:
    chain = chain_of(plan)
    if chain[-1].inputs:
        return "the query reads several streams, or one of them twice"
    place = max((at for at, node in enumerate(chain) if isinstance(node.op, GroupAggregate)), default=None)
    if place is None:
        return "the query has no aggregate over windows"
    node = chain[place]
    assert isinstance(node.op, GroupAggregate)
    if node.op.part is not AggregatePhase.WHOLE:
        return "its rows are partial aggregates, which are no sample"
    if decimals := _of_decimals(node.op, node.inputs[0].schema):
        return f"{', '.join(decimals)} reads decimals, and intervals need floats: use .cast(float)"
    parts = None if _unmerged(node.op, node.inputs[0].schema) else states_of_windows(node, keeps=True)
    if parts is None:
        return _undivided(node)
    below, states, (*merge, finish) = parts
    if not takes_any_order(below):
        return "a step before the window needs rows in time order"
    window = node.inputs[0].op
    assert isinstance(finish, Finish)
    assert isinstance(window, HoppingWindow)
    after = chain[:place][::-1]
    results = after[0].op if after and isinstance(after[0].op, Results) else None
    keeps_time = all(isinstance(step.op, (Where, Select, Source)) for step in below.walk())
    one_each = not isinstance(chain[-1].op, SubplanSource)
    keeps_rows = (one_each and keeps_time and not finish.of.keys
                  and not any(isinstance(step.op, Where) for step in below.walk()))
    tail = tuple(PostAggregationStep(step.op, step.inputs[1:]) for step in after[results is not None :]
                 if isinstance(step.op, Operator))
    split = SplitQuery(states, window, tuple(merge), finish, results, tail, keeps_time, keeps_rows, one_each)
    if split.kept and window.size > window.hop:
        return "its windows overlap, and each would keep all values"
    return split

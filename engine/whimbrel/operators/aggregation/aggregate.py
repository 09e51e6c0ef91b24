"""Aggregate the active events of each group per snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import INF, TickUnit, show_ticks
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import (
    Col,
    Expr,
    Keys,
    Lit,
    check_key,
    columns_of,
    key_of,
    lit,
    named_words,
    type_of,
)
from whimbrel.expr.reductions import reduced_in
from whimbrel.kernels import Kernel
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.aggregate_arguments import check_filled, check_options, check_results
from whimbrel.operators.aggregation.even_flush import EvenFlushKernel
from whimbrel.operators.aggregation.fill_windows import Fill
from whimbrel.operators.aggregation.frequency_accumulator import FrequencyAccumulator
from whimbrel.operators.aggregation.multiset_accumulator import MultisetAccumulator
from whimbrel.operators.aggregation.pane_kernel import PaneKernel
from whimbrel.operators.aggregation.python_accumulator import PythonAccumulator
from whimbrel.operators.aggregation.result_expressions import (
    FILLED,
    Results,
    WindowBound,
    WindowBounds,
    distinct_aggregates,
)
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.operators.aggregation.sketch_accumulator import SketchAccumulator
from whimbrel.operators.aggregation.snapshot_kernel import SnapshotKernel
from whimbrel.operators.lifetimes.chop import Chop
from whimbrel.operators.windows.calendar_cells import CalendarCells, CalendarTimes
from whimbrel.plan import (
    Aggregate,
    AggregateFunctions,
    AggregatePhase,
    AggregateSteps,
    Exact,
    Frequencies,
    KnownInput,
    LineageRequest,
    Multiset,
    NonOverlapping,
    Objects,
    Operator,
    Ordered,
    Properties,
    Reach,
    Sketch,
    TimeGrid,
    WindowGrid,
    fluent,
    ordered_values,
    reads_exactly,
)
from whimbrel.plan.typed_aggregate import state_names, state_types

_NOTHING_KNOWN = Properties()


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupAggregate(Operator):
    """Reduce the active events of each group to one row per snapshot.

    A snapshot is a maximal period in which the set of active events of a group does not change; every start and every
    end begins a new one. Empty snapshots give no row.

        time     0    5    10   15
        in       a─────────            (a: [0, 10), b: [5, 15))
                      b─────────
        out      1────2────1────       (count)

    Parameters
    ----------
    keys : tuple of (str, Expr)
        Names and values to group by; none means one group.
    measures : tuple of (str, Aggregate)
        Result columns.
    condition : Expr, optional
        Rows for which this is not true are dropped: a filter that was merged into the aggregate.
    grid : WindowGrid, optional
        Tumbling windows that were merged into the aggregate. Starts are rounded down to the grid, and each group gives
        one row per window.
    lead : int
        With a grid: ticks from a grid point to the start of the result.
    causal : bool
        With a grid: whether results are labelled so that none is known before its start.
    unit : {"s", "ms", "us", "ns"} or None
        With a grid: what a tick is, for printing.
    cell : str
        With a grid in cells of a calendar: the cell, for printing.
    part : AggregatePhase
        Whether rows become values; or states, which are merged, and of which :class:`~whimbrel.operators.Finish` makes
        the same values: the first step may be done in several places.
    removable : bool, optional
        The form of the states; None: as the one step at hand needs it.
    rows : Schema, optional
        Where states are merged: what rows they are of.
    even : bool
        With a grid: whether the groups of a finished window leave little by little.

    Notes
    -----
    Shapes: at most two rows out per row in. State: with a grid one value per group, otherwise every active event.
    Source: Barnett et al., Trill (VLDB 2015), section 3; snapshots as in docs/semantics.md, aggregates.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 15], "x": [2, 3]}, time="at", end="until")
    >>> for row in events.aggregate(n=wb.count(), total=wb.sum(wb.col.x)).collect().to_pylist():
    ...     print(row)
    {'start': 0, 'end': 5, 'n': 1, 'total': 2}
    {'start': 5, 'end': 10, 'n': 2, 'total': 5}
    {'start': 10, 'end': 15, 'n': 1, 'total': 3}
    """

    ends_grouping: ClassVar[bool] = True

    keys: Keys = ()
    measures: tuple[tuple[str, Aggregate], ...]
    condition: Expr | None = None
    grid: WindowGrid | None = None
    lead: int = 0
    causal: bool = True
    unit: TickUnit = None
    cell: str = ""
    part: AggregatePhase = AggregatePhase.WHOLE
    removable: bool | None = None
    rows: Schema | None = None
    even: bool = False

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()  # once: it names every aggregate
        keys = self._key_fields(upstream[0], where)
        rows = self.rows or upstream[0]
        for _, aggregate in self.measures:
            input_type = None if aggregate.expr is None else type_of(aggregate.expr, rows, where=where)
            if getattr(aggregate.steps(input_type, removable=False), "spans", False):
                raise ExpressionError(f"{aggregate.show()} weighs events by their part of a window.", where=where,
                                      hint='Use it with past("5m") or cell("1h") in select(), or in over_time(every=).')
        if self.part is AggregatePhase.WHOLE:
            results = self.result_fields(rows)
        else:
            results = [field for name, aggregate in self.measures
                       for field in self._state_fields(name, aggregate, rows)]
        return upstream[0].with_fields([*keys, *results], where=where)

    def _key_fields(self, schema: Schema, where: str) -> list[Field]:
        keys = [Field(name, type_of(expr, schema, where=where)) for name, expr in self.keys]
        for key in keys:
            check_key(key.name, key.type, where)
        return keys

    def result_fields(self, schema: Schema) -> list[Field]:
        """The columns of the values, for rows of a schema."""
        results = []
        for name, aggregate in self.measures:
            where = f"aggregate({aggregate.show() if name == aggregate.show() else f'{name}={aggregate.show()}'})"
            if aggregate.condition is not None:
                truth = type_of(aggregate.condition, schema, where=where)
                if not pa.types.is_boolean(truth):
                    asked = aggregate.condition.show()
                    raise ExpressionError(f"A condition must be boolean, got {asked} of type {truth}.",
                                          where=where, hint="Compare it with a value, such as `> 0`.")
            input_type = None if aggregate.expr is None else type_of(aggregate.expr, schema, where=where)
            results.append(Field(name, aggregate.result_type(input_type)))
        return results

    def _state_fields(self, name: str, aggregate: Aggregate, rows: Schema) -> list[Field]:
        input_type = None if aggregate.expr is None else type_of(aggregate.expr, rows)
        steps = aggregate.steps(input_type, removable=bool(self.removable))
        if isinstance(steps, AggregateFunctions):
            return list(map(Field, state_names(name, steps), state_types(steps)))
        return [Field(name, pa.string() if isinstance(steps, Objects) else pa.list_(input_type))]

    def algebra(self, schema: Schema) -> Iterator[tuple[str, AggregateFunctions]]:
        """Algebra of each aggregate whose state is a few numbers."""
        for name, steps in self._kept(schema):
            if isinstance(steps, AggregateFunctions):
                yield name, steps

    def _kept(self, schema: Schema) -> Iterator[tuple[str, AggregateSteps]]:
        """What is kept for each aggregate."""
        for name, aggregate in self.measures:
            input_type = None if aggregate.expr is None else type_of(aggregate.expr, schema)
            yield name, aggregate.steps(input_type, removable=bool(self.removable))

    def to_states(self, schema: Schema, *, removable: bool, keeps: bool = False) -> GroupAggregate | None:
        """Operator from rows of a schema to states.

        None if states cannot be merged.

        With `keeps` a state may also be a list of all values, in order, but no text.
        """
        for _, steps in self._kept(schema):
            if isinstance(steps, Sketch | Frequencies) and not keeps:
                return None
            if isinstance(steps, Multiset) and (not keeps or steps.largest is not None):
                return None
            if (isinstance(steps, Objects) and keeps) or (isinstance(steps,
                AggregateFunctions | Objects) and steps.merge is None):
                return None
        return replace(self, part=AggregatePhase.STATES, removable=removable)

    def to_merged(self, schema: Schema) -> GroupAggregate:
        """Operator that merges the states of :meth:`to_states`."""
        keys = tuple((name, Col(name)) for name, _ in self.keys)
        return replace(self, part=AggregatePhase.MERGED, rows=schema, keys=keys, condition=None)

    def properties(self, *upstream: Properties) -> Properties:
        if self.grid is None:
            return Properties(intervals_only=False, causal=upstream[0].causal, time_grid=upstream[0].time_grid,
                              apart=self._apart, points=upstream[0].points)
        out = replace(self.grid, offset=self.grid.offset + self.lead)
        return Properties(duration=self.grid.size, grid=out, causal=self.causal and upstream[0].causal,
                          time_grid=TimeGrid(out.hop, out.offset), apart=self._apart)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        """Keys in an order, if results start with their rows."""
        grid = self.grid or known[0].grid
        starts = known[0].instants if grid is None else grid.tumbling and not grid.shared
        return ordered_values(self.keys, schemas[0], known[0].ordered) if starts else ()

    @property
    def _apart(self) -> NonOverlapping:
        """A group has one value at a time."""
        return NonOverlapping(frozenset(name for name, _ in self.keys))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        if self.part is AggregatePhase.MERGED:
            return (frozenset(upstream[0].names),)
        exprs = [expr for _, expr in self.keys] + [self.condition]
        for _, aggregate in self.measures:
            exprs += [aggregate.expr, aggregate.condition]
        return (frozenset[str]().union(*(columns_of(expr) for expr in exprs if expr is not None)),)

    def reach(self, *inputs: Reach) -> Reach | None:
        if self.grid is None:
            return inputs[0].of_changes()
        size = self.grid.size
        return inputs[0].on(TimeGrid(size, self.grid.offset), 0, size, size).shifted(self.lead)

    def partitioned(self, *by: str) -> str | None:
        return key_of(self.keys, by[0])

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        rows = inputs[0]
        exact = max(reads_exactly(self), Exact.STARTS if self.reads_starts(rows.schema) else Exact.VALUES)
        below = wanted.through(dict(self.keys), rows.schema).of_changes(rows.longest, rows.properties.grid)
        return (below.exactly(exact),)

    def kernel(self, *upstream: Schema) -> Kernel:
        known = _known.setdefault(self, {})
        if upstream in known:
            return known[upstream].fresh()
        remembers = self.grid is None
        measures = [self.accumulator(name, aggregate, self.rows or upstream[0], remembers=remembers)
                    for name, aggregate in self.measures]
        keys = [expr for _, expr in self.keys]
        if self.grid is None:
            return SnapshotKernel(self.schema(*upstream), keys, measures, self.condition)
        made = EvenFlushKernel if self.even and self.part is not AggregatePhase.STATES else PaneKernel
        kernel = made(self.schema(*upstream), self.grid, self.lead, keys, measures, self.condition)
        if not all(isinstance(measure, ScalarAccumulator) and measure.aggregate.name != "user" for measure in measures):
            return kernel  # what functions of a user's read may be other than it was
        known[upstream] = kernel
        return kernel.fresh()

    def accumulator(self, name: str, aggregate: Aggregate, schema: Schema, *, remembers: bool) -> Accumulator:
        """Accumulator of one aggregate.

        It keeps a few numbers per group, or all values.
        """
        input_type = None if aggregate.expr is None else type_of(aggregate.expr, schema, where=aggregate.show())
        removable = remembers if self.removable is None else self.removable
        steps = aggregate.steps(input_type, removable=removable)
        if isinstance(steps, Multiset):
            return MultisetAccumulator(name, aggregate, steps, schema, remembers=remembers, part=self.part)
        if isinstance(steps, Frequencies):
            return FrequencyAccumulator(name, aggregate, steps, schema)
        if isinstance(steps, Sketch):
            return SketchAccumulator(name, aggregate, steps, schema)
        if isinstance(steps, Objects):
            return PythonAccumulator(name, aggregate, steps, schema, remembers=remembers, part=self.part)
        return ScalarAccumulator(name, aggregate, steps, schema, remembers=remembers, part=self.part)

    def reads_starts(self, schema: Schema) -> bool:
        """True if the result may depend on starts within a window."""
        if self.part is AggregatePhase.MERGED:
            return False
        return any(getattr(aggregate.steps(None if aggregate.expr is None else type_of(aggregate.expr, schema),
                                           removable=False), "timed", True) for _, aggregate in self.measures)

    def in_order(self, schema: Schema) -> bool:
        """True if rows must come in the order of their start.

        The order must hold within a window, too.
        """
        if self.part is not AggregatePhase.WHOLE:
            return False
        return any(getattr(steps, "in_order", False) for _, steps in self._kept(schema))

    def any_order(self, schema: Schema) -> bool:
        """True if the states do not depend on the order of rows."""
        return all(isinstance(steps, AggregateFunctions) and steps.of_rows is not None
                   for _, steps in self._kept(schema))

    def notes(self, *upstream: Schema) -> Sequence[str]:
        if self.part is AggregatePhase.MERGED:
            return []
        return [note for _, aggregate in self.measures
                for note in aggregate.notes(None if aggregate.expr is None else type_of(aggregate.expr, upstream[0]))]

    def of_nothing(self, schema: Schema) -> tuple[Column, ...]:
        """Value of each aggregate for no rows."""
        measures = tuple((name, each.where(lit(False))) for name, each in self.measures)
        row = Batch(schema, np.zeros(1, np.int64), 1, tuple(Column.nulls(field.type, 1) for field in schema))
        kernel = GroupAggregate(measures=measures).kernel(schema)
        return Batch.concat([*kernel.push(row), *kernel.advance(INF)]).columns

    def grouping_keys(self) -> Keys:
        return self.keys

    def show(self) -> str:
        shown = ", ".join(name if name == aggregate.show() else f"{name}={aggregate.show()}"
                          for name, aggregate in self.measures)
        keys = named_words(self.keys)
        verb = {AggregatePhase.WHOLE: "aggregate", AggregatePhase.STATES: "states",
                AggregatePhase.MERGED: "merge"}[self.part]
        text = f"{verb}({shown})" if self.measures else f"distinct({keys})"
        if self.keys and self.measures:
            text = f"group_by({keys}).{text}"
        if self.condition is not None:
            text += f" where {self.condition.show()}"
        if self.even and self.part is not AggregatePhase.STATES:
            text += ", flushed evenly"
        if self.grid is None:
            return text
        return f"{text} in windows of {self.cell or show_ticks(self.grid.size, self.unit)}"


_known: WeakKeyDictionary[GroupAggregate, dict[tuple[Schema, ...], PaneKernel]] = WeakKeyDictionary()
"""Kernels that see no rows, of aggregates that are still there: one that runs again is not written again."""


@fluent
def aggregate(schema: Schema, keys: Keys = (), known: Properties = _NOTHING_KNOWN, /, *unnamed: Expr,
              emit: Literal["change", "close"] = "change", fill: bool | Literal["previous"] | Mapping[str, Any] = False,
              fill_limit: int | None = None, flush: Literal["close", "even"] = "close",
              **results: Expr) -> Sequence[Operator]:
    """Reduce the events of each group to one row per snapshot.

    See :class:`whimbrel.operators.GroupAggregate`.

    Parameters
    ----------
    *unnamed
        Not allowed: each result needs a name.
    **results : Aggregate or Expr
        Result columns, such as ``n=wb.count(), late=wb.count().where(col.late) / wb.count()``.
    emit : {"change", "close"}
        "close" gives exactly one row for each window on a grid that is not empty, also if nothing changed from one
        window to the next. Sessions have their own option.
    fill : bool, "previous" or mapping of str to value
        Add rows for empty windows, from the first window of a group to the last window of the stream with a row.
        True uses the result of no rows (a count of 0, a null mean). "previous" uses the result of the group's last
        window with rows. A mapping gives other values for some columns.
    fill_limit : int, optional
        With "previous": fill so many windows after the last one with rows, at most. Later ones have the result of
        no rows.
    flush : {"close", "even"}
        "even" hands the groups of a finished tumbling window on little by little, while rows of the next one come.
        The rows and their order stay the same. The last row leaves when the next window ends. Use it where a
        million groups would otherwise leave in one step.
    """
    if unnamed:
        given = ", ".join(each.show() if isinstance(each, Expr) else repr(each) for each in unnamed)
        raise PlanError("Each result of aggregate() must have a name.", where=f"aggregate({given})",
                        hint="Name each result, such as aggregate(n=wb.count()).")
    check_options(emit, fill, fill_limit, flush, known)
    check_results(results, [name for name, _ in keys], schema)
    check_filled(fill, results)
    asked = [part for expr in results.values() for part in reduced_in(expr)]
    bounded = [part for part in asked if isinstance(part, WindowBound)]
    filling = fill is not False
    grid, calendar = known.grid, known.calendar
    if grid is None and calendar is None and not known.whole and (bounded or filling or emit == "close"):
        asks = bounded[0].show() if bounded else 'emit="close"' if emit == "close" else f"fill={fill!r}"
        raise PlanError(f"{asks} needs a tumbling or hopping window directly before aggregate().",
                        where="aggregate(...)",
                        hint='Put aggregate() after tumbling_window(...) or hopping_window(...); for sessions use '
                             'session_window(..., emit="close"). Windows of wb.calendar(...) have no grid.')
    filled = fill.items() if isinstance(fill, Mapping) and not known.whole else ()  # no window of a whole log is empty
    constants = tuple((name, Lit(value)) for name, value in filled)
    plain = tuple((name, each) for name, each in results.items() if isinstance(each, Aggregate))
    computed = len(plain) < len(results) or bool(constants)
    measures = tuple(distinct_aggregates(list(results.values()))) if computed else plain
    reduce = GroupAggregate(keys=keys, measures=measures, even=flush == "even")
    chain: list[Operator] = [reduce]
    shared = calendar.shared if calendar is not None else grid is not None and grid.tumbling and grid.shared
    each = bool(bounded) or emit == "close" or filling or shared  # a row for each window
    whole: WindowBounds = (0, None) if known.whole else (0, 0)
    cells = calendar is not None and (filling or shared or (each and not calendar.tumbling))
    if calendar is not None and cells:  # counted in cells, windows follow each other at one tick
        chain.append(CalendarCells(windows=calendar))
        grid = WindowGrid(1 if calendar.tumbling and not shared else 2, 1)
    unit = None if cells else schema.unit
    if grid is not None and each:
        if grid.hop < grid.size or grid.shared:
            chain.append(Chop(period=grid.hop, offset=grid.offset, unit=unit))
        if filling:
            chain.append(Fill(keys=len(keys), nothing=reduce.of_nothing(schema), grid=grid, unit=unit,
                              previous=fill == "previous", limit=fill_limit, marked=FILLED if constants else None))
    if calendar is not None and cells:
        chain.append(CalendarTimes(windows=calendar))
    if computed:
        chain.append(Results(keys=tuple(name for name, _ in keys), columns=tuple(results.items()),
                             bounds=calendar or (whole if grid is None else grid.bounds), constants=constants))
    return chain

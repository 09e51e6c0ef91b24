"""Aggregates per group and snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from whimbrel.batch import Field, Schema
from whimbrel.clock import TickUnit, show_ticks
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, Keys, check_name, columns_of, type_of
from whimbrel.kernels import Kernel
from whimbrel.operators.bag_measure import BagMeasure
from whimbrel.operators.measure import Measure
from whimbrel.operators.measurement import Measurement
from whimbrel.operators.pane_kernel import PaneKernel
from whimbrel.operators.sketch_measure import SketchMeasure
from whimbrel.operators.snapshot_kernel import SnapshotKernel
from whimbrel.plan import Aggregate, Bag, Beat, Grid, Operator, Properties, Sketch, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupAggregate(Operator):
    """Reduce the active events of each group to one row per snapshot.

    A snapshot is a maximal period in which the set of active events of a group does not change; every start and every
    end begins a new one. Empty snapshots give nothing.

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
        Rows for which this is not true are left out; a filter that was moved in here.
    grid : Grid, optional
        Adjacent windows that were moved in here: starts are rounded down to the grid, and each group gives one row a
        window.
    lead : int
        With a grid: ticks from a grid point to the start of the result.
    causal : bool
        With a grid: whether results are labelled so that none is known before its start.
    unit : {"s", "ms", "us", "ns"} or None
        With a grid: what a tick is, for printing.

    Notes
    -----
    Shapes: at most two rows out per row in. State: with a grid one value per group, otherwise every active event.
    Source: Barnett et al., Trill (VLDB 2015), section 3; snapshots as in SEMANTICS 5.

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
    grid: Grid | None = None
    lead: int = 0
    causal: bool = True
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        if not self.measures:
            raise PlanError("aggregate() needs at least one aggregate.", hint="such as aggregate(n=wb.count())")
        schema = upstream[0]
        keys = [Field(name, type_of(expr, schema, where=self.show())) for name, expr in self.keys]
        results = []
        for name, aggregate in self.measures:
            where = f"aggregate({name}={aggregate.show()})"
            if aggregate.condition is not None:
                type_of(aggregate.condition, schema, where=where)
            input_type = None if aggregate.expr is None else type_of(aggregate.expr, schema, where=where)
            results.append(Field(name, aggregate.result_type(input_type)))
        return schema.with_fields([*keys, *results], where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        if self.grid is None:
            return Properties(intervals_only=False, causal=upstream[0].causal, beat=upstream[0].beat)
        out = replace(self.grid, offset=self.grid.offset + self.lead)
        return Properties(duration=self.grid.size, grid=out, causal=self.causal and upstream[0].causal,
                          beat=Beat(out.hop, out.offset))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        exprs = [expr for _, expr in self.keys] + [self.condition]
        for _, aggregate in self.measures:
            exprs += [aggregate.expr, aggregate.condition]
        return (frozenset[str]().union(*(columns_of(expr) for expr in exprs if expr is not None)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        remembers = self.grid is None
        measures = [_measurement(name, aggregate, upstream[0], remembers=remembers)
                    for name, aggregate in self.measures]
        keys = [expr for _, expr in self.keys]
        if self.grid is None:
            return SnapshotKernel(self.schema(*upstream), keys, measures, self.condition)
        return PaneKernel(self.schema(*upstream), self.grid, self.lead, keys, measures, self.condition)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        return [note for _, aggregate in self.measures
                for note in aggregate.notes(None if aggregate.expr is None else type_of(aggregate.expr, upstream[0]))]

    def show(self) -> str:
        shown = ", ".join(f"{name}={aggregate.show()}" for name, aggregate in self.measures)
        text = f"aggregate({shown})"
        if self.keys:
            keys = ", ".join(name if isinstance(expr, Col) and expr.name == name else f"{name}={expr.show()}"
                             for name, expr in self.keys)
            text = f"group_by({keys}).{text}"
        if self.condition is not None:
            text += f" where {self.condition.show()}"
        return text if self.grid is None else f"{text} in windows of {show_ticks(self.grid.size, self.unit)}"


def _measurement(name: str, aggregate: Aggregate, schema: Schema, *, remembers: bool) -> Measurement:
    """The aggregate at work: on a few numbers a group, or on all values of it."""
    input_type = None if aggregate.expr is None else type_of(aggregate.expr, schema, where=aggregate.show())
    steps = aggregate.steps(input_type, removable=remembers)
    if isinstance(steps, Bag):
        return BagMeasure(name, aggregate, steps, schema, remembers=remembers)
    if isinstance(steps, Sketch):
        return SketchMeasure(name, aggregate, steps, schema)
    return Measure(name, aggregate, steps, schema, remembers=remembers)


@fluent
def aggregate(schema: Schema, *, keys: Keys = (), **aggregates: Aggregate) -> GroupAggregate:
    """Reduce each group's active events to one row per snapshot. See :class:`whimbrel.operators.GroupAggregate`.

    Parameters
    ----------
    **aggregates : Aggregate
        Result columns, such as ``n=wb.count(), total=wb.sum(col.x)``.
    """
    for name, aggregate in aggregates.items():
        check_name(name, "aggregate")
        if not isinstance(aggregate, Aggregate):
            raise PlanError(f"{name}={aggregate!r} is not an aggregate.", where=f"aggregate({name}=...)",
                            hint="such as wb.sum(col.x)")
    return GroupAggregate(keys=keys, measures=tuple(aggregates.items()))

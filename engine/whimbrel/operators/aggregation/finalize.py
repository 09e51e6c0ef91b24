"""Finalize aggregates: states to values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from whimbrel.batch import Batch, Column, Field, Mask, Schema, frozen
from whimbrel.kernels import Stateless
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.aggregate_codegen import finish_function
from whimbrel.operators.aggregation.python_accumulator import PythonAccumulator
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan import AggregatePhase, Operator, Properties, Reach
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.typed_aggregate import state_names

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Finish(Operator):
    """Turn the states of aggregates into values, row by row.

        time     0    5    10
        in       (6, 3)────(4, 1)────      (states of a mean: sum and number)
        out      2.0───────4.0───────

    The planner puts it after two-phase aggregates, such as those of several latencies.

    Parameters
    ----------
    of : GroupAggregate
        What made the states.
    rows : Schema
        What it was given.

    Notes
    -----
    Shapes: one row out per row in. State: none. Source: Trill (VLDB 2015), section 3.3 (ComputeResult).

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3], "seen": [1, 5, 6]}, time="at", arrival="seen", name="log")
    >>> means = log.tumbling_window(4).aggregate(m=wb.mean(wb.col.at * 0.5)).at_latencies(0, 9)
    >>> print(means.explain().splitlines()[1].split("   ")[0])
    finish(m=mean(col.at * 0.5))
    """

    accepts_edges: ClassVar[bool] = True

    of: GroupAggregate
    rows: Schema

    def schema(self, *upstream: Schema) -> Schema:
        keys = [Field(name, upstream[0].type_of(name)) for name, _ in self.of.keys]
        return upstream[0].with_fields([*keys, *self.of.result_fields(self.rows)], where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=True)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def kernel(self, *upstream: Schema) -> FinishKernel:
        return FinishKernel(self, self.schema(*upstream))

    def show(self) -> str:
        return f"finish({', '.join(f'{name}={aggregate.show()}' for name, aggregate in self.of.measures)})"


class FinishKernel(Stateless):
    """One loop over the states of each aggregate."""

    def __init__(self, finish: Finish, schema: Schema) -> None:
        self.out_schema, self.keys = schema, [name for name, _ in finish.of.keys]
        whole = replace(finish.of, part=AggregatePhase.WHOLE)
        made = (whole.accumulator(name, aggregate, finish.rows, remembers=False) for name, aggregate in whole.measures)
        self.measures = list(made)
        self.loops = [finish_function(measure.aggregate, measure.steps)
                      if isinstance(measure, ScalarAccumulator) and measure.steps.columns is None else None
                      for measure in self.measures]

    def apply(self, batch: Batch) -> Batch:
        batch = batch.compact()
        values = [self._column(batch, number) for number in range(len(self.measures))]
        return batch.having(schema=self.out_schema,
                       columns=(*(batch.column(name) for name in self.keys), *values))

    def values(self, number: int, states: Sequence[Array]) -> tuple[Array, Mask]:
        """What one aggregate, by its place among all, makes of states of groups, and for which there is a value."""
        measure, loop = self.measures[number], self.loops[number]
        assert loop is not None
        rows = len(states[0])
        out, valid = np.empty(rows, measure.out_dtypes[0]), np.empty(rows, np.bool_)
        with explained_errors(self.measures):
            loop(*map(frozen, states), out, valid)
        return out, valid

    def _column(self, batch: Batch, number: int) -> Column:
        measure = self.measures[number]
        if isinstance(measure, PythonAccumulator):
            with explained_errors(self.measures):
                return measure.finished(batch.column(measure.name))
        if not isinstance(measure, ScalarAccumulator):  # who merged its lists made the value of them
            return batch.column(measure.name)
        states = [np.asarray(batch.column(name).values) for name in state_names(measure.name, measure.steps)]
        if measure.counts_rows:
            return Column(measure.type, states[0])
        if measure.steps.columns is not None:
            return measure.joined(states)
        out, valid = self.values(number, states)
        return measure.column(out if valid.all() else np.where(valid, out, 0), valid)

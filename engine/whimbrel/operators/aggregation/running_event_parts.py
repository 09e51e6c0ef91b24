"""Running values of aggregates that take parts of events."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, frozen
from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.source_text import comment
from whimbrel.operators.aggregation.accumulator import Accumulator
from whimbrel.operators.aggregation.python_accumulator import PythonAccumulator
from whimbrel.operators.aggregation.running_column import RunningColumn, RunningValues
from whimbrel.operators.aggregation.running_values import hide, reset_of
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST, ScalarAccumulator
from whimbrel.plan.aggregate_errors import explained_errors
from whimbrel.plan.aggregate_source import SHOW, bind_steps, into, literals, stored, tuple_of

Array = np.ndarray[Any, Any]


def span_values(column: RunningColumn, measure: Accumulator) -> RunningValues:
    """Running values of an aggregate that takes the start and the end of each event."""
    if isinstance(measure, PythonAccumulator):
        return SpanObjectValues(column, measure)
    assert isinstance(measure, ScalarAccumulator)
    return SpanLoopValues(column, measure)


class SpanLoopValues(RunningValues):
    """An aggregate with a few numbers as state.

    At the start of an event one tick of it has passed. All of it is taken in when the next event of its key starts.
    """

    def __init__(self, column: RunningColumn, measure: ScalarAccumulator) -> None:
        self.column, self.measure = column, measure
        self.newest = [np.zeros(GROUPS_AT_FIRST, dtype) for dtype in (*measure.value_dtypes, np.int64, np.int64)]
        self.there = np.zeros(GROUPS_AT_FIRST, np.bool_)

    def _grow(self, groups: int) -> None:
        self.measure.grow_groups(groups)
        self.newest = [extend(array, groups, 0) for array in self.newest]
        self.there = extend(self.there, groups, False)

    @cached_property
    def loop(self) -> Compiled:
        steps, inputs = self.measure.steps, len(self.measure.value_dtypes)
        imports, functions = bind_steps(steps, "", ("accumulate", "result"))
        fields, values = range(len(steps.init)), range(inputs)
        state, newest = tuple_of("state", "mine", fields), into("newest", "mine", range(inputs + 2))
        names = [", ".join(f"{name}{at}" for at in columns) for name, columns in (
            ("value", values), ("newest", range(inputs + 2)), ("state", fields))]
        given = into("value", "row", values)
        return load_text("\n".join([
            comment(f"Running values of {self.measure.aggregate.show()}"),
            "",
            "import numpy as np",
            *imports,
            SHOW,
            "",
            "",
            f"def run(group, skip, start, end, {names[0]}, valid, reset, out, shown, there, {names[1]}, {names[2]}):",
            "    for row in range(group.shape[0]):",
            "        if skip.shape[0] and skip[row]:",
            "            continue",
            "        mine = group[row]",
            "        if reset.shape[0] and reset[row]:",
            f"            {into('state', 'mine', fields)} = {literals(steps)}",
            "        elif there[mine]:",
            f"            {stored('state', 'mine', fields, f'accumulate({state}, {newest})')}",
            "        there[mine] = valid.shape[0] == 0 or valid[row]",
            f"        state = {state}",
            "        if there[mine]:",
            f"            {newest} = {given}, start[row], end[row]",
            f"            state = accumulate(state, {given}, start[row], start[row] + 1)",
            "        shown[row] = show(result(state), out, row)",
            "",
        ]), "run", functions)

    def take(self, batch: Batch, groups: Array, skip: Mask) -> list[Column]:
        values, valid, _ = self.measure.read(batch)
        out, shown = (np.zeros(len(batch), dtype) for dtype in (self.measure.out_dtypes[0], np.bool_))
        with explained_errors([self.measure]):
            self.loop(groups, skip, batch.sync, frozen(batch.other), *values, valid,
                      reset_of(self.column, batch, {}), out, shown, self.there, *self.newest, *self.measure.state)
        return [self.measure.column(out, shown)]

    def fork(self) -> SpanLoopValues:
        clone = SpanLoopValues(self.column, self.measure.fork())
        clone.groups = self.groups
        clone.newest, clone.there = [array.copy() for array in self.newest], self.there.copy()
        return clone

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.loop.text,)


class SpanObjectValues(RunningValues):
    """The same with a user's functions that are not compiled; the newest event is what the accumulator holds."""

    def __init__(self, column: RunningColumn, measure: PythonAccumulator) -> None:
        self.column, self.measure = column, measure

    def _grow(self, groups: int) -> None:
        """Keys have no place of their own."""

    def take(self, batch: Batch, groups: Array, skip: Mask) -> list[Column]:
        steps, states, held = self.measure.steps, self.measure.states, self.measure.held
        columns, valid, _ = self.measure.read(batch)
        rows = list(zip(*(column.tolist() for column in columns), batch.sync.tolist(), batch.other.tolist(),
                        strict=True))
        reset, found = reset_of(self.column, batch, {}), list[Any]()
        with explained_errors([self.measure]):
            for row, group in enumerate(groups.tolist()):
                if len(skip) and skip[row]:
                    found.append(None)
                    continue
                newest = held.pop(group, None)
                if len(reset) and reset[row]:
                    states.pop(group, None)
                elif newest is not None:
                    states[group] = steps.accumulate(states.get(group, steps.init()), *newest)
                state = steps.copied(states.get(group, steps.init()))
                if not len(valid) or valid[row]:
                    held[group] = rows[row]
                    *values, start, _ = rows[row]
                    state = steps.accumulate(state, *values, start, start + 1)
                found.append(steps.result(state))
        return [hide(Column.from_arrow(pa.array(found, self.measure.type)), skip)]

    def fork(self) -> SpanObjectValues:
        return SpanObjectValues(self.column, self.measure.fork())

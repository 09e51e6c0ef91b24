"""Add running values of aggregates, by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Mask, Schema, frozen
from whimbrel.clock import INF, TickUnit
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr import type_of
from whimbrel.kernels import Kernel, KeyTable
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.running_column import RunningColumn, RunningValues, SampleFilter
from whimbrel.operators.aggregation.running_event_parts import span_values
from whimbrel.operators.aggregation.running_values import LoggedValues, LoopValues
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Properties, Reach, reads_exactly
from whimbrel.plan.typed_aggregate import NO_MASK
from whimbrel.temporal.bounds import Bounds

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class RunningAggregate(Operator):
    """Add running values of aggregates, by key.

    A value is over all rows of the key up to the row, with that row.

        time     0    5    10   15
        in       a────b─────────c─     (x: 2, 3, 4; c resets)
        out      2────5─────────4─     (sum(col.x) so far)

    Lifetimes do not change. A row without a key meets nothing: its values are null.

    Parameters
    ----------
    keys : tuple of str
        Key columns. None: all rows together.
    columns : tuple of RunningColumn
        What is added, after the columns of the input.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Shapes: one row out per row in, at once. State: one state of each aggregate a key, and the values of events whose
    end is not known yet. Source: the recurrences of TiLT (ASPLOS 2023), section 4; scans of APL.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 4, 11], "x": [1, 3, 5], "opens": [True, False, True]}, time="at", name="log")
    >>> totals = log.select(total=wb.sum(col.x).so_far(reset=col.opens))
    >>> print(totals.explain().splitlines()[1].split("   ")[0].strip("└─ "))
    running(sum(col.x) with reset=col.opens)
    >>> totals.collect()["total"].to_pylist()
    [1, 4, 5]
    """

    accepts_edges: ClassVar[bool] = True

    late_rows_change = "starts"

    keys: tuple[str, ...] = ()
    columns: tuple[RunningColumn, ...]
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        fields = list(upstream[0].fields)
        for column in self.columns:
            where = column.show(self.unit)
            if column.reset is not None and not pa.types.is_boolean(type_of(column.reset, upstream[0], where=where)):
                raise ExpressionError(f"reset must be boolean, got {column.reset.show()}.", where=where,
                                      hint="Compare it with a value, such as `> 0`.")
            if isinstance(column.of, SampleFilter):
                input_type = type_of(column.of.expr, upstream[0], where=where)
                fields.append(Field(column.name, column.of.result_type(input_type)))
            else:
                fields += GroupAggregate(measures=((column.name, column.of),)).result_fields(upstream[0])
        return upstream[0].with_fields(fields, where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        added = {column.name for column in self.columns}
        read = (column.reads for column in self.narrowed(wanted).columns)
        return (frozenset(wanted - added).union(self.keys, *read),)

    def narrowed(self, wanted: frozenset[str]) -> RunningAggregate:
        columns = tuple(column for column in self.columns if column.name in wanted)
        return self if len(columns) in (0, len(self.columns)) else replace(self, columns=columns)

    def reach(self, *inputs: Reach) -> Reach | None:
        forgets = [column.forgets for column in self.columns]
        back = max((ticks for ticks in forgets if ticks is not None), default=0)
        return None if None in forgets else inputs[0].wider(back, 0, inputs[0].longest)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        exact = max(wanted.exact, reads_exactly(self), Exact.STARTS)
        bounds = Bounds(max(INF if column.forgets is None else column.forgets for column in self.columns))
        start = bounds.lineage(wanted, inputs[0].longest).start
        rows = wanted.only(self.keys)
        return (rows.starts(start, wanted.end, exact) if wanted.starting else rows.during(start, wanted.end, exact),)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        return list(dict.fromkeys(
            note for column in self.columns
            for note in column.of.notes(None if column.of.expr is None else type_of(column.of.expr, upstream[0]))))

    def part_of(self, where: str) -> str:
        """The user's text for the aggregate of a hidden column."""
        parts = {f"aggregate({column.name}={column.of.show()})": f"{column.of.show()}.so_far()"
                 for column in self.columns}
        return parts.get(where, where)

    def kernel(self, *upstream: Schema) -> RunningAggregateKernel:
        return RunningAggregateKernel(self, self.schema(*upstream), upstream[0])

    def show(self) -> str:
        per = f" per {', '.join(self.keys)}" if self.keys else ""
        return f"running({', '.join(column.show(self.unit) for column in self.columns)}{per})"


class RunningAggregateKernel(Kernel):
    """Takes in each row and shows the state of its key; end edges repeat the values of their start edges."""

    def __init__(self, op: RunningAggregate, out_schema: Schema, schema: Schema) -> None:
        self.op, self.out_schema = op, out_schema
        self.keys = KeyTable([schema.type_of(name) for name in op.keys])
        self.values: list[RunningValues] = []
        self.numbers: list[int] = []
        """Numbers of the columns of the operator, in the order of `values`."""
        make = GroupAggregate(measures=()).accumulator
        in_loop: dict[int, ScalarAccumulator] = {}
        for number, column in enumerate(op.columns):
            if isinstance(column.of, SampleFilter):
                self._add(column.of.values(), [number])
                continue
            measure = make(column.name, column.of, schema, remembers=False)
            if column.until is not None:
                self._add(span_values(column, measure), [number])
            elif isinstance(measure, ScalarAccumulator):
                in_loop[number] = measure
            else:
                self._add(LoggedValues(column, measure), [number])
        if in_loop:
            self._add(LoopValues([op.columns[number] for number in in_loop], list(in_loop.values())), list(in_loop))
        self.open_ids = np.empty(0, np.int64)
        self.open_values = [Column.nulls(out_schema.type_of(column.name), 0) for column in op.columns]

    def _add(self, values: RunningValues, numbers: Sequence[int]) -> None:
        self.values.append(values)
        self.numbers.extend(numbers)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        keys = [batch.column(name) for name in self.op.keys]
        ends = None if isinstance(batch.ends, int) else batch.ends < batch.sync
        skip = skipped_rows(keys, ends)
        groups = self.keys.ids(keys, len(batch), skip if len(skip) else None)
        if len(skip):
            groups[skip] = 0
        rows = batch if not len(skip) else batch.with_absent(skip)
        columns: list[Column] = []
        for values in self.values:
            values.grow_groups(len(self.keys))
            try:
                columns += values.take(rows, frozen(groups), skip)
            except KernelError as error:
                raise KernelError(error.what, where=self.op.part_of(error.where), hint=error.hint) from error
        columns = [columns[self.numbers.index(number)] for number in range(len(columns))]
        if batch.ids is not None:
            columns = self._repeated(batch, columns, np.zeros(len(batch), np.bool_) if ends is None else ends)
        return [batch.having(schema=self.out_schema, columns=(*batch.columns, *columns))]

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(text for values in self.values for text in values.sources)

    def _repeated(self, batch: Batch, columns: list[Column], ends: Mask) -> list[Column]:
        """The same columns, where an end edge has the values of its start edge."""
        assert batch.ids is not None
        begin = (batch.other == INF) & (batch.ids >= 0)
        if not begin.any() and not ends.any():
            return columns
        began = np.flatnonzero(begin)
        ids = np.concatenate([self.open_ids, batch.ids[began]])
        known = [Column.concat([old, new.take(began)]) for old, new in zip(self.open_values, columns, strict=True)]
        order = np.argsort(ids, kind="stable")
        at = np.flatnonzero(ends)
        found = order[np.searchsorted(ids[order], batch.ids[at])]
        rows = np.arange(len(batch))
        rows[at] = len(batch) + found
        left = np.ones(len(ids), np.bool_)
        left[found] = False
        self.open_ids, self.open_values = ids[left], [column.take(np.flatnonzero(left)) for column in known]
        if not len(at):
            return columns
        return [Column.concat([new, old]).take(rows) for new, old in zip(columns, known, strict=True)]


def skipped_rows(keys: Sequence[Column], ends: Mask | None) -> Mask:
    """Rows without a key, and end edges; empty if there are none."""
    skip = NO_MASK if ends is None or not ends.any() else ends
    for column in keys:
        if column.valid is not None or not column.fixed:
            there = column.validity()
            if not there.all():
                skip = ~there if not len(skip) else skip | ~there
    return frozen(skip)



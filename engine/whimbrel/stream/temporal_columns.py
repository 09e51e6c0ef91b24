"""Columns for the temporal parts of expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from whimbrel import operators
from whimbrel.clock import grid_offset
from whimbrel.errors import PlanError
from whimbrel.expr import (
    Col,
    Expr,
    Keys,
    OuterValue,
    columns_of,
    end_time,
    start_time,
    substitute,
    when,
)
from whimbrel.expr.reductions import reduced_in
from whimbrel.expr.temporal_nodes import (
    Fir,
    Past,
    PastRows,
    Previous,
    Recurrence,
    SoFar,
    Temporal,
    TimeOffset,
    WindowCell,
    WindowValue,
)
from whimbrel.expr.temporal_parts import check_alike, distributed, temporal_parts
from whimbrel.operators import Assume, Join, Select, TemporalColumns, Where
from whimbrel.plan import Aggregate, Node, NonOverlapping, Operator
from whimbrel.stream.aggregates import count
from whimbrel.stream.grouping import columns_of_keys, with_keys_as_columns
from whimbrel.stream.plan_nodes import (
    after,
    joined,
    joined_by,
    kept_columns,
    matched_by_time,
    selected,
    until_next,
    with_keys,
)
from whimbrel.stream.presence import with_presence
from whimbrel.stream.running_parts import Running, runs_row_by_row, with_running_values
from whimbrel.stream.sample_filters import with_fir
from whimbrel.stream.segment_checks import check_levels
from whimbrel.stream.temporal_checks import check_changes, check_part, in_calendar, offset_ticks
from whimbrel.temporal.parts import (
    CellWindow,
    EventValue,
    ReadColumn,
    ReadColumns,
    RowWindow,
    TimeWindow,
    WindowFold,
)
from whimbrel.temporal.window_folds import can_fold, weighs_time

_OVERLAP = "Values at other times need one event at a time: use group_by(...), or aggregate the events of a time first."


def with_temporal_columns(node: Node, keys: Keys, op: Operator) -> tuple[Node, list[Operator]] | None:
    """A stream with a column for each temporal part of an operator, and the operator over these columns.

    Lifetimes do not change: a part is taken when the event starts. None if the operator has no temporal parts.
    """
    match op:
        case Select(columns=columns):
            exprs = [expr for _, expr in columns]
        case Where(condition=condition):
            exprs = [condition]
        case _:
            return None
    check_levels(node, exprs, op)
    if not any(True for expr in exprs if type(expr) is not Col for _ in temporal_parts(expr)):
        return None
    samples = node.properties.sampling
    if samples is not None and not keys:  # a filter never reads from one signal into another
        keys = tuple((name, Col(name)) for name in sorted(samples.per))
    parts = TemporalParts(node, keys, op.show())
    read = [parts.over_columns(expr) for expr in exprs]
    if isinstance(op, Select):
        names = [name for name, _ in op.columns]
        return parts.out, [Select(columns=tuple(zip(names, read, strict=True)))]
    return parts.out, [Where(condition=read[0]), Select(columns=columns_of_keys(node.schema.names))]


class TemporalParts:
    """The events of a stream, one at a time for each key, and `out`: the same with a column for each part so far.

    `out` also has the events without a key. They meet nothing.
    """

    def __init__(self, node: Node, keys: Keys, asked: str) -> None:
        self.keys = [name for name, _ in keys]
        self.out = _one_at_a_time(with_keys_as_columns(node, keys), self.keys, asked)
        self.events = with_keys(self.out, self.keys)
        known = self.events.properties
        self._points = known.points or known.duration == 1
        self._columns: dict[str, Expr] = {}
        self._meanings: dict[str, str] = {}
        self._functions: dict[str, Node] = {}

    def over_columns(self, expr: Expr) -> Expr:
        """An expression over columns of `out`, which get its temporal parts."""
        expr = distributed(with_presence(expr, self.out.schema))
        columns = {part.show(): self._column(part) for part in temporal_parts(expr)}
        return substitute(expr, columns)

    def at_any_time(self, part: Temporal) -> tuple[Node, Col]:
        """The key columns and the value of a part, which is one event at a time for each key."""
        text = part.show()
        check_alike(part, self._meanings)
        if text not in self._functions:
            check_part(part, self.out.schema)
            self._functions[text] = self._function(part)
        return self._functions[text], Col(self._functions[text].schema.names[-1])

    def _column(self, part: Temporal) -> Expr:
        """A part over columns of `out`, which are added if they are missing."""
        text = part.show()
        check_alike(part, self._meanings)
        if text not in self._columns:
            self._columns[text] = self._add_running(part) if self._is_running(part) else (
                self._add_filter(part) if isinstance(part, Fir) else self._add_part(part))
        return self._columns[text]

    def _is_running(self, part: Temporal) -> TypeGuard[Running]:
        """Whether each row has the value of a part as soon as it is read."""
        if not isinstance(part, Running):
            return False
        check_part(part, self.out.schema)
        return runs_row_by_row(part, self.over_columns, lambda: self.out)

    def _add_running(self, part: Running) -> Expr:
        self.out, value = with_running_values(lambda: self.out, self.keys, part, self.over_columns, self._new)
        return value

    def _add_filter(self, part: Fir) -> Col:
        check_part(part, self.out.schema)
        of, column = self.over_columns(part.of), self._new(part.show())
        self.out = with_fir(self.out, self.keys, part, of, column.name)
        return column

    def _add_part(self, part: Temporal) -> Col:
        read = None
        if self._reads_rows(part):
            read = self._as_previous_rows(part) or self._as_read(part)
        return self._add(part) if read is None else self._add_read(part, *read)

    def _reads_rows(self, part: Temporal) -> bool:
        """Whether events read others of their key; otherwise parts are streams, which fuse into a periodic loop."""
        apart = self.events.properties.apart
        if self.keys or apart is None or not apart.declared or apart.period is None:
            return True
        match part:
            case TimeOffset(of=of):
                return isinstance(of, Temporal) and self._reads_rows(of)
            case WindowValue():
                read = (each for each in reduced_in(self._aggregates(part)[0]) if isinstance(each, Aggregate))
                return isinstance(part, PastRows) or any(weighs_time(each, self.out.schema) for each in read)
        return isinstance(part, Previous)

    def read_at(self, part: Temporal, *, alone: bool = False) -> ReadColumn | None:
        """A part as events read it at any times; None for what needs a stream of its own.

        A part that is `alone` may be a periodic loop.
        """
        check_alike(part, self._meanings)
        read = None if alone and not self._reads_rows(part) else self._as_read(part)
        return None if read is None else ReadColumn(self._new(part.show()).name, *read)

    def _as_read(self, part: Temporal) -> tuple[EventValue | WindowFold, int] | None:
        """What is read of other events, and how many ticks before; None for what needs a stream of its own."""
        check_part(part, self.out.schema)
        match part:
            case TimeOffset(of=of, by=by, method=method):
                ticks = offset_ticks(by, self.out.schema.unit, part) * (1 if method == "ago" else -1)
                read = self._as_read(of) if isinstance(of, Temporal) else (EventValue(of), 0)
                return None if read is None else (read[0], read[1] + ticks)
            case Previous(of=of, events=events):
                return EventValue(self.over_columns(of), events), 0
            case SoFar() | Recurrence():
                return (EventValue(self.over_columns(part), held=True), 0) if self._is_running(part) else None
            case WindowCell() if in_calendar(part, self.out.schema):
                return None
            case WindowValue():
                results, _ = self._aggregates(part)
                aggregates = (each for each in reduced_in(results) if isinstance(each, Aggregate))
                if all(can_fold(each, self.out.schema) for each in aggregates):
                    return WindowFold(self._window(part), results, getattr(part, "min_rows", 1)), 0
        return None

    def _as_previous_rows(self, part: Temporal) -> tuple[EventValue | WindowFold, int] | None:
        """An aggregate of the last rows at an earlier event, which events read without a column for it."""
        if not isinstance(part, Previous) or not isinstance(part.of, PastRows):
            return None
        check_part(part, self.out.schema)
        read = self._as_read(part.of)
        if read is None or not isinstance(read[0], WindowFold):
            return None
        return replace(read[0], window=RowWindow(part.of.rows, part.events)), 0

    def _window(self, part: WindowValue) -> TimeWindow | RowWindow | CellWindow:
        unit = self.out.schema.unit
        match part:
            case Past(back=back, later=later):
                return TimeWindow(offset_ticks(back, unit, part), offset_ticks(later, unit, part))
            case PastRows(rows=rows):
                return RowWindow(rows)
        assert isinstance(part, WindowCell)
        offset = grid_offset(part.size, unit, part.offset, where=part.show())
        return CellWindow(offset_ticks(part.size, unit, part), offset)

    def _add_read(self, part: Temporal, of: EventValue | WindowFold, lag: int) -> Col:
        column, op = self._new(part.show()), self.out.op
        made = ReadColumn(column.name, of, lag)
        if isinstance(op, TemporalColumns) and not any(
                columns_of(expr) & op.parts.names for expr in made.exprs):
            self.out = Node(replace(op, parts=ReadColumns((*op.parts, made))), self.out.inputs)
        else:
            added = TemporalColumns(parts=ReadColumns((made,)), keys=tuple(self.keys))
            self.out = Node(added, (self.out,))
        return column

    def _add(self, part: Temporal) -> Col:
        there, value = self.at_any_time(part)
        column = self._new(part.show())
        there = selected(there, {**self._kept_keys, column.name: value})
        if self._points:
            made = joined(self.out, there, self.keys, "left")
            assert isinstance(made.op, Join)
            self.out = Node(replace(made.op, keeps_rows=True), made.inputs)
            return column
        end = self._new("end of the value")
        there = after(operators.with_columns, there, **{end.name: end_time()})
        matched = matched_by_time(self.out, there, self.keys)
        active = when(end.is_null() | (end > start_time())).then(column).otherwise(None)
        self.out = selected(matched, {**kept_columns(self.out), column.name: active})
        return column

    def _new(self, name: str) -> Col:
        """A column name that the events do not have."""
        while name in self.out.schema or name in self.events.schema:
            name += "'"
        return Col(name, OuterValue("rows", name))

    def _function(self, part: Temporal) -> Node:
        match part:
            case TimeOffset(of=of, by=by, method=method):
                ticks = offset_ticks(by, self.out.schema.unit, part)
                events, value = (self.at_any_time(of) if isinstance(of, Temporal) else (self._having(of), of))
                values = self._values(part, value, events)
                return after(operators.shift, values, ticks if method == "ago" else -ticks)
            case SoFar() | Recurrence() if self._is_running(part):
                value = self._column(part)
                return until_next(self._values(part, value, self._having(value)), self.events, self.keys)
            case WindowValue():
                check_changes(part, self._aggregates(part)[0], self.out.schema)
                return self._over_window(part)
        column = self._column(part)
        return self._values(part, column, self._having(column))

    def _values(self, part: Temporal, value: Expr, events: Node) -> Node:
        return selected(events, {**self._kept_keys, self._new(part.show()).name: value})

    @property
    def _kept_keys(self) -> dict[str, Expr]:
        return {key: Col(key) for key in self.keys}

    def _having(self, *exprs: Expr | None) -> Node:
        """The events, with columns for temporal parts only if an expression reads one."""
        read = frozenset[str]().union(*(columns_of(expr) for expr in exprs if expr is not None))
        return self.events if read <= set(self.events.schema.names) else with_keys(self.out, self.keys)

    def _over_window(self, part: WindowValue) -> Node:
        results, events = self._aggregates(part)
        match part:
            case Past(back=back, later=later, min_rows=min_rows):
                before, ticks = (offset_ticks(each, self.out.schema.unit, part) for each in (back, later))
                width = before + ticks
                windows = (after(operators.sliding_window, events, width) if self._points
                           else after(operators.extend, events, width - 1))
                values = self._aggregated(windows, part, _of_enough(results, min_rows))
                return after(operators.shift, values, -ticks) if ticks else values
            case PastRows(rows=rows, min_rows=min_rows):
                return self._aggregated(self._until_row(events, rows), part, _of_enough(results, min_rows))
            case WindowCell(size=size, offset=offset) if in_calendar(part, self.out.schema):
                if not self._points:
                    raise PlanError("A cell of the calendar needs events that do not last.", where=part.show(),
                                    hint='Use hours, such as cell("24h"), or set_duration(1) before.')
                windows = after(operators.tumbling_window, events, size, offset=offset)
                return self._aggregated(windows, part, results)
            case WindowCell(size=size, offset=offset):
                pieces = events if self._points else after(operators.chop, events, size, offset=offset)
                return self._aggregated(after(operators.tumbling_window, pieces, size, offset=offset), part, results)
        return self._aggregated(after(operators.set_duration, events, None), part, results)

    def _until_row(self, events: Node, rows: int) -> Node:
        """Each event until the event of its key starts that comes so many rows later."""
        number = self._column(SoFar(count()))
        assert isinstance(number, Col)
        numbered, later = with_keys(self.out, self.keys), self._new("number of a later row")
        marks = selected(numbered, {**self._kept_keys, later.name: number - rows})
        return joined_by(operators.clip_at, after(operators.set_duration, numbered, None), marks,
                         {key: key for key in self.keys} | {number.name: later.name})

    def _aggregates(self, part: WindowValue) -> tuple[Expr, Node]:
        """The aggregates of a window, over columns, and the events that have these columns."""
        over: dict[str, Expr] = {}
        read: list[Expr | None] = []
        for each in reduced_in(part.of):
            assert isinstance(each, Aggregate)
            expr, condition = (None if inner is None else self.over_columns(inner)
                               for inner in (each.expr, each.condition))
            over[each.show()] = replace(each, expr=expr, condition=condition).in_unit(self.out.schema.unit)
            read += [expr, condition]
        return substitute(part.of, over), self._having(*read)

    def _aggregated(self, windows: Node, part: Temporal, results: Expr) -> Node:
        keys = columns_of_keys(tuple(self.keys))
        return after(operators.aggregate, windows, keys, windows.properties, **{self._new(part.show()).name: results})


def _of_enough(results: Expr, min_rows: int) -> Expr:
    return when(count() >= min_rows).then(results).otherwise(None) if min_rows > 1 else results


def _one_at_a_time(node: Node, keys: list[str], asked: str) -> Node:
    """The events, which are checked to be one at a time for each key, unless that is known."""
    known = node.properties.apart
    if known is not None and known.per <= frozenset(keys):
        return node
    apart = NonOverlapping(frozenset(keys), declared=False)
    return Node(Assume(apart=apart, hint=_OVERLAP, unit=node.schema.unit, keyless=True, asked=asked), (node,))

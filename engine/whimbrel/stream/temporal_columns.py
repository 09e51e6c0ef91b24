"""Columns for the temporal parts of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from whimbrel import operators
from whimbrel.clock import Duration, duration_ticks
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, Keys, columns_of, end_time, start_time, substitute, when
from whimbrel.expr.temporal import Past, PastRows, Previous, SoFar, Temporal, TimeOffset, WindowCell, WindowValue
from whimbrel.expr.temporal_parts import distributed, temporal_parts
from whimbrel.operators import Assume, Select, Where
from whimbrel.operators.aggregation.result_expressions import reduced_in
from whimbrel.plan import Aggregate, Node, NonOverlapping, Operator, Operators
from whimbrel.stream.aggregates import count
from whimbrel.stream.grouping import columns_of_keys, with_keys_as_columns

_BEFORE, _END, _NUMBER = "value before", "end of the value", "number of the row"


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
    if not any(True for expr in exprs for _ in temporal_parts(expr)):
        return None
    parts = TemporalParts(node, keys)
    read = [parts.over_columns(expr) for expr in exprs]
    if isinstance(op, Select):
        names = [name for name, _ in op.columns]
        return parts.out, [Select(columns=tuple(zip(names, read, strict=True)))]
    return parts.out, [Where(condition=read[0]), Select(columns=columns_of_keys(node.schema.names))]


class TemporalParts:
    """The events of a stream, one at a time for each key, and `out`: the same with a column for each part so far."""

    def __init__(self, node: Node, keys: Keys) -> None:
        self.keys = [name for name, _ in keys]
        self.events = self.out = _one_at_a_time(with_keys_as_columns(node, keys), frozenset(self.keys))
        known = self.events.properties
        self._points = known.points or known.duration == 1

    def over_columns(self, expr: Expr) -> Expr:
        """An expression over columns of `out`, which get its temporal parts."""
        expr = distributed(expr)
        found = {part.show(): part for part in temporal_parts(expr)}
        for name, part in found.items():
            if name not in self.out.schema:
                self._add(name, part)
        return substitute(expr, {name: part.made for name, part in found.items()})

    def at_any_time(self, part: Temporal) -> Node:
        """The key columns and the value of a part, which is one event at a time for each key."""
        match part:
            case TimeOffset(of=of, by=by, method=method):
                other = "ahead" if method == "ago" else "ago"
                ticks = self._ticks(by, part, f"Use {other}() for the other direction.")
                if isinstance(of, Temporal):
                    values = self._values(part, Col(of.show()), self.at_any_time(of))
                else:
                    values = self._values(part, of, self._having(of))
                return after(operators.shift, values, ticks if method == "ago" else -ticks)
            case WindowValue():
                return self._over_window(part)
        value = self.over_columns(part)
        return self._values(part, value, self._having(value))

    def _add(self, name: str, part: Temporal) -> None:
        if isinstance(part, Previous):
            self._add_previous(name, part)
            return
        there, on = self.at_any_time(part), self.keys or None
        if self._points:
            self.out = joined(self.out, there, self.keys, "left")
            return
        there = after(operators.with_columns, there, **{_END: end_time()})
        matched = joined_by(operators.asof_join, self.out, there, on=on)
        active = when(Col(_END).is_null() | (Col(_END) > start_time())).then(Col(name)).otherwise(None)
        self.out = _select(matched, {**_kept(self.out), name: active})

    def _add_previous(self, name: str, part: Previous) -> None:
        if not isinstance(part.events, int) or part.events < 1:
            raise PlanError(f"previous() needs a number of events of at least 1, got {part.events!r}.",
                            where=part.show(), hint="Use ahead() for later times.")
        value = self.over_columns(part.of)
        for _ in range(part.events):
            before = _select(self.out, {**self._kept_keys, _BEFORE: value})
            matched = joined_by(operators.asof_join, self.out, before, on=self.keys or None, strict=True)
            self.out = _select(matched, {**_kept(self.out), name: Col(_BEFORE)})
            value = Col(name)

    def _values(self, part: Temporal, value: Expr, events: Node) -> Node:
        return _select(events, {**self._kept_keys, part.show(): value})

    @property
    def _kept_keys(self) -> dict[str, Expr]:
        return {key: Col(key) for key in self.keys}

    def _having(self, *exprs: Expr | None) -> Node:
        """The events, with columns for temporal parts only if an expression reads one."""
        read = frozenset[str]().union(*(columns_of(expr) for expr in exprs if expr is not None))
        return self.events if read <= set(self.events.schema.names) else self.out

    def _over_window(self, part: WindowValue) -> Node:
        results, events = self._aggregates(part)
        match part:
            case Past(back=back, later=later, min_rows=min_rows):
                before, ticks = (self._ticks(each, part, "Use a duration of at least 0.") for each in (back, later))
                width = before + ticks
                if width == 0:
                    raise PlanError("past() needs a window that is longer than 0.", where=part.show(),
                                    hint='Use a duration, such as past("20m").')
                windows = (after(operators.sliding_window, events, width) if self._points
                           else after(operators.extend, events, width - 1))
                values = self._aggregated(windows, part, _of_enough(results, min_rows))
                return after(operators.shift, values, -ticks) if ticks else values
            case PastRows(rows=rows, min_rows=min_rows):
                return self._aggregated(self._until_row(events, rows, part), part, _of_enough(results, min_rows))
            case WindowCell(size=size, offset=offset):
                self._ticks(size, part, "Use a duration of at least one tick.")
                pieces = events if self._points else after(operators.chop, events, size, offset=offset)
                return self._aggregated(after(operators.tumbling_window, pieces, size, offset=offset), part, results)
        return self._aggregated(after(operators.set_duration, events, None), part, results)

    def _until_row(self, events: Node, rows: int, part: Temporal) -> Node:
        """Each event until the event of its key starts that comes so many rows later."""
        if not isinstance(rows, int) or rows < 1:
            raise PlanError(f"rows must be at least 1, got {rows!r}.", where=part.show(), hint="Use past(rows=10).")
        number = Col(SoFar(count()).show())
        self.over_columns(SoFar(count()))
        numbered = self.out
        later = _select(numbered, {**self._kept_keys, _NUMBER: number - rows})
        endless = after(operators.set_duration, numbered, None)
        return joined_by(operators.clip_at, endless, later,
                         {key: key for key in self.keys} | {number.name: _NUMBER})

    def _aggregates(self, part: WindowValue) -> tuple[Expr, Node]:
        """The aggregates of a window, over columns, and the events that have these columns."""
        found = {each.show(): each for each in reduced_in(part.of)}
        if not found or not all(isinstance(each, Aggregate) for each in found.values()):
            raise PlanError(f"{part.call.split('(')[0]}() follows an aggregate, got {part.of.show()}.",
                            where=part.show(),
                            hint='Use an aggregate, such as wb.mean(col.x).past("20m").')
        over: dict[str, Aggregate] = {}
        for name, each in found.items():
            assert isinstance(each, Aggregate)
            expr, condition = (None if inner is None else self.over_columns(inner)
                               for inner in (each.expr, each.condition))
            over[name] = replace(each, expr=expr, condition=condition)
        events = self._having(*(inner for each in over.values() for inner in (each.expr, each.condition)))
        return substitute(part.of, over), events

    def _aggregated(self, windows: Node, part: Temporal, results: Expr) -> Node:
        keys = columns_of_keys(tuple(self.keys))
        return after(operators.aggregate, windows, keys, windows.properties, **{part.show(): results})

    def _ticks(self, span: Duration, part: Temporal, hint: str) -> int:
        ticks = duration_ticks(span, self.events.schema.unit, where=part.show())
        if ticks < 0:
            raise PlanError(f"A duration here must not be negative, got {span!r}.", where=part.show(), hint=hint)
        return ticks


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


def _of_enough(results: Expr, min_rows: int) -> Expr:
    return when(count() >= min_rows).then(results).otherwise(None) if min_rows else results


def _one_at_a_time(node: Node, keys: frozenset[str]) -> Node:
    """The same events, which are checked to be one at a time for each key, unless that is known."""
    known = node.properties.apart
    if known is not None and known.per <= keys:
        return node
    return Node(Assume(apart=NonOverlapping(keys), unit=node.schema.unit), (node,))


def _select(node: Node, columns: Mapping[str, Expr]) -> Node:
    return Node(Select(columns=tuple(columns.items())), (node,))


def _kept(node: Node) -> dict[str, Expr]:
    return {name: Col(name) for name in node.schema.names}

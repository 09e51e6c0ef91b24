"""Columns for the temporal parts of expressions: joins with the same stream at other times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whimbrel.clock import Duration, duration_ticks
from whimbrel.errors import PlanError
from whimbrel.expr import Col, Expr, columns_of, end_time, start_time, substitute, when
from whimbrel.expr.temporal import (
    Ago,
    Ahead,
    Cell,
    Past,
    Previous,
    Temporal,
    Windowed,
    distributed,
    temporal_parts,
)
from whimbrel.operators import Assume, Select, Where
from whimbrel.operators.aggregation.result_expressions import reduced_in
from whimbrel.plan import Aggregate, Node, NonOverlapping, Operator
from whimbrel.stream.aggregates import count
from whimbrel.stream.grouping import columns_of_keys, with_keys_as_columns

if TYPE_CHECKING:
    from whimbrel.stream.stream import Stream

_BEFORE, _END = "value before", "end of the value"


def with_temporal_columns(stream: Stream, op: Operator) -> tuple[Node, list[Operator]] | None:
    """The stream with a column for each temporal part of an operator, and the operator over these columns.

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
    parts = _Parts(stream)
    read = [parts.over_columns(expr) for expr in exprs]
    if isinstance(op, Select):
        names = [name for name, _ in op.columns]
        return parts.out.node, [Select(columns=tuple(zip(names, read, strict=True)))]
    return parts.out.node, [Where(condition=read[0]), Select(columns=columns_of_keys(stream.schema.names))]


class _Parts:
    """The events of a stream, one at a time for each key, and `out`: the same with a column for each part so far."""

    def __init__(self, stream: Stream) -> None:
        self.keys = [name for name, _ in stream.keys]
        self.unit = stream.schema.unit
        events = _one_at_a_time(with_keys_as_columns(stream.node, stream.keys), frozenset(self.keys))
        self.points = events.properties.points or events.properties.duration == 1
        self.events = self.out = replace(stream, node=events, keys=(), group=())

    def over_columns(self, expr: Expr) -> Expr:
        """An expression over columns of `out`, which get its temporal parts."""
        expr = distributed(expr)
        found = {part.show(): part for part in temporal_parts(expr)}
        for name, part in found.items():
            if name not in self.out.schema:
                self._add(name, part)
        return substitute(expr, {name: part.made for name, part in found.items()})

    def _add(self, name: str, part: Temporal) -> None:
        if isinstance(part, Previous):
            self._add_previous(name, part)
            return
        there, on = self._at_any_time(part), self.keys or None
        if self.points:
            self.out = (self.out.cross_join(there, how="left", allow_lookahead=True) if on is None
                        else self.out.join(there, on=on, how="left", allow_lookahead=True))
            return
        there = there.with_columns(**{_END: end_time()})
        joined = self.out.asof_join(there, on=on, allow_lookahead=True)
        active = when(Col(_END).is_null() | (Col(_END) > start_time())).then(Col(name)).otherwise(None)
        self.out = _select(joined, {**_kept(self.out), name: active})

    def _add_previous(self, name: str, part: Previous) -> None:
        if not isinstance(part.events, int) or part.events < 1:
            raise PlanError(f"previous() needs a number of events of at least 1, got {part.events!r}.",
                            where=part.show(), hint="Use ahead() for later times.")
        value = self.over_columns(part.of)
        for _ in range(part.events):
            before = _select(self.out, {**self._kept_keys, _BEFORE: value})
            joined = self.out.asof_join(before, on=self.keys or None, strict=True, allow_lookahead=True)
            self.out = _select(joined, {**_kept(self.out), name: Col(_BEFORE)})
            value = Col(name)

    def _at_any_time(self, part: Temporal) -> Stream:
        """The key columns and the value of a part, which is one event at a time for each key."""
        match part:
            case Ago(of=of, by=by) | Ahead(of=of, by=by):
                other = "ahead" if isinstance(part, Ago) else "ago"
                ticks = self._ticks(by, part, f"Use {other}() for the other direction.")
                if isinstance(of, Temporal):
                    values = self._values(part, Col(of.show()), self._at_any_time(of))
                else:
                    values = self._values(part, of, self._having(of))
                return values.shift(ticks if isinstance(part, Ago) else -ticks)
            case Windowed():
                return self._over_window(part)
        value = self.over_columns(part)
        return self._values(part, value, self._having(value))

    def _values(self, part: Temporal, value: Expr, events: Stream) -> Stream:
        return _select(events, {**self._kept_keys, part.show(): value})

    @property
    def _kept_keys(self) -> dict[str, Expr]:
        return {key: Col(key) for key in self.keys}

    def _having(self, *exprs: Expr | None) -> Stream:
        """The events, with columns for temporal parts only if an expression reads one."""
        read = frozenset[str]().union(*(columns_of(expr) for expr in exprs if expr is not None))
        return self.events if read <= set(self.events.schema.names) else self.out

    def _over_window(self, part: Windowed) -> Stream:
        results, events = self._aggregates(part)
        match part:
            case Past(back=back, later=ahead, min_rows=min_rows):
                behind, later = (self._ticks(each, part, "Use a duration of at least 0.") for each in (back, ahead))
                if behind + later == 0:
                    raise PlanError("past() needs a window that is longer than 0.", where=part.show(),
                                    hint='Use a duration, such as past("20m").')
                width = behind + later
                windows = events.sliding_window(width) if self.points else events.extend(width - 1)
                if min_rows:
                    results = when(count() >= min_rows).then(results).otherwise(None)
                values = self._aggregated(windows, part, results)
                return values.shift(-later) if later else values
            case Cell(size=size, offset=offset):
                self._ticks(size, part, "Use a duration of at least one tick.")
                pieces = events if self.points else events.chop(size, offset=offset)
                return self._aggregated(pieces.tumbling_window(size, offset=offset), part, results)
        return self._aggregated(events.set_duration(None), part, results)

    def _aggregates(self, part: Windowed) -> tuple[Expr, Stream]:
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

    def _aggregated(self, windows: Stream, part: Temporal, results: Expr) -> Stream:
        grouped = windows.group_by(*self.keys) if self.keys else windows
        named: Mapping[str, Any] = {part.show(): results}
        return replace(grouped.aggregate(**named), keys=())

    def _ticks(self, span: Duration, part: Temporal, hint: str) -> int:
        ticks = duration_ticks(span, self.unit, where=part.show())
        if ticks < 0:
            raise PlanError(f"A duration here must not be negative, got {span!r}.", where=part.show(), hint=hint)
        return ticks


def _one_at_a_time(node: Node, keys: frozenset[str]) -> Node:
    """The same events, which are checked to be one at a time for each key, unless that is known."""
    known = node.properties.apart
    if known is not None and known.per <= keys:
        return node
    return Node(Assume(apart=NonOverlapping(keys), unit=node.schema.unit), (node,))


def _select(stream: Stream, columns: Mapping[str, Expr]) -> Stream:
    return replace(stream, node=Node(Select(columns=tuple(columns.items())), (stream.node,)))


def _kept(stream: Stream) -> dict[str, Expr]:
    return {name: Col(name) for name in stream.schema.names}

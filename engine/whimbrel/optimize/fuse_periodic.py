"""Fuse operators over periodic streams into one loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from whimbrel.batch import Schema, numpy_type
from whimbrel.clock import quote_ticks
from whimbrel.errors import shortened
from whimbrel.expr import Col, Expr, columns_of, inlinable, type_of
from whimbrel.expr.reductions import reduced_in
from whimbrel.operators import (
    AlignSamples,
    Assume,
    GroupAggregate,
    HoppingWindow,
    Join,
    PeriodicLoop,
    Results,
    RunningAggregate,
    Select,
    Shift,
    SlidingWindow,
    TemporalColumns,
    TemporalSamples,
    Where,
)
from whimbrel.plan import AggregateFunctions, AggregatePhase, Node, Operator, Source, reads_lifetime, walk
from whimbrel.temporal.bounds import slot_bounds
from whimbrel.temporal.loop_steps import (
    Adjacent,
    FilterStep,
    InputStep,
    Joined,
    Mapped,
    Moved,
    PeriodicStep,
    Sampled,
    Slid,
    Windowed,
    in_order,
    keys_of,
    ticks_of,
)

_BY_POSITION = TemporalColumns, TemporalSamples, RunningAggregate
"""Operators that are fast without a loop over ticks."""

_MAX_SLOTS = 1 << 20
"""Longest window that a loop remembers."""

_MAX_HELD = 1 << 14
"""Longest window, of those side by side, whose rows are kept for the sake of a faster loop."""

_MAX_SPARSE_REACH = 1 << 15
"""Twice the longest window, as the loop reads it, over points that need not be at every tick: it visits all ticks."""

_MAX_GAP, _MAX_GAP_OF_WINDOWS = 64, 8
"""Most ticks from one such point to the next, on average, for which a loop over all ticks is faster than operators that
visit the points only: with joins, and for windows alone."""

_FEW_ROWS, _RANGES = 4_096, 8
"""So few rows that their gaps do not matter. Into how many ranges others are cut to find their gaps."""

_MAX_DEPTH = 64
"""Most steps in a row of one loop: a longer chain is several loops."""

_MAX_BEFORE = 64
"""Most rows of its key that a row may need: they are gone through for each key of a batch."""


def fuse_periodic(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Replace the largest parts of plans that can run as a periodic loop and have a window or a join."""
    return _fuse(roots, {})


def loop_notes(roots: Sequence[Node]) -> list[str]:
    """For each operator over events that never overlap, but outside a loop, the reason."""
    reasons: dict[str, str] = {}
    _fuse(roots, reasons)
    return [f"{shown} is not in a periodic loop: {reason}" for shown, reason in reasons.items()]


def _fuse(roots: Sequence[Node], reasons: dict[str, str]) -> tuple[Node, ...]:
    spacings = _spacings(roots)
    parts: dict[int, tuple[Operator | Source, Sequence[Node]]] = {}

    def inputs(node: Node) -> Sequence[Node]:
        parts[id(node)] = _fused(node, spacings[id(node)], reasons) or (node.op, node.inputs)
        return parts[id(node)][1]

    done: dict[int, Node] = {}
    for node in walk(roots, inputs):
        op, before = parts[id(node)]
        after = tuple(done[id(below)] for below in before)
        same = op is node.op and all(new is old for new, old in zip(after, before, strict=True))
        done[id(node)] = node if same else Node(op, after)
    return tuple(done[id(root)] for root in roots)


def _fused(node: Node, spacings: frozenset[_Spacing], reasons: dict[str, str]
           ) -> tuple[PeriodicLoop, list[Node]] | None:
    found: list[str] = []
    for spacing in sorted(spacings, reverse=True):  # the slowest first, as it has fewest places
        loop = _Loop(spacing)
        last = loop.step(node)
        if last is None or not _worth(in_order(last)):
            found += loop.refused.get(id(node), ())
            continue
        try:
            lasts = _lasting(loop, last)
        except _OutsideLoopError as why:
            found.append(str(why))
            continue
        if lasts is None:
            continue
        shown = tuple(dict.fromkeys(loop.shown[::-1]))
        return PeriodicLoop(last=last, period=spacing.period, lasts=lasts, per=spacing.per, shown=shown,
                      causal=node.properties.causal, unit=node.schema.unit), loop.inputs
    if found and isinstance(node.op, Operator) and not isinstance(node.op, _BY_POSITION) and (
            found[0] not in reasons.values()):
        reasons[node.op.show()] = found[0]
    return None


def _lasting(loop: _Loop, last: PeriodicStep) -> int | None:
    """How long events of a whole loop last at each place; None where they also change between places."""
    spacing = loop.spacing
    if loop.sparse and slot_bounds(last).span > _MAX_SPARSE_REACH:
        raise _OutsideLoopError(f"its windows are longer than {_MAX_SPARSE_REACH // 2:,} ticks, and not every tick "
                                f"needs to have an event")
    if loop.sparse:
        joins, gap = any(isinstance(step, Joined) for step in in_order(last)), max(map(_gap, loop.inputs))
        if gap > (_MAX_GAP if joins else _MAX_GAP_OF_WINDOWS):
            raise _OutsideLoopError(f"only one tick of about {gap:,} has an event, and a loop visits each tick")
    try:
        lasts = ticks_of(last, spacing.period)
    except ValueError as error:
        raise _OutsideLoopError(str(error)) from error
    if lasts is not None and spacing.per and not _row_by_row(last, lasts, spacing.period):
        raise _OutsideLoopError(f"for each key a loop looks back at most {_MAX_BEFORE} events, and never ahead")
    return lasts


def _gap(node: Node) -> int:
    """Ticks from one row to the next in the middle of each source, on average; 0 where that is not known."""
    known = ((source.rows, source.cuts(_RANGES)) for source in node.sources()
             if source.rows is not None and source.rows > _FEW_ROWS)
    return max((((cuts[-1] - cuts[0]) * _RANGES // (rows * (len(cuts) - 1))) for rows, cuts in known if len(cuts) > 1),
               default=0)


@dataclass(frozen=True, order=True)
class _Spacing:
    """Ticks from one event to the next, how long each lasts, and the key columns of periodic streams."""

    period: int
    ticks: int
    per: tuple[str, ...] = ()


_TICKS = _Spacing(1, 1)
"""Every tick is a point."""


def _spacings(roots: Sequence[Node]) -> dict[int, frozenset[_Spacing]]:
    """For each node, the spacings of what is below it: a loop may run on one of them."""
    found: dict[int, frozenset[_Spacing]] = {}
    for node in walk(roots):
        below = [found[id(each)].union(_spacings_of(each)) for each in node.inputs]
        found[id(node)] = below[0].union(*below[1:]) if below else frozenset()
    return found


class _OutsideLoopError(Exception):
    """Why an operator cannot be a step of a loop."""


@dataclass
class _Loop:
    """What the rule has found so far for one time grid: inputs, finished steps, and why others are not part of it."""

    spacing: _Spacing
    inputs: list[Node] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    made: dict[int, PeriodicStep | None] = field(default_factory=dict)
    refused: dict[int, list[str]] = field(default_factory=dict)
    depth: int = 0
    sparse: bool = False  # whether an input may have no event at a slot

    def step(self, node: Node) -> PeriodicStep | None:
        """A node as a step of the loop; None where it cannot be one."""
        if id(node) not in self.made:
            self.depth += 1
            step = self._operation(node) if self.depth <= _MAX_DEPTH else None
            self.depth -= 1
            self.made[id(node)] = self._given(node) if step is None else step
        return self.made[id(node)]

    def _given(self, node: Node) -> PeriodicStep | None:
        if not _fixed(node.schema):
            return None
        spacings, port = _spacings_of(node), len(self.inputs)
        # Who knows whether the points of two are the same, unless every tick is one?
        if self.spacing in spacings and (self.spacing == _TICKS or not self.inputs):
            self.inputs.append(node)
            apart = node.properties.apart
            self.sparse = self.sparse or apart is None or apart.period != self.spacing.period
            return InputStep(node.schema, (), port, self.spacing.ticks, tuple(map(node.schema.index, self.spacing.per)))
        for spacing in spacings:
            gaps = node.properties.apart is not None and node.properties.apart.gaps
            if spacing.period == spacing.ticks and not spacing.per and not self.spacing.per and not gaps:
                self.inputs.append(node)
                return Sampled(node.schema, (), port, spacing.period)
        return None

    def _operation(self, node: Node) -> PeriodicStep | None:
        op = node.op
        if not isinstance(op, Operator):
            return None
        before = len(self.inputs), len(self.shown)
        window = node.inputs[0] if isinstance(op, GroupAggregate) else None
        if window is not None and isinstance(window.op, SlidingWindow | HoppingWindow):
            steps = [self.step(window.inputs[0])]
        else:
            window, steps = None, [self.step(each) for each in node.inputs]
        below = [step for step in steps if step is not None]
        step = None
        try:
            for each in node.inputs if window is None else window.inputs:
                _require(self.spacing not in _spacings_of(each) or _fixed(each.schema), _not_fixed(each.schema))
            if len(below) == len(steps):
                step = self._of(op, node, window, below)
        except _OutsideLoopError as why:
            if not isinstance(op, _CHEAP) or any(_worth(in_order(each)) for each in below):
                self.refused.setdefault(id(node), []).append(str(why))
        if step is None:  # what was found below it is no part of the loop
            del self.inputs[before[0]:], self.shown[before[1]:]
            self.made = {key: made for key, made in self.made.items() if made is not None and _uses(made, before[0])}
            return None
        self.shown.append(op.show())
        if window is not None and isinstance(window.op, Operator):
            self.shown.insert(-1, window.op.show())
        return step

    def _of(self, op: Operator, node: Node, window: Node | None, steps: list[PeriodicStep]) -> PeriodicStep:
        _require(_fixed(node.schema), _not_fixed(node.schema))
        _require(not reads_lifetime(op), "it reads when events start or end")
        schemas = [step.schema for step in steps]
        match op:
            case Select():
                _require_inline([expr for _, expr in op.columns], schemas[0])
                return Mapped(node.schema, tuple(steps), tuple(expr for _, expr in op.columns))
            case Results():
                _require(not op.constants and _reads_columns(op, schemas[0]), "it uses the bounds of a window")
                _require_inline([expr for _, expr in op.columns], schemas[0])
                kept = tuple(Col(name) for name in op.keys)
                return Mapped(node.schema, tuple(steps), (*kept, *(expr for _, expr in op.columns)))
            case Where():
                _require_inline([op.condition], schemas[0])
                return FilterStep(node.schema, tuple(steps), op.condition)
            case Shift():
                self._require_whole(op.amount, node)
                return Moved(node.schema, tuple(steps), op.amount // self.spacing.period)
            case Join():
                return self._joined(op, node, steps)
            case GroupAggregate() if window is not None:
                return self._windowed(op, node, window, steps[0])
        raise _OutsideLoopError("a loop has no such operator")

    def _require_whole(self, ticks: int, node: Node) -> None:
        period, unit = self.spacing.period, node.schema.unit
        _require(ticks % period == 0, f"{quote_ticks(ticks, unit)} is not a multiple of the period, "
                                      f"{quote_ticks(period, unit)}")

    def _joined(self, op: Join, node: Node, steps: list[PeriodicStep]) -> PeriodicStep:
        _require(op.how in ("inner", "left"), f"a loop has no {op.how} join")
        left, right = (step.schema for step in steps)
        mine, theirs = map(keys_of, steps)
        pairs = {(left.index(one), right.index(other)) for one, other in op.on or ()}
        _require(mine is not None and theirs is not None and pairs == set(zip(mine, theirs, strict=True)),
                 "it does not join on the keys for which events never overlap")
        _require(not pairs or (op.how != "left" and not op.nulls_equal),
                 "with keys a loop has inner joins only, in which null keys meet nothing")
        # A result of windows may outlast several slots, and a loop does not see where its partner ends in between.
        _require(op.how != "left" or not _outlasts_slots(steps[0]),
                 "results of windows on the left may outlast their partners")
        if op.condition is not None:
            _require(op.how == "inner", "a loop has conditions for inner joins only")
            _require_inline([op.condition], node.schema)
        sources = tuple((side, steps[side].schema.index(name)) for side, name, _ in op.row.columns(left, right))
        joined = Joined(node.schema, tuple(steps), sources, op.how == "left")
        return joined if op.condition is None else FilterStep(node.schema, (joined,), op.condition)

    def _windowed(self, op: GroupAggregate, node: Node, window: Node, step: PeriodicStep) -> PeriodicStep:
        _require(op.part is AggregatePhase.WHOLE and op.grid is None and bool(op.measures),
                 "it is computed in two phases")
        assert isinstance(window.op, SlidingWindow | HoppingWindow)
        schema = window.inputs[0].schema
        _require_slidable(op, schema)
        self._require_whole(window.op.size, node)
        width = window.op.size // self.spacing.period
        _require(width <= _MAX_SLOTS, f"its window has more than {_MAX_SLOTS:,} places")
        keys = [step.schema.index(expr.name) if isinstance(expr, Col) else -1 for _, expr in op.keys]
        _require(sorted(keys) == sorted(keys_of(step) or ()),
                 "it does not group by the keys for which events never overlap")
        if isinstance(window.op, SlidingWindow):
            return Slid(node.schema, (step,), width, op.measures, op.condition, tuple(keys))
        _require(window.op.size == window.op.hop and window.op.label == "start",
                 "its windows overlap, have gaps, or are labelled by their ends")
        # Points lie anywhere between those of a window's grid, unless every tick is one.
        _require(self.spacing == _TICKS, "tumbling windows are in a loop only where every tick may have an event")
        _require(not any(_timed(op, schema)), "an aggregate of tumbling windows reads the time of events")
        return Adjacent(node.schema, (step,), width, op.measures, op.condition, offset=window.op.offset)


_CHEAP = Select | Where | Results | Shift | SlidingWindow | HoppingWindow | Assume | AlignSamples
"""Operators that gain nothing by themselves: outside a loop they are named only if one ends there."""


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise _OutsideLoopError(otherwise)


def _require_inline(exprs: Sequence[Expr], schema: Schema) -> None:
    for expr in exprs:
        _require(inlinable(expr, schema), f"{shortened(expr.show())} is not compiled into a loop")


def _worth(steps: Sequence[PeriodicStep]) -> bool:
    """Whether a loop is better. Tumbling windows alone would retain their rows until they end."""
    return any(isinstance(step, Slid | Joined) or (isinstance(step, Adjacent) and step.width <= _MAX_HELD)
               for step in steps)


def _row_by_row(last: PeriodicStep, lasts: int, period: int) -> bool:
    """Whether rows of the result are of rows of one key at a time: each of one row and of a few before it."""
    bounds = slot_bounds(last)
    return lasts < period and bounds.lookahead == 0 and bounds.back <= _MAX_BEFORE


def _spacings_of(node: Node) -> list[_Spacing]:
    """At which distances the events of a node may begin that never overlap, and how long each then lasts."""
    known = node.properties
    if known.apart is None or not known.intervals_only:
        return []
    lasts = known.duration or (None if node.reach is None else node.reach.longest)
    period, per = known.apart.period, tuple(sorted(known.apart.per))
    if lasts is None or (lasts > 1 and known.duration is None):  # some may last less
        return []
    known_places = period is not None and lasts <= period and not (known.apart.gaps and per)
    spacings = [_Spacing(period, lasts, per)] if period is not None and known_places else []
    # A loop over all ticks is slow where events are far apart, so the user must have declared them.
    ticks = lasts == 1 and not per and known.apart.declared and _TICKS not in spacings
    return [*spacings, _TICKS] if ticks else spacings


def _fixed(schema: Schema) -> bool:
    return all(numpy_type(column.type) is not None for column in schema)


def _not_fixed(schema: Schema) -> str:
    words = (f"the column {column.name!r} has the type {column.type}" for column in schema
             if numpy_type(column.type) is None)
    return next(words, "")


def _reads_columns(op: Results, schema: Schema) -> bool:
    """Whether it reads nothing else, such as the bounds of a window."""
    read = [name for _, expr in op.columns for name in (*columns_of(expr), *(each.show() for each in reduced_in(expr)))]
    return set(read) <= set(schema.names)


def _require_slidable(op: GroupAggregate, schema: Schema) -> None:
    """All its aggregates are a few numbers that can be merged, computed of values that a loop can compute."""
    _require_inline([] if op.condition is None else [op.condition], schema)
    for _, aggregate in op.measures:
        type_ = None if aggregate.expr is None else type_of(aggregate.expr, schema)
        _require_inline([expr for expr in (aggregate.expr, aggregate.condition) if expr is not None], schema)
        _require(type_ != pa.uint64(), f"{aggregate.show()} is of unsigned 64-bit integers")
        steps = aggregate.steps(type_, removable=False)
        _require(isinstance(steps, AggregateFunctions), f"{aggregate.show()} keeps all values of a window")
        assert isinstance(steps, AggregateFunctions)
        _require(steps.merge is not None, f"{aggregate.show()} has no merge=")
        _require(steps.columns is None and numpy_type(aggregate.result_type(type_)) is not None,
                 f"{aggregate.show()} is not a number")


def _outlasts_slots(step: PeriodicStep) -> bool:
    """Whether events of a step may last several slots."""
    match step:
        case Windowed():
            return True
        case Joined(outer=True):
            return _outlasts_slots(step.inputs[0])
        case _:
            return bool(step.inputs) and all(map(_outlasts_slots, step.inputs))


def _timed(op: GroupAggregate, schema: Schema) -> list[bool]:
    found = [aggregate.steps(None if aggregate.expr is None else type_of(aggregate.expr, schema), removable=False)
             for _, aggregate in op.measures]
    return [isinstance(steps, AggregateFunctions) and steps.timed for steps in found]


def _uses(step: PeriodicStep, ports: int) -> bool:
    """Whether a step is made of the first inputs only."""
    return all(not isinstance(each, InputStep | Sampled) or each.port < ports for each in in_order(step))

"""Fuse operators over periodic streams into one loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from whimbrel.batch import Schema, numpy_type
from whimbrel.expr import Col, Expr, columns_of, inlinable, type_of
from whimbrel.operators import (
    GroupAggregate,
    HoppingWindow,
    Join,
    PeriodicLoop,
    Results,
    Select,
    Shift,
    SlidingWindow,
    Where,
)
from whimbrel.operators.aggregation.result_expressions import reduced_in
from whimbrel.operators.periodic.halo import reach_of
from whimbrel.operators.periodic.steps import (
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
from whimbrel.plan import AggregateFunctions, AggregatePhase, Node, Operator, Source, reads_lifetime, walk

_MAX_SLOTS = 1 << 20
"""Longest window that a loop remembers."""

_MAX_HELD = 1 << 14
"""Longest window, of those side by side, whose rows are kept for the sake of a faster loop."""

_MAX_SPARSE_REACH = 1 << 15
"""Twice the longest window, as the loop reads it, over points that need not be at every tick: it visits all ticks."""

_MAX_DEPTH = 64
"""Most steps in a row of one loop: a longer chain is several loops."""

_MAX_BEFORE = 64
"""Most rows of its key that a row may need: they are gone through for each key of a batch."""


def fuse_periodic(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Replace the largest parts of plans that can run as a periodic loop and have a window or a join."""
    spacings = _spacings(roots)
    parts: dict[int, tuple[Operator | Source, Sequence[Node]]] = {}

    def inputs(node: Node) -> Sequence[Node]:
        parts[id(node)] = _fused(node, spacings[id(node)]) or (node.op, node.inputs)
        return parts[id(node)][1]

    done: dict[int, Node] = {}
    for node in walk(roots, inputs):
        op, before = parts[id(node)]
        after = tuple(done[id(below)] for below in before)
        same = op is node.op and all(new is old for new, old in zip(after, before, strict=True))
        done[id(node)] = node if same else Node(op, after)
    return tuple(done[id(root)] for root in roots)


def _fused(node: Node, spacings: frozenset[_Spacing]) -> tuple[PeriodicLoop, list[Node]] | None:
    for spacing in sorted(spacings, reverse=True):  # the slowest first, as it has fewest places
        loop = _Loop(spacing)
        last = loop.step(node)
        if last is None or not _worth(in_order(last)):
            continue
        if loop.sparse and sum(reach_of(last)) > _MAX_SPARSE_REACH:
            continue
        try:
            lasts = ticks_of(last, spacing.period)
        except ValueError:
            continue
        if lasts is None or (spacing.per and not _row_by_row(last, lasts, spacing.period)):
            continue
        shown = tuple(dict.fromkeys(loop.shown[::-1]))
        return PeriodicLoop(last=last, period=spacing.period, lasts=lasts, per=spacing.per, shown=shown,
                      causal=node.properties.causal, unit=node.schema.unit), loop.inputs
    return None


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


@dataclass
class _Loop:
    """What the rule has found so far for one time grid: inputs and finished steps."""

    spacing: _Spacing
    inputs: list[Node] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    made: dict[int, PeriodicStep | None] = field(default_factory=dict)
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
        if not isinstance(op, Operator) or not _fixed(node.schema) or reads_lifetime(op):
            return None
        before = len(self.inputs), len(self.shown)
        step = self._of(op, node)
        if step is None:  # what was found below it is no part of the loop
            del self.inputs[before[0]:], self.shown[before[1]:]
            self.made = {key: made for key, made in self.made.items() if made is not None and _uses(made, before[0])}
        else:
            self.shown.append(op.show())
        return step

    def _of(self, op: Operator, node: Node) -> PeriodicStep | None:
        below = [self.step(each) for each in node.inputs] if not isinstance(op, GroupAggregate) else []
        steps = [step for step in below if step is not None]
        if len(steps) < len(below):
            return None
        match op:
            case Select() if _written([expr for _, expr in op.columns], steps):
                return Mapped(node.schema, tuple(steps), tuple(expr for _, expr in op.columns))
            case Results() if not op.constants and _reads_columns(op, steps[0].schema) and _written(
                    [expr for _, expr in op.columns], steps):
                kept = tuple(Col(name) for name in op.keys)
                return Mapped(node.schema, tuple(steps), (*kept, *(expr for _, expr in op.columns)))
            case Where() if _written([op.condition], steps):
                return FilterStep(node.schema, tuple(steps), op.condition)
            case Shift() if op.amount % self.spacing.period == 0:
                return Moved(node.schema, tuple(steps), op.amount // self.spacing.period)
            case Join() if op.how in ("inner", "left"):
                return self._joined(op, node, steps)
            case GroupAggregate():
                return self._windowed(op, node)
        return None

    def _joined(self, op: Join, node: Node, steps: list[PeriodicStep]) -> PeriodicStep | None:
        left, right = (step.schema for step in steps)
        mine, theirs = map(keys_of, steps)
        pairs = {(left.index(one), right.index(other)) for one, other in op.on or ()}
        if mine is None or theirs is None or pairs != set(zip(mine, theirs, strict=True)):
            return None
        if pairs and (op.how == "left" or op.nulls_equal):
            return None
        # A result of windows may outlast several slots, and a loop does not see where its partner ends in between.
        if op.how == "left" and any(isinstance(step, Windowed) for step in in_order(steps[0])):
            return None
        if op.condition is not None and (op.how != "inner" or not inlinable(op.condition, node.schema)):
            return None
        sources = tuple((side, steps[side].schema.index(name)) for side, name, _ in op.row.columns(left, right))
        joined = Joined(node.schema, tuple(steps), sources, op.how == "left")
        return joined if op.condition is None else FilterStep(node.schema, (joined,), op.condition)

    def _windowed(self, op: GroupAggregate, node: Node) -> PeriodicStep | None:
        window = node.inputs[0]
        if op.part is not AggregatePhase.WHOLE or op.grid is not None or not op.measures:
            return None
        if not isinstance(window.op, SlidingWindow | HoppingWindow) or not _can_slide(op, window.inputs[0].schema):
            return None
        step = self.step(window.inputs[0])
        if step is None or window.op.size % self.spacing.period:
            return None
        width = window.op.size // self.spacing.period
        keys = [step.schema.index(expr.name) if isinstance(expr, Col) else -1 for _, expr in op.keys]
        if width > _MAX_SLOTS or sorted(keys) != sorted(keys_of(step) or ()):
            return None
        self.shown.append(window.op.show())
        if isinstance(window.op, SlidingWindow):
            return Slid(node.schema, (step,), width, op.measures, op.condition, tuple(keys))
        tumbling = window.op.size == window.op.hop and window.op.label == "start"
        # Points lie anywhere between those of a window's grid, unless every tick is one.
        if not tumbling or self.spacing != _TICKS or any(_timed(op, window.inputs[0].schema)):
            return None
        return Adjacent(node.schema, (step,), width, op.measures, op.condition, offset=window.op.offset)


def _worth(steps: Sequence[PeriodicStep]) -> bool:
    """Whether a loop is better. Tumbling windows alone would retain their rows until they end."""
    return any(isinstance(step, Slid | Joined) or (isinstance(step, Adjacent) and step.width <= _MAX_HELD)
               for step in steps)


def _row_by_row(last: PeriodicStep, lasts: int, period: int) -> bool:
    """Whether rows of the result are of rows of one key at a time: each of one row and of a few before it."""
    back, forward = reach_of(last)
    return lasts < period and forward == 0 and back <= _MAX_BEFORE


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
    return [*spacings, _TICKS] if lasts == 1 and not per and _TICKS not in spacings else spacings


def _fixed(schema: Schema) -> bool:
    return all(numpy_type(column.type) is not None for column in schema)


def _reads_columns(op: Results, schema: Schema) -> bool:
    """Whether it reads nothing else, such as the bounds of a window."""
    read = [name for _, expr in op.columns for name in (*columns_of(expr), *(each.show() for each in reduced_in(expr)))]
    return set(read) <= set(schema.names)


def _written(exprs: Sequence[Expr], steps: Sequence[PeriodicStep]) -> bool:
    """Whether expressions can be part of a loop."""
    return all(inlinable(expr, steps[0].schema) for expr in exprs)


def _can_slide(op: GroupAggregate, schema: Schema) -> bool:
    """Whether all its aggregates are a few numbers that can be merged, computed of values that a loop can compute."""
    if op.condition is not None and not inlinable(op.condition, schema):
        return False
    for _, aggregate in op.measures:
        type_ = None if aggregate.expr is None else type_of(aggregate.expr, schema)
        steps = aggregate.steps(type_, removable=False)
        if type_ == pa.uint64() or not all(inlinable(expr, schema) for expr in (aggregate.expr, aggregate.condition)
                                           if expr is not None):
            return False
        if not isinstance(steps, AggregateFunctions) or steps.merge is None or steps.columns is not None:
            return False
        if not _is_fixed(aggregate.result_type(type_)):
            return False
    return True


def _timed(op: GroupAggregate, schema: Schema) -> list[bool]:
    found = [aggregate.steps(None if aggregate.expr is None else type_of(aggregate.expr, schema), removable=False)
             for _, aggregate in op.measures]
    return [isinstance(steps, AggregateFunctions) and steps.timed for steps in found]


def _is_fixed(type_: pa.DataType) -> bool:
    return numpy_type(type_) is not None


def _uses(step: PeriodicStep, ports: int) -> bool:
    """Whether a step is made of the first inputs only."""
    return all(not isinstance(each, InputStep | Sampled) or each.port < ports for each in in_order(step))

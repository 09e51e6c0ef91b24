"""Lower operators to the steps of a periodic loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from whimbrel.batch import Schema
from whimbrel.clock import quote_ticks
from whimbrel.expr import Col, Expr, substitute
from whimbrel.operators import (
    AlignSamples,
    Assume,
    GroupAggregate,
    HoppingWindow,
    Join,
    OverTime,
    Results,
    Select,
    Shift,
    SlidingWindow,
    Where,
)
from whimbrel.optimize.loop_limits import (
    MAX_SLOTS,
    OutsideLoopError,
    has_fixed_columns,
    is_worthwhile,
    not_fixed,
    outlasts_slots,
    reads_columns,
    reads_times,
    require,
    require_cells,
    require_inline,
    require_slidable,
)
from whimbrel.optimize.slot_spacing import TICKS, SlotSpacing, spacings_of
from whimbrel.plan import Aggregate, AggregatePhase, Node, Operator, reads_lifetime
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
    in_order,
    keys_of,
)
from whimbrel.temporal.parts import WindowFold
from whimbrel.temporal.shared_windows import AggregatesByMeaning

_MAX_DEPTH = 64
"""Most steps in a row of one loop: a longer chain is several loops."""

_CHEAP = Select | Where | Results | Shift | SlidingWindow | HoppingWindow | Assume | AlignSamples
"""Operators that gain nothing by themselves: outside a loop they are named only if one ends there."""


@dataclass
class Lowering:
    """Lowers nodes for one time grid.

    It keeps the inputs of the loop, the steps that are done, and why other operators are not part of it.
    """

    spacing: SlotSpacing
    inputs: list[Node] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    made: dict[int, PeriodicStep | None] = field(default_factory=dict)
    reasons: dict[int, list[str]] = field(default_factory=dict)
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
        if not has_fixed_columns(node.schema):
            return None
        spacings, port = spacings_of(node), len(self.inputs)
        # Who knows whether the points of two are the same, unless every tick is one?
        if self.spacing in spacings and (self.spacing == TICKS or not self.inputs):
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
                require(self.spacing not in spacings_of(each) or has_fixed_columns(each.schema), not_fixed(each.schema))
            if len(below) == len(steps):
                step = self._of(op, node, window, below)
        except OutsideLoopError as why:
            if not isinstance(op, _CHEAP) or any(is_worthwhile(in_order(each)) for each in below):
                self.reasons.setdefault(id(node), []).append(str(why))
        if step is None:  # what was found below it is no part of the loop
            del self.inputs[before[0]:], self.shown[before[1]:]
            self.made = {key: made for key, made in self.made.items()
                         if made is not None and _uses_inputs(made, before[0])}
            return None
        self.shown.append(op.show())
        if window is not None and isinstance(window.op, Operator):
            self.shown.insert(-1, window.op.show())
        return step

    def _of(self, op: Operator, node: Node, window: Node | None, steps: list[PeriodicStep]) -> PeriodicStep:
        require(has_fixed_columns(node.schema), not_fixed(node.schema))
        require(not reads_lifetime(op), "it reads when events start or end")
        schemas = [step.schema for step in steps]
        match op:
            case Select():
                require_inline([expr for _, expr in op.columns], schemas[0])
                return Mapped(node.schema, tuple(steps), tuple(expr for _, expr in op.columns))
            case Results():
                require(not op.constants and reads_columns(op, schemas[0]), "it uses the bounds of a window")
                require_inline([expr for _, expr in op.columns], schemas[0])
                kept = tuple(Col(name) for name in op.keys)
                return Mapped(node.schema, tuple(steps), (*kept, *(expr for _, expr in op.columns)))
            case Where():
                require_inline([op.condition], schemas[0])
                return FilterStep(node.schema, tuple(steps), op.condition)
            case Shift():
                self._require_whole(op.amount, node)
                return Moved(node.schema, tuple(steps), op.amount // self.spacing.period)
            case Join():
                return self._joined(op, node, steps)
            case GroupAggregate() if window is not None:
                return self._windowed(op, node, window, steps[0])
            case OverTime() if op.every:
                return self._cells(op, node, steps[0])
        raise OutsideLoopError("a loop has no such operator")

    def _require_whole(self, ticks: int, node: Node) -> None:
        period, unit = self.spacing.period, node.schema.unit
        require(ticks % period == 0, f"{quote_ticks(ticks, unit)} is not a multiple of the period, "
                                      f"{quote_ticks(period, unit)}")

    def _joined(self, op: Join, node: Node, steps: list[PeriodicStep]) -> PeriodicStep:
        require(op.how in ("inner", "left"), f"a loop has no {op.how} join")
        left, right = (step.schema for step in steps)
        mine, theirs = map(keys_of, steps)
        pairs = {(left.index(one), right.index(other)) for one, other in op.on or ()}
        require(mine is not None and theirs is not None and pairs == set(zip(mine, theirs, strict=True)),
                 "it does not join on the keys for which events never overlap")
        require(not pairs or (op.how != "left" and not op.nulls_equal),
                 "with keys a loop has inner joins only, in which null keys meet nothing")
        # A result of windows may outlast several slots, and a loop does not see where its partner ends in between.
        require(op.how != "left" or not outlasts_slots(steps[0]),
                 "results of windows on the left may outlast their partners")
        if op.condition is not None:
            require(op.how == "inner", "a loop has conditions for inner joins only")
            require_inline([op.condition], node.schema)
        sources = tuple((side, steps[side].schema.index(name)) for side, name, _ in op.row.columns(left, right))
        joined = Joined(node.schema, tuple(steps), sources, op.how == "left")
        return joined if op.condition is None else FilterStep(node.schema, (joined,), op.condition)

    def _windowed(self, op: GroupAggregate, node: Node, window: Node, step: PeriodicStep) -> PeriodicStep:
        require(op.part is AggregatePhase.WHOLE and op.grid is None and bool(op.measures),
                 "it is computed in two phases")
        assert isinstance(window.op, SlidingWindow | HoppingWindow)
        schema, aggregates = window.inputs[0].schema, [aggregate for _, aggregate in op.measures]
        require_inline([] if op.condition is None else [op.condition], schema)
        require_slidable(aggregates, schema)
        width = self._width(window.op.size, node)
        keys = [step.schema.index(expr.name) if isinstance(expr, Col) else -1 for _, expr in op.keys]
        require(sorted(keys) == sorted(keys_of(step) or ()),
                 "it does not group by the keys for which events never overlap")
        if isinstance(window.op, SlidingWindow):
            return Slid(node.schema, (step,), width, op.measures, op.condition, tuple(keys))
        require(window.op.size == window.op.hop and window.op.label == "start",
                 "its windows overlap, have gaps, or are labelled by their ends")
        self._require_ticks(aggregates, schema)
        return Adjacent(node.schema, (step,), width, op.measures, op.condition, offset=window.op.offset)

    def _cells(self, op: OverTime, node: Node, step: PeriodicStep) -> PeriodicStep:
        """Windows of the grid at whose multiples a function of time has its values. Equal aggregates are one."""
        require_cells(op)
        require(not outlasts_slots(step), "it counts events as long as they last")
        schema, distinct, shown = node.inputs[0].schema, AggregatesByMeaning(), list[Expr]()
        for part in op.parts:
            assert isinstance(part.of, WindowFold)
            columns: dict[str, Expr] = {text: distinct.column(each) for text, each in part.of.aggregates.items()}
            shown.append(substitute(part.of.results, columns))
        aggregates = [aggregate for _, aggregate in distinct.named]
        require_slidable(aggregates, schema)
        self._require_ticks(aggregates, schema)
        windows = schema.with_fields(tuple(distinct.fields(schema)), where=op.show())
        require_inline(shown, windows)
        made = Adjacent(windows, (step,), self._width(op.every, node), distinct.named, None, offset=op.offset)
        return Mapped(node.schema, (made,), tuple(shown))

    def _width(self, ticks: int, node: Node) -> int:
        """The places of a window."""
        self._require_whole(ticks, node)
        width = ticks // self.spacing.period
        require(width <= MAX_SLOTS, f"its window has more than {MAX_SLOTS:,} places")
        return width

    def _require_ticks(self, aggregates: Sequence[Aggregate], schema: Schema) -> None:
        """Points lie anywhere between those of a window's grid, unless every tick is one."""
        require(self.spacing == TICKS, "tumbling windows are in a loop only where every tick may have an event")
        require(not reads_times(aggregates, schema), "an aggregate of tumbling windows reads the time of events")


def _uses_inputs(step: PeriodicStep, ports: int) -> bool:
    """Whether a step is made of the first inputs only."""
    return all(not isinstance(each, InputStep | Sampled) or each.port < ports for each in in_order(step))

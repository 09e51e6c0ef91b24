"""Print what a plan computes over time in the paper's notation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import ceil

from whimbrel.batch import Schema
from whimbrel.clock import show_ticks
from whimbrel.errors import shortened
from whimbrel.expr import Expr, type_of
from whimbrel.operators import (
    AlignSamples,
    Assume,
    Coalesce,
    FirFilter,
    GroupAggregate,
    OverTime,
    PeriodicLoop,
    Recompute,
    RecomputeRows,
    Resample,
    Results,
    RunningAggregate,
    Select,
    TemporalColumns,
    TemporalSamples,
    Where,
)
from whimbrel.operators.aggregation.running_column import RunningColumn
from whimbrel.plan import Aggregate, Frequencies, Multiset, Node, Sketch, Source
from whimbrel.temporal.bounds import HERE, Bounds
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
)
from whimbrel.temporal.notation import Leaf, Notation, TimedEvents, inside, of_nothing
from whimbrel.temporal.parts import CellWindow, TimeWindow

_OVER_BANDS = Recompute, RecomputeRows
_OVER_TIME = (PeriodicLoop, TemporalColumns, TemporalSamples, OverTime, RunningAggregate, Resample, FirFilter,
              *_OVER_BANDS)
_SCALAR = Select, Where, Results, Assume, AlignSamples


def plan_notation(roots: Sequence[Node]) -> dict[int, list[str]]:
    """For the last node of each part that is over time, its lines, by the identity of the node."""
    nodes = [node for root in roots for node in root.walk()]
    over_time: dict[int, bool] = {}
    inner: set[int] = set()
    for node in nodes:
        scalar = isinstance(node.op, _SCALAR) and any(over_time[id(each)] for each in node.inputs)
        over_time[id(node)] = isinstance(node.op, _OVER_TIME) or scalar
        read = node.inputs[1:] if isinstance(node.op, _OVER_BANDS) else node.inputs  # not the result of an earlier band
        inner |= {id(each) for each in read if over_time[id(node)]}
    return {id(node): notation_of(node) for node in nodes if over_time[id(node)] and id(node) not in inner}


def notation_of(root: Node) -> list[str]:
    """The lines of a part, by its last node: a definition each, and at last how far it reads, and how it runs."""
    try:
        return _TimedPart(root).lines()
    except RecursionError:
        return ["its expressions are nested too deeply to print"]


def borders(roots: Sequence[Node]) -> list[str]:
    """Why steps that a part over time reads, or that read one, are not over time."""
    lines: dict[str, None] = {}
    for root in roots:
        near = list(_near(root))
        for node in near:
            reason = _reason(node)
            if reason is not None:
                lines[f"{node.op.show()} is not over time: {reason}"] = None  # type: ignore[union-attr]
    return list(lines)


def _near(root: Node) -> Iterator[Node]:
    """Aggregates of a plan that has a part over time."""
    nodes = list(root.walk())
    if any(isinstance(node.op, _OVER_TIME) for node in nodes):
        yield from (node for node in nodes if isinstance(node.op, GroupAggregate))


def _reason(node: Node) -> str | None:
    assert isinstance(node.op, GroupAggregate), "others have notes of loops"
    schema = node.inputs[0].schema
    for _, aggregate in node.op.measures:
        steps = aggregate.steps(None if aggregate.expr is None else type_of(aggregate.expr, schema), removable=False)
        if isinstance(steps, Multiset):
            return f"{aggregate.show()} keeps all values of a window"
        if isinstance(steps, Sketch | Frequencies):
            return f"{aggregate.show()} is approximate"
    return None


def _read_by(node: Node) -> Sequence[Node]:
    """The inputs whose events a node's are made of."""
    match node.op:
        case TemporalSamples() | Recompute() | RecomputeRows():
            return node.inputs[1:2]
        case PeriodicLoop(last=last):
            return [node.inputs[step.port] for step in in_order(last) if isinstance(step, InputStep | Sampled)]
        case op if isinstance(op, (*_OVER_TIME, *_SCALAR)) and not getattr(op, "constants", ()):
            return node.inputs[:1]
    return ()


@dataclass
class _TimedPart:
    """A part of a plan, by its last node."""

    root: Node
    inputs: dict[int, str] = field(default_factory=dict)
    made: dict[int, TimedEvents] = field(default_factory=dict)
    forms: dict[str, None] = field(default_factory=dict)
    keys: dict[str, None] = field(default_factory=dict)
    every: int | None = None

    def __post_init__(self) -> None:
        self.text = Notation(self.root.schema.unit)

    def lines(self) -> list[str]:
        result, text = self.events(self.root), self.text
        exprs = text.shared([*result.columns.values(), *result.conditions])
        values, conditions = exprs[:len(result.columns)], exprs[len(result.columns):]
        there = " and ".join(dict.fromkeys(map(inside, conditions)))
        row = self._row(list(zip(result.columns, values, strict=True)))
        out = f"~out[t] = {there} ? {row} : φ" if there else f"~out[t] = {row}"
        if self.every is not None:
            out += f", t at multiples of {show_ticks(self.every, text.unit)}"
        per = f" per {', '.join(self.keys)}" if self.keys else ""
        reads = text.reads_of(exprs).show(text.unit)
        forms = " and ".join(self.forms) or "row by row"
        lines = (f"~{name}[t] = {body}" for name, body in text.definitions.items())
        return [*map(shortened, (*lines, out)), f"one event at a time{per}; {reads}; {forms}; {self._threads()}"]

    def _row(self, columns: list[tuple[str, Expr]]) -> str:
        """The columns of the result; one that a later step names stands alone."""
        if len(columns) == 1 and not columns[0][0].isidentifier():
            return columns[0][1].show()
        return f"{{{', '.join(f'{name}: {expr.show()}' for name, expr in columns)}}}"

    def _threads(self) -> str:
        if self.root.reach is not None:
            return "threads by time"
        return "threads by key" if self.keys else "one thread"

    def events(self, node: Node) -> TimedEvents:
        """What a node gives. What it reads is made before, without recursion: plans may be long."""
        open_ = [node]
        while open_:
            missing = [each for each in _read_by(open_[-1]) if id(each) not in self.made]
            if missing:
                open_ += reversed(missing)
                continue
            done = open_.pop()
            if id(done) not in self.made:
                self.made[id(done)] = self._events(done)
        return self.made[id(node)]

    def _columns(self, op: TemporalColumns, of: TimedEvents) -> TimedEvents:
        """Events with more columns."""
        return replace(of, columns={**of.columns, **{each.name: self.text.part(each, of) for each in op.parts}})

    def _events(self, node: Node) -> TimedEvents:
        match node.op:
            case Select() | Results(constants=()) as op:
                of = self.events(node.inputs[0])
                kept = {} if isinstance(op, Select) else {key: of.columns[key] for key in op.keys}
                return replace(of, columns=kept | {name: of.read(expr) for name, expr in op.columns})
            case Where(condition=condition):
                return self.events(node.inputs[0]).where(condition)
            case Assume() | AlignSamples():
                return self.events(node.inputs[0])
            case PeriodicLoop() as op:
                self._runs("a loop over places", op.per)
                return self._loop(op, node)
            case TemporalColumns() as op:
                self._runs("by position", op.keys)
                return self._columns(op, self.events(node.inputs[0]))
            case TemporalSamples() as op:
                self._runs("by position", op.keys)
                of, self.every = self.events(node.inputs[1]), node.inputs[0].properties.duration
                columns = {key: of.columns[key] for key in op.keys}
                return TimedEvents(columns | {each.name: self.text.part(each, of) for each in op.parts}, (), of.whole)
            case RecomputeRows(ops=ops):
                self._runs("by position", ops[-1].keys)
                self._runs("only where late rows are read", ())
                return reduce(lambda events, op: self._columns(op, events), ops, self.events(node.inputs[1]))
            case Recompute(op=op):
                of = self._events(Node(op, (node.inputs[1],)))
                self._runs("only within reach of late rows", ())
                return of
            case OverTime() as op:
                self._runs("by position" if op.every else "from change to change", op.keys)
                of, self.every = self.events(node.inputs[0]), op.every or None
                columns = {key: of.columns[key] for key in op.keys}
                return TimedEvents(columns | {each.name: self.text.part(each, of) for each in op.parts}, (), of.whole)
            case RunningAggregate() as op:
                self._runs("one state per key" if op.keys else "one state", op.keys)
                of = self.events(node.inputs[0])
                made = {each.name: self._running(each, of) for each in op.columns}
                return replace(of, columns={**of.columns, **made})
            case FirFilter() as op:
                self._runs("by position", op.keys)
                of = self.events(node.inputs[0])
                return replace(of, columns={**of.columns, op.name: self._filtered(op, of)})
            case Resample() as op:
                self._runs("one sample at a time", op.keys)
                of, self.every = self.events(node.inputs[0]), op.period
                reads = op.bounds or Bounds(every=True)
                return replace(of, columns={name: expr if name in op.keys else self._sampled(expr, op.how, reads)
                                            for name, expr in of.columns.items()})
        return self._input(node, node.schema)

    def _runs(self, form: str, keys: Sequence[str]) -> None:
        self.forms = {form: None, **self.forms}  # what reads stands before what it reads
        self.keys |= dict.fromkeys(keys)

    def _input(self, node: Node, schema: Schema) -> TimedEvents:
        """A stream that is not computed here."""
        while isinstance(node.op, Coalesce):
            node = node.inputs[0]
        name = node.op.name if isinstance(node.op, Source) else node.op.show().split("(")[0]
        name = name if name.isidentifier() else "stream"
        taken = sum(each.rstrip("0123456789") == name for each in self.inputs.values())
        name = self.inputs.setdefault(id(node), f"{name}{taken + 1}" if taken else name)
        columns = {each: self.text.leaf(Leaf.of(f"{name}.{each if each.isidentifier() else f'({each})'}"))
                   for each in schema.names}
        return TimedEvents(columns, (), Leaf.of(name))

    def _sampled(self, expr: Expr, how: str, reads: Bounds) -> Expr:
        base = self.text.conditional("v", expr, ()).base
        return self.text.leaf(Leaf(base, f"~{base}[{how}({{t}})]", 0, reads))

    def _filtered(self, op: FirFilter, of: TimedEvents) -> Expr:
        """A sum of samples around t."""
        text, period = self.text, op.sampling.period
        window, reads = text.window(TimeWindow(ceil((len(op.taps) - op.back) * period), ceil(op.back * period)))
        base = text.conditional("v", of.read(op.expr), of.conditions).base
        body = f"⊕({of_nothing(op.text, op.expr)}, ~{base}[{window}])"
        return text.leaf(text.define("fir", body, reads.then(text.reads.get(base, HERE))))

    def _running(self, column: RunningColumn, of: TimedEvents) -> Expr:
        """A value of all events so far."""
        text, forgets = self.text, column.forgets
        since = "" if forgets is None else f"t-{show_ticks(forgets, text.unit)} "
        if column.reset is not None:
            since = f"last({text.shared([of.read(column.reset)])[0].show()}) "
        reads = Bounds(every=True) if forgets is None else Bounds(back=forgets)
        if isinstance(column.of, Aggregate):
            body, reads = text.folded(column.of, of, f"{since}: t", reads)
            return text.leaf(text.define(column.of.show().split("(")[0], body, reads))
        base = text.conditional("v", of.read(column.of.expr), of.conditions).base
        name, reads = column.of.name.split(".")[-1], reads.then(text.reads.get(base, HERE))
        return text.leaf(text.define(name, f"⊕({of_nothing(column.of.show(), column.of.expr)}, ~{base}[: t])", reads))

    def _loop(self, loop: PeriodicLoop, node: Node) -> TimedEvents:
        made: dict[int, TimedEvents] = {}
        for step in in_order(loop.last):
            made[id(step)] = self._step(step, loop.period, [made[id(each)] for each in step.inputs], node)
        return made[id(loop.last)]

    def _step(self, step: PeriodicStep, period: int, inputs: list[TimedEvents], node: Node) -> TimedEvents:
        names, text = step.schema.names, self.text
        match step:
            case InputStep(port=port) | Sampled(port=port):
                return self.events(node.inputs[port])
            case Mapped(columns=columns):
                return replace(inputs[0], columns={name: inputs[0].read(expr)
                                                   for name, expr in zip(names, columns, strict=True)})
            case FilterStep(condition=condition):
                return inputs[0].where(condition)
            case Moved(slots=slots):
                of, lag = inputs[0], slots * period
                return TimedEvents({name: text.moved(expr, lag) for name, expr in of.columns.items()},
                                   tuple(text.moved(each, lag) for each in of.conditions),
                                   replace(of.whole, lag=of.whole.lag + lag))
            case Joined(sources=sources, outer=outer):
                left, right = inputs
                partners = [text.held(each, right) if outer else each for each in right.columns.values()]
                sides = [list(left.columns.values()), partners]
                joined = {name: sides[side][at] for name, (side, at) in zip(names, sources, strict=True)}
                both = () if outer else (*right.conditions, *map(text.there, inputs))
                return TimedEvents(joined, (*left.conditions, *both), left.whole)
            case Windowed():
                width, of = step.width * period, inputs[0].where(step.condition)
                window = CellWindow(width, step.offset * period) if isinstance(step, Adjacent) else TimeWindow(width)
                made = {name: text.window_value(each, of, window) for name, each in step.aggregates}
                keys = step.keys if isinstance(step, Slid) else ()
                kept = dict(list(of.columns.items())[position] for position in keys)
                return TimedEvents(kept | {name: text.leaf(each) for name, each in made.items()}, (),
                                   next(iter(made.values())))
        raise TypeError(type(step))


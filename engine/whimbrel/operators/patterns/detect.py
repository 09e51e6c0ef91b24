"""Detect patterns of consecutive events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from whimbrel.batch import Field, Schema, logical_type
from whimbrel.clock import INF, MIN_TIME, Duration, TickUnit, duration_ticks
from whimbrel.errors import ExpressionError, PlanError, SchemaError, near_match
from whimbrel.expr import (
    REGISTER,
    Column,
    Expr,
    Keys,
    OuterValue,
    check_name,
    columns_of,
    key_of,
    lifetime_of,
    lift,
    named_columns,
    registers_of,
    type_of,
)
from whimbrel.kernels import Kernel
from whimbrel.operators.lifetimes.lifetime import show_span
from whimbrel.operators.patterns.absence import Absence
from whimbrel.operators.patterns.absence_kernel import AbsenceKernel
from whimbrel.operators.patterns.automaton import Automaton
from whimbrel.operators.patterns.detect_kernel import DetectKernel
from whimbrel.operators.patterns.greedy_kernel import GreedyKernel
from whimbrel.operators.patterns.pattern import Pattern, SimultaneousPattern
from whimbrel.operators.patterns.register_codegen import Slot, path_text
from whimbrel.operators.patterns.register_kernel import PathKernel
from whimbrel.plan import (
    LOOKAHEAD_HINT,
    Exact,
    KnownInput,
    LineageRequest,
    Operator,
    Properties,
    TimeGrid,
    earlier,
    fluent,
    later,
    reads_exactly,
)

__all__ = ["Beginning", "Outputs", "Simultaneous"]

Simultaneous = Literal["discard", "in_order"]

Beginning = Mapping[str, Any]
"""What a register holds at the begin of a run: values by name, or pyarrow types for null."""

Outputs = Mapping[str, Column]
"""Further columns of a result, by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Detect(Operator):
    """Find consecutive events of a key that match a pattern.

        time     0    5    10   15
        in       a    b    a    b      (pattern: a then b, within 10)
        out           ├────┤           (a at 0, b at 5: [5, 10))
                                ├────  (a at 10, b at 15: [15, 20))

    Parameters
    ----------
    pattern : Pattern
    within : int, > 0
        A run that began at t accepts events before t + within. At ``INF`` it has no limit, and matches have no end.
    register : tuple of (str, type, value)
        Initial registers of every run, by name.
    skip : bool
        Whether a run skips events that do not match, instead of ending.
    overlapping : bool
        Whether a run may start at an event that moved another run. With `greedy`, whether a match may begin within
        another one.
    greedy : bool
        Whether only the preferred match of each begin is a result.
    simultaneous : {"discard", "in_order"}
        How to handle events of one key at one time.
    output : tuple of (str, Expr)
        Further columns of the result, over the state of the run at its end.
    keys : tuple of (str, Expr)
        Events are consecutive within a key; none means all events together.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.
    absence : int, > 0, or None
        A match counts only if no event of its key follows it for so many ticks.
    absent_event : Expr or None
        Which events must not follow; None stands for all.

    Notes
    -----
    Contiguity is strict: an event that does not match ends the run, unless `skip` is set. Every event that completes
    the pattern is a match, with the lifetime [time of that event, begin + within). Events of one key at the same time
    have no order: they are skipped, and the runs of the key end. With ``in_order`` they are taken one by one. If the
    pattern has a ``simultaneous``, all events of one time move a run once, and count once. Several events move runs
    only by ``simultaneous``. No other part of the pattern matches them.

    Results hold the keys, `first_time` (when the run began), `events` (how many it matched), the registers, and the
    `output`. Matches with equal registers and equal output are one match, also if several paths through the
    pattern led to them. Without a register, columns of matched events and `skip`, a run is a start and a
    set of states, and there are never more runs than events. Otherwise a run is one path through the pattern.
    With ``overlapping=False`` no run starts at an event that moved or completed another run.

    ``pattern.prefixes()`` also matches the first events of the pattern: each event of a run is a match then.

    With ``greedy=True`` each begin has at most one match, known when its time is over. It is the first one that
    backtracking finds: the first of two alternatives that leads to a match, and repetitions as often as they can,
    or as rarely with ``reluctant=True``. With ``overlapping=False`` begins are taken in the order of time, and none
    within a match before it: the match and the choice are those of ``MATCH_RECOGNIZE`` with ``AFTER MATCH SKIP PAST
    LAST ROW``. A greedy match depends on events up to `within` after its begin, so it has look-ahead.

    With ``then=wb.absent(within=...)`` a match at time e is a result if no event of its key starts in (e, e + within).
    The result is a point at e + within, when the watermark says so. Events at time e do not count.

    Shapes: any number of rows out per row in. State: the runs of each key, and events at the newest time; with an
    absence also matches whose time is not over.
    Source: Trill's regular expressions (VLDB 2015 and its open source, Afa).

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5, 10, 15], "kind": ["a", "b", "a", "b"]}, time="at")
    >>> pattern = wb.sequence(first=wb.col.kind == "a", second=wb.col.kind == "b")
    >>> for match in events.detect(pattern, within=10).collect().to_pylist():
    ...     print(match)
    {'start': 5, 'end': 10, 'first_time': 0, 'events': 2}
    {'start': 15, 'end': 20, 'first_time': 10, 'events': 2}

    Runs that remember: a rise to more than twice the price at its begin, whatever lies between.

    >>> prices = wb.from_arrow({"at": [0, 1, 2, 3], "price": [10, 12, 9, 21]}, time="at")
    >>> rise = wb.sequence(low=wb.col.price > 0, high=wb.col.price > 2 * wb.last_of("low").price)
    >>> found = prices.detect(rise, within=3, skip=True, output={"from_price": wb.first_of("low").price})
    >>> found.select("first_time", "from_price").collect().to_pylist()
    [{'start': 3, 'end': 5, 'first_time': 2, 'from_price': 9}]

    How far each beginning has come:

    >>> found = events.detect(pattern.prefixes(), within=10)
    >>> found.select("first_time", "events").collect().to_pylist()[:2]
    [{'start': 0, 'end': 10, 'first_time': 0, 'events': 1}, {'start': 5, 'end': 10, 'first_time': 0, 'events': 2}]

    An event that is not followed by another one within 7:

    >>> events.detect(wb.event(wb.col.kind == "b"), within=1, then=wb.absent(within=7)).collect().to_pylist()
    [{'start': 22, 'end': 23, 'first_time': 15, 'events': 1}]

    The longest of each begin, without overlap, and the shortest:

    >>> rising = wb.event(wb.col.price > 9).repeat()
    >>> found = prices.detect(rising, within=3, greedy=True, overlapping=False)
    >>> found.select("first_time", "events").collect().to_pylist()
    [{'start': 1, 'end': 3, 'first_time': 0, 'events': 2}, {'start': 3, 'end': 6, 'first_time': 3, 'events': 1}]
    >>> rising = wb.event(wb.col.price > 9).repeat(reluctant=True)
    >>> prices.detect(rising, within=3, greedy=True, overlapping=False).collect()["events"].to_pylist()
    [1, 1, 1]
    """

    ends_grouping: ClassVar[bool] = True

    pattern: Pattern
    within: int
    register: tuple[tuple[str, pa.DataType, Any], ...] = ()
    skip: bool = False
    overlapping: bool = True
    greedy: bool = False
    simultaneous: Simultaneous = "discard"
    output: Keys = ()
    keys: Keys = ()
    unit: TickUnit = None
    absence: int | None = None
    absent_event: Expr | None = None

    def schema(self, *upstream: Schema) -> Schema:
        schema, where = upstream[0], self.show()
        if self.within <= 0:
            raise PlanError(f"within must be positive, got {show_span(self.within, self.unit)}.", where=where,
                            hint='Use a duration such as within="1h", or None for no limit.')
        if self.greedy and (self.within == INF or self.simultaneous != "discard"):
            given = "within=None" if self.within == INF else f"simultaneous={self.simultaneous!r}"
            raise PlanError(f"greedy=True cannot have {given}.", where=where,
                            hint='Use a duration such as within="1h", and leave simultaneous out.')
        if self.simultaneous not in ("discard", "in_order"):
            raise PlanError(f"simultaneous must be 'discard' or 'in_order', got {self.simultaneous!r}.", where=where,
                            hint="Use 'in_order' to take events of one key and time as they arrive.")
        self._check_absence(schema)
        slots = self._slots(schema)
        with_slots = _with_slots(schema, slots)
        for event in Automaton.of(self.pattern).events:
            type_ = type_of(event.condition, with_slots, where=where)
            if not pa.types.is_boolean(type_):
                raise ExpressionError(f"A condition must be boolean, got {event.condition.show()} of type {type_}.",
                                      where=where, hint="Compare it with a value, such as `> 0`.")
            if isinstance(event, SimultaneousPattern) and self.simultaneous == "in_order":
                raise PlanError('simultaneous() cannot match because simultaneous="in_order" takes events one by one.',
                                where=where, hint='Remove simultaneous="in_order", or simultaneous().')
            for _, clause in event.clauses if isinstance(event, SimultaneousPattern) else ():
                self._check_clause(clause, schema)
            for name, value in event.updates:
                self._check_update(name, type_of(value, with_slots, where=where), value)
        own = Schema(tuple(Field(slot.name, slot.type) for slot in slots))
        keys = [Field(name, type_of(expr, schema, where=where)) for name, expr in self.keys]
        found = [Field("first_time", schema.time_type), Field("events", pa.int64())]
        made = [Field(name, type_) for name, type_, _ in self.register]
        outputs = [Field(name, type_of(expr, own, where=where)) for name, expr in self.output]
        return schema.with_fields([*keys, *found, *made, *outputs], where=where)

    def _check_absence(self, schema: Schema) -> None:
        if self.absence is None:
            return
        if self.absence <= 0:
            raise PlanError(f"within of absent() must be positive, got {show_span(self.absence, self.unit)}.",
                            where=self.show(), hint='Use a duration, such as absent(within="10m").')
        if self.greedy:
            raise PlanError("greedy=True cannot have then=.", where=self.show(),
                            hint="Leave greedy out: each match waits for an absence of its own.")
        if self.absent_event is not None:
            self._check_condition(self.absent_event, "absent()", schema)

    def _check_clause(self, clause: Expr, schema: Schema) -> None:
        self._check_condition(clause, "simultaneous()", schema)

    def _check_condition(self, condition: Expr, within: str, schema: Schema) -> None:
        if registers_of(condition):
            raise ExpressionError(f"{within} cannot read registers, got {condition.show()}.", where=self.show())
        type_ = type_of(condition, schema, where=self.show())
        if not pa.types.is_boolean(type_):
            raise ExpressionError(f"A condition must be boolean, got {condition.show()} of type {type_}.",
                                  where=self.show(),
                                  hint="Compare it with a value, such as `> 0`.")

    def _check_update(self, name: str, type_: pa.DataType, value: Expr) -> None:
        mine = next(type_ for known, type_, _ in self.register if known == name)
        widens = pa.types.is_floating(mine) and pa.types.is_integer(type_)
        if type_ != mine and not widens and not pa.types.is_null(type_):
            raise ExpressionError(f"Register {name!r} must stay {mine}, got {value.show()} of type {type_}.",
                                  where=self.show(), hint="Start with a value of that type, or cast the new value.")

    def _read(self) -> dict[str, OuterValue]:
        """What the query reads of a run's memory, and the registers that it sets."""
        events = Automaton.of(self.pattern).events
        exprs = [expr for event in events for expr in (event.condition, *(value for _, value in event.updates))]
        found = {name: source for expr in [*exprs, *(expr for _, expr in self.output)]
                 for name, source in registers_of(expr).items()}
        return found | _registers(name for event in events for name, _ in event.updates)

    def _slots(self, schema: Schema) -> list[Slot]:
        """What a run remembers: the registers, then columns of matched events."""
        where = self.show()
        known = {event.name for event in Automaton.of(self.pattern).events
                 if event.name and not isinstance(event, SimultaneousPattern)}
        declared = [Slot(REGISTER + name, type_, OuterValue("register", name), value)
                    for name, type_, value in self.register]
        emitted = {name for _, expr in self.output for name in registers_of(expr)}
        captured: list[Slot] = []
        for name, source in self._read().items():
            if source.which == "register":
                if source.column not in (name for name, _, _ in self.register):
                    raise PlanError(f"The pattern has no register {source.column!r}.", where=where, hint=near_match(
                        source.column, (name for name, _, _ in self.register), noun="register"))
                continue
            if source.event not in known:
                raise PlanError(f"The pattern has no event {source.event!r}.", where=where,
                                hint=near_match(source.event, known, noun="event"))
            captured.append(Slot(name, schema.type_of(source.column, where=where), source, shown=name in emitted))
        for slot in (*declared, *captured):
            if pa.types.is_nested(slot.type):
                raise SchemaError(f"A pattern cannot store {slot.source.column!r} of type {slot.type}.", where=where,
                                  hint="Store numbers, strings, times or booleans, such as one field of a struct.")
        return [*declared, *captured]

    def properties(self, *upstream: Properties) -> Properties:
        time_grid = upstream[0].time_grid
        if self.greedy:
            return Properties(causal=False)
        if self.absence is not None:
            return Properties(causal=upstream[0].causal, duration=1, points=True)
        if self.within == INF:
            return Properties(causal=upstream[0].causal, time_grid=time_grid, starts_only=True)
        time_grid = None if time_grid is None else time_grid.joined(TimeGrid(self.within, time_grid.offset))
        return Properties(causal=upstream[0].causal, time_grid=time_grid)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        events = Automaton.of(self.pattern).events
        exprs = [expr for event in events for expr in (event.condition, *(value for _, value in event.updates))]
        exprs += [clause for event in events if isinstance(event, SimultaneousPattern) for _, clause in event.clauses]
        exprs += [] if self.absent_event is None else [self.absent_event]
        read = frozenset[str]().union(*map(columns_of, [*exprs, *(expr for _, expr in self.keys)]))
        remembered = self._read()
        return ((read - remembered.keys())
                | {source.column for source in remembered.values() if source.which != "register"},)

    def partitioned(self, *by: str) -> str | None:
        return key_of(self.keys, by[0])

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        below = wanted.through(dict(self.keys), inputs[0].schema)
        limited = self.overlapping and self.within != INF
        start = earlier(wanted.start, self.within + (self.absence or 0)) if limited else MIN_TIME
        end = later(wanted.end, self.within) if self.greedy else wanted.end
        if reads_exactly(self) is Exact.LIFETIMES:
            return (below.during(start, end, Exact.LIFETIMES),)
        return (below.starts(start, end),)

    def kernel(self, *upstream: Schema) -> Kernel:
        schema, automaton, keys = self.schema(*upstream), Automaton.of(self.pattern), [expr for _, expr in self.keys]
        in_order = self.simultaneous == "in_order"
        slots = self._slots(upstream[0])
        overlapping = self.overlapping or self.greedy
        if not slots and not self.skip and not self.greedy:
            every: Kernel = DetectKernel(schema, automaton, self.within, keys, overlapping=overlapping,
                                         in_order=in_order)
        else:
            text = path_text(automaton, slots, _with_slots(upstream[0], slots), skip=self.skip, overlapping=overlapping,
                             greedy=self.greedy)
            every = PathKernel(text, slots, [expr for _, expr in self.output], schema, automaton, self.within, keys,
                               in_order=in_order, greedy=self.greedy, where=self.show())
        types = [field.type for field in schema.fields[: len(keys)]]
        if self.absence is not None:
            return AbsenceKernel(every, types, keys, self.absent_event, self.absence, self.show())
        return GreedyKernel(every, types, self.within, overlapping=self.overlapping) if self.greedy else every

    def grouping_keys(self) -> Keys:
        return self.keys

    def show(self) -> str:
        options = [f"within={show_span(self.within, self.unit)}"]
        if self.register:
            options.append(f"register={{{', '.join(f'{name!r}: {_start(*of)}' for name, *of in self.register)}}}")
        options += ["skip=True"] if self.skip else []
        options += [] if self.overlapping else ["overlapping=False"]
        options += ["greedy=True"] if self.greedy else []
        options += [] if self.simultaneous == "discard" else [f"simultaneous={self.simultaneous!r}"]
        if self.absence is not None:
            condition = "" if self.absent_event is None else f"{self.absent_event.show()}, "
            options.append(f"then=absent({condition}within={show_span(self.absence, self.unit)})")
        if self.output:
            options.append(f"output={{{', '.join(f'{name!r}: {expr.show()}' for name, expr in self.output)}}}")
        text = f"detect({self.pattern.show()}, {', '.join(options)})"
        return text if not self.keys else f"group_by({', '.join(name for name, _ in self.keys)}).{text}"


def _start(type_: pa.DataType, value: Any) -> str:
    return str(type_) if value is None else repr(value)


def _registers(names: Iterable[str]) -> dict[str, OuterValue]:
    """Registers by the name that they have in the schema with slots."""
    return {REGISTER + name: OuterValue("register", name) for name in names}


def _with_slots(schema: Schema, slots: Sequence[Slot]) -> Schema:
    return schema.with_fields([*schema, *(Field(slot.name, slot.type) for slot in slots)])


@fluent
def detect(schema: Schema, pattern: Pattern, *, within: Duration | None, register: Beginning | None = None,
           skip: bool = False, overlapping: bool = True, greedy: bool = False, simultaneous: Simultaneous = "discard",
           output: Outputs | None = None, then: Absence | None = None, allow_lookahead: bool = False, keys: Keys = (),
           known: Properties) -> Detect:
    """Find consecutive events that match a pattern. See :class:`whimbrel.operators.Detect`.

    Parameters
    ----------
    pattern : Pattern
        Such as ``wb.sequence(first=col.x > 1, second=col.x < 1)``.
    within : str, timedelta, int or None
        A run that began at t accepts events before t + within. None means no limit: matches have no known end, and
        a run stays in the state until an event ends it.
    register : dict
        Initial registers of every run, by name: a value, or a pyarrow type for null. Events change them,
        ``wb.event(col.x > 1, total=wb.register.total + col.x)``, and conditions may read them.
    skip : bool
        True: an event that does not match is ignored, instead of ending the run.
    overlapping : bool
        False: no run starts at an event that moved another run. With `greedy`: no match begins within another one.
    greedy : bool
        True: each begin has at most one match, the one that SQL prefers.
    simultaneous : {"discard", "in_order"}
        "discard" skips events of one key at one time, and ends the runs of the key. "in_order" takes them in
        arrival order.
    output : dict
        Further columns of the result, over registers and columns of matched events: ``wb.first_of("first").x``.
    then : Absence
        ``wb.absent(within="10m")``: a match counts only if no event of its key follows it for so long.
        ``wb.absent(col.x > 1, within="10m")``: no such event. Results are points at the end of this time.
    allow_lookahead : bool
        Allow events with look-ahead, such as results of windows with ``label="start"``, among finer ones.
    """
    if not isinstance(pattern, Pattern):
        raise PlanError(f"detect() needs a pattern, got {type(pattern).__name__}.", where="detect()",
                        hint="Use a pattern, such as wb.sequence(first=col.x > 1, second=col.x < 1).")
    if known.mixed and not allow_lookahead:
        raise PlanError("detect() would use window results before their window has closed.",
                        where="detect()", hint=LOOKAHEAD_HINT)
    ticks = INF if within is None else duration_ticks(within, schema.unit, where=f"detect(..., within={within!r})")
    if within is not None and ticks == INF:  # the engine's own sign for no limit
        raise PlanError(f"within must be below 2**63 - 1 ticks, got {within!r}.",
                        where=f"detect(..., within={within!r})", hint="Use a shorter duration, or None for no limit.")
    if then is not None and not isinstance(then, Absence):
        raise PlanError(f"then must be an absence, got {then!r}.", where="detect(..., then=...)",
                        hint='Use then=wb.absent(within="10m"), or pattern.then(...) for a further event.')
    absence = None if then is None else duration_ticks(then.within, schema.unit, where=f"detect(..., then={then!r})")
    return Detect(pattern=pattern, within=ticks, absence=absence, absent_event=None if then is None else then.condition,
                  register=tuple(_declared(register or {})), skip=skip, overlapping=overlapping, greedy=greedy,
                  simultaneous=simultaneous, output=_outputs(output or {}, schema), keys=keys, unit=schema.unit)


def _declared(register: Beginning) -> Iterator[tuple[str, pa.DataType, Any]]:
    for name, value in register.items():
        check_name(name, "detect")
        if value is None:
            raise PlanError(f"Register {name!r} needs a type, got None as its first value.",
                            where="detect(register=...)",
                            hint="Use a first value, or a type such as pyarrow.int64() to start with null.")
        if isinstance(value, pa.DataType):
            yield name, logical_type(value), None
        else:
            yield name, type_of(lift(value), Schema(())), value


def _outputs(output: Outputs, schema: Schema) -> Keys:
    outputs = named_columns("detect", (), output, schema.names)
    for name, expr in outputs:
        if lifetime_of(expr):
            raise PlanError("output= cannot use the lifetime because a match has none yet.",
                            where=f"detect(output={{{name!r}: {expr.show()}}})",
                            hint="Put it into a column before: with_columns(began=wb.start_time()).")
        loose = sorted(columns_of(expr) - registers_of(expr).keys())
        if loose:
            raise PlanError(f"output= must name the event of column {loose[0]!r}.",
                            where=f"detect(output={{{name!r}: {expr.show()}}})",
                            hint=f"Use wb.last_of('name').{loose[0]} or wb.first_of('name').{loose[0]}.")
    return outputs

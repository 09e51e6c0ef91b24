"""Patterns of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, frozen
from whimbrel.clock import INF, Duration, TickUnit, duration_ticks, quote_ticks
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Expr, Keys, columns_of, evaluate, predicate, type_of
from whimbrel.kernels import Compiled, Kernel, KeyTable
from whimbrel.kernels.primitives.runs import USED, advance_runs
from whimbrel.operators.measure import extend
from whimbrel.operators.pattern import Automaton, Pattern
from whimbrel.plan import Operator, Properties, fluent

Array = np.ndarray[Any, Any]

_advance = Compiled(advance_runs)
_ROOM = 16_384


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
        A run that began at t accepts events before t + within.
    keys : tuple of (str, Expr)
        Events are consecutive within a key; none means all events together.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Contiguity is strict: an event that fits nowhere ends the run. Every event that completes the pattern is a match,
    with the lifetime [time of that event, begin + within). Events of one key at the same time have no order: they are
    passed over, and the key's runs end. Results hold the keys, `first_time` (when the run began) and `events` (its
    length). Shapes: any number of rows out per row in. State: the runs of each key, and events at the newest time.
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
    """

    ends_grouping: ClassVar[bool] = True

    pattern: Pattern
    within: int
    keys: Keys = ()
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        schema, where = upstream[0], self.show()
        if self.within <= 0:
            raise PlanError("within must be longer than nothing.", where=where, hint='such as within="1h"')
        for condition in Automaton.of(self.pattern).conditions:
            type_ = type_of(condition, schema, where=where)
            if not pa.types.is_boolean(type_):
                raise ExpressionError(f"A condition must be true or false; {condition.show()} is {type_}.", where=where)
        keys = [Field(name, type_of(expr, schema, where=where)) for name, expr in self.keys]
        found = [Field("first_time", schema.time_type), Field("events", pa.int64())]
        return schema.with_fields([*keys, *found], where=where)

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=upstream[0].causal)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        exprs = [*Automaton.of(self.pattern).conditions, *(expr for _, expr in self.keys)]
        return (frozenset[str]().union(*map(columns_of, exprs)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        keys = [expr for _, expr in self.keys]
        return DetectKernel(self.schema(*upstream), Automaton.of(self.pattern), self.within, keys)

    def show(self) -> str:
        text = f"detect({self.pattern.show()}, within={quote_ticks(self.within, self.unit)})"
        return text if not self.keys else f"group_by({', '.join(name for name, _ in self.keys)}).{text}"


@fluent
def detect(schema: Schema, pattern: Pattern, *, within: Duration, keys: Keys = ()) -> Detect:
    """Find consecutive events that match a pattern. See :class:`whimbrel.operators.Detect`.

    Parameters
    ----------
    pattern : Pattern
        Such as ``wb.sequence(first=col.x > 1, second=col.x < 1)``.
    within : str, timedelta or int
        A run that began at t accepts events before t + within.
    """
    if not isinstance(pattern, Pattern):
        raise PlanError(f"A {type(pattern).__name__} is not a pattern.", where="detect()",
                        hint="such as wb.sequence(first=col.x > 1, second=col.x < 1)")
    ticks = duration_ticks(within, schema.unit, where=f"detect(..., within={within!r})")
    return Detect(pattern=pattern, within=ticks, keys=keys, unit=schema.unit)


class DetectKernel(Kernel):
    """Waits until a time is complete, then lets its events move the runs of their keys."""

    def __init__(self, schema: Schema, automaton: Automaton, within: int, keys: Sequence[Expr]) -> None:
        self.schema, self.within, self.key_exprs = schema, within, tuple(keys)
        self.conditions = tuple(automaton.conditions)
        self.first, self.last = automaton.first, automaton.last
        self.follow = np.array(automaton.follow, np.int64)
        self.keys = KeyTable([field.type for field in schema.fields[: len(keys)]])
        self.waiting: list[Batch] = []
        self.scalars = np.zeros(2, np.int64)
        self.head, self.length = np.full(1024, -1, np.int64), np.zeros(1024, np.int64)
        self.free, self.after, self.states, self.began, self.events = (np.zeros(_ROOM, np.int64) for _ in range(5))
        self.out = [np.zeros(_ROOM, np.int64) for _ in range(5)]

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.waiting.append(batch.compact())
        return []

    def advance(self, frontier: int, port: int = 0) -> list[Batch]:
        self.frontier = frontier
        if not self.waiting:
            return []
        rows = Batch.concat(self.waiting)
        cut = len(rows) if frontier == INF else int(np.searchsorted(rows.sync, frontier, "left"))
        self.waiting = [rows.slice(cut, len(rows))] if cut < len(rows) else []
        return self._run(rows.slice(0, cut)) if cut else []

    def _run(self, rows: Batch) -> list[Batch]:
        groups = frozen(self.keys.ids([evaluate(expr, rows) for expr in self.key_exprs], len(rows)))
        if len(self.keys) > len(self.head):
            self.head = extend(self.head, 2 * len(self.keys), -1)
            self.length = extend(self.length, 2 * len(self.keys), 0)
        satisfied = np.zeros(len(rows), np.int64)
        for state, condition in enumerate(self.conditions):
            satisfied |= predicate(condition, rows).astype(np.int64) << state
        alone = _alone(rows.sync, groups)
        out = []
        row = 0
        count = np.zeros(1, np.int64)
        while row < len(rows):
            before = row
            row = int(_advance(
                row, rows.sync, groups, frozen(satisfied), frozen(alone),
                self.within, self.first, self.last, self.follow, self.scalars,
                self.free, self.head, self.length, self.after, self.states, self.began, self.events,
                count, *self.out))
            if count[0]:
                out.append(self._batch(int(count[0])))
            elif row == before:
                self._grow()
        return out

    def _grow(self) -> None:
        room = 2 * len(self.free)
        for name in ("free", "after", "states", "began", "events"):
            setattr(self, name, extend(getattr(self, name), room, 0))
        self.out = [np.zeros(2 * len(array), np.int64) for array in self.out]

    def _batch(self, rows: int) -> Batch:
        sync, end, group, first, events = (array[:rows].copy() for array in self.out)
        payload = (*self.keys.values(group), Column(self.schema.time_type, first), Column(pa.int64(), events))
        return Batch(self.schema, sync, end, payload)

    @property
    def buffered_rows(self) -> int:
        return int(self.scalars[USED]) + sum(map(len, self.waiting))


def _alone(sync: Array, groups: Array) -> Array:
    """Whether each event is the only one of its key at its time."""
    order = np.lexsort((groups, sync))
    same = (sync[order][1:] == sync[order][:-1]) & (groups[order][1:] == groups[order][:-1])
    alone = np.ones(len(sync), np.bool_)
    alone[order[1:][same]] = False
    alone[order[:-1][same]] = False
    return alone

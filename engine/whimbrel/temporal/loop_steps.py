"""Steps of a periodic loop as a graph.

Streams are columns without times. A slot is one point of the time grid and lasts until the next. For each slot a stream
says whether an event is active, and whether something starts or ends there; if that is so in all slots, nothing is
stored. An event may be shorter than its slot. If all events last one tick, a stream with another period can be met: it
does not change within a tick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from whimbrel.batch import Schema
from whimbrel.expr import Col, Expr, type_of
from whimbrel.expr.nodes import node
from whimbrel.plan import Aggregate, AggregateFunctions
from whimbrel.plan.typed_aggregate import TypedAggregate


@dataclass(frozen=True, eq=False)
class PeriodicStep:
    """One step, with its input steps.

    Parameters
    ----------
    schema : Schema
        Of what it makes.
    inputs : tuple of PeriodicStep
    """

    schema: Schema
    inputs: tuple[PeriodicStep, ...]


@dataclass(frozen=True, eq=False)
class InputStep(PeriodicStep):
    """An input of the loop, by number. Its events start at slots and last this many ticks, at most a slot.

    Parameters
    ----------
    port, ticks : int
    keys : tuple of int
        Positions of columns: the events of each key are a periodic stream.
    """

    port: int
    ticks: int
    keys: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Sampled(PeriodicStep):
    """An input with another period, in ticks, whose events last until the next. A slot reads the event at its start."""

    port: int
    ticks: int


@dataclass(frozen=True, eq=False)
class Mapped(PeriodicStep):
    """Compute columns from columns."""

    columns: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class FilterStep(PeriodicStep):
    """Keep events for which a condition is true."""

    condition: Expr


@dataclass(frozen=True, eq=False)
class Moved(PeriodicStep):
    """Move events later by a number of slots."""

    slots: int


@dataclass(frozen=True, eq=False)
class Joined(PeriodicStep):
    """Join the columns of two streams at slots where both have an event; or also where only the first has one.

    Parameters
    ----------
    sources : tuple of (int, int)
        Side and position there of each column.
    outer : bool
    """

    sources: tuple[tuple[int, int], ...]
    outer: bool


@dataclass(frozen=True, eq=False)
class Windowed(PeriodicStep):
    """Aggregate windows of a number of slots.

    Parameters
    ----------
    width : int
    aggregates : tuple of (str, Aggregate)
    condition : Expr, optional
        Events for which it is not true count nowhere.
    """

    width: int
    aggregates: tuple[tuple[str, Aggregate], ...]
    condition: Expr | None
    measures: tuple[TypedAggregate, ...] = field(init=False)

    def __post_init__(self) -> None:
        rows, removable = self.inputs[0].schema, False
        measures = []
        for name, aggregate in self.aggregates:
            type_ = None if aggregate.expr is None else type_of(aggregate.expr, rows)
            steps = aggregate.steps(type_, removable=removable)
            assert isinstance(steps, AggregateFunctions)
            measures.append(TypedAggregate(name, aggregate, steps, rows))
        object.__setattr__(self, "measures", tuple(measures))


@dataclass(frozen=True, eq=False)
class Slid(Windowed):
    """Aggregate the events that started within the last `width` slots.

    Parameters
    ----------
    keys : tuple of int
        Positions in the input of the columns that come first in the result.
    """

    keys: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Adjacent(Windowed):
    """Aggregate tumbling windows. Each result is valid for its whole window.

    Parameters
    ----------
    offset : int
        The place at which some window begins.
    """

    offset: int = 0


def keys_of(step: PeriodicStep) -> tuple[int, ...] | None:
    """Where the keys of the inputs are in what a step makes, in the order of the inputs; None: one is not there."""
    if isinstance(step, InputStep | Sampled):
        return step.keys if isinstance(step, InputStep) else ()
    keys = keys_of(step.inputs[0])
    if keys is None:
        return None
    match step:
        case Mapped():
            names, columns = step.inputs[0].schema.names, list(map(node, step.columns))
            found = [[at for at, expr in enumerate(columns) if isinstance(expr, Col) and expr.name == names[key]]
                     for key in keys]
        case Joined():
            found = [[at for at, source in enumerate(step.sources) if source == (0, key)] for key in keys]
        case Windowed():
            before = step.keys if isinstance(step, Slid) else ()
            found = [[at for at, position in enumerate(before) if position == key] for key in keys]
        case _:
            return keys
    return tuple(slots[0] for slots in found) if all(found) else None


def ticks_of(last: PeriodicStep, period: int) -> int | None:
    """How long an event of a step lasts at each place; None: it also changes between places.

    Raises
    ------
    ValueError
        Where a loop over places cannot compute a step that it is made of.
    """
    lasts: dict[int, int | None] = {}
    for step in in_order(last):
        lasts[id(step)] = _ticks_of(step, period, [lasts[id(each)] for each in step.inputs])
    return lasts[id(last)]


def _ticks_of(step: PeriodicStep, period: int, below: list[int | None]) -> int | None:
    match step:
        case InputStep():
            return step.ticks
        case Sampled():
            return None
        case Windowed():
            if None in below:
                raise ValueError("events that start between slots are not counted at slots")
            return period
        case Joined():
            left, right = below
            if left is None or right is None:
                if (right if left is None else left) != 1 or (step.outer and left is None):
                    raise ValueError("events longer than a tick change where a stream with another period does")
                return 1
            if step.outer and right < left:
                raise ValueError("an event of which only the beginning has a partner is two")
            return min(left, right)
    return below[0]


def in_order(last: PeriodicStep) -> Sequence[PeriodicStep]:
    """All steps that one is made of, each once, inputs first."""
    found: dict[int, PeriodicStep] = {}

    def visit(step: PeriodicStep) -> None:
        if id(step) not in found:
            for below in step.inputs:
                visit(below)
            found[id(step)] = step

    visit(last)
    return list(found.values())

"""Write the steps of a periodic loop at one slot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from whimbrel.batch import numpy_type
from whimbrel.expr import Col, Expr
from whimbrel.expr.nodes import node
from whimbrel.expr.null_rejection import rejects_null
from whimbrel.expr.overflow import can_overflow
from whimbrel.kernels.source_text import comment
from whimbrel.plan.typed_aggregate import TypedAggregate
from whimbrel.temporal.bounds import Shifted
from whimbrel.temporal.loop_module import LoopModule
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
)
from whimbrel.temporal.slot_code import Condition, PaneLookup, SlotLines, SlotStream, SlotValue, both, slot

Leaf = tuple[int, int, bool]
"""A column that the loop reads: its input, its position there, and whether its validity is read too."""
Nulls = tuple[tuple[bool, ...], ...]
"""Of each input, of each column, whether it may have nulls."""

BOOL = np.dtype(np.bool_)


@dataclass(frozen=True)
class WindowArrays:
    """Arrays with the values of computed windows.

    Parameters
    ----------
    number : int
        Of where some event is in a window, and where one enters or leaves.
    measures : tuple of int
        Of each aggregate.
    masked : bool
        Whether windows may be empty.
    """

    number: int
    measures: tuple[int, ...]
    masked: bool


class StepWriter:
    """Write steps into the loop at hand, each where it is used.

    Parameters
    ----------
    module : LoopModule
    nulls : Nulls
    period : int
        Ticks of a place.
    masked : bool
        Whether inputs may have places without an event.
    """

    def __init__(self, module: LoopModule, nulls: Nulls, period: int, *, masked: bool) -> None:
        self.module, self.nulls, self.period, self.masked = module, nulls, period, masked
        self.loop = SlotLines()
        self.leaves: dict[tuple[int, int], Leaf] = {}
        self.ports: set[int] = set()
        self.leads: dict[int, None] = {}
        self.slid: dict[int, WindowArrays] = {}
        self.tumbled: dict[Shifted, WindowArrays] = {}

    def begin(self) -> SlotLines:
        """Begin another loop."""
        self.loop = SlotLines()
        return self.loop

    def stream(self, step: PeriodicStep, shift: int) -> SlotStream:
        """The stream of a step, so many slots earlier than the one at hand."""
        made = self.loop.made
        if (id(step), shift) not in made:
            made[id(step), shift] = self._step(step, shift)
        return made[id(step), shift]

    def _step(self, step: PeriodicStep, shift: int) -> SlotStream:
        match step:
            case InputStep():
                return self._input(step, shift)
            case Sampled():
                return self._sampled(step, shift)
            case Adjacent():
                return self._adjacent(step, shift)
            case Slid():
                return self._slid(step, shift)
        below = [self.stream(each, shift + (step.slots if isinstance(step, Moved) else 0)) for each in step.inputs]
        match step:
            case Mapped():
                columns = tuple(self._mapped(expr, step, at, below[0]) for at, expr in enumerate(step.columns))
                return replace(below[0], columns=columns)
            case FilterStep():
                return self._kept(step, below[0])
            case Joined():
                return _joined(step, *below)
        return below[0]
    def _input(self, step: InputStep, shift: int) -> SlotStream:
        row, here = f"uintp({slot('at', shift)})", shift == 0
        columns = self._columns(step, row, here=here)
        if not self.masked:
            return SlotStream(columns, None, None, recomputed=True)
        there, changes = self._masks(step, row, here=here)
        return SlotStream(columns, there, None if step.ticks < self.period else changes, recomputed=True)

    def _sampled(self, step: Sampled, shift: int) -> SlotStream:
        row, self.leads[step.port] = f"row{self.module.number()}", None
        at = slot("at", shift)
        ticks = f"uintp(lead{step.port} + {at if shift == 0 else f'({at})'} * period)"
        self.loop.lines.append(f"{row} = {ticks} // uintp({step.ticks})  {comment(f'a period of {step.ticks}')}")
        columns, begins = self._columns(step, row, here=False), Condition(f"({ticks} % uintp({step.ticks}) == 0)")
        if not self.masked:
            return SlotStream(columns, None, begins)
        there, changes = self._masks(step, row, here=False)
        return SlotStream(columns, there, both(begins, changes))

    def _columns(self, step: InputStep | Sampled, row: str, *, here: bool) -> tuple[SlotValue, ...]:
        """The columns of a row of an input, which may be `here`, at the slot at hand."""
        columns = []
        for position, with_nulls in enumerate(self.nulls[step.port]):
            self.leaves.setdefault((step.port, position), (step.port, position, with_nulls))
            values, valid = (f"{kind}{step.port}_{position}" for kind in "cv")
            columns.append(SlotValue(f"{values}[{row}]", (_entry(valid, row, here=here),) if with_nulls else (),
                                     values if here else None))
        return tuple(columns)

    def _masks(self, step: InputStep | Sampled, row: str, *, here: bool) -> tuple[Condition, Condition]:
        """Whether a row of an input is there, and whether something changes there."""
        self.ports.add(step.port)
        return _entry(f"there{step.port}", row, here=here), _entry(f"changes{step.port}", row, here=here)

    def _mapped(self, expr: Expr, step: Mapped, at: int, given: SlotStream) -> SlotValue:
        schema = step.inputs[0].schema
        value = given.value(expr, schema)
        if isinstance(node(expr), Col) or (value.array is not None and not value.valid):
            return value
        number, valid = self.module.number(), both(*value.valid)
        if valid is not None:
            self.loop.lines.append(f"given{number} = {valid.text}")
            valid = Condition(f"given{number}")
        # What may fail is not computed where there is no event.
        needed = both(given.present, valid) if can_overflow(expr, schema) else valid
        text = value.text
        if needed is not None:
            text = f"{text} if {needed.text} else {zero(step.schema.fields[at].type)}"
        self.loop.lines.append(f"value{number} = {text}  {comment(f'{step.schema.names[at]}={expr.show()}')}")
        return SlotValue(f"value{number}", () if valid is None else (valid,))

    def _kept(self, step: FilterStep, given: SlotStream) -> SlotStream:
        name, true = f"kept{self.module.number()}", given.true(step.condition, step.schema)
        self.loop.lines.append(f"{name} = {_text(both(given.present, true))}  {comment(step.condition.show())}")
        known = [each for column in rejects_null(step.condition)
                 for each in given.columns[step.schema.index(column)].valid]
        columns = tuple(column.where(known) for column in given.columns)
        return replace(given, columns=columns, present=Condition(name), begins=None)

    def _adjacent(self, step: Adjacent, shift: int) -> SlotStream:
        arrays = self.tumbled[id(step), shift]
        number = arrays.number
        names = [(f"window{q}", *([] if measure.steps.always else [f"known{q}"]))
                 for q, measure in zip(arrays.measures, step.measures, strict=True)]
        read = [*names, (f"some{number}",)] if arrays.masked else names
        lines = tuple(f"{', '.join(f'at_{name}' for name in each)} = "
                      f"{', '.join(f'{name}[which{number}]' for name in each)}" for each in read)
        panes = PaneLookup(number, step.width, lines)
        self.loop.panes.append(panes)
        columns = tuple(SlotValue(physical(measure, f"at_{values}"), tuple(Condition(f"at_{each}") for each in valid))
                        for (values, *valid), measure in zip(names, step.measures, strict=True))
        edge = Condition(f"((at - begin{number}) % {step.width} == 0)", panes=panes)
        return SlotStream(columns, Condition(f"at_some{number}") if arrays.masked else None, edge)

    def _slid(self, step: Slid, shift: int) -> SlotStream:
        """Of the arrays in which the windows stand."""
        known, row, here = self.slid[id(step)], f"uintp({slot('at', shift)})", shift == 0
        keys = [self.stream(step.inputs[0], shift).columns[key] for key in step.keys]
        columns = [SlotValue(physical(measure, f"shown{q}[{row}]"),
                             () if measure.steps.always else (_entry(f"shown{q}_valid", row, here=here),),
                             f"shown{q}" if here and _lossless(measure) else None)
                   for q, measure in zip(known.measures, step.measures, strict=True)]
        if not known.masked:
            return SlotStream((*keys, *columns), None, None)
        alive, turns, begins = (_entry(f"{name}{known.number}", row, here=here)
                                for name in ("alive", "turns", "begins"))
        return SlotStream((*keys, *columns), alive, turns, begins=begins)

    # Parts of a window.

    def starting(self, step: Windowed, given: SlotStream) -> Condition | None:
        """Whether an event begins that counts; None: always."""
        if step.condition is None:
            return given.starts
        return both(given.starts, given.true(step.condition, step.inputs[0].schema))

    def entering(self, measure: TypedAggregate, step: Windowed, given: SlotStream, started: Condition | None
                 ) -> SlotValue:
        """What an event brings to an aggregate; it is valid where the event counts."""
        aggregate, schema = measure.aggregate, step.inputs[0].schema
        tests = () if started is None else (started,)
        if aggregate.condition is not None:
            tests = (*tests, given.true(aggregate.condition, schema))
        if aggregate.expr is None:
            return SlotValue("1", tests)
        value = given.value(aggregate.expr, schema)
        return SlotValue(f"np.{measure.value_dtypes[0]}({value.text})", (*tests, *value.valid), value.array)


def _joined(step: Joined, left: SlotStream, right: SlotStream) -> SlotStream:
    changes = None
    if left.changes is not None and right.changes is not None:
        changes = Condition(f"({left.changes.text} or {right.changes.text})")
    if not step.outer:
        columns = tuple((left, right)[side].columns[position] for side, position in step.sources)
        present = left.present or right.present
        if left.present is not None and right.present is not None:
            present = Condition(f"({left.present.text} & {right.present.text})")
        return SlotStream(columns, present, changes, left.recomputed or right.recomputed)
    met = () if right.present is None else (right.present,)
    partner = tuple(replace(value, valid=(*met, *value.valid)) for value in right.columns)
    columns = tuple((left.columns, partner)[side][position] for side, position in step.sources)
    return SlotStream(columns, left.present, changes, left.recomputed)


def _entry(array: str, row: str, *, here: bool) -> Condition:
    """The entry of an array of booleans."""
    return Condition(f"{array}[{row}]", array if here else None)


def _text(condition: Condition | None) -> str:
    return "True" if condition is None else condition.text


def physical(measure: TypedAggregate, text: str) -> str:
    """A value as the column of the aggregate has it."""
    dtype = numpy_type(measure.type)
    assert dtype is not None
    return f"({text} != 0)" if dtype == BOOL else text if dtype == measure.out_dtypes[0] else f"np.{dtype}({text})"


def zero(type_: pa.DataType) -> str:
    """Code of a value for a column of this type where there is none."""
    dtype = numpy_type(type_)
    assert dtype is not None
    return "False" if dtype == BOOL else f"np.{dtype}(0)"


def _lossless(measure: TypedAggregate) -> bool:
    """Whether the column of an aggregate has the values that were written."""
    dtype = numpy_type(measure.type)
    return dtype is not None and np.can_cast(measure.out_dtypes[0], dtype)

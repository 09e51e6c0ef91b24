"""Write the lines of a periodic loop.

The lines compute each step at one slot, in loops over the slots.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import numpy_type
from whimbrel.expr import Col, Expr, predicate_source, to_source
from whimbrel.expr.codegen import Text
from whimbrel.expr.nodes import node
from whimbrel.kernels.source_text import comment
from whimbrel.plan import AggregateFunctions, TwoPasses
from whimbrel.plan.aggregate_source import Functions
from whimbrel.plan.typed_aggregate import TypedAggregate
from whimbrel.temporal.bounds import Needs, Shifted
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
from whimbrel.temporal.loop_text import LoopText, PaneLookup, StreamText, both, indented
from whimbrel.temporal.window_algorithms import algebra_of, fresh_state, in_strings, is_short, physical, time_of

Leaf = tuple[int, int, bool]
"""A column that the loop reads: its input, its position there, and whether its validity is read too."""
Nulls = tuple[tuple[bool, ...], ...]
"""Of each input, of each column, whether it may have nulls."""

_BOOL = np.dtype(np.bool_)
_MAY_FAIL = ("checked_", "floor_div(", "whole(", "within(")
_WHOLE_ARRAY = re.compile(r"(?:np\.(\w+)\((?:np\.\1\()?)?(?P<array>\w+)\[uintp\(at\)\]\)*")
"""A value that stands in an array by place, and nothing is done to it."""


@dataclass(frozen=True)
class _Windows:
    """What was computed of windows that slide: the numbers of the arrays in which it stands, by place.

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


class LoopWriter:
    """Write the loops of one generated module, and collect their arguments.

    Parameters
    ----------
    nulls : Nulls
    period : int
        Ticks of a place.
    masked : bool
        Whether inputs may have places without an event.
    max_slots : int
        The most places that are given at once.
    """

    def __init__(self, nulls: Nulls, period: int, *, masked: bool, max_slots: int) -> None:
        self.nulls, self.period, self.masked, self.max_slots = nulls, period, masked, max_slots
        self.loop = LoopText()
        self.leaves: dict[tuple[int, int], Leaf] = {}
        self.ports: set[int] = set()
        self.leads: dict[int, None] = {}
        self.imports: dict[str, str] = {}
        self.names: dict[tuple[str, int], str] = {}
        self.functions: Functions = {}
        self.scratch: dict[str, tuple[np.dtype[Any], int]] = {}
        self.slid: dict[int, _Windows] = {}
        self.defined: dict[tuple[str, ...], str] = {}
        self.written: dict[Shifted, tuple[int, list[int], bool]] = {}
        self.numbers = 0

    @property
    def definitions(self) -> list[str]:
        """Functions that the loops call."""
        return [line for (head, *lines), name in self.defined.items()
                for line in (f"def {name}({head}):", *indented(lines), "", "")]

    def rows(self, last: PeriodicStep, *, timed: bool) -> tuple[StreamText, list[str]]:
        """The loop that writes the rows of the result; with their times where it is not a row for every place.

        Parameters
        ----------
        last : Step
        timed : bool
            Whether it writes times in any case.
        """
        loop = self.loop = LoopText()
        result = self._stream(last, 0)
        alone = result.changes is None or result.recomputed
        everywhere = result.present is None and alone and not timed
        row = "uintp(at - first)" if everywhere else "uintp(done)"
        write = [] if everywhere else [f"out_sync[{row}] = time + at * period"]
        for at, (value, valid) in enumerate(result.columns):
            shown = value if valid is None else f"{value} if {valid} else {_zero(last.schema.fields[at].type)}"
            write += [f"out{at}[{row}] = {shown}", *([] if valid is None else [f"out{at}_valid[{row}] = {valid}"])]
        if everywhere:
            return result, [*loop.over("first", "stop", write), "count[0], count[1] = stop - first, True",
                            "count[2], count[3] = True, time + first * period"]
        if alone:
            lines = [*write, f"going = {result.present or True}", "done += going"]
            return result, ["done, going = 0, False", *loop.over("first", "stop", lines),
                            "count[0], count[1] = done, going", "count[2], count[3] = True, time + first * period"]
        lines = [
            f"if {result.changes}:",
            *indented(["out_end[uintp(done - going)] = time + at * period",  # where none continues, it is written again
                     "if not count[2]:", "    count[2], count[3] = True, time + at * period",
                     *write, f"going = {result.present or True}", "done += going"])]
        return result, ["done, going, count[2] = 0, False, False", *loop.over("first", "stop", lines, result.changes),
                        "count[0], count[1] = done, going"]

    def windows(self, step: Adjacent, key: Shifted, needs: Needs) -> list[str]:
        """The loop that computes tumbling windows into arrays."""
        loop = self.loop = LoopText()
        given = self._stream(step.inputs[0], key[1])
        number, starts, measures = self._next(), self._starting(step, given), []
        maximum, width, phase = self.max_slots // step.width + 3, step.width, _slot(f"base - {step.offset + key[1]}")
        entering: list[tuple[list[str], str]] = []
        turned: list[str] = []
        emit = []
        nearer: list[tuple[list[str], str]] = []
        for measure in step.measures:
            measures.append(q := self._functions(algebra := algebra_of(measure)))
            self._array(f"window{q}", measure.out_dtypes[0], maximum)
            if not measure.steps.always:
                self._array(f"known{q}", _BOOL, maximum)
            value, tests = self._value(measure, step, given, starts and f"started{number}")
            accumulate = self.names["accumulate", q]
            line = f"state{q} = {accumulate}(state{q}, {value}{time_of(measure, 'at')})  {in_strings(measure)}"
            entering.append((tests, line))
            state = f"state{q}"
            if isinstance(algebra, TwoPasses):
                state = f"about{q}"
                turned.append(f"about{q} = {self.names['turn', q]}(state{q})")
                nearer.append((tests, f"about{q} = {self.names['again', q]}(about{q}, {value})  {in_strings(measure)}"))
            emit.append(self._shown(measure, q, state, f"window{q}", f"known{q}", "window"))
        fresh = [" = ".join([", ".join(f"state{q}" for q in measures),
                             ", ".join(fresh_state(algebra_of(measure)) for measure in step.measures)])]
        enter, again = _grouped(entering), _grouped(nearer)
        if starts is not None:
            self.scratch[f"some{number}"] = _BOOL, maximum
            fresh.append("some = False")
            enter = [f"started{number} = {starts}", f"some = some or started{number}", *enter]
            again = [f"started{number} = {starts}", *again]
            emit.append(f"some{number}[window] = some")
        self.written[key] = number, measures, starts is not None
        begun, over = _slot(f"first - {needs.back}"), _slot(f"stop - {-needs.forward}")
        return [
            f"begin{number} = {begun} - ({phase} + {begun}) % {width}  {_window(step)}",
            f"for window in range(-((begin{number} - ({over})) // {width})):",
            *indented([f"begun{number} = begin{number} + window * {width}", *fresh,
                       *loop.over(f"begun{number}", f"begun{number} + {width}", enter), *turned,
                       *(loop.over(f"begun{number}", f"begun{number} + {width}", again) if turned else []), *emit])]

    def slides(self, step: Slid, needs: Needs) -> list[str]:
        """The loops that compute windows that slide into arrays, by place.

        The places are cut into blocks of `width`; a window is the rest of one block and the beginning of the next.
        The states of rests are computed when a block is complete, and merged with that of the beginning (van Herk,
        1992). No state is removed, which would round, and the result depends on the slots of the stream only.
        """
        loop = self.loop = LoopText()
        given, number = self._stream(step.inputs[0], 0), self._next()
        begin, first, stop = f"begin{number}", _slot(f"first - {needs.back}"), _slot(f"stop - {-needs.forward}")
        starts, started = self._starting(step, given), f"starts{number}"
        before: list[str] = []
        after: list[str] = []
        measures: list[int] = []
        if starts is not None:
            self.imports["window_turns"] = "whimbrel.kernels.primitives.windows.sliding_masks"
            started = self._as_array(starts, started, _BOOL, before)
            turned = [self._by_slot(f"{name}{number}", _BOOL) for name in ("alive", "turns", "begins")]
            after.append(f"window_turns({started}, {first}, {stop}, {step.width}, {', '.join(turned)})")
        for measure in step.measures:
            short = is_short(step, measure)
            measures.append(q := self._functions(algebra_of(measure)) if short else
                            self._functions(measure.steps, merged=True))
            value, tests = self._value(measure, step, given, starts and f"{started}[uintp(at)]")
            arrays = []
            if measure.aggregate.expr is not None:
                if tests and any(name in value for name in _MAY_FAIL):  # as elsewhere: not where there is no event
                    value = f"{value} if {' and '.join(tests)} else np.{measure.value_dtypes[0]}(0)"
                arrays.append(self._as_array(value, f"held{q}", measure.value_dtypes[0], before))
            if tests:
                arrays.append(self._as_array(" and ".join(tests), f"counts{q}", _BOOL, before))
            shown = [self._by_slot(f"shown{q}", measure.out_dtypes[0])]
            shown += [] if measure.steps.always else [self._by_slot(f"shown{q}_valid", _BOOL)]
            if short:
                arguments = ", ".join([*arrays, first, stop, *shown])
                each = self._each(measure, q, step.width, counted=bool(tests))
                after.append(f"{each}({arguments})  {in_strings(measure)}")
                continue
            rests = [self._array(f"{name}{q}_{at}", np.asarray(initial).dtype, step.width)
                     for name in ("rest", "left") for at, initial in enumerate(measure.steps.init)]
            times = ["time", "period"] if measure.steps.timed else []
            arguments = ", ".join([*arrays, begin, stop, str(step.width), *times, *rests, *shown])
            after.append(f"{self._slide(measure, q, counted=bool(tests))}({arguments})  {in_strings(measure)}")
        self.slid[id(step)] = _Windows(number, tuple(measures), starts is not None)
        oldest = needs.back + step.width
        blocks = f"{begin} = first - {oldest} - (base + first - {oldest}) % {step.width}  {_window(step)}"
        loops = [*(loop.over(begin, stop, before) if before else []), *after]
        return [blocks, *loops] if any(begin in line for line in loops) else loops

    def _slide(self, measure: TypedAggregate, q: int, *, counted: bool) -> str:
        """The function that slides windows of an aggregate, which is written once for all that are alike."""
        valued, fresh = measure.aggregate.expr is not None, fresh_state(measure.steps)
        rests, lefts = ([f"{name}{at}" for at in range(len(measure.steps.init))] for name in ("rest", "left"))
        merge, fields = self.names["merge", q], "".join(f"{name}[uintp(at - block + 1)], " for name in rests).strip()
        head = [*(["values"] if valued else []), *(["counts"] if counted else []), "begin", "stop", "width",
                *(["time", "period"] if measure.steps.timed else []), *rests, *lefts, "out",
                *([] if measure.steps.always else ["valid"])]
        whole = f"{merge}(({fields}), state) if at - block + 1 < width else state"

        def entering(state: str, slot: str, begun: str, into: str) -> list[str]:
            value = f"np.{measure.value_dtypes[0]}(values[uintp({slot})])" if valued else "1"
            text = into.format(f"{self.names['accumulate', q]}({begun}, {value}{time_of(measure, slot)})")
            if not counted:
                return [f"{state} = {text}"]
            if self.names["accumulate", q] not in self.imports:  # a user's own may fail where nothing is
                return [f"{state} = {text} if counts[uintp({slot})] else {state}"]
            return [f"moved = {text}", f"{state} = moved if counts[uintp({slot})] else {state}"]  # so it needs no jump

        inner = [
            *entering("state", "at", "state", "{}"),
            "if block > begin:",
            f"    {self._shown(measure, q, whole, 'out', 'valid', 'uintp(at)')}",
            "back = block + end - 1 - at  # what is left of the block, and slides out with the next",
            *entering("left", "back", fresh, f"{merge}({{}}, left)"),
            f"{' '.join(f'{name}[uintp(back - block)],' for name in lefts)} = left"]
        lines = (
            ", ".join(head),
            "for block in range(begin, stop, width):",
            f"    end, state, left = min(block + width, stop), {fresh}, {fresh}",
            "    for at in range(block, end):  # from both sides at once: neither waits for the other",
            *indented(indented(inner)),
            f"    {', '.join([*rests, *lefts])} = {', '.join([*lefts, *rests])}")
        return self.defined.setdefault(lines, f"slide{q}")

    def _each(self, measure: TypedAggregate, q: int, width: int, *, counted: bool) -> str:
        """The function that recomputes each window of an aggregate.

        Windows do not depend on each other, so SIMD instructions compute several at once.
        """
        valued, algebra = measure.aggregate.expr is not None, algebra_of(measure)
        value = f"np.{measure.value_dtypes[0]}(values[uintp(at - back)])" if valued else "1"
        head = [*(["values"] if valued else []), *(["counts"] if counted else []), "first", "stop", "out",
                *([] if measure.steps.always else ["valid"])]

        def through(state: str, role: str, begun: str) -> list[str]:
            text = f"{self.names[role, q]}({state}, {value})"
            lines = [f"next_{state} = {text}", f"{state} = next_{state} if counts[uintp(at - back)] else {state}"]
            return [f"{state} = {begun}", f"for back in range({width - 1}, -1, -1):",
                    *indented(lines if counted else [f"{state} = {text}"])]

        passes, last = through("state", "accumulate", fresh_state(algebra)), "state"
        if isinstance(algebra, TwoPasses):
            passes, last = [*passes, *through("about", "again", f"{self.names['turn', q]}(state)")], "about"
        lines = (", ".join(head), "for at in range(first, stop):", *indented(passes),
                 f"    {self._shown(measure, q, last, 'out', 'valid', 'uintp(at)')}")
        return self.defined.setdefault(lines, f"slide{q}")

    def _shown(self, measure: TypedAggregate, q: int, state: str, out: str, valid: str, slot: str) -> str:
        """The line that writes the value of a state, and whether it has one."""
        value = f"{self.names['result', q]}({state})"
        if measure.steps.always:
            return f"{out}[{slot}] = {value}"
        self.imports["show"] = "whimbrel.kernels.primitives.aggregation.write_value"
        return f"{valid}[{slot}] = show({value}, {out}, {slot})"

    def _as_array(self, text: str, name: str, dtype: np.dtype[Any], lines: list[str]) -> str:
        """An array by place of what a text is there: the one that it reads, or a new one that further lines write."""
        plain = _WHOLE_ARRAY.fullmatch(text)
        if plain is not None:
            return plain["array"]
        lines.append(f"{self._by_slot(name, dtype)}[uintp(at)] = {text}")
        return name

    def _by_slot(self, name: str, dtype: np.dtype[Any]) -> str:
        """An array that has a value for every place."""
        return self._array(name, dtype, self.max_slots)

    def _array(self, name: str, dtype: np.dtype[Any], length: int) -> str:
        self.scratch[name] = np.dtype(dtype), length
        return name

    # Each step, at one place.

    def _stream(self, step: PeriodicStep, shift: int) -> StreamText:
        made = self.loop.made
        if (id(step), shift) not in made:
            made[id(step), shift] = self._step(step, shift)
        return made[id(step), shift]

    def _step(self, step: PeriodicStep, shift: int) -> StreamText:
        if isinstance(step, InputStep):
            return self._given(step, f"uintp({_slot(f'at - {shift}')})", None if step.ticks < self.period else "")
        if isinstance(step, Sampled):
            return self._sampled(step, shift)
        if isinstance(step, Adjacent):
            return self._adjacent(step, shift)
        if isinstance(step, Slid):
            return self._slid(step, shift)
        below = [self._stream(each, shift + (step.slots if isinstance(step, Moved) else 0)) for each in step.inputs]
        match step:
            case Mapped():
                columns = tuple(self._mapped(expr, step, at, below[0]) for at, expr in enumerate(step.columns))
                return replace(below[0], columns=columns)
            case FilterStep():
                name, true = f"kept{self._next()}", predicate_source(step.condition, step.schema,
                                                                     below[0].bind(step.schema))
                self.loop.lines.append(f"{name} = {both(below[0].present, true)}  {comment(step.condition.show())}")
                _, valid = to_source(step.condition, step.schema, below[0].bind(step.schema))
                return replace(below[0], columns=_known(below[0].columns, valid), present=name, begins=None)
            case Joined():
                return _joined(step, *below)
        return below[0]

    def _given(self, step: InputStep | Sampled, row: str, begins: str | None) -> StreamText:
        """The columns of an input, of which events may begin where `begins` says; None: all last less than a place."""
        at, columns = f"[{row}]", []
        for position in range(len(step.schema.fields)):
            with_nulls = self.nulls[step.port][position]
            self.leaves.setdefault((step.port, position), (step.port, position, with_nulls))
            columns.append((f"c{step.port}_{position}{at}", f"v{step.port}_{position}{at}" if with_nulls else None))
        if not self.masked:
            return StreamText(tuple(columns), None, begins or None, isinstance(step, InputStep))
        self.ports.add(step.port)
        changes = None if begins is None else both(begins, f"changes{step.port}{at}")
        return StreamText(tuple(columns), f"there{step.port}{at}", changes, isinstance(step, InputStep))

    def _sampled(self, step: Sampled, shift: int) -> StreamText:
        row, self.leads[step.port] = f"row{self._next()}", None
        slot = _slot(f"at - {shift}")
        ticks = f"uintp(lead{step.port} + {slot if shift == 0 else f'({slot})'} * period)"
        self.loop.lines.append(f"{row} = {ticks} // uintp({step.ticks})  {comment(f'a period of {step.ticks}')}")
        return self._given(step, row, f"({ticks} % uintp({step.ticks}) == 0)")

    def _mapped(self, expr: Expr, step: Mapped, at: int, given: StreamText) -> Text:
        schema = step.inputs[0].schema
        if isinstance(node(expr), Col):
            return given.bind(schema)(expr)
        value, valid = to_source(expr, schema, given.bind(schema))
        if valid is None and _WHOLE_ARRAY.fullmatch(value):
            return value, None
        number = self._next()
        if valid is not None:
            self.loop.lines.append(f"given{number} = {valid}")
            valid = f"given{number}"
        # What may fail is not computed where there is no event.
        needed = both(given.present, valid) if any(name in value for name in _MAY_FAIL) else valid
        value = value if needed is None else f"{value} if {needed} else {_zero(step.schema.fields[at].type)}"
        self.loop.lines.append(f"value{number} = {value}  {comment(f'{step.schema.names[at]}={expr.show()}')}")
        return f"value{number}", valid

    def _adjacent(self, step: Adjacent, shift: int) -> StreamText:
        number, measures, some = self.written[id(step), shift]
        names = [(f"window{q}", *([] if measure.steps.always else [f"known{q}"]))
                 for q, measure in zip(measures, step.measures, strict=True)]
        read = [*names, (f"some{number}",)] if some else names
        lines = tuple(f"{', '.join(f'at_{name}' for name in each)} = "
                      f"{', '.join(f'{name}[which{number}]' for name in each)}" for each in read)
        each = PaneLookup(number, step.width, lines)
        self.loop.adjacent.append(each)
        columns = tuple((physical(measure, f"at_{name[0]}"), f"at_{name[1]}" if len(name) > 1 else None)
                        for name, measure in zip(names, step.measures, strict=True))
        return StreamText(columns, f"at_some{number}" if some else None, each.edge)

    def _slid(self, step: Slid, shift: int) -> StreamText:
        """Of the arrays in which the windows stand."""
        known, at = self.slid[id(step)], f"[uintp({_slot(f'at - {shift}')})]"
        keys = [self._stream(step.inputs[0], shift).columns[key] for key in step.keys]
        columns = [(physical(measure, f"shown{q}{at}"), None if measure.steps.always else f"shown{q}_valid{at}")
                   for q, measure in zip(known.measures, step.measures, strict=True)]
        if not known.masked:
            return StreamText((*keys, *columns), None, None)
        alive, turns, begins = (f"{name}{known.number}{at}" for name in ("alive", "turns", "begins"))
        return StreamText((*keys, *columns), alive, turns, begins=begins)

    # Parts of a window.

    def _next(self) -> int:
        self.numbers += 1
        return self.numbers

    def _functions(self, algebra: AggregateFunctions | TwoPasses, *, merged: bool = False) -> int:
        """A number for an aggregate. Its functions keep their names; user-defined ones are named by the number."""
        number = self._next()
        passes = ["accumulate", "turn", "again"] if isinstance(algebra, TwoPasses) else ["accumulate"]
        for role in [*passes, *(["merge"] if merged else []), "result"]:
            function = getattr(algebra, role)
            self.names[role, number] = name = function.__name__
            if function.__module__.startswith("whimbrel.aggregates.") and "<" not in function.__qualname__ and (
                    self.imports.setdefault(name, function.__module__) == function.__module__):
                continue
            self.names[role, number] = f"{role}{number}"
            self.functions[f"{role}{number}"] = function
        return number

    def _starting(self, step: Windowed, given: StreamText) -> str | None:
        """Text of whether an event begins that counts; None: always."""
        if step.condition is None:
            return given.starts
        schema = step.inputs[0].schema
        return both(given.starts, predicate_source(step.condition, schema, given.bind(schema)))

    def _value(self, measure: TypedAggregate, step: Windowed, given: StreamText, started: str | None) -> tuple[str,
        list[str]]:
        """Text of what an event brings to an aggregate, and of what must be true for that."""
        aggregate, schema = measure.aggregate, step.inputs[0].schema
        bind = given.bind(schema)
        tests = [] if started is None else [started]
        if aggregate.condition is not None:
            tests.append(predicate_source(aggregate.condition, schema, bind))
        if aggregate.expr is None:
            return "1", tests
        value, valid = to_source(aggregate.expr, schema, bind)
        tests += [] if valid is None else [valid]
        return f"np.{measure.value_dtypes[0]}({value})", tests


def _known(columns: Sequence[Text], valid: str | None) -> tuple[Text, ...]:
    """The columns where the value of a condition is known: those that it reads have values there, then."""
    read = set() if valid is None or any(word in valid for word in (" or ", "not ", " if ")) else _parts(valid)
    return tuple((value, None if known is not None and _parts(known) <= read else known) for value, known in columns)


def _parts(text: str) -> set[str]:
    """What must be true, all of it."""
    return set(text.replace("(", "").replace(")", "").split(" and "))


def _joined(step: Joined, left: StreamText, right: StreamText) -> StreamText:
    sides = left.columns, right.columns
    columns = [(side, *sides[side][position]) for side, position in step.sources]
    changes = None if left.changes is None or right.changes is None else f"({left.changes} or {right.changes})"
    if not step.outer:
        shown = tuple((value, valid) for _, value, valid in columns)
        there = [text for text in (left.present, right.present) if text]
        present = f"({there[0]} & {there[1]})" if len(there) == 2 else "".join(there) or None
        return StreamText(shown, present, changes, left.recomputed or right.recomputed)
    shown = tuple((value, valid if side == 0 else both(right.present, valid)) for side, value, valid in columns)
    return StreamText(shown, left.present, changes, left.recomputed)


def _zero(type_: pa.DataType) -> str:
    dtype = numpy_type(type_)
    assert dtype is not None
    return "False" if dtype == _BOOL else f"np.{dtype}(0)"


def _window(step: Windowed) -> str:
    return comment(f"windows of {step.width}")


def _slot(text: str) -> str:
    """``x - 3`` for three slots before x; plain for the slot itself, or for a later one."""
    name, sign, number = text.split(" ", 2)
    return name if number == "0" else f"{name} + {number[1:]}" if number.startswith("-") else f"{name} {sign} {number}"


def _grouped(lines: Sequence[tuple[list[str], str]]) -> list[str]:
    """Lines under their conditions. Consecutive lines share a condition."""
    return [line for tests, group in groupby(lines, itemgetter(0))
            for line in _when(tests, [line for _, line in group])]


def _when(tests: Sequence[str], lines: list[str]) -> list[str]:
    return [f"if {' and '.join(tests)}:", *indented(lines)] if tests else lines

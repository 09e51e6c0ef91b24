"""The lines of a loop on a beat: what each step is at one place, and the loops that go over places."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, cast

import numpy as np
import pyarrow as pa

from whimbrel.batch import Schema, numpy_type
from whimbrel.expr import Col, Expr, predicate_source, to_source
from whimbrel.expr.nodes import node
from whimbrel.expr.source import Bind, Text
from whimbrel.operators.aggregate_text import Functions, comment, literal
from whimbrel.operators.beat_needs import Needs, Shifted
from whimbrel.operators.beat_steps import (
    Adjacent,
    Given,
    Joined,
    Kept,
    Mapped,
    Moved,
    Sampled,
    Slid,
    Step,
    Windowed,
)
from whimbrel.operators.measure import Measure

Leaf = tuple[int, int, bool]
"""A column that the loop reads: its input, its position there, and whether its validity is read too."""

_BOOL = np.dtype(np.bool_)
_MAY_FAIL = ("checked_", "floor_div(", "whole(", "within(")
_WHOLE_ARRAY = re.compile(r"(?:np\.\w+\()?(\w+)\[uintp\(at\)\]\)?")
"""A value that stands in an array by place, and nothing is done to it."""


@dataclass(frozen=True)
class _Stream:
    """Texts of a stream at one place; None: an event is everywhere, or something changes everywhere.

    Where events are `anew`, one begins at each place that has one.
    """

    columns: tuple[Text, ...]
    present: str | None
    changes: str | None
    anew: bool = False

    @property
    def starts(self) -> str | None:
        """Text of whether an event begins; None: always."""
        return self.present if self.anew else _both(self.present, self.changes)

    def bind(self, schema: Schema) -> Bind:
        return lambda leaf: self.columns[schema.index(cast(Col, node(leaf)).name)]


@dataclass(frozen=True)
class _Beside:
    """Adjacent windows that a loop looks into: their number and width, and the lines that read the one that is on."""

    number: int
    width: int
    lines: tuple[str, ...]

    @property
    def edge(self) -> str:
        """Text of whether a window begins."""
        return f"((at - begin{self.number}) % {self.width} == 0)"


@dataclass
class _Loop:
    """Lines inside a loop, the adjacent windows that it looks into, and the streams made so far."""

    lines: list[str] = field(default_factory=list)
    beside: list[_Beside] = field(default_factory=list)
    made: dict[Shifted, _Stream] = field(default_factory=dict)

    def over(self, first: str, stop: str, lines: list[str], changes: str | None = None) -> list[str]:
        """The whole loop, where `lines` are what is done at each place, and nothing is where nothing `changes`."""
        lines = [*self.lines, *lines]
        edges = [each for each in self.beside if each.edge == changes]
        if len(self.beside) == 1 and not edges:  # window by window: what it reads of each stays the same
            each, = self.beside
            begin, begun, which, width = (*(f"{name}{each.number}" for name in ("begin", "begun", "which")), each.width)
            last = f"-(({begin} - ({stop})) // {width})"
            return [f"for {which} in range(({first} - {begin}) // {width}, {last}):",
                    *indented([f"{begun} = {begin} + {which} * {width}", *each.lines]),
                    f"    for at in range(max({first}, {begun}), min({stop}, {begun} + {width})):",
                    *indented(indented(lines))]
        places = f"{first}, {stop}"
        if edges:
            begin, width = f"begin{edges[0].number}", edges[0].width
            places = f"{first} + ({begin} - ({first})) % {width}, {stop}, {width}"
        read = [line for each in self.beside
                for line in (f"which{each.number} = (at - begin{each.number}) // {each.width}", *each.lines)]
        return [f"for at in range({places}):", *indented([*read, *lines])]


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


class BeatWriter:
    """Writes the loops of one text, and keeps what they are called with.

    Parameters
    ----------
    nulls : callable
        Whether the column of an input, by their positions, may have nulls.
    period : int
        Ticks of a place.
    masked : bool
        Whether inputs may have places without an event.
    most_places : int
        The most places that are given at once.
    """

    def __init__(self, nulls: Callable[[int, int], bool], period: int, *, masked: bool, most_places: int) -> None:
        self.nulls, self.period, self.masked, self.most_places = nulls, period, masked, most_places
        self.loop = _Loop()
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

    def rows(self, last: Step, *, timed: bool) -> tuple[_Stream, list[str]]:
        """The loop that writes the rows of the result; with their times where it is not a row for every place.

        Parameters
        ----------
        last : Step
        timed : bool
            Whether it writes times in any case.
        """
        loop = self.loop = _Loop()
        result = self._stream(last, 0)
        alone = result.changes is None or result.anew
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
            *indented(["if going:", "    out_end[done - 1] = time + at * period",
                     "if not count[2]:", "    count[2], count[3] = True, time + at * period",
                     f"going = {result.present or True}", "if going:", *indented(write), "    done += 1"])]
        return result, ["done, going, count[2] = 0, False, False", *loop.over("first", "stop", lines, result.changes),
                        "count[0], count[1] = done, going"]

    def windows(self, step: Adjacent, key: Shifted, needs: Needs) -> list[str]:
        """The loop that computes adjacent windows into arrays."""
        loop = self.loop = _Loop()
        given = self._stream(step.inputs[0], key[1])
        number, starts, measures = self._next(), self._starting(step, given), []
        most, width, phase = self.most_places // step.width + 3, step.width, _place(f"base - {step.offset + key[1]}")
        entering: list[tuple[list[str], str]] = []
        emit = []
        for measure in step.measures:
            q = self._functions(measure, "accumulate", "result")
            measures.append(q)
            self.scratch |= {f"window{q}": (measure.out_dtypes[0], most), f"known{q}": (_BOOL, most)}
            value, tests = self._value(measure, step, given, starts and f"started{number}")
            accumulate = self.names["accumulate", q]
            line = f"state{q} = {accumulate}(state{q}, {value}{_time(measure, 'at')})  {_words(measure)}"
            entering.append((tests, line))
            emit.append(f"known{q}[window] = {self._show(q, f'state{q}', f'window{q}', 'window')}")
        fresh = [f"{', '.join(f'state{q}' for q in measures)} = {', '.join(map(_fresh, step.measures))}"]
        enter = [line for tests, group in groupby(entering, itemgetter(0))
                 for line in _when(tests, [line for _, line in group])]
        if starts is not None:
            self.scratch[f"some{number}"] = _BOOL, most
            fresh.append("some = False")
            enter = [f"started{number} = {starts}", f"some = some or started{number}", *enter]
            emit.append(f"some{number}[window] = some")
        self.written[key] = number, measures, starts is not None
        begun, over = _place(f"first - {needs.back}"), _place(f"stop - {-needs.ahead}")
        return [
            f"begin{number} = {begun} - ({phase} + {begun}) % {width}  {_window(step)}",
            f"for window in range(-((begin{number} - ({over})) // {width})):",
            *indented([f"begun{number} = begin{number} + window * {width}", *fresh,
                       *loop.over(f"begun{number}", f"begun{number} + {width}", enter), *emit])]

    def slides(self, step: Slid, needs: Needs) -> list[str]:
        """The loops that compute windows that slide into arrays, by place.

        The places are cut into blocks of `width`; a window is the rest of one block and the beginning of the next.
        The states of rests are computed when a block is complete, and merged with that of the beginning (van Herk,
        1992). So a state is never taken back, which would round, and depends on the places of the stream alone.
        """
        loop = self.loop = _Loop()
        given, number = self._stream(step.inputs[0], 0), self._next()
        begin, first, stop = f"begin{number}", _place(f"first - {needs.back}"), _place(f"stop - {-needs.ahead}")
        starts, started = self._starting(step, given), f"starts{number}"
        before, after, measures = [], [], []
        if starts is not None:
            self.imports["window_turns"] = "whimbrel.kernels.primitives.window_turns"
            if (plain := _WHOLE_ARRAY.fullmatch(starts)) is not None:
                started = plain[1]
            else:
                before.append(f"{self._by_place(started, _BOOL)}[uintp(at)] = {starts}")
            for name in ("alive", "turns"):
                self._by_place(f"{name}{number}", _BOOL)
            after.append(f"window_turns({started}, {first}, {stop}, {step.width}, alive{number}, turns{number})")
        for measure in step.measures:
            measures.append(q := self._functions(measure, "accumulate", "merge", "result"))
            value, tests = self._value(measure, step, given, starts and f"{started}[uintp(at)]")
            arrays, plain = [], _WHOLE_ARRAY.fullmatch(value)
            if plain is None and measure.aggregate.expr is not None:
                arrays.append(self._by_place(f"held{q}", measure.value_dtypes[0]))
                if tests and any(name in value for name in _MAY_FAIL):  # as elsewhere: not where there is no event
                    value = f"{value} if {' and '.join(tests)} else np.{measure.value_dtypes[0]}(0)"
                before.append(f"{arrays[0]}[uintp(at)] = {value}")
            elif plain is not None:
                arrays.append(plain[1])
            if len(tests) == 1 and (plain := _WHOLE_ARRAY.fullmatch(tests[0])):
                arrays.append(plain[1])
            elif tests:
                arrays.append(self._by_place(f"counts{q}", _BOOL))
                before.append(f"{arrays[-1]}[uintp(at)] = {' and '.join(tests)}")
            for at, initial in enumerate(measure.steps.init):
                self.scratch[f"rest{q}_{at}"] = np.asarray(initial).dtype, step.width
            shown = self._by_place(f"shown{q}", measure.out_dtypes[0]), self._by_place(f"shown{q}_valid", _BOOL)
            after.append(self._slide(measure, q, counted=bool(tests), arguments=[
                *arrays, begin, first, stop, str(step.width), *(["time", "period"] if measure.steps.timed else []),
                *(f"rest{q}_{at}" for at in range(len(measure.steps.init))), *shown]))
        self.slid[id(step)] = _Windows(number, tuple(measures), starts is not None)
        oldest = needs.back + step.width
        return [f"{begin} = first - {oldest} - (base + first - {oldest}) % {step.width}  {_window(step)}",
                *(loop.over(begin, stop, before) if before else []), *after]

    def _slide(self, measure: Measure, q: int, *, counted: bool, arguments: Sequence[str]) -> str:
        """The call of the function that slides windows of an aggregate, which is written once for all alike."""
        accumulate, merge = self.names["accumulate", q], self.names["merge", q]
        valued, fresh = measure.aggregate.expr is not None, _fresh(measure)
        rests = [f"rest{at}" for at in range(len(measure.steps.init))]
        value = f"np.{measure.value_dtypes[0]}(values[uintp(at)])" if valued else "1"
        tests, time = ["counts[uintp(at)]"] if counted else [], _time(measure, "at")
        head = [*(["values"] if valued else []), *(["counts"] if counted else []), "begin", "first", "stop", "width",
                *(["time", "period"] if time else []), *rests, "out", "valid"]
        rest = f"({''.join(f'{name}[uintp(inside)], ' for name in rests).strip()})"
        lines = (
            ", ".join(head),
            "for block in range(begin, stop, width):",
            f"    end, state = min(block + width, stop), {fresh}",
            "    for at in range(block if block > begin else end, end):",
            *indented(indented(_when(tests, [f"state = {accumulate}(state, {value}{time})"]))),
            "        if at >= first:",
            "            inside = at - block + 1",
            f"            whole = {merge}({rest}, state) if inside < width else state",
            f"            valid[uintp(at)] = {self._show(q, 'whole', 'out', 'uintp(at)')}",
            f"    state = {fresh}",
            "    for at in range(end - 1, block, -1):  # what is left of the block, and slides out with the next",
            *indented(indented(_when(tests, [f"state = {merge}({accumulate}({fresh}, {value}{time}), state)"]))),
            f"        {' '.join(f'{name}[uintp(at - block)],' for name in rests)} = state")
        return f"{self.defined.setdefault(lines, f'slide{q}')}({', '.join(arguments)})  {_words(measure)}"

    def _by_place(self, name: str, dtype: np.dtype[Any]) -> str:
        """An array that has a value for every place."""
        self.scratch[name] = np.dtype(dtype), self.most_places
        return name

    # Each step, at one place.

    def _stream(self, step: Step, shift: int) -> _Stream:
        made = self.loop.made
        if (id(step), shift) not in made:
            made[id(step), shift] = self._step(step, shift)
        return made[id(step), shift]

    def _step(self, step: Step, shift: int) -> _Stream:
        if isinstance(step, Given):
            return self._given(step, f"uintp({_place(f'at - {shift}')})", None if step.ticks < self.period else "")
        if isinstance(step, Sampled):
            return self._sampled(step, shift)
        if isinstance(step, Adjacent):
            return self._beside(step, shift)
        if isinstance(step, Slid):
            return self._slid(step, shift)
        below = [self._stream(each, shift + (step.places if isinstance(step, Moved) else 0)) for each in step.inputs]
        match step:
            case Mapped():
                columns = tuple(self._mapped(expr, step, at, below[0]) for at, expr in enumerate(step.columns))
                return replace(below[0], columns=columns)
            case Kept():
                name, true = f"kept{self._next()}", predicate_source(step.condition, step.schema,
                                                                     below[0].bind(step.schema))
                self.loop.lines.append(f"{name} = {_both(below[0].present, true)}  {comment(step.condition.show())}")
                return replace(below[0], present=name)
            case Joined():
                return _joined(step, *below)
        return below[0]

    def _given(self, step: Given | Sampled, row: str, begins: str | None) -> _Stream:
        """The columns of an input, of which events may begin where `begins` says; None: all last less than a place."""
        at, columns = f"[{row}]", []
        for position in range(len(step.schema.fields)):
            with_nulls = self.nulls(step.port, position)
            self.leaves.setdefault((step.port, position), (step.port, position, with_nulls))
            columns.append((f"c{step.port}_{position}{at}", f"v{step.port}_{position}{at}" if with_nulls else None))
        if not self.masked:
            return _Stream(tuple(columns), None, begins or None, isinstance(step, Given))
        self.ports.add(step.port)
        changes = None if begins is None else _both(begins, f"changes{step.port}{at}")
        return _Stream(tuple(columns), f"there{step.port}{at}", changes, isinstance(step, Given))

    def _sampled(self, step: Sampled, shift: int) -> _Stream:
        row, self.leads[step.port] = f"row{self._next()}", None
        place = _place(f"at - {shift}")
        ticks = f"uintp(lead{step.port} + {place if shift == 0 else f'({place})'} * period)"
        self.loop.lines.append(f"{row} = {ticks} // uintp({step.ticks})  {comment(f'a beat of {step.ticks}')}")
        return self._given(step, row, f"({ticks} % uintp({step.ticks}) == 0)")

    def _mapped(self, expr: Expr, step: Mapped, at: int, given: _Stream) -> Text:
        schema = step.inputs[0].schema
        if isinstance(node(expr), Col):
            return given.bind(schema)(expr)
        value, valid = to_source(expr, schema, given.bind(schema))
        number = self._next()
        if valid is not None:
            self.loop.lines.append(f"given{number} = {valid}")
            valid = f"given{number}"
        # What may fail is not computed where there is no event.
        needed = _both(given.present, valid) if any(name in value for name in _MAY_FAIL) else valid
        value = value if needed is None else f"{value} if {needed} else {_zero(step.schema.fields[at].type)}"
        self.loop.lines.append(f"value{number} = {value}  {comment(f'{step.schema.names[at]}={expr.show()}')}")
        return f"value{number}", valid

    def _beside(self, step: Adjacent, shift: int) -> _Stream:
        number, measures, some = self.written[id(step), shift]
        pairs = [(f"window{q}", f"known{q}") for q in measures] + [(f"some{number}",)] * some
        lines = tuple(f"{', '.join(f'at_{name}' for name in pair)} = "
                      f"{', '.join(f'{name}[which{number}]' for name in pair)}" for pair in pairs)
        each = _Beside(number, step.width, lines)
        self.loop.beside.append(each)
        columns = tuple((_physical(measure, f"at_window{q}"), f"at_known{q}")
                        for q, measure in zip(measures, step.measures, strict=True))
        return _Stream(columns, f"at_some{number}" if some else None, each.edge)

    def _slid(self, step: Slid, shift: int) -> _Stream:
        """Of the arrays in which the windows stand."""
        known, at = self.slid[id(step)], f"[uintp({_place(f'at - {shift}')})]"
        keys = [self._stream(step.inputs[0], shift).columns[key] for key in step.keys]
        columns = [(_physical(measure, f"shown{q}{at}"), f"shown{q}_valid{at}")
                   for q, measure in zip(known.measures, step.measures, strict=True)]
        if not known.masked:
            return _Stream((*keys, *columns), None, None)
        return _Stream((*keys, *columns), f"alive{known.number}{at}", f"turns{known.number}{at}")

    # Parts of a window.

    def _next(self) -> int:
        self.numbers += 1
        return self.numbers

    def _functions(self, measure: Measure, *roles: str) -> int:
        """A number for an aggregate; the functions of its algebra are named as they are, users' own by the number."""
        number = self._next()
        for role in roles:
            function = getattr(measure.steps, role)
            self.names[role, number] = name = function.__name__
            if function.__module__.startswith("whimbrel.aggregates.") and "<" not in function.__qualname__ and (
                    self.imports.setdefault(name, function.__module__) == function.__module__):
                continue
            self.names[role, number] = f"{role}{number}"
            self.functions[f"{role}{number}"] = function
        return number

    def _show(self, q: int, state: str, array: str, place: str) -> str:
        """Text of whether an aggregate has an answer, which then is written."""
        self.imports["show"] = "whimbrel.kernels.primitives.show"
        return f"show({self.names['result', q]}({state}), {array}, {place})"

    def _starting(self, step: Windowed, given: _Stream) -> str | None:
        """Text of whether an event begins that counts; None: always."""
        if step.condition is None:
            return given.starts
        schema = step.inputs[0].schema
        return _both(given.starts, predicate_source(step.condition, schema, given.bind(schema)))

    def _value(self, measure: Measure, step: Windowed, given: _Stream, started: str | None) -> tuple[str, list[str]]:
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


def _joined(step: Joined, left: _Stream, right: _Stream) -> _Stream:
    sides = left.columns, right.columns
    columns = [(side, *sides[side][position]) for side, position in step.sources]
    changes = None if left.changes is None or right.changes is None else f"({left.changes} or {right.changes})"
    if not step.outer:
        shown = tuple((value, valid) for _, value, valid in columns)
        there = [text for text in (left.present, right.present) if text]
        present = f"({there[0]} & {there[1]})" if len(there) == 2 else "".join(there) or None
        return _Stream(shown, present, changes, left.anew or right.anew)
    shown = tuple((value, valid if side == 0 else _both(right.present, valid)) for side, value, valid in columns)
    return _Stream(shown, left.present, changes, left.anew)


def _fresh(measure: Measure) -> str:
    return f"({', '.join(map(literal, measure.steps.init))},)"


def _time(measure: Measure, place: str) -> str:
    """A further argument: when the event began."""
    return f", time + {place} * period" if measure.steps.timed else ""


def _physical(measure: Measure, text: str) -> str:
    """A value as the column of the aggregate has it."""
    dtype = numpy_type(measure.type)
    assert dtype is not None
    return f"({text} != 0)" if dtype == _BOOL else text if dtype == measure.out_dtypes[0] else f"np.{dtype}({text})"


def _zero(type_: pa.DataType) -> str:
    dtype = numpy_type(type_)
    assert dtype is not None
    return "False" if dtype == _BOOL else f"np.{dtype}(0)"


def _window(step: Windowed) -> str:
    return comment(f"windows of {step.width}")


def _words(measure: Measure) -> str:
    return comment(f"{measure.name}={measure.aggregate.show()}")


def _place(text: str) -> str:
    """``x - 3`` for three places before x; plain where it is none, or behind."""
    name, sign, number = text.split(" ", 2)
    return name if number == "0" else f"{name} + {number[1:]}" if number.startswith("-") else f"{name} {sign} {number}"


def _both(one: str | None, other: str | None) -> str | None:
    return f"({one} and {other})" if one and other else one or other


def _when(tests: Sequence[str], lines: list[str]) -> list[str]:
    return [f"if {' and '.join(tests)}:", *indented(lines)] if tests else lines


def indented(lines: list[str]) -> list[str]:
    """The lines, one level deeper."""
    return [f"    {line}" for line in lines]

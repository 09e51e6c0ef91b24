"""The lines of a loop on a beat: what each step is at one place, and the loops that go over places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class _Stream:
    """Texts of a stream at one place; None: an event is everywhere, or something changes everywhere."""

    columns: tuple[Text, ...]
    present: str | None
    changes: str | None

    @property
    def starts(self) -> str | None:
        """Text of whether an event begins; None: always."""
        return _both(self.present, self.changes)

    def bind(self, schema: Schema) -> Bind:
        return lambda leaf: self.columns[schema.index(cast(Col, node(leaf)).name)]


@dataclass
class _Loop:
    """Lines before a loop and inside it, where its windows begin, and the streams made so far.

    `begins` are of windows that slide, `edges` of adjacent ones, with their widths.
    """

    needs: Needs
    before: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    begins: list[str] = field(default_factory=list)
    edges: list[tuple[str, int]] = field(default_factory=list)
    made: dict[Shifted, _Stream] = field(default_factory=dict)

    def over(self, first: str, stop: str, lines: list[str], changes: str | None = None) -> list[str]:
        """The whole loop, where `lines` are what is done from `first` on, and nothing is where nothing `changes`."""
        only = [(begin, width) for begin, width in self.edges if changes == _edge(begin, width)]
        if only and not self.begins:
            begin, width = only[0]
            head = f"for at in range(first + ({begin} - first) % {width}, {stop}, {width}):"
            return [*self.before, head, *indented([*self.lines, *lines])]
        if self.begins:
            lines, first = [f"if at >= {first}:", *indented(lines)], f"min({', '.join([first, *self.begins])})"
        return [*self.before, f"for at in range({first}, {stop}):", *indented([*self.lines, *lines])]


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
        self.loop = _Loop(Needs())
        self.leaves: dict[tuple[int, int], Leaf] = {}
        self.ports: set[int] = set()
        self.leads: dict[int, None] = {}
        self.imports: dict[str, str] = {}
        self.names: dict[tuple[str, int], str] = {}
        self.functions: Functions = {}
        self.scratch: dict[str, tuple[np.dtype[Any], int]] = {}
        self.stored: dict[int, tuple[int, _Stream]] = {}
        self.written: dict[Shifted, tuple[int, list[int], bool]] = {}
        self.numbers = 0

    def rows(self, last: Step, needs: Needs) -> tuple[_Stream, list[str]]:
        """The loop that writes the rows of the result."""
        loop = self.loop = _Loop(needs)
        result = self._stream(last, 0)
        everywhere = result.present is None and result.changes is None
        row = "uintp(at - first)" if everywhere else "uintp(done)"
        write = [f"out_sync[{row}] = time + at * period"]
        for at, (value, valid) in enumerate(result.columns):
            shown = value if valid is None else f"{value} if {valid} else {_zero(last.schema.fields[at].type)}"
            write += [f"out{at}[{row}] = {shown}", *([] if valid is None else [f"out{at}_valid[{row}] = {valid}"])]
        if everywhere:
            return result, [*loop.over("first", "stop", write), "count[0], count[1] = stop - first, True",
                            "count[2], count[3] = True, time + first * period"]
        if result.changes is None:
            lines = [*write, f"going = {result.present}", "done += going"]
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
        loop = self.loop = _Loop(needs)
        given = self._stream(step.inputs[0], key[1])
        number, starts, measures = self._next(), self._starting(step, given), []
        most, width, begin = self.most_places // step.width + 3, step.width, _place(f"base - {step.offset + key[1]}")
        entering: list[tuple[list[str], str]] = []
        emit = []
        for measure in step.measures:
            q = self._functions(measure, "accumulate", "result")
            measures.append(q)
            self.scratch[f"window{q}"] = measure.out_dtypes[0], most
            self.scratch[f"window{q}_valid"] = _BOOL, most
            value, tests = self._value(measure, step, given, starts and f"started{number}")
            accumulate = self.names["accumulate", q]
            line = f"state{q} = {accumulate}(state{q}, {value}{_time(measure, 'at')})  {_words(measure)}"
            entering.append((tests, line))
            emit.append(f"window{q}_valid[window] = {self._show(q, f'state{q}', f'window{q}', 'window')}")
        fresh = _fresh_states(step.measures, measures)
        enter = [line for tests, group in groupby(entering, itemgetter(0))
                 for line in _when(tests, [line for _, line in group])]
        if starts is not None:
            self.scratch[f"some{number}"] = _BOOL, most
            fresh.append("some = False")
            enter = [f"started{number} = {starts}", f"some = some or started{number}", *enter]
            emit.append(f"some{number}[window] = some")
        self.written[key] = number, measures, starts is not None
        begun, over = _place(f"first - {needs.back}"), _place(f"stop - {-needs.ahead}")
        lines = [*enter, "inside += 1", f"if inside == {width}:", *indented([*emit, *fresh]),
                 "    window, inside = window + 1, 0"]
        return [
            f"begin{number} = {begun} - ({begin} + {begun}) % {width}  {_window(step)}",
            f"end = {over} + -({begin} + {over}) % {width}",
            "window, inside = 0, 0", *fresh, *loop.over(f"begin{number}", "end", lines)]

    def shared(self, step: Step, needs: Needs) -> list[str]:
        """The loop that computes a step into arrays, by place."""
        loop = self.loop = _Loop(needs)
        stream, number = self._stream(step, 0), self._next()
        types = [numpy_type(field.type) for field in step.schema]
        texts = [(f"shared{number}_{at}{kind}", text, dtype if kind == "" else _BOOL)
                 for at, (pair, dtype) in enumerate(zip(stream.columns, types, strict=True))
                 for kind, text in zip(("", "_valid"), pair, strict=True)]
        texts += [(f"shared{number}_{kind}", text, _BOOL)
                  for kind, text in (("there", stream.present), ("changes", stream.changes))]
        lines = []
        for name, text, dtype in texts:
            if text is not None:
                self.scratch[name] = np.dtype(dtype), self.most_places
                lines.append(f"{name}[uintp(at)] = {text}")
        self.stored[id(step)] = number, stream
        return loop.over(_place(f"first - {needs.back}"), _place(f"stop - {-needs.ahead}"), lines)

    # Each step, at one place.

    def _stream(self, step: Step, shift: int) -> _Stream:
        made = self.loop.made
        if (id(step), shift) not in made:
            made[id(step), shift] = self._stored(step, shift) if id(step) in self.stored else self._step(step, shift)
        return made[id(step), shift]

    def _stored(self, step: Step, shift: int) -> _Stream:
        number, stream = self.stored[id(step)]
        at = f"[uintp({_place(f'at - {shift}')})]"

        def read(kind: str, text: str | None) -> str | None:
            return None if text is None else f"shared{number}_{kind}{at}"

        columns = tuple((f"shared{number}_{column}{at}", read(f"{column}_valid", valid))
                        for column, (_, valid) in enumerate(stream.columns))
        return _Stream(columns, read("there", stream.present), read("changes", stream.changes))

    def _step(self, step: Step, shift: int) -> _Stream:
        if isinstance(step, Given):
            return self._given(step, f"uintp({_place(f'at - {shift}')})", None if step.ticks < self.period else "")
        if isinstance(step, Sampled):
            return self._sampled(step, shift)
        if isinstance(step, Adjacent):
            return self._beside(step, shift)
        below = [self._stream(each, shift + (step.places if isinstance(step, Moved) else 0)) for each in step.inputs]
        match step:
            case Mapped():
                columns = tuple(self._mapped(expr, step, at, below[0]) for at, expr in enumerate(step.columns))
                return _Stream(columns, below[0].present, below[0].changes)
            case Kept():
                name, true = f"kept{self._next()}", predicate_source(step.condition, step.schema,
                                                                     below[0].bind(step.schema))
                self.loop.lines.append(f"{name} = {_both(below[0].present, true)}  {comment(step.condition.show())}")
                return _Stream(below[0].columns, name, below[0].changes)
            case Joined():
                return _joined(step, *below)
            case Slid():
                return self._slid(step, shift, below[0])
        return below[0]

    def _given(self, step: Given | Sampled, row: str, begins: str | None) -> _Stream:
        """The columns of an input, of which events may begin where `begins` says; None: all last less than a place."""
        at, columns = f"[{row}]", []
        for position in range(len(step.schema.fields)):
            with_nulls = self.nulls(step.port, position)
            self.leaves.setdefault((step.port, position), (step.port, position, with_nulls))
            columns.append((f"c{step.port}_{position}{at}", f"v{step.port}_{position}{at}" if with_nulls else None))
        if not self.masked:
            return _Stream(tuple(columns), None, begins or None)
        self.ports.add(step.port)
        changes = None if begins is None else _both(begins, f"changes{step.port}{at}")
        return _Stream(tuple(columns), f"there{step.port}{at}", changes)

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
        self.loop.lines.append(f"which{number} = (at - begin{number}) // {step.width}")
        at = f"[which{number}]"
        columns = tuple((_physical(measure, f"window{q}{at}"), f"window{q}_valid{at}")
                        for q, measure in zip(measures, step.measures, strict=True))
        self.loop.edges.append((f"begin{number}", step.width))
        return _Stream(columns, f"some{number}{at}" if some else None, _edge(f"begin{number}", step.width))

    def _slid(self, step: Slid, shift: int, given: _Stream) -> _Stream:
        """The places are cut into blocks of `width`; a window is the rest of one block and the beginning of the next.

        The states of rests are computed when a block is complete, and merged with that of the beginning (van Herk,
        1992). So a state is never taken back, which would round, and depends on the places of the stream alone.
        """
        loop, width, number, starts = self.loop, step.width, self._next(), self._starting(step, given)
        back = loop.needs.of[id(step), shift][0]
        numbers: list[int] = []
        rests, enter, show = [], [], []
        columns = [given.columns[key] for key in step.keys]
        for measure in step.measures:
            numbers.append(q := self._functions(measure, "accumulate", "merge", "result"))
            value, tests = self._value(measure, step, given, starts and f"started{number}")
            self.scratch |= {f"held{q}": (measure.value_dtypes[0], width), f"cell{q}": (measure.out_dtypes[0], 1)}
            self.scratch |= {f"rest{q}_{at}": (np.asarray(field).dtype, width) for at, field in
                             enumerate(measure.steps.init)}
            loop.before.append(f"state{q}, shown{q}, shown{q}_valid = {_fresh(measure)}, {_zero(measure.type)}, False")
            accumulate = self.names["accumulate", q]
            held = [f"held{q}[inside{number}] = {value}  {_words(measure)}",
                    f"state{q} = {accumulate}(state{q}, held{q}[inside{number}]{_time(measure, 'at')})"]
            counts = [f"starts{number}"] if tests == [f"started{number}"] else [f"counts{q}"] if tests else []
            if counts == [f"counts{q}"]:
                self.scratch[f"counts{q}"] = _BOOL, width
                enter.append(f"counts{q}[inside{number}] = {' and '.join(tests)}")
            enter += _when([f"{name}[inside{number}]" for name in counts], held)
            since = _time(measure, f"(at - {width} + older)")
            one = f"{accumulate}({_fresh(measure)}, held{q}[older]{since})"
            rests += [*_when([f"{name}[older]" for name in counts],
                             [f"state{q} = {self.names['merge', q]}({one}, state{q})"]),
                      f"{''.join(f'rest{q}_{at}[older], ' for at in range(len(measure.steps.init)))[:-1]} = state{q}"]
            show += self._shown(measure, q, number, width)
            columns.append((f"shown{q}", f"shown{q}_valid"))
        if starts is not None:
            self.scratch[f"starts{number}"] = _BOOL, width
            loop.before.append(f"inside{number}, starts{number}[:], alive{number}, turns{number} = 0, False, 0, False")
            enter = [f"started{number}, left = {starts}, starts{number}[inside{number}]",
                     f"alive{number}, turns{number} = alive{number} + started{number} - left, started{number} or left",
                     f"starts{number}[inside{number}] = started{number}", *enter]
        fresh = _fresh_states(step.measures, numbers)
        begin, oldest = _place(f"base - {shift}"), back + width
        loop.begins.append(f"begin{number}")
        loop.before += [f"begin{number} = first - {oldest} - ({begin} + first - {oldest}) % {width}  {_window(step)}",
                        *([f"inside{number} = 0"] if starts is None else [])]
        loop.lines += [
            f"if at >= begin{number}:",
            f"    if inside{number} == {width}:  # a block is complete: the states of its rests",
            *indented(indented([*fresh, f"for older in range({width - 1}, 0, -1):", *indented(rests), *fresh,
                            f"inside{number} = 0"])),
            *indented([*enter, f"inside{number} += 1", f"if at >= {_place(f'first - {back}')}:", *indented(show)])]
        if starts is None:
            return _Stream(tuple(columns), None, None)
        return _Stream(tuple(columns), f"(alive{number} > 0)", f"turns{number}")

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

    def _shown(self, measure: Measure, q: int, number: int, width: int) -> list[str]:
        """Lines that compute the value of a window, of the rest of one block and the beginning of the next."""
        rest = "".join(f"rest{q}_{at}[inside{number}], " for at in range(len(measure.steps.init)))
        merged = f"{self.names['merge', q]}(({rest.strip()}), state{q})"
        return [f"whole{q} = {merged} if inside{number} < {width} else state{q}",
                f"shown{q}_valid = {self._show(q, f'whole{q}', f'cell{q}', '0')}",
                f"shown{q} = {_physical(measure, f'cell{q}[0]')}"]

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
        return _Stream(shown, _both(left.present, right.present), changes)
    shown = tuple((value, valid if side == 0 else _both(right.present, valid)) for side, value, valid in columns)
    return _Stream(shown, left.present, changes)


def _fresh(measure: Measure) -> str:
    return f"({', '.join(map(literal, measure.steps.init))},)"


def _fresh_states(measures: Sequence[Measure], numbers: Sequence[int]) -> list[str]:
    """The line that makes the states of aggregates, which have these numbers, anew."""
    return [f"{', '.join(f'state{q}' for q in numbers)} = {', '.join(map(_fresh, measures))}"]


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


def _edge(begin: str, width: int) -> str:
    return f"((at - {begin}) % {width} == 0)"


def _both(one: str | None, other: str | None) -> str | None:
    return f"({one} and {other})" if one and other else one or other


def _when(tests: Sequence[str], lines: list[str]) -> list[str]:
    return [f"if {' and '.join(tests)}:", *indented(lines)] if tests else lines


def indented(lines: list[str]) -> list[str]:
    """The lines, one level deeper."""
    return [f"    {line}" for line in lines]

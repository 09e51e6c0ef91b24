"""User functions over numbers as aggregate functions, compiled if possible."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from whimbrel.aggregates.user_defined.function_codegen import Writer
from whimbrel.aggregates.user_defined.value_kinds import (
    SMALL,
    Kind,
    NotCompiled,
    Number,
    Value,
    constant,
    flattened,
    joined_shape,
    kind_of,
)
from whimbrel.kernels import CompiledForm, with_compiled_form
from whimbrel.plan import AggregateFunctions, State, StepFailed, failed, leaves_int64

Function = Callable[..., Any]
_MACHINE: dict[Kind, str] = {"int": "int64", "float": "float64", "bool": "int64"}
_PYTHON: dict[Kind, type] = {"int": int, "float": float, "bool": bool}
_WIDER: list[Kind] = ["bool", "int", "float"]


class Roles(NamedTuple):
    """The functions of an aggregate, as its user gave them."""

    accumulate: Function
    result: Function
    merge: Function | None
    remove: Function | None
    difference: Function | None


def number_steps(name: str, init: Any, roles: Roles, values: Sequence[Kind], *,
                 times: int) -> tuple[AggregateFunctions, Kind]:
    """The algebra, and the kind of its result; every function has a form that is compiled.

    Raises
    ------
    NotCompiled
        When a function does more than compute numbers, or kinds depend on values.
    """
    start = python_number(init)
    first = start if isinstance(start, tuple) else (start,)
    if not first or not all(isinstance(part, bool | int | float) for part in first):
        raise NotCompiled("its state is neither a number nor a tuple of numbers")
    if any(isinstance(part, int) and not -(2**63) < part < 2**63 for part in first):
        raise NotCompiled("its first state leaves int64")
    shape = _Shape(isinstance(start, tuple), tuple(kind_of(part) for part in first))
    ticks: Kind = "int"
    given = [*values, *[ticks] * times]
    with _of_role("accumulate"):
        shape = _settled(shape, first, roles.accumulate, given)
    with _of_role("result"):
        result = _result_kind(shape, roles.result)
    if "either" in shape.kinds:
        raise NotCompiled("its state is an int or a float, depending on values", result)
    writing = _Writing(name, shape, given)
    taken = roles.remove
    if taken is None and roles.difference is not None:
        taken = without(roles.difference, roles.accumulate, start)
    opened = tuple(_PYTHON[kind](part) for kind, part in zip(shape.kinds, first, strict=True))
    steps = AggregateFunctions(
        init=tuple(int(part) if isinstance(part, bool) else part for part in opened),
        accumulate=writing.step("accumulate", roles.accumulate),
        merge=None if roles.merge is None else writing.step("merge", roles.merge, merges=True),
        result=writing.result(roles.result, result),
        remove=None if taken is None else writing.step(
            "remove" if roles.remove is not None else "difference", taken),
        inputs=len(values), timed=times == 1, spans=times == 2, in_order=roles.merge is None,
        flagged=writing.flagged("accumulate", roles.accumulate) if roles.merge is None else None)
    return steps, "float" if result == "either" else result


@contextlib.contextmanager
def _of_role(role: str) -> Iterator[None]:
    try:
        yield
    except NotCompiled as left:
        raise NotCompiled(f"{role} cannot be compiled ({left})", left.result) from None


def without(difference: Function, accumulate: Function, init: Any) -> Function:
    """Taking a row back, where states can be subtracted: the state of that row alone is."""

    def remove(state: Any, *given: Any) -> Any:
        return difference(state, accumulate(init, *given))

    remove.__dict__["of"] = difference, accumulate, init
    return remove


def python_number(value: Any) -> Any:
    """A number of NumPy's as Python's, in a tuple too."""
    if type(value) is tuple:  # one with names stays what it is
        return tuple(python_number(part) for part in value)
    if not isinstance(value, np.generic):
        return value
    found = value.item()
    return value if isinstance(value, np.datetime64 | np.timedelta64) and isinstance(found, int) else found  # ticks


class _Shape(NamedTuple):
    """Whether a state is a tuple, and the kinds of its fields."""

    tupled: bool
    kinds: tuple[Kind, ...]

    def value(self, name: str) -> Value:
        """A state as it is given to compiled code: one place for each field."""
        fields = tuple(_given(kind, f"{name}[{field}]") for field, kind in enumerate(self.kinds))
        return fields if self.tupled else fields[0]


def _given(kind: Kind, text: str) -> Number:
    """A number as kernels keep it: bools are 0 and 1."""
    return Number(kind, f"({text} != 0)" if kind == "bool" else text)


def _answers(function: Function, given: Sequence[Value]) -> Value:
    """The shape of all that a function returns."""
    found: list[Value] = []

    def leave(value: Value) -> list[str]:
        found.append(value)
        return ["return"]

    _writer(function, given, leave).write()
    shape = joined_shape(found)
    if shape is None:
        raise NotCompiled("the kind of what it gives depends on values")
    return shape


def _writer(function: Function, given: Sequence[Value], leave: Callable[[Value], list[str]]) -> Writer:
    if (composed := getattr(function, "of", None)) is not None:
        return _Composed(composed, given, leave)
    return Writer(function, given, leave)


class _Composed(Writer):
    """A difference from the state of one row."""

    def __init__(self, composed: tuple[Function, Function, Any], given: Sequence[Value],
                 leave: Callable[[Value], list[str]]) -> None:
        difference, accumulate, init = composed
        super().__init__(accumulate, given, leave)
        state, *values = given
        parts = init if isinstance(init, tuple) else (init,)
        fields = [constant(_PYTHON.get(number.kind, float)(part))
                  for number, part in zip(flattened(state), parts, strict=True)]
        first = tuple(fields) if isinstance(state, tuple) else fields[0]
        self.composed = difference, accumulate, state, [first, *values]

    def write(self) -> Writer:
        difference, accumulate, state, given = self.composed
        self.inside = ()
        one = self._called(accumulate, given)
        self._write(*self.leave(self._called(difference, [state, one])))
        return self


def _settled(shape: _Shape, first: State, accumulate: Function, given: Sequence[Kind]) -> _Shape:
    """The kinds of the fields of every state: those of the first, or of all that follow it if they are wider."""
    for _ in range(4):
        found = _answers(accumulate, [shape.value("state"), *(_given(kind, f"v{index}")
                                                              for index, kind in enumerate(given))])
        if isinstance(found, tuple) != shape.tupled:
            raise NotCompiled("its states are not alike")
        fields = found if isinstance(found, tuple) else (found,)
        if len(fields) != len(shape.kinds) or any(isinstance(each, tuple) for each in fields):
            raise NotCompiled("its states are not alike")
        kinds = tuple(_field_kind(kind, number, value)
                      for kind, number, value in zip(shape.kinds, flattened(fields), first, strict=True))
        if kinds == shape.kinds:
            return shape
        shape = _Shape(shape.tupled, kinds)
    return shape


def _field_kind(kind: Kind, found: Number, first: Any) -> Kind:
    if found.kind == "none":
        raise NotCompiled("its state may be None")
    if found.kind == kind or "either" in (found.kind, kind):
        return found.kind if kind != "either" else kind
    if kind == "int" and found.kind == "bool":
        return kind
    wider = _WIDER.index(found.kind) > _WIDER.index(kind)
    return found.kind if wider and abs(first) <= SMALL else "either"


def _result_kind(shape: _Shape, result: Function) -> Kind:
    found: list[Number] = []

    def leave(value: Value) -> list[str]:
        if isinstance(value, tuple):
            raise NotCompiled("its result is a tuple")
        found.append(value)
        return ["return"]

    Writer(result, [shape.value("state")], leave).write()
    shown = joined_shape([number for number in found if number.kind != "none"] or [Number("float", "0.0")])
    assert isinstance(shown, Number)
    return shown.kind


class _Writing:
    """Makes both forms of each function."""

    def __init__(self, name: str, shape: _Shape, given: Sequence[Kind]) -> None:
        self.name, self.shape, self.given = name, shape, given
        self.parameters = [f"v{index}" for index in range(len(given))]

    def step(self, role: str, function: Function, *, merges: bool = False) -> Function:
        """A function that gives a state."""
        kinds = self.shape.kinds
        given = ["other"] if merges else self.parameters
        values = [self.shape.value("other")] if merges else [
            _given(kind, name) for kind, name in zip(self.given, self.parameters, strict=True)]
        asked = ", ".join(["state", *given])

        def leave(value: Value) -> list[str]:
            texts = self._fields(role, writer, value)
            back = ["if bad:", f"    return slow({asked})"] if writer.flagged else []
            return [*back, f"return ({', '.join(texts)},)"]

        with _of_role(role):
            writer = _writer(function, [self.shape.value("state"), *values], leave)
            writer.write()
        text = _text(role, asked, writer)
        python = self._state_in_python(role, function, merges=merges)
        return with_compiled_form(python, CompiledForm(text, role, python, [_MACHINE[kind] for kind in kinds]))

    def flagged(self, role: str, function: Function) -> Function:
        """The function that gives the fields of a state, and whether Python must be asked for them."""
        asked = ", ".join(["state", *self.parameters])
        values = [_given(kind, name) for kind, name in zip(self.given, self.parameters, strict=True)]

        def leave(value: Value) -> list[str]:
            return [f"return ({', '.join([*self._fields(role, writer, value), 'bad'])},)"]

        with _of_role(role):
            writer = _writer(function, [self.shape.value("state"), *values], leave)
            writer.write()
        writer.flagged = True  # it begins with the flag
        python = self._state_in_python(role, function, merges=False)

        def step(state: State, *given: Any) -> tuple[Any, ...]:
            return (*python(state, *given), False)

        return with_compiled_form(step, CompiledForm(_text(role, asked, writer), role, step, []))

    def _fields(self, role: str, writer: Writer, value: Value) -> list[str]:
        """The texts of the fields of a state."""
        fields, kinds = flattened(value), self.shape.kinds
        if len(fields) != len(kinds) or isinstance(value, tuple) != self.shape.tupled:
            raise NotCompiled(f"{role} gives no state like the first")
        return [writer.whole(each) if kind == "bool" and each.kind == "bool" else writer.as_kind(each, kind)
                for each, kind in zip(fields, kinds, strict=True)]

    def result(self, function: Function, kind: Kind) -> Function:
        """The function that gives the value."""
        as_kind: Kind = "float" if kind == "either" else kind

        def leave(value: Value) -> list[str]:
            assert isinstance(value, Number)
            text = "None" if value.kind == "none" else \
                writer.real(value) if as_kind == "float" else writer.as_kind(value, as_kind)
            back = ["if bad:", "    found, there = slow(state)", "    return found if there else None"]
            return [*(back if writer.flagged else []), f"return {text}"]

        writer = Writer(function, [self.shape.value("state")], leave)
        writer.write()
        python = self._result_in_python(function, as_kind)

        def both(state: State) -> tuple[Any, bool]:
            found = python(state)
            return (_PYTHON[as_kind](0), False) if found is None else (found, True)

        machine = "boolean" if as_kind == "bool" else _MACHINE[as_kind]
        return with_compiled_form(python, CompiledForm(_text("result", "state", writer), "result", both,
                                                       [machine, "boolean"]))

    def _python_state(self, state: State) -> Any:
        fields = tuple(_PYTHON[kind](part) for kind, part in zip(self.shape.kinds, state, strict=True))
        return fields if self.shape.tupled else fields[0]

    def _state_in_python(self, role: str, function: Function, *, merges: bool) -> Function:
        name, kinds, tupled, opened = self.name, self.shape.kinds, self.shape.tupled, self._python_state
        takes = tuple(_PYTHON[kind] for kind in self.given)

        def step(state: State, *given: Any) -> State:
            values = map(opened, given) if merges else [take(each) for take, each in zip(takes, given, strict=True)]
            try:
                found = python_number(function(opened(state), *values))
            except Exception as error:
                raise failed(name, role, function, error) from error
            fields = found if tupled and isinstance(found, tuple) else (found,)
            if len(fields) != len(kinds):
                raise StepFailed(name, f"{role} of {name} gave {found!r}.", "Return states with the shape of init.")
            return tuple([_kept(name, role, kind, part) for kind, part in zip(kinds, fields, strict=True)])

        return step

    def _result_in_python(self, function: Function, kind: Kind) -> Function:
        name, opened = self.name, self._python_state

        def result(state: State) -> Any:
            try:
                found = python_number(function(opened(state)))
            except Exception as error:
                raise failed(name, "result", function, error) from error
            return None if found is None else _PYTHON[kind](_kept(name, "result", kind, found))

        return result


def _kept(name: str, role: str, kind: Kind, value: Any) -> Any:
    """A number that Python found, as kernels keep it."""
    if isinstance(value, int) and kind in ("int", "bool"):
        if not -(2**63) <= value < 2**63:
            raise leaves_int64(name, role)
        return int(value)
    if isinstance(value, int | float) and kind == "float":
        try:
            return float(value)
        except OverflowError:
            raise leaves_int64(name, role) from None
    raise StepFailed(name, f"{role} of {name} gave {value!r}, not a value of type {kind}.",
                     "Return one type for all values.")


def _text(role: str, parameters: str, writer: Writer) -> str:
    called = [each.text for each in writer.before.values()]
    return "\n".join([*called, f"def {role}({parameters}):", *(["    bad = False"] if writer.flagged else []),
                      *writer.lines, ""])

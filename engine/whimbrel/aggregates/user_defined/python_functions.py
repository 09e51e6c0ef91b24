"""User functions over any Python values as aggregate functions."""

from __future__ import annotations

import contextlib
import copy
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.aggregates.user_defined.numeric_functions import Roles, python_number
from whimbrel.aggregates.user_defined.state_serialization import Unwritable, from_text, to_text
from whimbrel.batch import InexactError, exact_value, may_lose, numpy_type
from whimbrel.errors import ExpressionError
from whimbrel.plan import Objects, StepFailed, failed, leaves_int64

RETURNS = "Declare the type of all results, for example returns=pa.list_(pa.float64())."
UNSIGNED = "Declare unsigned results with returns=pa.uint64(), or return a float."
UNSIGNED_INSIDE = "Declare a type with unsigned integers, for example returns=pa.list_(pa.uint64())."
"""Whether integers are unsigned is not inferred: no type holds both negative integers and these."""

_UNFIT = (TypeError, ValueError, OverflowError, pa.ArrowNotImplementedError)
"""What Arrow raises for values of users that no type, or not this one, holds. ArrowInvalid is a ValueError."""
SAVE = "Add save= and load= that convert to and from numbers, strings, lists, dicts or arrays."


class WrongState(StepFailed):
    """A state is unlike the first, whatever the values."""


@dataclass(frozen=True, eq=False)
class PythonSteps:
    """A user's functions, with the message for each that fails."""

    name: str
    init: Any
    fresh: Callable[[], Any] | None
    roles: Roles
    save: Callable[[Any], Any] | None
    load: Callable[[Any], Any] | None
    times: int

    def opened(self) -> Any:
        """A new state of no rows."""
        return python_number(copy.deepcopy(self.init) if self.fresh is None else self.fresh())

    def call(self, role: str, function: Callable[..., Any], *given: Any) -> Any:
        """What a function gives; numbers as Python's."""
        try:
            return python_number(function(*given))
        except Exception as error:
            raise failed(self.name, role, function, error) from error

    def state(self, role: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that gives a state, and is held to it."""
        shape = self.init

        def step(state: Any, *given: Any) -> Any:
            found = self.call(role, function, state, *given)
            if not _is_alike(shape, found):
                raise WrongState(self.name, f"{role} of {self.name} gave {found!r} for a state like {shape!r}."[:300],
                                 "Return the new state, with the shape of init.")
            if isinstance(found, int | tuple) and not _fits(found):
                raise leaves_int64(self.name, role)
            return found

        return step

    def written(self, state: Any) -> str:
        """A state as text."""
        return self._text("state", state if self.save is None else self.call("save", self.save, state))

    def row_written(self, values: tuple[Any, ...]) -> str:
        """The values of a row as text."""
        return self._text("value", values)

    def _text(self, what: str, value: Any) -> str:
        try:
            return to_text(value)
        except Unwritable as error:
            raise StepFailed(self.name, f"Cannot write a {what} of {self.name} to a checkpoint: it holds {error}.",
                             SAVE) from None

    def read(self, text: str) -> Any:
        """The state that was written."""
        value = from_text(text)
        return value if self.load is None else self.call("load", self.load, value)


def python_steps(user: PythonSteps, type_: pa.DataType, *, written: bool) -> Objects:
    """What moves the states, given the type of the result; only states that have a text are merged."""
    roles = user.roles
    taken, role = roles.remove, "remove"
    if taken is None and roles.difference is not None:
        taken, role = _without(roles.difference, roles.accumulate, user.opened), "difference"

    def result(state: Any) -> Any:
        return shown(user.call("result", roles.result, state), type_, user.name)

    return Objects(
        init=user.opened, accumulate=user.state("accumulate", roles.accumulate), result=result,
        merge=None if roles.merge is None or not written else user.state("merge", roles.merge),
        remove=None if taken is None else user.state(role, taken),
        save=user.written, load=user.read, save_row=user.row_written, load_row=from_text,
        copied=copy.deepcopy, timed=user.times == 1, spans=user.times == 2, in_order=roles.merge is None)


def _without(difference: Callable[..., Any], accumulate: Callable[..., Any],
             opened: Callable[[], Any]) -> Callable[..., Any]:
    """Taking a row back: the state of that row alone is subtracted. It is made each time, since steps may change it."""
    return lambda state, *given: difference(state, accumulate(opened(), *given))


def _is_alike(init: Any, state: Any) -> bool:
    """Whether a state may follow: numbers are, and tuples as long as the first; any tuple follows an empty one."""
    if isinstance(init, bool | int | float):
        return isinstance(state, bool | int | float)
    if isinstance(init, tuple):
        return isinstance(state, tuple) and len(init) in (0, len(state))
    return state is not None or init is None


def _fits(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_fits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def shown(value: Any, type_: pa.DataType, name: str) -> Any:
    """A result as a column of the type can hold it."""
    kind = type(value)
    if value is None or (kind is float and t.is_float64(type_)) or (kind is bool and t.is_boolean(type_)) or \
            (kind is str and t.is_string(type_)):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, numbers.Integral) and t.is_integer(type_):
        value = int(value)
        if t.is_int64(type_) and not _fits(value):
            error = leaves_int64(name, "result")
            raise StepFailed(name, error.what, UNSIGNED) if 0 < value < 2**64 else error
    if isinstance(value, int | float) and t.is_floating(type_):
        try:
            value = float(value)
        except OverflowError:
            raise leaves_int64(name, "result") from None
    other = (t.is_integer(type_) and not isinstance(value, int)) or (t.is_boolean(type_) and kind is not bool)
    try:
        exact = exact_value(value, type_) if may_lose(type_) else value
    except InexactError:
        other = True
    if other or not _holds(type_, exact):
        raise StepFailed(name, f"result of {name} gave {value!r}, not a value of type {type_}."[:300],
                         UNSIGNED_INSIDE if _has_unsigned(value) else RETURNS)
    return copy.deepcopy(exact)  # a step may change what it gave before


def _has_unsigned(value: Any) -> bool:
    """Whether a value holds an integer that only uint64 holds."""
    if isinstance(value, list | tuple | dict):
        return any(map(_has_unsigned, value.values() if isinstance(value, dict) else value))
    return isinstance(value, numbers.Integral) and 2**63 <= int(value) < 2**64


def _holds(type_: pa.DataType, value: Any) -> bool:
    try:
        pa.scalar(value, type_)
    except _UNFIT:
        return False
    return True


class Foreseen(NamedTuple):
    """What a few ordinary values tell: the type of results, None if that is not clear; why states have no text."""

    type: pa.DataType | None
    unwritten: str | None


def foreseen(user: PythonSteps, inputs: Sequence[pa.DataType], where: str) -> Foreseen:
    """What the functions make of a few ordinary values.

    Raises
    ------
    ExpressionError
        When the functions make nothing of any of them.
    """
    found: list[Any] = []
    wrong: list[StepFailed] = []
    state, accumulate = user.opened(), user.state("accumulate", user.roles.accumulate)
    samples = list(zip(*map(samples_of, inputs), strict=False))
    for index, sample in enumerate([None, *samples]):
        try:
            if sample is not None:
                state = accumulate(state, *sample, *range(index, index + user.times))
        except WrongState as error:
            raise ExpressionError(error.what, where=where, hint=error.hint) from None
        except StepFailed as error:  # these are not the user's values: what fails on them may be right
            wrong.append(error)
            continue
        with contextlib.suppress(StepFailed):
            found.append(user.call("result", user.roles.result, state))
    if wrong and len(wrong) == len(samples) and all(isinstance(error.__cause__, TypeError) for error in wrong):
        kinds = ", ".join(map(str, inputs))
        raise ExpressionError(f"{user.name} does not accept {kinds}: {wrong[0].what}", where=where,
                              hint="Use functions that accept these types.")
    unwritten = None
    try:
        user.written(state)
    except StepFailed as error:
        unwritten = error.what
    return Foreseen(_type_of([each.tolist() if isinstance(each, np.ndarray) else each for each in found]), unwritten)


def _type_of(found: Sequence[Any]) -> pa.DataType | None:
    known = [value for value in found if value is not None]
    if not known:
        return pa.float64()
    if all(isinstance(value, bool) for value in known):
        return pa.bool_()
    if all(isinstance(value, int) for value in known):
        return pa.int64()
    if all(isinstance(value, int | float) for value in known):
        return pa.float64()
    try:
        type_ = pa.array(known).type
    except _UNFIT:
        return None
    return None if _has_null(type_) else type_


def _has_null(type_: pa.DataType) -> bool:
    """Whether it was seen of no value what it is."""
    inner = [type_.value_type] if t.is_list(type_) else [each.type for each in type_] if t.is_struct(type_) else []
    return t.is_null(type_) or any(map(_has_null, inner))


def samples_of(type_: pa.DataType) -> list[Any]:
    """A few ordinary values of a type, as they are given to functions."""
    if t.is_floating(type_):
        return [1.5, 2.25, -0.5, 0.0, 1000.0]
    if t.is_boolean(type_):
        return [True, False, True, False, True]
    if numpy_type(type_) is not None:
        return [1, 0, 2, 3, 1000]
    if t.is_string(type_) or t.is_large_string(type_) or t.is_dictionary(type_):
        return ["a", "", "1", "A b", "b"]
    if t.is_decimal(type_):  # a list of such values holds all of the type
        widest = (0, (9,) * type_.precision, -type_.scale)
        return [*(Decimal(each).scaleb(-type_.scale) for each in (1, 0, 2, 3)), Decimal(widest)]
    if t.is_null(type_):  # functions are given no nulls
        return []
    if t.is_binary(type_) or t.is_large_binary(type_) or t.is_fixed_size_binary(type_):
        return [b"a", b"", b"1", b"A b", b"b"]
    if t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_):
        return [samples_of(type_.value_type)[:count] for count in (1, 2, 3, 2, 5)]
    if t.is_struct(type_):
        columns = [samples_of(type_.field(index).type) for index in range(type_.num_fields)]
        if not columns:
            return [{}] * 5
        return [dict(zip((each.name for each in type_), row, strict=True)) for row in zip(*columns, strict=True)]
    return [None] * 5

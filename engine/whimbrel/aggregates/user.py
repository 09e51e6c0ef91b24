"""Aggregates that users write: plain Python functions over numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import numpy_type
from whimbrel.errors import ExpressionError
from whimbrel.expr import Expr, trace
from whimbrel.kernels import refusal
from whimbrel.plan import Aggregate, State, Steps

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class UserFunctions:
    """What :func:`whimbrel.aggregate` makes: call it with an expression to get an aggregate.

    Parameters
    ----------
    name : str
    init : number or tuple of numbers
    accumulate, result : callable
    merge, deaccumulate, difference : callable, optional
    """

    name: str
    init: Any
    accumulate: Function
    result: Function
    merge: Function | None = None
    deaccumulate: Function | None = None
    difference: Function | None = None

    def __call__(self, value: Expr | Function) -> UserAggregate:
        return UserAggregate(expr=trace(value, where=f"{self.name}()"), functions=self)

    def fields(self, state: Any) -> State | None:
        """A state as a tuple of Python numbers; None if it does not have the shape of `init`."""
        parts = state if isinstance(state, tuple) else (state,)
        numbers = all(isinstance(part, int | float | np.number | np.bool_) for part in parts)
        if isinstance(state, tuple) != isinstance(self.init, tuple) or not numbers or not parts:
            return None
        if isinstance(self.init, tuple) and len(self.init) != len(parts):
            return None
        return tuple(part.item() if isinstance(part, np.generic) else part for part in parts)

    def state(self, fields: State) -> Any:
        """The fields in the shape that the functions take."""
        return fields if isinstance(self.init, tuple) else fields[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class UserAggregate(Aggregate):
    """A user's functions over the values of an expression that are not null.

        time     0    5    10
        in       2────────         product over [0, 5) is 2, over [5, 10) is 6
                      3────

    Parameters
    ----------
    functions : UserFunctions

    Examples
    --------
    >>> import whimbrel as wb
    >>> product = wb.aggregate(init=1, accumulate=lambda s, x: s * x, result=lambda s: s, name="product")
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(p=product(wb.col.x)).collect()["p"].to_pylist()
    [2, 6]
    """

    name: ClassVar[str] = "user"

    functions: UserFunctions

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return self._tried(input_type)[1]

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Steps:
        init, _ = self._tried(input_type)
        user, deaccumulate = self.functions, self.functions.deaccumulate
        if deaccumulate is None and user.difference is not None:
            deaccumulate = _without(user.difference, user.accumulate, user.state(init))
        if isinstance(user.init, tuple):
            return Steps(init=init, accumulate=user.accumulate, merge=user.merge, result=user.result,
                         deaccumulate=deaccumulate)
        accumulate = _of_one_number(user.accumulate)
        return Steps(init=init, accumulate=accumulate, result=_result_of_one_number(user.result),
                     merge=None if user.merge is None else _merge_of_one_number(user.merge),
                     deaccumulate=None if deaccumulate is None else _of_one_number(deaccumulate))

    def show(self) -> str:
        assert self.expr is not None
        text = f"{self.functions.name}({self.expr.show()})"
        return text if self.condition is None else f"{text}.where({self.condition.show()})"

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        user, steps = self.functions, self.steps(input_type, removable=True)
        value = 0.0 if pa.types.is_floating(input_type) else 0
        said = []
        for role, given in (("accumulate", (steps.init, value)), ("result", (steps.init,)),
                            ("deaccumulate", (steps.init, value))):
            function = getattr(steps, role)
            reason = None if function is None else refusal(function, *given)
            if reason is not None:
                said.append(f"{user.name} runs interpreted: {role} cannot be compiled ({reason})")
        if steps.deaccumulate is None:
            order = "" if user.merge is None else " before an earlier one"
            said.append(f"{user.name} has no deaccumulate: when a row leaves{order}, its group is computed afresh")
        if user.merge is None:
            said.append(f"{user.name} has no merge: parts of its input cannot be aggregated apart and combined")
        return said

    def _tried(self, input_type: pa.DataType | None) -> tuple[State, pa.DataType]:
        """Call the functions on a few values, to learn which fields are floats and what the result is."""
        user = self.functions
        if input_type is None or numpy_type(input_type) is None:
            raise ExpressionError(f"{user.name} of {input_type} has no meaning.", where=self.show(),
                                  hint="a user's aggregate takes numbers, bools, dates, times and durations")
        first = user.fields(user.init)
        if first is None:
            raise ExpressionError(f"init of {user.name} is {user.init!r}.", where=self.show(),
                                  hint="a state is a number or a tuple of numbers")
        fields, results = list(first), []
        samples: tuple[Any, ...] = (1.5, 2.25, -0.5) if pa.types.is_floating(input_type) else (1, 0, 1)
        state = user.state(first)
        for sample in (None, *samples):
            try:
                state = state if sample is None else user.accumulate(state, sample)
                shown = user.result(state) if user.fields(state) else None
            except Exception:  # noqa: BLE001 - these are not the user's values: what fails on them may be right
                break
            found = user.fields(state)
            if found is None:
                raise ExpressionError(f"accumulate of {user.name} gave {state!r} for a state like {user.init!r}.",
                                      where=self.show(), hint="every state has the shape of init: a number, or a "
                                                              "tuple of as many numbers")
            fields = [float(kept) if isinstance(part, float) else kept
                      for kept, part in zip(fields, found, strict=True)]
            results.append(shown)
        return tuple(fields), self._type_of(results)

    def _type_of(self, results: Sequence[Any]) -> pa.DataType:
        known = [value.item() if isinstance(value, np.generic) else value for value in results if value is not None]
        for value in known:
            if not isinstance(value, bool | int | float):
                raise ExpressionError(f"result of {self.functions.name} gave {value!r}.", where=self.show(),
                                      hint="a result is a number, a bool or None")
        if known and all(isinstance(value, bool) for value in known):
            return pa.bool_()
        whole = known and all(isinstance(value, int) for value in known)
        return pa.int64() if whole else pa.float64()


@functools.lru_cache(maxsize=256)
def _without(difference: Function, accumulate: Function, init: Any) -> Function:
    """Taking a row back, where states can be subtracted: the state of that row alone is."""

    def deaccumulate(state: Any, value: Any) -> Any:
        return difference(state, accumulate(init, value))

    return deaccumulate


@functools.lru_cache(maxsize=256)
def _of_one_number(function: Function) -> Function:
    def step(state: State, value: Any) -> State:
        return (function(state[0], value),)

    return step


@functools.lru_cache(maxsize=256)
def _merge_of_one_number(function: Function) -> Function:
    def merge(left: State, right: State) -> State:
        return (function(left[0], right[0]),)

    return merge


@functools.lru_cache(maxsize=256)
def _result_of_one_number(function: Function) -> Function:
    def result(state: State) -> Any:
        return function(state[0])

    return result

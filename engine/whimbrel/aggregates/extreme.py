"""The smallest and the largest value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.batch import numpy_type
from whimbrel.errors import ExpressionError
from whimbrel.plan import Aggregate, State, Steps


@dataclass(frozen=True, kw_only=True, eq=False)
class Extreme(Aggregate):
    """What min and max share: the state is (value, how many), and a row that left cannot be taken back."""

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        assert input_type is not None
        if numpy_type(input_type) is None:
            raise ExpressionError(f"{self.name} of {input_type} has no meaning.", where=self.show(),
                                  hint=f"{self.name} takes numbers, bools, dates, times and durations")
        return input_type

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Steps:
        zero: State = (0.0, 0) if pa.types.is_floating(input_type) else (0, 0)
        return Steps(init=zero, accumulate=self.closer(), merge=self.closest(), result=extreme)

    @staticmethod
    @abstractmethod
    def closer() -> Callable[[Any, Any], State]: ...

    @staticmethod
    @abstractmethod
    def closest() -> Callable[[Any, Any], State]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Min(Extreme):
    """Smallest value that is not null; null when there is none. NaN counts as larger than every number."""

    name: ClassVar[str] = "min"

    @staticmethod
    def closer() -> Callable[[Any, Any], State]:
        return smaller

    @staticmethod
    def closest() -> Callable[[Any, Any], State]:
        return smallest


@dataclass(frozen=True, kw_only=True, eq=False)
class Max(Extreme):
    """Largest value that is not null; null when there is none. NaN counts as larger than every number."""

    name: ClassVar[str] = "max"

    @staticmethod
    def closer() -> Callable[[Any, Any], State]:
        return larger

    @staticmethod
    def closest() -> Callable[[Any, Any], State]:
        return largest


def smaller(state: State, value: Any) -> State:
    held, rows = state
    if rows == 0 or value < held or held != held:
        held = value
    return (held, rows + 1)


def larger(state: State, value: Any) -> State:
    held, rows = state
    if rows == 0 or value > held or value != value:
        held = value
    return (held, rows + 1)


def smallest(left: State, right: State) -> State:
    if right[1] == 0:
        return left
    held, _ = smaller(left, right[0])
    return (held, left[1] + right[1])


def largest(left: State, right: State) -> State:
    if right[1] == 0:
        return left
    held, _ = larger(left, right[0])
    return (held, left[1] + right[1])


def extreme(state: State) -> Any:
    if state[1] == 0:
        return None
    return state[0]

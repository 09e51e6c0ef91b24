"""The smallest and the largest value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.aggregates.ordered_types import check_ordered, keeps_words, note_of_words
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.plan import Aggregate, AggregateFunctions, Multiset, State

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Extreme(Aggregate):
    """Common part of min and max: the state is (value, count), without removal."""

    chooses: ClassVar[bool] = True

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return check_ordered(self, input_type)

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions | Multiset:
        if keeps_words(input_type):
            return Multiset(self.end)
        zero: State = (0.0, 0) if pa.types.is_floating(input_type) else (0, 0)
        return AggregateFunctions(init=zero, accumulate=self.closer(), merge=self.closest(), result=extreme,
                                  of_rows=extremes_of_rows)

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        return note_of_words(self, input_type)

    end: ClassVar[int]
    """Which end of the values in order it is."""

    @staticmethod
    @abstractmethod
    def closer() -> Callable[[Any, Any], State]: ...

    @staticmethod
    @abstractmethod
    def closest() -> Callable[[Any, Any], State]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Min(Extreme):
    """Smallest value that is not null; null when there is none.

    NaN counts as larger than every number.

        time     0    5    10
        in       2────────         min over [0, 5) is 2, over [5, 10) is 2
                      3────

    Texts are ordered by their characters' numbers, as Python orders them.

    Notes
    -----
    State: one value a group; where rows also leave, the values of active rows on two stacks, or the group is
    computed again if they leave in another order than they came. Texts are all kept until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.min(wb.col.x)).collect()["v"].to_pylist()
    [2, 2]
    """

    name: ClassVar[str] = "min"
    end: ClassVar[int] = multisets.LOWEST

    @staticmethod
    def closer() -> Callable[[Any, Any], State]:
        return smaller

    @staticmethod
    def closest() -> Callable[[Any, Any], State]:
        return smallest


@dataclass(frozen=True, kw_only=True, eq=False)
class Max(Extreme):
    """Largest value that is not null; null when there is none.

    NaN counts as larger than every number.

        time     0    5    10
        in       2────────         max over [0, 5) is 2, over [5, 10) is 3
                      3────

    Texts are ordered by their characters' numbers, as Python orders them.

    Notes
    -----
    State: as for :class:`Min`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.max(wb.col.x)).collect()["v"].to_pylist()
    [2, 3]
    """

    name: ClassVar[str] = "max"
    end: ClassVar[int] = multisets.HIGHEST

    @staticmethod
    def closer() -> Callable[[Any, Any], State]:
        return larger

    @staticmethod
    def closest() -> Callable[[Any, Any], State]:
        return largest


def extremes_of_rows(values: Array, ones: Array, zeros: Array) -> Sequence[Array]:
    return [values, ones]


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
    return state[0] + 0  # -0.0 becomes 0.0

"""The value of the earliest and of the latest row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.aggregates.ordered_types import check_ordered, keeps_words, note_of_words
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.plan import Aggregate, AggregateFunctions, Multiset, State


@dataclass(frozen=True, kw_only=True, eq=False)
class Edge(Aggregate):
    """Common part of first and last: the state is (value, its start, count), without removal."""

    chooses: ClassVar[bool] = True

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return check_ordered(self, input_type)

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        return note_of_words(self, input_type)


@dataclass(frozen=True, kw_only=True, eq=False)
class First(Edge):
    """Value of the row that started first, without nulls.

    It is null when there is none.

        time     0    5    10
        in       3────────         first over [0, 10) is 3, over [10, 15) is 2
                      2────────

    The start is that of the event before a window or a closed session rounded it: the opening price of an hour. Order
    inside one instant carries no meaning, so of several rows that started together the smallest value counts.

    Notes
    -----
    State: a value and its start a group; where rows also leave, as for :class:`Min`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 15], "x": [3, 2]}, time="at", end="until")
    >>> events.aggregate(v=wb.first(wb.col.x)).collect()["v"].to_pylist()
    [3, 3, 2]
    """

    name: ClassVar[str] = "first"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions | Multiset:
        if keeps_words(input_type):
            return Multiset(multisets.LOWEST, timed=True)
        zero = 0.0 if pa.types.is_floating(input_type) else 0
        return AggregateFunctions(init=(zero, 0, 0), accumulate=earlier, merge=earliest, result=edge, timed=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Last(Edge):
    """Value of the row that started last, without nulls.

    It is null when there is none.

        time     0    5    10
        in       3────────         last over [0, 5) is 3, over [5, 15) is 2
                      2────────

    As for :class:`First`; of several rows that started together the largest value counts.

    Notes
    -----
    State: as for :class:`First`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 15], "x": [3, 2]}, time="at", end="until")
    >>> events.aggregate(v=wb.last(wb.col.x)).collect()["v"].to_pylist()
    [3, 2, 2]
    """

    name: ClassVar[str] = "last"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions | Multiset:
        if keeps_words(input_type):
            return Multiset(multisets.HIGHEST, timed=True)
        zero = 0.0 if pa.types.is_floating(input_type) else 0
        return AggregateFunctions(init=(zero, 0, 0), accumulate=later, merge=latest, result=edge, timed=True)


def earlier(state: State, value: Any, start: Any) -> State:
    held, since, rows = state
    if rows == 0 or start < since or (start == since and (value < held or held != held)):
        held, since = value, start
    return (held, since, rows + 1)


def later(state: State, value: Any, start: Any) -> State:
    held, since, rows = state
    if rows == 0 or start > since or (start == since and (value > held or value != value)):
        held, since = value, start
    return (held, since, rows + 1)


def earliest(left: State, right: State) -> State:
    if right[2] == 0:
        return left
    held, since, _ = earlier(left, right[0], right[1])
    return (held, since, left[2] + right[2])


def latest(left: State, right: State) -> State:
    if right[2] == 0:
        return left
    held, since, _ = later(left, right[0], right[1])
    return (held, since, left[2] + right[2])


def edge(state: State) -> Any:
    if state[2] == 0:
        return None
    return state[0] + 0  # -0.0 becomes 0.0

"""Logical OR and AND of values.

``any`` and ``all`` give whether any or all values are true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.errors import ExpressionError
from whimbrel.plan import Aggregate, AggregateFunctions, State

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Logical(Aggregate):
    """What any and all share: the state is (how many are true, how many are false)."""

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if input_type is None or not pa.types.is_boolean(input_type):
            raise ExpressionError(f"{self.name} needs a condition, got {input_type}.", where=self.show(),
                                  hint="Compare it with a value, such as `> 0`.")
        return pa.bool_()


@dataclass(frozen=True, kw_only=True, eq=False)
class AnyTrue(Logical):
    """Logical OR: true if at least one value is true.

    Nulls are left out. The result of no values is false.

        time     0    5    10
        in       false────         any over [0, 5) is false, over [5, 10) is true
                      true─

    Notes
    -----
    State: how many values are true and how many false.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "late": [False, True]}, time="at", end="until")
    >>> events.aggregate(v=wb.any(wb.col.late)).collect()["v"].to_pylist()
    [False, True]
    """

    name: ClassVar[str] = "any"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(0, 0), accumulate=add, remove=remove, merge=merge, result=any_true,
                                  of_rows=truths_of_rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class AllTrue(Logical):
    """Logical AND: true if no value is false.

    Nulls are left out. The result of no values is true.

        time     0    5    10
        in       true─────         all over [0, 5) is true, over [5, 10) is false
                      false

    Notes
    -----
    State: as for :class:`AnyTrue`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "paid": [True, False]}, time="at", end="until")
    >>> events.aggregate(v=wb.all(wb.col.paid)).collect()["v"].to_pylist()
    [True, False]
    """

    name: ClassVar[str] = "all"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(0, 0), accumulate=add, remove=remove, merge=merge, result=all_true,
                                  of_rows=truths_of_rows)


def truths_of_rows(values: Array, ones: Array, zeros: Array) -> Sequence[Array]:
    is_true = (values != 0).astype(np.int64)
    return [is_true, 1 - is_true]


def add(state: State, value: Any) -> State:
    if value != 0:
        return (state[0] + 1, state[1])
    return (state[0], state[1] + 1)


def remove(state: State, value: Any) -> State:
    if value != 0:
        return (state[0] - 1, state[1])
    return (state[0], state[1] - 1)


def merge(left: State, right: State) -> State:
    return (left[0] + right[0], left[1] + right[1])


def any_true(state: State) -> Any:
    return state[0] > 0


def all_true(state: State) -> Any:
    return state[1] == 0

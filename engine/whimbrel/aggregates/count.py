"""Count rows, or values that are not null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.plan import Aggregate, AggregateFunctions, State

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Count(Aggregate):
    """Number of active rows, or of values that are not null.

    With an expression, it counts the active rows where the expression is not null.

        time     0    5    10
        in       a────────         count over [0, 5) is 1, over [5, 10) is 2
                      b────

    Notes
    -----
    State: one number a group; where it is the only aggregate, windows know it anyway.
    Source: Trill (VLDB 2015), section 3.3.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.count()).collect()["v"].to_pylist()
    [1, 2]
    """

    name: ClassVar[str] = "count"

    @property
    def counts_rows(self) -> bool:
        return self.expr is None and self.condition is None

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return pa.int64()

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(0,), accumulate=count_in, remove=count_out, merge=count_both,
                                  result=counted,
                     additive=True, always=True, of_rows=ones_of_rows)


def ones_of_rows(values: Array, ones: Array, zeros: Array) -> Sequence[Array]:
    return [ones]


def count_in(state: State, value: Any) -> State:
    return (state[0] + 1,)


def count_out(state: State, value: Any) -> State:
    return (state[0] - 1,)


def count_both(left: State, right: State) -> State:
    return (left[0] + right[0],)


def counted(state: State) -> Any:
    return state[0]


Aggregate.counter = Count

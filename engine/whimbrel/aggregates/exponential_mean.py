"""The exponentially weighted mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.errors import ExpressionError
from whimbrel.plan import Aggregate, AggregateFunctions, State


@dataclass(frozen=True, kw_only=True, eq=False)
class ExponentialMean(Aggregate):
    """Exponentially weighted mean of the values that are not null, in the order of their starts.

    The weight of what was before falls with time, or by the same factor at each value. :func:`whimbrel.ema` makes it.

        time     0    5    10
        in       2────4────8───     (alpha 0.5)
        out      2────3────5.5─

    Parameters
    ----------
    halflife : int, optional
        Ticks after which a value has half of its weight.
    alpha : float, optional
        Weight of the newest value, instead of `halflife`.
    text : str
        As the user wrote it.

    Notes
    -----
    State: the mean and the time of the last value, a key. Source: ``ewm_mean_by`` of Polars.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 5, 10], "x": [2, 4, 8]}, time="at")
    >>> log.select(v=wb.ema(wb.col.x, alpha=0.5)).collect()["v"].to_pylist()
    [2.0, 3.0, 5.5]
    """

    name: ClassVar[str] = "ema"

    halflife: int | None = None
    alpha: float | None = None
    text: str

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if pa.types.is_integer(input_type) or pa.types.is_floating(input_type):
            return pa.float64()
        raise ExpressionError(f"ema needs numbers, got {input_type}.", where=self.text,
                              hint="Cast it first: .cast(float).")

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        if self.alpha is not None:
            return AggregateFunctions(init=(0.0, 0, self.alpha), accumulate=step, merge=None, result=mean_so_far,
                                      in_order=True)
        assert self.halflife is not None
        return AggregateFunctions(init=(0.0, 0, math.log(2) / self.halflife, 0), accumulate=step_in_time, merge=None,
                                  result=mean_so_far, timed=True, in_order=True)

    def show(self) -> str:
        return self.text


def step(state: State, value: Any) -> State:
    """Add to (mean, whether there is one, weight of the newest value)."""
    mean, there, alpha = state
    if there == 0 or value == mean:
        return (float(value), 1, alpha)
    return (alpha * value + (1.0 - alpha) * mean, 1, alpha)


def step_in_time(state: State, value: Any, start: Any) -> State:
    """Add to (mean, whether there is one, decay per tick, time of the last value)."""
    mean, there, decay, last = state
    if there == 0 or value == mean:
        return (float(value), 1, decay, start)
    kept = math.exp(-decay * (start - last))
    return ((1.0 - kept) * value + kept * mean, 1, decay, start)


def mean_so_far(state: State) -> Any:
    if state[1] == 0:
        return None
    return state[0]

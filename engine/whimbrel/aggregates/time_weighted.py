"""Aggregates that weigh values by their duration within a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.clock import Duration, TickUnit, duration_ticks
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Expr
from whimbrel.plan import Aggregate, AggregateFunctions, State


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeWeighted(Aggregate):
    """What these aggregates share: the state is (values times ticks, ticks)."""

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if input_type is None or not (pa.types.is_integer(input_type) or pa.types.is_floating(input_type)
                                      or pa.types.is_boolean(input_type)):
            raise ExpressionError(f"{self.name} needs numbers or bools, got {input_type}.", where=self.show(),
                                  hint="Cast it first, for example with .cast(float).")
        return pa.float64()


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeMean(TimeWeighted):
    """Mean over time.

    Each value counts as long as it lasts within the window. Times without a value do not count. The mean is null where
    there is no value at all.

        time     0    5    10   15
        in       2─────────8────         time_mean(col.x).past(10) at 10 is 2.6: nine ticks of 2, one of 8

    Notes
    -----
    A window ``(t - back, t + ahead]`` is so many ticks, and the mean is over the ticks that have a value. State: a sum
    and a number of ticks.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> levels = wb.from_arrow({"at": [0, 10], "until": [10, 15], "x": [2, 8]}, time="at", end="until").select("x")
    >>> levels.select(m=wb.time_mean(col.x).past(10)).collect()["m"].to_pylist()
    [2.0, 2.6]
    """

    name: ClassVar[str] = "time_mean"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(0.0, 0), accumulate=weigh, merge=merge, result=mean, spans=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Integral(TimeWeighted):
    """Integral over time.

    Each value is multiplied by how long it lasts within the window. It is null where there is no value at all.

        time     0    5    10   15
        in       2─────────8────         integral(col.x).past(10) at 10 is 26: nine ticks of 2, one of 8

    Parameters
    ----------
    of : str, timedelta or int (ticks)
        The duration that counts as one: ``"1h"`` for kilowatt hours of kilowatts. Default: a second, or a tick where
        times are integers.

    Notes
    -----
    State: a sum and a number of ticks.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> levels = wb.from_arrow({"at": [0, 10], "until": [10, 15], "x": [2, 8]}, time="at", end="until").select("x")
    >>> levels.select(i=wb.integral(col.x).past(10)).collect()["i"].to_pylist()
    [2.0, 26.0]
    """

    name: ClassVar[str] = "integral"

    of: Duration | None = None

    @property
    def options(self) -> str:
        return "" if self.of is None else f", unit={self.of!r}"

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(0.0, 0), accumulate=weigh, merge=merge, result=integral, spans=True)

    def in_unit(self, unit: TickUnit) -> Expr:
        span = self.of if self.of is not None else 1 if unit is None else "1s"
        ticks = duration_ticks(span, unit, where=self.show())
        if ticks <= 0:
            raise PlanError(f"The unit of an integral must be positive, got {self.of!r}.", where=self.show(),
                            hint='Use a duration, such as unit="1h".')
        return self if ticks == 1 else self / float(ticks)


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeIn(Aggregate):
    """Duration for which a condition is true within the window.

    It is in ticks where times are integers. Times without a value do not count. It is null where there is no value
    at all.

        time     0    5    10   15
        in       2─────────8────         time_in(col.x > 5).past(10) at 10 is one tick

    Notes
    -----
    State: two numbers of ticks.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> levels = wb.from_arrow({"at": [0, 10], "until": [10, 15], "x": [2, 8]}, time="at", end="until").select("x")
    >>> levels.select(d=wb.time_in(col.x > 5).past(10, ahead=2)).collect()["d"].to_pylist()
    [0, 3]
    """

    name: ClassVar[str] = "time_in"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if input_type is None or not pa.types.is_boolean(input_type):
            raise ExpressionError(f"time_in needs a condition, got {input_type}.", where=self.show(),
                                  hint="Compare it with a value, such as `> 0`.")
        return pa.int64()

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(0, 0), accumulate=measure, merge=merge, result=time_in, spans=True)

    def in_unit(self, unit: TickUnit) -> Expr:
        return self if unit is None else self.cast(pa.duration(unit))


def weigh(state: State, value: Any, start: Any, end: Any) -> State:
    return (state[0] + float(value) * (end - start), state[1] + (end - start))


def measure(state: State, value: Any, start: Any, end: Any) -> State:
    return (state[0] + (end - start if value else 0), state[1] + (end - start))


def merge(left: State, right: State) -> State:
    return (left[0] + right[0], left[1] + right[1])


def mean(state: State) -> Any:
    if state[1] == 0:
        return None
    return state[0] / state[1]


def integral(state: State) -> Any:
    if state[1] == 0:
        return None
    return state[0]


def time_in(state: State) -> Any:
    if state[1] == 0:
        return None
    return state[0]

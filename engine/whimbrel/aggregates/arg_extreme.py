"""The value of the row where another value is smallest or largest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pyarrow as pa

from whimbrel.aggregates.ordered_types import keeps_words
from whimbrel.errors import ExpressionError
from whimbrel.expr import Call, Expr
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.plan import Aggregate, AggregateFunctions, Multiset, State, is_ordered


@dataclass(frozen=True, kw_only=True, eq=False)
class ArgExtreme(Aggregate):
    """Common part of arg_min and arg_max: the state is (value, what orders it, its start, count), without removal."""

    @classmethod
    def of(cls, value: Expr, by: Expr, **options: Any) -> Self:
        """The aggregate of a value and of what orders it."""
        return cls(expr=Call("struct", (value, by), ("value", "by")), **options)

    @property
    def pair(self) -> tuple[Expr, Expr]:
        """The value, and what orders it."""
        assert isinstance(self.expr, Call)
        value, by = self.expr.args
        return value, by

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        value, by = _types(input_type)
        for type_ in (value, by):
            if not is_ordered(type_):
                raise ExpressionError(f"{self.name} needs values with an order, got {type_}.", where=self.show(),
                                      hint="Cast the column of nulls with .cast('int64')." if pa.types.is_null(type_)
                                      else "Use numbers, bools, times, strings or bytes.")
        return value

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions | Multiset:
        value, by = _types(input_type)
        if _keeps_rows(value, by):
            choice, largest = self.choice
            return Multiset(choice, timed=True, largest=largest)
        zero, zero_by = (0.0 if pa.types.is_floating(type_) else 0 for type_ in (value, by))
        accumulate, merge = self.functions()
        return AggregateFunctions(init=(zero, zero_by, 0, 0), accumulate=accumulate, merge=merge, result=value_there,
                                  inputs=2, timed=True)

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        if not _keeps_rows(*_types(input_type)):
            return ()
        return (f"{self.show()} keeps the values of all active rows where rows leave one by one",)

    def show(self) -> str:
        text = f"{self.name}({', '.join(each.show() for each in self.pair)})"
        return text if self.condition is None else f"{text}.where({self.condition.show()})"

    @property
    @abstractmethod
    def choice(self) -> tuple[int, bool]:
        """End of the rows that counts, and whether the order descends."""

    @abstractmethod
    def functions(self) -> tuple[Callable[..., State], Callable[[Any, Any], State]]:
        """Functions that accumulate and merge."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArgMin(ArgExtreme):
    """Value of the row where another value is smallest.

    A row counts if neither is null; without such a row the result is null. NaN counts as larger than every number.

        time     0    5    10
        in       a 3──────         arg_min over [0, 5) is a, over [5, 15) is b
                      b 2──────

    The row that started first decides between equal ones, and of those that started together the smallest value. The
    start is that of the event before a window rounded it. The order of arrival does not matter.

    Notes
    -----
    State: two values and a start a group. Where rows also leave, the values of active rows on two stacks, and all
    texts, decimals and unsigned integers of 64 bits until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> bids = wb.from_arrow({"at": [0, 1, 6], "who": ["a", "b", "c"], "x": [3, 2, 4]}, time="at")
    >>> bids.tumbling_window(5).aggregate(who=wb.arg_min(col.who, col.x)).collect()["who"].to_pylist()
    ['b', 'c']
    """

    name: ClassVar[str] = "arg_min"

    @property
    def choice(self) -> tuple[int, bool]:
        return multisets.LOWEST, False

    def functions(self) -> tuple[Callable[..., State], Callable[[Any, Any], State]]:
        return at_smaller, at_smallest


@dataclass(frozen=True, kw_only=True, eq=False)
class ArgMax(ArgExtreme):
    """Value of the row where another value is largest.

    A row counts if neither is null; without such a row the result is null. NaN counts as larger than every number.

        time     0    5    10
        in       a 3──────         arg_max over [0, 10) is a, over [10, 15) is b
                      b 2──────

    The row that started first decides between equal ones, and of those that started together the smallest value. With
    `latest` it is the row that started last, and the largest value: the last value by another one.

    Parameters
    ----------
    latest : bool
        Whether the last of equal rows decides, not the first.

    Notes
    -----
    State: as for :class:`ArgMin`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> bids = wb.from_arrow({"at": [0, 1, 6], "who": ["a", "b", "c"], "x": [3, 2, 4]}, time="at")
    >>> bids.tumbling_window(5).aggregate(who=wb.arg_max(col.who, col.x)).collect()["who"].to_pylist()
    ['a', 'c']
    """

    name: ClassVar[str] = "arg_max"

    latest: bool = False

    @property
    def choice(self) -> tuple[int, bool]:
        return (multisets.HIGHEST, False) if self.latest else (multisets.LOWEST, True)

    def functions(self) -> tuple[Callable[..., State], Callable[[Any, Any], State]]:
        return (at_latest, at_latest_of_both) if self.latest else (at_larger, at_largest)

    def show(self) -> str:
        if not self.latest:
            return super().show()
        value, by = self.pair
        text = f"last({value.show()}, by={by.show()})"
        return text if self.condition is None else f"{text}.where({self.condition.show()})"


def _types(input_type: pa.DataType | None) -> tuple[pa.DataType, pa.DataType]:
    assert input_type is not None
    return input_type.field(0).type, input_type.field(1).type


def _keeps_rows(value: pa.DataType, by: pa.DataType) -> bool:
    """Whether no state of numbers holds a row."""
    return any(keeps_words(type_) or pa.types.is_uint64(type_) for type_ in (value, by))


def less(one: Any, other: Any) -> Any:
    """Whether a number is before another one, NaN after all others."""
    return one < other or (other != other and one == one)


def same(one: Any, other: Any) -> Any:
    return one == other or (one != one and other != other)


def at_smaller(state: State, value: Any, by: Any, start: Any) -> State:
    held, best, since, rows = state
    if rows == 0 or less(by, best) or (same(by, best) and (
            start < since or (start == since and less(value, held)))):
        held, best, since = value, by, start
    return (held, best, since, rows + 1)


def at_larger(state: State, value: Any, by: Any, start: Any) -> State:
    held, best, since, rows = state
    if rows == 0 or less(best, by) or (same(by, best) and (
            start < since or (start == since and less(value, held)))):
        held, best, since = value, by, start
    return (held, best, since, rows + 1)


def at_latest(state: State, value: Any, by: Any, start: Any) -> State:
    held, best, since, rows = state
    if rows == 0 or less(best, by) or (same(by, best) and (
            start > since or (start == since and less(held, value)))):
        held, best, since = value, by, start
    return (held, best, since, rows + 1)


def at_smallest(left: State, right: State) -> State:
    if right[3] == 0:
        return left
    held, best, since, _ = at_smaller(left, right[0], right[1], right[2])
    return (held, best, since, left[3] + right[3])


def at_largest(left: State, right: State) -> State:
    if right[3] == 0:
        return left
    held, best, since, _ = at_larger(left, right[0], right[1], right[2])
    return (held, best, since, left[3] + right[3])


def at_latest_of_both(left: State, right: State) -> State:
    if right[3] == 0:
        return left
    held, best, since, _ = at_latest(left, right[0], right[1], right[2])
    return (held, best, since, left[3] + right[3])


def value_there(state: State) -> Any:
    if state[3] == 0:
        return None
    return state[0] + 0  # -0.0 becomes 0.0

"""Aggregates of all values in order: mode, quantiles, deviations, entropy, joined texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal

import pyarrow as pa

from whimbrel.aggregates import runs_of_values
from whimbrel.aggregates.ordered_types import check_ordered, note_of_values
from whimbrel.aggregates.quantile import FINEST
from whimbrel.aggregates.sum import Sum
from whimbrel.errors import ExpressionError
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.plan import Aggregate, ListSummary, Multiset

JoinOrder = Literal["time", "value"]


@dataclass(frozen=True, kw_only=True, eq=False)
class OfAllValues(Aggregate):
    """Common part: every value is kept in order, and whole lists become results."""

    timed: ClassVar[bool] = False
    """Whether values are in the order of their starts."""

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset:
        return Multiset(multisets.ALL, timed=self.timed, summary=self.summary(input_type))

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        return note_of_values(self)

    @abstractmethod
    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        """Function from the lists to their results."""

    def check_numbers(self, input_type: pa.DataType | None) -> None:
        """Fail unless values are integers or floats."""
        if not (pa.types.is_integer(input_type) or pa.types.is_floating(input_type)):
            raise ExpressionError(f"{self.name} needs numbers, got {input_type}.", where=self.show(),
                                  hint="Cast the values, for example with .cast(float).")


@dataclass(frozen=True, kw_only=True, eq=False)
class Mode(OfAllValues):
    """Most frequent of the values; of several the smallest.

    Nulls are left out. It is null when there is no value. All NaNs are one value, the largest.

        time     0    5    10
        in       3────────         mode over [0, 10) is 2
                 2────────
                 2────────

    Notes
    -----
    State: all values of a group until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2, 6], "x": [3, 2, 2, 4]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.mode(wb.col.x)).collect()["v"].to_pylist()
    [2, 4]
    """

    name: ClassVar[str] = "mode"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return check_ordered(self, input_type)

    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        return runs_of_values.mode_of_runs


@dataclass(frozen=True, kw_only=True, eq=False)
class SumDistinct(OfAllValues):
    """Sum of the different values that are not null.

    It is 0 when there is none. An integer sum that leaves int64 is an error. Floats are added from the smallest to the
    largest, so the order of rows does not matter.

        time     0    5    10
        in       2────────         sum_distinct over [0, 5) is 2, over [5, 10) is 5
                 2────────
                      3────

    Notes
    -----
    State: all values of a group until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2, 6], "x": [3, 2, 2, 4]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.sum_distinct(wb.col.x)).collect()["v"].to_pylist()
    [5, 4]
    """

    name: ClassVar[str] = "sum_distinct"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return Sum(expr=self.expr).result_type(input_type)

    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        return partial(runs_of_values.sum_of_different, self.result_type(input_type), self.show())


@dataclass(frozen=True, kw_only=True, eq=False)
class QuantileList(OfAllValues):
    """Several quantiles of the same values, as a list.

    The list is null when there are no values. Each is that of :class:`Quantile`, linear, as a float.

        time     0    5    10
        in       2────────         quantiles of [0.5, 1] over [0, 5) are [2, 2], over [5, 10) [2.5, 3]
                      3────

    Parameters
    ----------
    qs : tuple of float
        From 0 (the smallest) to 1 (the largest).

    Notes
    -----
    State: all values of a group until their rows leave, once for all quantiles.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": [3, 2, 4]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.quantiles(wb.col.x, [0.5, 1])).collect()["v"].to_pylist()
    [[2.5, 3.0], [4.0, 4.0]]
    """

    name: ClassVar[str] = "quantiles"

    qs: tuple[float, ...]

    @property
    def options(self) -> str:
        return f", {list(self.qs)!r}"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        self.check_numbers(input_type)
        return pa.list_(pa.float64())

    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        fractions = tuple(Fraction(q).limit_denominator(FINEST) for q in self.qs)
        return partial(runs_of_values.quantile_lists, fractions)


@dataclass(frozen=True, kw_only=True, eq=False)
class MedianDeviation(OfAllValues):
    """Median absolute deviation: the median of the distances from the median.

    It is a float, and null when there is no value.

        time     0    5    10
        in       2────────         mad over [0, 5) is 0, over [5, 10) is 0.5
                      3────

    Notes
    -----
    State: all values of a group until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2, 6], "x": [3, 2, 9, 4]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.mad(wb.col.x)).collect()["v"].to_pylist()
    [1.0, 0.0]
    """

    name: ClassVar[str] = "mad"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        self.check_numbers(input_type)
        return pa.float64()

    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        return runs_of_values.median_deviation


@dataclass(frozen=True, kw_only=True, eq=False)
class Entropy(OfAllValues):
    """Entropy of the different values in bits (Shannon).

    With a share `p` for each value that is not null, it is the sum of ``-p * log2(p)``. It is null when there is no
    value, and 0 when all are equal.

        time     0    5    10
        in       2────────         entropy over [0, 5) is 0, over [5, 10) is 1
                      3────

    Notes
    -----
    State: all values of a group until their rows leave.
    Source: Shannon, "A Mathematical Theory of Communication", 1948, section 6.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": ["a", "b", "b"]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.entropy(wb.col.x)).collect()["v"].to_pylist()
    [1.0, 0.0]
    """

    name: ClassVar[str] = "entropy"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        check_ordered(self, input_type)
        return pa.float64()

    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        return runs_of_values.entropy_of_runs


@dataclass(frozen=True, kw_only=True, eq=False)
class StringAgg(OfAllValues):
    """Texts that are not null, one after another with a separator.

    It is null when there is none. The order does not depend on arrival.

        time     0    5    10
        in       b────────         string_agg(col.x, ",") over [0, 5) is "b", over [5, 10) is "b,a"
                      a────

    Parameters
    ----------
    separator : str
    order : {"time", "value"}
        ``"time"``: by the start of their rows, before any window rounded it; those that started together by value.
        ``"value"``: by their characters' numbers.
    descending : bool
        Whether the order begins with the last.

    Notes
    -----
    State: all values of a group until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 6], "x": ["b", "a", "c"]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.string_agg(wb.col.x, "-")).collect()["v"].to_pylist()
    ['b-a', 'c']
    """

    name: ClassVar[str] = "string_agg"

    separator: str = ","
    order: JoinOrder = "time"
    descending: bool = False

    @property
    def options(self) -> str:
        order = "" if self.order == "time" else f', order="{self.order}"'
        return f", {self.separator!r}{order}{', descending=True' if self.descending else ''}"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if not (pa.types.is_string(input_type) or pa.types.is_large_string(input_type)):
            raise ExpressionError(f"string_agg needs strings, got {input_type}.", where=self.show(),
                                  hint='Cast the values with .cast("string").')
        return input_type

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset:
        return Multiset(multisets.ALL, timed=self.order == "time", summary=self.summary(input_type))

    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        return partial(runs_of_values.joined_texts, self.separator, self.descending)


@dataclass(frozen=True, kw_only=True, eq=False)
class Increase(OfAllValues):
    """Increase of a counter that may be reset to zero.

    A value below the one before it is a reset: the counter has grown by that value since. The result is null with fewer
    than two values.

        time     0    5    10   15
        in       7─────────────    increase over [0, 5) is null, over [5, 10) is 2, over [10, 15) is 3
                      9────────
                           1───

    Values are in the order of their starts, before any window rounded it, and those of one instant by size. Growth
    between the last value of one window and the first of the next one is in neither: nothing is extrapolated.

    Notes
    -----
    State: all values of a group until their rows leave. Source: ``increase`` of Prometheus, without its extrapolation
    to the borders of the window.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2, 6], "x": [7, 9, 1, 4]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.increase(wb.col.x)).collect()["v"].to_pylist()
    [3, None]
    """

    name: ClassVar[str] = "increase"
    timed: ClassVar[bool] = True

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        self.check_numbers(input_type)
        return pa.float64() if pa.types.is_floating(input_type) else pa.int64()

    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        return partial(runs_of_values.counter_increase, self.result_type(input_type), self.show())

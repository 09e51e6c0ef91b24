"""Collect values, the largest values, and distinct counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from whimbrel.aggregates.ordered_types import check_ordered, note_of_values
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.plan import Aggregate, Multiset


@dataclass(frozen=True, kw_only=True, eq=False)
class Collect(Aggregate):
    """List of the values that are not null, by start.

    The order is that of the starts of their rows. The list is empty when there is none.

        time     0    5    10
        in       3────────         [3] over [0, 5), [3, 2] over [5, 10), [2] over [10, 15)
                      2────────

    The start is that of the event before a window or a closed session rounded it. Order inside one instant carries no
    meaning, so values of rows that started together stand in their own order, smallest first, NaN last.

    Notes
    -----
    State: all values of a group until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 15], "x": [3, 2]}, time="at", end="until")
    >>> events.aggregate(v=wb.collect(wb.col.x)).collect()["v"].to_pylist()
    [[3], [3, 2], [2]]
    """

    name: ClassVar[str] = "collect"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return pa.list_(check_ordered(self, input_type))

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset:
        return Multiset(multisets.ALL, timed=True)

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        return note_of_values(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class CountDistinct(Aggregate):
    """Number of different values that are not null.

    All NaNs are one value; so are 0.0 and -0.0.

        time     0    5    10
        in       2────────         1 over [0, 10): both are 2
                      2────

    Notes
    -----
    State: all values of a group until their rows leave; :class:`ApproximateCountDistinct` needs less.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 2]}, time="at", end="until")
    >>> events.aggregate(v=wb.count_distinct(wb.col.x)).collect()["v"].to_pylist()
    [1, 1]
    """

    name: ClassVar[str] = "count_distinct"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        check_ordered(self, input_type)
        return pa.int64()

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset:
        return Multiset(multisets.DISTINCT)

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        return note_of_values(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class LargestValues(Aggregate):
    """The `k` largest values with their ranks, largest first.

    Nulls are left out. The list is empty when there is no value.

        time     0    5    10
        in       2────────         [(1, 2)] over [0, 5), [(1, 3), (2, 2)] over [5, 10)
                      3────

    Equal values have one rank, and as many ranks are left out after them (1, 1, 3), as in SQL's RANK.

    Parameters
    ----------
    k : int
    ties : bool
        Whether values equal to the last are listed too, so that there may be more than `k`.

    Notes
    -----
    State: all values of a group until their rows leave.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.top_k(wb.col.x, 2)).collect()["v"].to_pylist()
    [[{'rank': 1, 'value': 2}], [{'rank': 1, 'value': 3}, {'rank': 2, 'value': 2}]]
    """

    name: ClassVar[str] = "top_k"

    k: int
    ties: bool = True

    @property
    def options(self) -> str:
        return f", {self.k}{'' if self.ties else ', ties=False'}"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        value = check_ordered(self, input_type)
        return pa.list_(pa.struct([("rank", pa.int64()), ("value", value)]))

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset:
        return Multiset(multisets.TOP_WITH_TIES if self.ties else multisets.TOP, self.k)

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        return note_of_values(self)

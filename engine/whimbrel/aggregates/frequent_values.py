"""Most frequent values, with a bounded number of counters (Misra and Gries)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from whimbrel.aggregates.approximate import Approximate
from whimbrel.aggregates.ordered_types import check_ordered
from whimbrel.aggregates.runs_of_values import runs
from whimbrel.batch import Column
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.plan import Frequencies, FrequencyState, ListSummary, Multiset

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class ApproximateTopK(Approximate):
    """Approximate list of the `k` most frequent values, with counts (Misra-Gries).

    Nulls are left out, and all NaNs are one value. The most frequent value comes first, and of equally frequent ones
    the smallest. The list is empty when there is no value.

        time     0    5    10
        in       2────────         [(2, 1, 0)] over [0, 5), [(2, 2, 0)] over [5, 10)
                      2────

    Each item has a `value`, a `count` and an `error`: the value occurs at least `count` times, and at most
    ``count + error`` times. The error is 0 while a window has fewer than 4096 values, or at most `counters` different
    ones. It is never more than the number of values divided by `counters`.

    Parameters
    ----------
    k : int
    counters : int
        How many values of a group are counted at a time.

    Notes
    -----
    State: one counter for each value that is counted, and up to 4096 values. The result does not depend on the order of
    arrival. Sources: Misra and Gries, "Finding repeated elements", 1982; merging as in Agarwal et al., "Mergeable
    summaries", PODS 2012.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 2, 6], "x": ["a", "b", "b", "c"]}, time="at")
    >>> events.tumbling_window(5).aggregate(v=wb.approx_top_k(wb.col.x, 1)).collect()["v"].to_pylist()
    [[{'value': 'b', 'count': 2, 'error': 0}], [{'value': 'c', 'count': 1, 'error': 0}]]
    """

    name: ClassVar[str] = "approx_top_k"

    k: int
    counters: int = 1000

    @property
    def options(self) -> str:
        return f", {self.k}{'' if self.counters == 1000 else f', counters={self.counters}'}"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        value = check_ordered(self, input_type)
        return pa.list_(pa.struct([("value", value), ("count", pa.int64()), ("error", pa.int64())]))

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset | Frequencies:
        if removable:
            return Multiset(multisets.ALL, summary=self.summary(input_type))
        return Frequencies(new=partial(FrequencySummary, self.counters),
                           load=partial(FrequencySummary.from_bytes, self.counters),
                           choose=partial(largest_counts, self.k),
                           join=partial(counted_lists, self.result_type(input_type)))

    def summary(self, input_type: pa.DataType | None) -> ListSummary:
        """Function from the lists of all values to exact results."""
        return partial(top_values, self.result_type(input_type), self.k)


class FrequencySummary(FrequencyState):
    """Counters of the values that were seen most often, and by how much each may be too small."""

    def __init__(self, counters: int, keys: Array | None = None, counts: Array | None = None, error: int = 0) -> None:
        self.counters, self.error = counters, error
        self.keys = np.empty(0, np.int64) if keys is None else keys
        self.counts = np.empty(0, np.int64) if counts is None else counts

    def add(self, values: Array) -> None:
        self._take(*np.unique(values, return_counts=True))

    def result(self) -> tuple[Array, Array, int]:
        """Values, their counts, and by how much these may be too small."""
        return self.keys, self.counts, self.error

    def merge(self, other: Self) -> None:
        self._take(other.keys, other.counts)
        self.error += other.error

    def fork(self) -> Self:
        return type(self)(self.counters, self.keys, self.counts, self.error)

    def to_bytes(self) -> bytes:
        return np.concatenate([[self.error], self.keys, self.counts]).astype(np.int64).tobytes()

    @classmethod
    def from_bytes(cls, counters: int, written: bytes) -> FrequencySummary:
        error, *_ = numbers = np.frombuffer(written, np.int64)
        keys, counts = numbers[1:].reshape(2, -1)
        return cls(counters, keys, counts, int(error))

    def renamed(self, ids: Array) -> Self:
        """The same, with new ids for the old ones."""
        return type(self)(self.counters, ids[self.keys], self.counts, self.error)

    def _take(self, keys: Array, counts: Array) -> None:
        """Add counts. Of too many counters, all lose the count of the largest that has no place."""
        self.keys, place = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        total = np.zeros(len(self.keys), np.int64)
        np.add.at(total, place, np.concatenate([self.counts, counts]))
        self.counts = total
        over = len(self.keys) - self.counters
        if over > 0:
            least = int(np.partition(total, over - 1)[over - 1])
            kept = total > least
            self.keys, self.counts, self.error = self.keys[kept], total[kept] - least, self.error + least


def top_values(type_: pa.DataType, k: int, values: Column, ends: Array) -> Column:
    """The most frequent values of each list, with their counts."""
    first, counts, lists = runs(values, ends)
    chosen, lengths = largest_counts(k, counts, lists, len(ends))
    return counted_lists(type_, values.take(first[chosen]), counts[chosen], np.zeros(len(chosen), np.int64), lengths)


def largest_counts(k: int, counts: Array, lists: Array, count: int) -> tuple[Array, Array]:
    """Positions of the `k` largest counts of each list, largest first, and how many these are in each list.

    Of equal ones the first comes first.
    """
    order = np.lexsort((np.arange(len(counts)), -counts, lists))
    sizes = np.bincount(lists, minlength=count)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[rank < k], np.minimum(sizes, k)


def counted_lists(type_: pa.DataType, values: Column, counts: Array, errors: Array, lengths: Array) -> Column:
    """Lists of values with their counts and errors."""
    columns = [values.to_arrow(), pa.array(counts), pa.array(errors)]
    if pa.types.is_dictionary(columns[0].type):
        columns[0] = columns[0].dictionary_decode()
    items = pa.StructArray.from_arrays(columns, fields=list(type_.value_type))
    offsets = pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32))
    return Column(type_, pa.ListArray.from_arrays(offsets, items))

"""Encode rows of two values as integers in the order of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Column, Mask, frozen, numpy_type
from whimbrel.operators.aggregation.multiset_values import FixedValues

Array = np.ndarray[Any, Any]

INITIAL_ROWS = 1024
"""Rows that are remembered before any is forgotten: all of them are sorted again with each batch."""


class RowValues:
    """An id for each row, and the rank of each id: by what orders the rows, then by start, then by value.

    Parameters
    ----------
    value, by : pyarrow.DataType
    largest : bool
        Whether the largest of what orders the rows comes first.
    """

    def __init__(self, value: pa.DataType, by: pa.DataType, *, largest: bool) -> None:
        self.type, self.largest = value, largest
        self.values, self.orders = RowParts(value), RowParts(by)
        self.starts = self.rank = self.by_rank = np.empty(0, np.int64)
        self.limit = INITIAL_ROWS

    def __len__(self) -> int:
        return len(self.starts)

    def encode(self, value: Column, by: Column, starts: Array, there: Mask) -> Array:
        """The ids of rows; those that do not count have the first one."""
        ids = np.zeros(len(starts), np.int64)
        ids[there] = np.arange(len(self), len(self) + np.count_nonzero(there))
        self.values.append(value, there)
        self.orders.append(by, there)
        self.starts = np.concatenate([self.starts, starts[there]])
        self._rank_rows()
        return frozen(ids)

    def decode(self, keys: Array, valid: Mask | None = None) -> Column:
        """The values of rows."""
        return self.values.column(keys, valid) if len(self) else Column.nulls(self.type, len(keys))

    def keep_only(self, live: Array) -> Array:
        """Forget all rows but these; answers with the new id of each old one."""
        moved = np.zeros(len(self), np.int64)
        moved[live] = np.arange(len(live))
        self.values.keep(live)
        self.orders.keep(live)
        self.starts = self.starts[live]
        self.limit = max(INITIAL_ROWS, 2 * len(live))
        self._rank_rows()
        return moved

    def fork(self) -> RowValues:
        """A copy that shares the rows. They are only replaced, as a whole."""
        clone = object.__new__(RowValues)
        clone.__dict__.update(vars(self))
        clone.values, clone.orders = self.values.fork(), self.orders.fork()
        return clone

    def _rank_rows(self) -> None:
        first = ~self.orders.keys() if self.largest else self.orders.keys()
        order = np.argsort(first, kind="stable")
        ordered, starts = first[order], self.starts[order]
        tied = ordered[1:] == ordered[:-1]
        if (tied & (starts[1:] <= starts[:-1])).any():  # starts, and then values, decide
            order = np.lexsort((self.values.keys(), self.starts, first))
        self.by_rank = order
        self.rank = np.empty(len(self), np.int64)
        self.rank[self.by_rank] = np.arange(len(self))


class RowParts:
    """One value of each row: as integers in its order, or words."""

    def __init__(self, type_: pa.DataType) -> None:
        self.type = type_
        self.numbers = np.empty(0, np.int64)
        self.texts = pa.nulls(0, type_)

    @property
    def fixed(self) -> bool:
        return numpy_type(self.type) is not None

    def append(self, column: Column, there: Mask) -> None:
        if self.fixed:
            self.numbers = np.concatenate([self.numbers, FixedValues(self.type).encode(column)[there]])
            return
        more = column.to_arrow()
        if pa.types.is_dictionary(more.type):
            more = more.dictionary_decode()
        mask = Column(pa.bool_(), np.asarray(there)).to_arrow()
        self.texts = pa.concat_arrays([self.texts, more.filter(mask).cast(self.type)])

    def keys(self) -> Array:
        """Integers in the order of the values."""
        if self.fixed:
            return self.numbers
        coded = self.texts.dictionary_encode()
        order = np.asarray(pc.sort_indices(coded.dictionary)).astype(np.int64)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return rank[np.asarray(coded.indices)]

    def column(self, keys: Array, valid: Mask | None) -> Column:
        if self.fixed:
            return FixedValues(self.type).decode(self.numbers[keys], valid)
        indices = pa.array(keys) if valid is None else pa.array(keys, mask=~valid)
        return Column(self.type, self.texts.take(indices))

    def keep(self, live: Array) -> None:
        if self.fixed:
            self.numbers = self.numbers[live]
        else:
            self.texts = self.texts.take(pa.array(live))

    def fork(self) -> RowParts:
        clone = object.__new__(RowParts)
        clone.__dict__.update(vars(self))
        return clone

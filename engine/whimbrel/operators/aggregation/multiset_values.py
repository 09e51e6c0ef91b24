"""Encode column values as integers in the same order, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Column, Mask, frozen, numpy_type
from whimbrel.kernels.keys import ColumnKeys

Array = np.ndarray[Any, Any]

INITIAL_STRINGS = 65_536
"""Words that are remembered before any is forgotten."""


class FixedValues:
    """Numbers, booleans and times as order-preserving bits.

    NaN is larger than every number, and all NaNs are one value; so are 0.0 and -0.0.
    """

    def __init__(self, type_: pa.DataType) -> None:
        self.type = type_
        self.rank = self.by_rank = np.empty(0, np.int64)

    def encode(self, column: Column) -> Array:
        values = np.asarray(column.values)
        if values.dtype.kind == "f":
            wide = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
            wide[np.isnan(wide)] = np.nan
            return frozen(_swap_negatives(wide.view(np.int64)))
        if values.dtype == np.uint64:
            return frozen((values ^ np.uint64(1 << 63)).view(np.int64))
        return frozen(values.astype(np.int64, copy=False))

    def decode(self, keys: Array, valid: Mask | None = None) -> Column:
        physical = numpy_type(self.type)
        assert physical is not None
        if physical.kind == "f":
            values = _swap_negatives(keys).view(np.float64).astype(physical)
        elif physical == np.uint64:
            values = keys.view(np.uint64) ^ np.uint64(1 << 63)
        else:
            values = keys.astype(physical)
        return Column(self.type, values if valid is None else np.where(valid, values, np.zeros(1, physical)), valid)

    def fork(self) -> FixedValues:
        return self

    def state_parts(self) -> dict[str, Any]:
        """Nothing: it only translates."""
        return {}


class WordValues:
    """Strings and other Arrow values: an id for each value, and the rank of each id."""

    def __init__(self, type_: pa.DataType) -> None:
        self.type = type_
        self.strings = ColumnKeys(type_)
        self.rank = self.by_rank = np.empty(0, np.int64)
        self.limit = INITIAL_STRINGS

    def __len__(self) -> int:
        return len(self.strings)

    def encode(self, column: Column) -> Array:
        ids = self.strings.ids(column, None)
        if len(self.strings) != len(self.rank):  # new strings lie between the old ones, whose order stays what it was
            self._rank_strings()
        return frozen(ids.astype(np.int64))

    def decode(self, keys: Array, valid: Mask | None = None) -> Column:
        if not len(self.strings):
            return Column.nulls(self.type, len(keys))
        column = self.strings.column(keys if valid is None else np.where(valid, keys, 0))
        if valid is None or valid.all():
            return column
        return Column(self.type, pc.if_else(Column(pa.bool_(), valid).to_arrow(), column.to_arrow(),
                                            Column.nulls(self.type, 1).to_arrow()[0]))

    def keep_only(self, live: Array) -> Array:
        """Forget all strings but these; answers with the new id of each old one."""
        strings = ColumnKeys(self.type)
        moved = np.zeros(len(self.strings), np.int64)
        if len(live):
            moved[live] = strings.ids(self.strings.column(live), None)
        self.strings = strings
        self.limit = max(INITIAL_STRINGS, 2 * len(live))
        self._rank_strings()
        return moved

    def fork(self) -> WordValues:
        """A copy that shares the strings. Strings are only added, until all are replaced."""
        clone = object.__new__(WordValues)
        clone.__dict__.update(vars(self))
        return clone

    def _rank_strings(self) -> None:
        strings = self.strings.column(np.arange(len(self.strings))).to_arrow()
        order = Column.from_arrow(pc.sort_indices(strings)).values if len(strings) else np.empty(0)
        self.by_rank = np.asarray(order).astype(np.int64)
        self.rank = np.empty(len(strings), np.int64)
        self.rank[self.by_rank] = np.arange(len(strings))


def _swap_negatives(bits: Array) -> Array:
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)

"""Intermediate values of evaluation: columns or scalars, with nulls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whimbrel.batch import Batch, Column, Mask, Segments, SegmentType, numpy_type
from whimbrel.errors import KernelError
from whimbrel.expr.literals import physical
from whimbrel.expr.nodes import Expr, Scalar

Bits = Mask | np.bool_
"""A mask, or one answer for all rows."""

PRESENT = np.bool_(True)
"""Nothing is null."""


@dataclass(frozen=True, slots=True)
class Value:
    """An evaluated part: one element a row, or a scalar that stands for all rows.

    Parameters
    ----------
    type : pyarrow.DataType
    data : numpy.ndarray, numpy.generic, Segments, pyarrow.Array or pyarrow.Scalar
        As in a :class:`~whimbrel.batch.Column`; segments and Arrow data carry their own nulls.
    valid : numpy.ndarray or numpy.bool
        False where null.
    """

    type: pa.DataType
    data: Any
    valid: Bits = PRESENT

    @property
    def fixed(self) -> bool:
        """True when NumPy holds the data."""
        return isinstance(self.data, np.ndarray | np.generic)

    @property
    def present(self) -> Bits:
        """True where there is a value, whatever holds it."""
        if self.fixed:
            return self.valid
        if isinstance(self.data, pa.Scalar):
            return np.bool_(self.data.is_valid)
        if isinstance(self.data, Segments):
            return PRESENT if self.data.valid is None else self.data.valid
        return np.asarray(pc.is_valid(self.data)) if self.data.null_count else PRESENT

    def arrow(self) -> Any:
        """As Arrow data of the logical type: an array, or a scalar."""
        if isinstance(self.data, Segments):
            return Column(self.type, self.data).to_arrow()
        if not self.fixed:
            plain = isinstance(self.data, pa.Scalar) or self.data.type == self.type
            return self.data if plain else self.data.cast(self.type)
        if self.data.ndim:
            return self.column(len(self.data)).to_arrow()
        return self.column(1).to_arrow()[0]

    def column(self, rows: int) -> Column:
        """With one element a row."""
        if not self.fixed:
            data = pa.repeat(self.data, rows) if isinstance(self.data, pa.Scalar) else self.data
            if isinstance(self.type, SegmentType) and not isinstance(data, Segments):
                return Column.from_arrow(data)
            return Column(self.type, data)
        data = self.data if self.data.ndim else np.full(rows, self.data)
        valid = None if self.valid is PRESENT else np.broadcast_to(self.valid, (rows,))
        return Column(self.type, data, None if valid is not None and valid.all() else valid)


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows an expression is evaluated over, and which of them can make it fail."""

    batch: Batch
    counts: Callable[[], Bits]

    def only(self, rows: Callable[[], Bits]) -> Scope:
        """The same rows, of which only these count: what happens to others is never looked at."""
        return replace(self, counts=lambda: self.counts() & rows())

    def refuse(self, bad: Bits, valid: Bits, expr: Expr, what: str | Callable[[int], str], hint: str = "") -> None:
        """Fail if a row that counts is bad; where that is a function, it says what of the first one."""
        if np.any(bad) and np.any(wrong := bad & valid & self.counts()):
            raise KernelError(what if isinstance(what, str) else what(int(np.argmax(wrong))), where=expr.show(),
                              hint=hint)


def known(expr: Expr, types: tuple[pa.DataType | str, ...], find: Callable[[], Any]) -> Any:
    """What depends on nothing but an expression and types: batch after batch they are the same."""
    memo = vars(expr).setdefault("_known", {})
    if types not in memo:
        memo[types] = find()
    return memo[types]


def from_column(column: Column) -> Value:
    return Value(column.type, column.values, PRESENT if column.valid is None else column.valid)


def from_arrow(data: Any) -> Value:
    """Take in the result of an Arrow function: of a type that NumPy holds, an array or a scalar."""
    if isinstance(data, pa.Scalar):
        single = from_column(Column.from_arrow(pa.repeat(data, 1)))
        return Value(single.type, single.data[0], np.bool_(single.valid.all()))
    return from_column(Column.from_arrow(data))


def from_scalar(value: Scalar, type_: pa.DataType) -> Value:
    """A literal as a scalar of a type."""
    dtype = numpy_type(type_)
    if dtype is None:
        if pa.types.is_decimal(type_) and isinstance(value, int):
            value = Decimal(value)
        if value is None and (pa.types.is_nested(type_) or isinstance(type_, pa.BaseExtensionType)):
            return Value(type_, pa.nulls(1, type_)[0])  # of some of these Arrow makes no scalar otherwise
        return Value(type_, pa.scalar(value, type_))
    if value is None:
        return Value(type_, dtype.type(0), np.bool_(False))
    assert not isinstance(value, bytes)
    try:
        return Value(type_, dtype.type(physical(value, type_)))
    except OverflowError:
        raise KernelError(f"{value} does not fit into {type_}.", where=f"lit({value})", hint=OTHER_NUMBERS) from None


def at_row(data: Any, row: int) -> Any:
    """A number as Python has it, of a column or a scalar that stands for all rows."""
    return (data[row] if np.ndim(data) else data).item()


OTHER_NUMBERS = "Use decimals or floats: .cast(pa.decimal128(38, 0)) or .cast(float)."


def integers(value: Value, scope: Scope, expr: Expr) -> NDArray[np.int64]:
    """The data as int64; a uint64 beyond it is an overflow."""
    if value.data.dtype == np.uint64:
        scope.refuse(value.data > np.uint64(2**63 - 1), value.valid, expr,
                     lambda row: f"integer overflow: {at_row(value.data, row)} is above the largest int64",
                     OTHER_NUMBERS)
    result: NDArray[np.int64] = value.data.astype(np.int64, copy=False)
    return result

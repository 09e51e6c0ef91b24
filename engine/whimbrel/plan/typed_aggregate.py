"""Bind an aggregate to the types of its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, Schema, frozen, numpy_type
from whimbrel.errors import KernelError
from whimbrel.expr import MAX_DIGITS, Call, Cast, Expr, evaluate, predicate, type_of
from whimbrel.plan.aggregate import Aggregate, AggregateFunctions, AggregatePhase
from whimbrel.plan.aggregate_source import shows_states

Array = np.ndarray[Any, Any]

Inputs = tuple[tuple[Array, ...], Mask, Array]
"""Per row: values as int64 or float64, whether it counts (empty: everywhere), start (empty unless it matters)."""

NO_MASK: Mask = np.empty(0, np.bool_)
NO_MASK.flags.writeable = False
_NONE = frozen(np.empty(0, np.int64))
NO_ROWS: Inputs = ((), NO_MASK, _NONE)
"""What is read where there are no rows."""

_SIGN = np.uint64(2**63)
"""Turned over, unsigned integers are in order as signed ones."""


class TypedAggregate:
    """What an aggregate reads of rows, and the columns that it makes.

    Parameters
    ----------
    name : str
        The result column.
    aggregate : Aggregate
    steps : AggregateFunctions
        Its algebra.
    schema : Schema
        Of the input.
    part : AggregatePhase
        Whether it makes values of rows, states of rows, or states of states. `schema` is that of the rows.
    """

    def __init__(self, name: str, aggregate: Aggregate, steps: AggregateFunctions, schema: Schema,
                 part: AggregatePhase = AggregatePhase.WHOLE) -> None:
        self.name, self.part = name, part
        self.aggregate = aggregate
        input_type = None if aggregate.expr is None else type_of(aggregate.expr, schema, where=aggregate.show())
        self.type = aggregate.result_type(input_type)
        self.steps = steps
        # what is computed is int64: values may be above its largest
        self.unsigned = input_type == pa.uint64() and not aggregate.reads_floats
        fields = [np.asarray(value).dtype for value in steps.init]
        self.inputs, types = inputs_of(aggregate.expr, input_type)
        if aggregate.reads_floats:
            wide = [type_ == pa.uint64() for type_ in types]
            self.inputs = [Cast(expr, pa.float64()) if is_wide else expr
                           for expr, is_wide in zip(self.inputs, wide, strict=True)]
            types = [pa.float64() if is_wide else type_ for type_, is_wide in zip(types, wide, strict=True)]
        if part is AggregatePhase.MERGED:
            self.value_dtypes = fields
        elif steps.columns is not None:
            self.value_dtypes = [np.dtype(np.int64)] * steps.inputs
        else:
            self.value_dtypes = [_dtype(type_) for type_ in types[:steps.inputs]]
        self.out_dtypes: Sequence[np.dtype[Any]] = fields if shows_states(steps, part) else [_dtype(self.type)]
        self.field_types = state_types(steps)

    @property
    def counts_rows(self) -> bool:
        return self.part is not AggregatePhase.MERGED and self.aggregate.counts_rows

    def read(self, batch: Batch) -> Inputs:
        if self.part is AggregatePhase.MERGED:
            states = [batch.column(name) for name in state_names(self.name, self.steps)]
            return tuple(frozen(np.asarray(column.values)) for column in states), NO_MASK, _NONE
        values, valid = self._values(batch)
        return values, valid, batch.first_start if self.steps.timed else _NONE

    def _values(self, batch: Batch) -> tuple[tuple[Array, ...], Mask]:
        aggregate = self.aggregate
        valid = None
        if aggregate.condition is not None:
            valid = predicate(aggregate.condition, batch)
            batch = batch.with_absent(~valid)
        if aggregate.expr is None:
            return (batch.sync,), NO_MASK if valid is None else frozen(valid)
        values = []
        if self.steps.columns is not None:
            column = evaluate(self.inputs[0], batch)
            there = column.validity()
            valid = there if valid is None else valid & there
            split = tuple(frozen(each) for each in self.steps.columns.split(column))
            return split, NO_MASK if valid.all() else frozen(valid)
        for number, expr in enumerate(self.inputs):
            column = evaluate(expr, batch)
            if not column.fixed or aggregate.name == "count":  # only whether a value is there matters
                column = Column(pa.int64(), np.zeros(len(column), np.int64), column.validity())
            if column.valid is not None:
                valid = column.valid if valid is None else valid & column.valid
            if number < len(self.value_dtypes):  # of pairs that are only counted, one
                values.append(frozen(self._wide(np.asarray(column.values), self.value_dtypes[number])))
        return tuple(values), NO_MASK if valid is None else frozen(valid)

    def _wide(self, values: Array, dtype: np.dtype[Any]) -> Array:
        if self.unsigned and (self.aggregate.chooses or self.aggregate.takes_turned):
            return (values ^ _SIGN).view(np.int64)
        if values.dtype == np.uint64 and values.size and values.max() > 2**63 - 1:
            raise KernelError("The aggregate cannot use a value above the largest int64.", where=self.aggregate.show(),
                              hint="Use sum(..., widen=True), which is exact." if self.aggregate.name == "sum" else
                              "Cast the column to float64 first.")
        return values.astype(dtype, copy=False)

    def joined(self, states: Sequence[Array]) -> Column:
        """The values of states, where whole columns of these become values."""
        assert self.steps.columns is not None
        try:
            return self.steps.columns.join(states)
        except OverflowError:
            if not pa.types.is_decimal(self.type):
                raise KernelError(f"A {self.aggregate.name} overflows {self.type}.",
                                  where=f"aggregate({self.name}={self.aggregate.show()})",
                                  hint='Cast it to a coarser unit: .cast(pa.duration("s")).') from None
            digits = self.type.precision
            raise KernelError(f"A {self.aggregate.name} needs more than {digits} digits.",
                              where=f"aggregate({self.name}={self.aggregate.show()})",
                              hint="Use sum(..., widen=True), which has 76 digits." if digits < MAX_DIGITS else
                              "Cast the column to floats: .cast(float).") from None

    def column(self, values: Array, valid: Mask) -> Column:
        """The values of the aggregate, as they were written and will stay, in the type of its column."""
        physical = numpy_type(self.type)
        assert physical is not None
        if self.unsigned and self.aggregate.chooses:
            values = values.view(np.uint64) ^ _SIGN
        if valid.all():
            return Column(self.type, values.astype(physical, copy=False))
        return Column(self.type, np.where(valid, values, 0).astype(physical, copy=False), valid)


def inputs_of(expr: Expr | None, type_: pa.DataType | None) -> tuple[list[Expr], list[pa.DataType | None]]:
    """What an aggregate reads of a row, and its types: the parts of a struct that is made for it."""
    if isinstance(expr, Call) and expr.function == "struct" and type_ is not None:
        return list(expr.args), [type_.field(index).type for index in range(type_.num_fields)]
    return [] if expr is None else [expr], [type_]


def state_names(name: str, steps: AggregateFunctions) -> list[str]:
    """The columns that hold the states of an aggregate."""
    return [f"{name}.{field}" for field in range(len(steps.init))]


def state_types(steps: AggregateFunctions) -> list[pa.DataType]:
    """What is in them."""
    return [pa.float64() if isinstance(value, float) else pa.int64() for value in steps.init]


def _dtype(type_: pa.DataType | None) -> np.dtype[Any]:
    return np.dtype(np.float64 if type_ is not None and pa.types.is_floating(type_) else np.int64)

"""Bind an aggregate of Python functions to the types of its input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema, frozen, numpy_type
from whimbrel.expr import evaluate, predicate, type_of
from whimbrel.plan.aggregate import Aggregate, AggregatePhase
from whimbrel.plan.typed_aggregate import NO_MASK, Inputs, inputs_of
from whimbrel.plan.value_state import Objects

Array = np.ndarray[Any, Any]

_NONE = frozen(np.empty(0, np.int64))


class TypedPythonAggregate:
    """What an aggregate with Python objects as states reads of rows.

    Parameters
    ----------
    name : str
        The result column.
    aggregate : Aggregate
    steps : Objects
        Its algebra.
    schema : Schema
        Of the input.
    part : AggregatePhase
        Whether it makes values of rows, states of rows, or states of states; states travel as text.
    """

    def __init__(self, name: str, aggregate: Aggregate, steps: Objects, schema: Schema,
                 part: AggregatePhase = AggregatePhase.WHOLE) -> None:
        self.name, self.aggregate, self.steps, self.part = name, aggregate, steps, part
        expr = aggregate.expr
        assert expr is not None
        input_type = type_of(expr, schema, where=aggregate.show())
        self.type = aggregate.result_type(input_type) if part is AggregatePhase.WHOLE else pa.string()
        self.inputs, _ = inputs_of(expr, input_type)

    def read(self, batch: Batch) -> Inputs:
        if self.part is AggregatePhase.MERGED:
            return (_objects(batch.column(self.name)),), NO_MASK, _NONE
        valid = None
        if self.aggregate.condition is not None:
            valid = predicate(self.aggregate.condition, batch)
            batch = batch.with_absent(~valid)
        values = []
        for expr in self.inputs:
            column = evaluate(expr, batch)
            if column.valid is not None or not column.fixed:
                there = column.validity()
                valid = there if valid is None else valid & there
            values.append(_objects(column))
        return (tuple(values), NO_MASK if valid is None else frozen(valid),
                batch.first_start if self.steps.timed else _NONE)


def _objects(column: Column) -> Array:
    """The values of a column, as Python or NumPy has them; of times and durations their ticks."""
    if column.fixed and numpy_type(column.type) is not None:
        return np.asarray(column.values)
    array = np.empty(len(column), object)
    array[:] = column.to_arrow().to_pylist()
    return array
